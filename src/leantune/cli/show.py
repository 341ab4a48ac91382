"""How results read: as lines for people and as one JSON object for programs, side by side so that they stay equal.

Keys of the JSON objects are promises: they may be joined by new ones, never renamed. Dollars, seconds and metrics are
plain numbers, null where nobody knows them or where there is no limit; a share of the data is exact text ("1/4", "1");
a prediction is {mean, sd}; a budget {usd, trials, hours}.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from leantune.cli.command import Json, encoded, picked
from leantune.cli.standing import (
    Best,
    Standing,
    best_words,
    budget_words,
    cause_words,
    count_words,
    expected_words,
    goal_words,
    money_words,
    trial_words,
)
from leantune.cli.terminal import aligned
from leantune.history import Note, Trial, TrialState
from leantune.problem import COST, TIME, Problem
from leantune.run.loop import End
from leantune.space import Cluster
from leantune.store.rows import WorkerRow
from leantune.strategies.proposals import Recommendation
from leantune.study.launch import DryRun, Forecast, Verification
from leantune.text import (
    counted,
    described,
    duration,
    estimated,
    exact_text,
    listed,
    percent,
    quantity,
    share_of_data,
    usd,
)

encoded.register(Cluster, lambda cluster: picked(cluster, "type nodes vcpus memory_gib usd_per_hour"))
encoded.register(Note, str)


# -- the recommendation


def recommendation_lines(recommended: Recommendation) -> list[str]:
    """The configuration to use, what to expect of it, how sure its limits are, and why."""
    measured = all(estimate.sd == 0 for estimate in recommended.metrics.values())
    lines = ["Recommended configuration:"]
    lines += aligned((name, exact_text(value)) for name, value in recommended.configuration.items())
    lines.append(f"{'Measured' if measured else 'Predicted'} on {share_of_data(recommended.fraction)}:")
    lines += aligned((name, estimated(name, estimate)) for name, estimate in recommended.metrics.items())
    if recommended.probabilities:
        verdict = "met as surely as asked" if recommended.feasible else "NOT met as surely as asked"
        lines.append(f"Limits, {verdict}:")
        lines += aligned((text, _sure(sure, measured)) for text, sure in recommended.probabilities.items())
    lines.append(f"Why: {recommended.why}")
    return [*lines, *(f"Note: {note}" for note in recommended.notes)]


def _sure(probability: float, measured: bool) -> str:
    return ("held" if probability == 1 else "broken") if measured else f"holds with {percent(probability)}"


def recommendation_json(recommended: Recommendation) -> Json:
    """{configuration, fraction, metrics, limits: [{limit, probability}], feasible, tested, why, notes}.

    A cluster in the configuration is {type, nodes, vcpus, memory_gib, usd_per_hour}.
    """
    return {
        **picked(recommended, "configuration fraction metrics"),
        "limits": [{"limit": text, "probability": sure} for text, sure in recommended.probabilities.items()],
        **picked(recommended, "feasible tested why notes"),
    }


# -- a study


def study_lines(standing: Standing) -> list[str]:
    """Trials, money and the best result, in two columns."""
    rows = [("trials", count_words(standing))]
    if standing.has_dollars:
        rows.append(("dollars", money_words(standing.money)))
    hours = standing.problem.budget.hours
    trained = standing.history.seconds
    rows.append(("training", duration(trained) if hours is None else f"{duration(trained)} of {hours:g} h"))
    rows.append(("best", best_words(standing.problem, standing.best)))
    if standing.best is not None:
        rows.append(("", described(standing.best.trial.configuration)))
    lines = aligned(rows)
    return [*lines, *(f"  note: {note} ({counted(count, 'trial')})" for note, count in standing.notes.items())]


def study_json(standing: Standing) -> Json:
    """{study, store, strategy, seed, goal, limits, budget, trials: {total, by state...}, dollars: {budget, spent,
    reserved, left}, seconds, best, notes: {text: trials}}.
    """
    problem = standing.problem
    by_state = {state.value: standing.counts.get(state.value, 0) for state in TrialState}
    return {
        **picked(standing, "study=name store strategy seed"),
        "goal": picked(problem.goal, "metric direction"),
        "limits": [limit.text for limit in problem.constraints],
        "budget": problem.budget,
        "trials": {"total": len(standing.history), **by_state},
        "dollars": picked(standing.money, "budget=budget_usd spent reserved left"),
        "seconds": standing.history.seconds,
        "best": None if standing.best is None else _best_json(standing.best),
        "notes": standing.notes,
    }


def _best_json(best: Best) -> Json:
    """{trial, fraction, configuration, metrics, cost, seconds, on_answer, limits_kept}.

    on_answer: measured where an answer may lie (on all data, unless the goal lies anywhere).
    """
    return {
        "trial": best.trial.number,
        "fraction": best.seen.fraction,
        "configuration": best.trial.configuration,
        **picked(best.seen, "metrics cost seconds"),
        **picked(best, "on_answer=answers limits_kept=kept"),
    }


def status_lines(standing: Standing, stop_reason: str | None, workers: Sequence[WorkerRow], now: float) -> list[str]:
    """A study, who works on it, and what runs and failed last."""
    head = f"Study {standing.name}: {'not over yet' if stop_reason is None else f'over, {stop_reason}'}"
    about = [
        ("goal", goal_words(standing.problem)),
        ("strategy", f"{standing.strategy}, seed {standing.seed}"),
        ("budget", budget_words(standing.problem.budget)),
        ("store", standing.store),
        ("workers", _worker_words(workers, now)),
    ]
    running = [trial for trial in standing.history.pending if trial.state is TrialState.RUNNING]
    failed = [trial for trial in standing.history.trials if trial.state is TrialState.FAILED][-3:]
    return [
        head,
        *aligned(about),
        *study_lines(standing),
        *(
            f"  running: trial {trial.number}, {trial_words(trial)}, {duration(_runs_for(trial, now))}"
            for trial in running
        ),
        *(f"  failed: trial {trial.number}, {cause_words(trial.moves[-1].cause)}" for trial in failed),
    ]


def _runs_for(trial: Trial, now: float) -> float:
    return max(0.0, now - trial.moves[-1].time)


def _worker_words(workers: Sequence[WorkerRow], now: float) -> str:
    each = (
        f"{worker.id} ({counted(worker.slots, 'run')} at once, seen {duration(max(0.0, now - worker.seen))} ago)"
        for worker in workers
    )
    return "; ".join(each) or "none"


def status_json(standing: Standing, stop_reason: str | None, workers: Sequence[WorkerRow], now: float) -> Json:
    """The study's keys and {over, stop_reason, running: [{trial, fraction, configuration, seconds}], failed: [{trial,
    cause}], workers: [{id, host, pid, slots, seen_seconds_ago}]}.
    """
    running, failed = (
        [trial for trial in standing.history.trials if trial.state is state]
        for state in (TrialState.RUNNING, TrialState.FAILED)
    )
    return {
        **study_json(standing),
        "over": stop_reason is not None,
        "stop_reason": stop_reason,
        "running": [
            {**picked(trial, "trial=number fraction configuration"), "seconds": _runs_for(trial, now)}
            for trial in running
        ],
        "failed": [{"trial": trial.number, "cause": trial.moves[-1].cause} for trial in failed],
        "workers": [
            {**picked(worker, "id host pid slots"), "seen_seconds_ago": max(0.0, now - worker.seen)}
            for worker in workers
        ],
    }


# -- the end of a run


def end_lines(
    standing: Standing, end: End, recommended: Recommendation | None, why_none: str, *, shown: bool = False
) -> list[str]:
    """How a run ended, what there is now (unless a live view has `shown` that), and what to use."""
    return [
        f"Study {standing.name}: {end.outcome.value}, {end.reason}",
        *([] if shown else study_lines(standing)),
        *(recommendation_lines(recommended) if recommended else []),
        *([f"No recommendation: {why_none}"] if why_none else []),
    ]


def end_json(standing: Standing, end: End, recommended: Recommendation | None, why_none: str) -> Json:
    """The study's keys and {outcome: over|enough|interrupted|failing, reason, recommendation, why_no_recommendation};
    recommendation is null where there is none, and after an interruption.
    """
    return {
        **study_json(standing),
        **picked(end, "outcome reason"),
        "recommendation": recommendation_json(recommended) if recommended else None,
        "why_no_recommendation": why_none,
    }


# -- a dry run


def dry_run_lines(name: str, strategy: str, problem: Problem, dry: DryRun) -> list[str]:
    """What a run would do first."""
    rows = [
        ("goal", goal_words(problem)),
        ("space", _size_words(problem, dry)),
        ("budget", budget_words(dry.budget)),
        ("strategy", strategy),
        ("time limit", _limit_words(dry)),
        ("at once", counted(dry.rules.parallel, "run")),
        ("so far", counted(dry.resumes, "trial") if dry.resumes else "nothing: the study is new"),
    ]
    lines = [f"Dry run of {name}: nothing was started", *aligned(rows)]
    lines.append("First proposals:" if dry.first else f"Nothing would be started: {dry.over}")
    for place, forecast in enumerate(dry.first, start=dry.resumes):
        lines += _forecast_lines(place, forecast)
    together = [forecast.worst_case_usd for forecast in dry.first if forecast.worst_case_usd is not None]
    if len(together) > 1:
        lines.append(f"Together they cost at most {usd(sum(together))}.")
    return [*lines, f"Then the study is over: {dry.over}"] if dry.first and dry.over else lines


def _size_words(problem: Problem, dry: DryRun) -> str:
    if dry.size is None or dry.pairs is None:
        return "infinitely many configurations"
    if len(problem.fractions) == 1:
        return counted(dry.size, "configuration")
    return (
        f"{counted(dry.size, 'configuration')}, {dry.pairs:,} with each of {len(problem.fractions)} shares of the data"
    )


def _limit_words(dry: DryRun) -> str:
    grace = f"then {duration(dry.rules.grace)} to end"
    if dry.rules.time_limit is None:
        return f"set for each run from the dollars that are left and from what is predicted, {grace}"
    return f"{duration(dry.rules.time_limit)} a run, {grace}"


def _forecast_lines(place: int, forecast: Forecast) -> list[str]:
    proposal = forecast.proposal
    limit = "no time limit" if forecast.time_limit is None else f"at most {duration(forecast.time_limit)}"
    cost = "no price" if forecast.worst_case_usd is None else f"at most {usd(forecast.worst_case_usd)}"
    expected = expected_words(proposal.expected)
    return [
        f"  trial {place}: {described(proposal.configuration)}; {share_of_data(proposal.fraction)}",
        f"    {limit}, {cost}" + (f"; expected {expected}" if expected else ""),
        f"    why: {'; '.join(map(str, proposal.notes))}",
    ]


def dry_run_json(name: str, strategy: str, problem: Problem, dry: DryRun) -> Json:
    """{study, strategy, limits, fractions, configurations, pairs, budget, trials_so_far, time_limit, grace, parallel,
    proposals: [{configuration, fraction, snapshots, time_limit, worst_case_usd, expected, notes}], over}; numbers of
    configurations and pairs are null where infinite, time_limit where each run gets its own; over says why nothing
    would follow the proposals.
    """
    return {
        "study": name,
        "strategy": strategy,
        "limits": [limit.text for limit in problem.constraints],
        "fractions": problem.fractions,
        **picked(dry, "configurations=size pairs budget trials_so_far=resumes"),
        **picked(dry.rules, "time_limit grace parallel"),
        "proposals": [
            {
                **picked(forecast.proposal, "configuration fraction snapshots"),
                **picked(forecast, "time_limit worst_case_usd"),
                **picked(forecast.proposal, "expected notes"),
            }
            for forecast in dry.first
        ],
        "over": dry.over,
    }


# -- a verification


def verification_lines(problem: Problem, checked: Verification) -> list[str]:
    """Whether the limits held in the verifying run, and how it compares with what was predicted."""
    lines = [_verdict(checked), *aligned((name, exact_text(v)) for name, v in checked.trial.configuration.items())]
    if checked.measured is None:
        return lines
    rows = [
        (name, f"{quantity(name, checked.measured.value(name))}{_predicted(checked.recommendation, name)}")
        for name in (*problem.required_metrics, TIME, COST)
        if math.isfinite(checked.measured.value(name))
    ]
    lines += [f"Measured on {share_of_data(checked.trial.fraction)}, trial {checked.trial.number}:", *aligned(rows)]
    if checked.limits:
        lines.append("Limits:")
        lines += aligned((limit.text, "held" if limit.held else "BROKEN") for limit in checked.limits)
    return lines


def _verdict(checked: Verification) -> str:
    if checked.failed:
        return f"Not verified: the run failed, {cause_words(checked.failed)}"
    broken = [limit.text for limit in checked.limits if not limit.held]
    if broken:
        return f"Not verified: {listed(broken)} did not hold"
    return "Verified: every limit held" if checked.limits else "Verified: the run came through; there is no limit"


def _predicted(recommended: Recommendation, name: str) -> str:
    estimate = recommended.metrics.get(name)
    return "" if estimate is None else f" (predicted {estimated(name, estimate)})"


def verification_json(checked: Verification) -> Json:
    """{held, failed, trial, fraction, configuration, metrics, seconds, cost, limits: [{limit, value, held}],
    recommendation}; failed is the cause, or empty.
    """
    return {
        **picked(checked, "held failed trial=trial.number fraction=trial.fraction configuration=trial.configuration"),
        "metrics": {} if checked.measured is None else checked.measured.metrics,
        **picked(checked.trial, "seconds cost"),
        "limits": [picked(limit, "limit=text value held") for limit in checked.limits],
        "recommendation": recommendation_json(checked.recommendation),
    }
