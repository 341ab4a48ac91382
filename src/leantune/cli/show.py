"""How results read: as lines for people and as one JSON object for programs, side by side so that they stay equal.

Keys of the JSON objects are promises: they may be joined by new ones, never renamed. Dollars, seconds and metrics are
plain numbers, null where nobody knows them or where there is no limit; a share of the data is exact text ("1/4", "1").
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from leantune.cli.standing import Best, Standing
from leantune.cli.words import (
    aligned,
    best_words,
    budget_words,
    cause_words,
    count_words,
    expected_words,
    goal_words,
    money_words,
    trial_words,
)
from leantune.history import Estimate, Trial, TrialState
from leantune.problem import COST, TIME, Budget, Problem
from leantune.run.loop import End
from leantune.space import Cluster, Configuration
from leantune.store.rows import Money, WorkerRow
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

Json = dict[str, object]


# -- small parts of the JSON


def number(value: float | None) -> float | None:
    """A number that JSON can hold."""
    return None if value is None or not math.isfinite(value) else value


def configuration_json(configuration: Configuration) -> Json:
    """Values by name; a cluster as {type, nodes, vcpus, memory_gib, usd_per_hour}."""
    return {
        name: _cluster_json(value) if isinstance(value, Cluster) else value for name, value in configuration.items()
    }


def _cluster_json(cluster: Cluster) -> Json:
    return {
        "type": cluster.type,
        "nodes": cluster.nodes,
        "vcpus": cluster.vcpus,
        "memory_gib": cluster.memory_gib,
        "usd_per_hour": cluster.usd_per_hour,
    }


def estimates_json(estimates: Mapping[str, Estimate]) -> Json:
    """{metric: {mean, sd}}."""
    return {name: {"mean": number(each.mean), "sd": number(each.sd)} for name, each in estimates.items()}


def money_json(money: Money) -> Json:
    """{budget, spent, reserved, left}, in dollars; budget and left are null without a limit."""
    return {
        "budget": money.budget_usd,
        "spent": money.spent,
        "reserved": money.reserved,
        "left": number(money.left),
    }


def budget_json(budget: Budget) -> Json:
    """{usd, trials, hours}; null is no limit."""
    return {"usd": budget.usd, "trials": budget.trials, "hours": budget.hours}


def best_json(best: Best | None) -> Json | None:
    """{trial, fraction, configuration, metrics, cost, seconds, on_answer, limits_kept}; null while there is none.

    on_answer: measured where an answer may lie (on all data, unless the goal lies anywhere).
    """
    if best is None:
        return None
    return {
        "trial": best.trial.number,
        "fraction": str(best.seen.fraction),
        "configuration": configuration_json(best.trial.configuration),
        "metrics": {name: number(value) for name, value in best.seen.metrics.items()},
        "cost": number(best.seen.cost),
        "seconds": number(best.seen.seconds),
        "on_answer": best.answers,
        "limits_kept": best.kept,
    }


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
    """{configuration, fraction, metrics: {name: {mean, sd}}, limits: [{limit, probability}], feasible, tested, why,
    notes}.
    """
    return {
        "configuration": configuration_json(recommended.configuration),
        "fraction": str(recommended.fraction),
        "metrics": estimates_json(recommended.metrics),
        "limits": [{"limit": text, "probability": number(sure)} for text, sure in recommended.probabilities.items()],
        "feasible": recommended.feasible,
        "tested": recommended.tested,
        "why": recommended.why,
        "notes": list(map(str, recommended.notes)),
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


def _by_state(standing: Standing) -> dict[str, int]:
    """Trials by state."""
    return {state.value: standing.counts.get(state.value, 0) for state in TrialState}


def study_json(standing: Standing) -> Json:
    """{study, store, strategy, seed, goal, limits, budget, trials: {total, by state...}, dollars, seconds, best,
    notes: {text: trials}}.
    """
    problem = standing.problem
    return {
        "study": standing.name,
        "store": standing.store,
        "strategy": standing.strategy,
        "seed": standing.seed,
        "goal": {"metric": problem.goal.metric, "direction": problem.goal.direction.value},
        "limits": [limit.text for limit in problem.constraints],
        "budget": budget_json(problem.budget),
        "trials": {"total": len(standing.history), **_by_state(standing)},
        "dollars": money_json(standing.money),
        "seconds": standing.history.seconds,
        "best": best_json(standing.best),
        "notes": {str(note): count for note, count in standing.notes.items()},
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
    trials = standing.history.trials
    return {
        **study_json(standing),
        "over": stop_reason is not None,
        "stop_reason": stop_reason,
        "running": [
            {
                "trial": trial.number,
                "fraction": str(trial.fraction),
                "configuration": configuration_json(trial.configuration),
                "seconds": _runs_for(trial, now),
            }
            for trial in trials
            if trial.state is TrialState.RUNNING
        ],
        "failed": [
            {"trial": trial.number, "cause": trial.moves[-1].cause}
            for trial in trials
            if trial.state is TrialState.FAILED
        ],
        "workers": [
            {
                "id": worker.id,
                "host": worker.host,
                "pid": worker.pid,
                "slots": worker.slots,
                "seen_seconds_ago": max(0.0, now - worker.seen),
            }
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
        "outcome": end.outcome.value,
        "reason": end.reason,
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
        "fractions": [str(share) for share in problem.fractions],
        "configurations": dry.size,
        "pairs": dry.pairs,
        "budget": budget_json(dry.budget),
        "trials_so_far": dry.resumes,
        "time_limit": dry.rules.time_limit,
        "grace": dry.rules.grace,
        "parallel": dry.rules.parallel,
        "proposals": [
            {
                "configuration": configuration_json(forecast.proposal.configuration),
                "fraction": str(forecast.proposal.fraction),
                "snapshots": [str(share) for share in forecast.proposal.snapshots],
                "time_limit": number(forecast.time_limit),
                "worst_case_usd": number(forecast.worst_case_usd),
                "expected": estimates_json(forecast.proposal.expected),
                "notes": list(map(str, forecast.proposal.notes)),
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
    seen = checked.measured
    return {
        "held": checked.held,
        "failed": checked.failed,
        "trial": checked.trial.number,
        "fraction": str(checked.trial.fraction),
        "configuration": configuration_json(checked.trial.configuration),
        "metrics": {} if seen is None else {name: number(value) for name, value in seen.metrics.items()},
        "seconds": number(checked.trial.seconds),
        "cost": number(checked.trial.cost),
        "limits": [{"limit": limit.text, "value": number(limit.value), "held": limit.held} for limit in checked.limits],
        "recommendation": recommendation_json(checked.recommendation),
    }
