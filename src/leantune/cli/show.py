"""How results read: as lines for people and as one JSON object for programs, side by side so that they stay equal.

Keys of the JSON objects are promises: they may be joined by new ones, never renamed. Dollars, seconds and metrics are
plain numbers, null where unknown or without limit; a share of the data is exact text ("1/4", "1");
a prediction is {mean, sd}; a budget {usd, trials, hours}.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from leantune.cli.command import Answer, ExitCode, Json, encoded, picked
from leantune.cli.status import StudyStatus, cause_words, expected_clause, trial_words
from leantune.cli.terminal import aligned
from leantune.history import Note, TrialState
from leantune.problem import COST, TIME, Fidelity, Problem
from leantune.run.loop import End
from leantune.space import Cluster
from leantune.store.rows import WorkerRow
from leantune.strategies.baseline import Comparison
from leantune.strategies.proposals import Recommendation
from leantune.text import (
    budget_words,
    counted,
    described,
    duration,
    estimated,
    exact_text,
    goal_words,
    listed,
    percent,
    quantity,
    share_of_data,
    usd,
)

if TYPE_CHECKING:
    from leantune.study.forecast import DryRun, Forecast
    from leantune.study.verification import Verification

encoded.register(Cluster, lambda cluster: picked(cluster, "type nodes vcpus memory_gib usd_per_hour"))
encoded.register(Note, str)


# -- the recommendation


def recommendation_lines(
    recommended: Recommendation, comparison: Comparison | None, fidelity: Fidelity, checkpoint: Path | None = None
) -> list[str]:
    """The configuration to use, what to expect of it, how sure its limits are, why, how it compares with the user's
    present setting, and where its model is, if that was kept.
    """
    measured = all(estimate.sd == 0 for estimate in recommended.metrics.values())
    lines = ["Recommended configuration:"]
    lines += aligned((name, exact_text(value)) for name, value in recommended.configuration.items())
    lines.append(f"{'Measured' if measured else 'Predicted'} on {share_of_data(recommended.fraction, fidelity)}:")
    lines += aligned((name, estimated(name, estimate)) for name, estimate in recommended.metrics.items())
    if recommended.probabilities:
        verdict = "met as surely as asked" if recommended.feasible else "NOT met as surely as asked"
        lines.append(f"Limits, {verdict}:")
        lines += aligned((text, _sure(sure, measured)) for text, sure in recommended.probabilities.items())
    lines.append(recommended.state.words)
    lines.append(f"Why: {recommended.why}")
    lines += [f"Compared: {comparison.words}"] if comparison else []
    lines += [f"Checkpoint: {checkpoint}"] if checkpoint else []
    return [*lines, *(f"Note: {note}" for note in recommended.notes)]


def _sure(probability: float, measured: bool) -> str:
    return ("held" if probability == 1 else "broken") if measured else f"holds with {percent(probability)}"


def recommendation_json(
    recommended: Recommendation, comparison: Comparison | None = None, checkpoint: Path | None = None
) -> Json:
    """The same for a program; a cluster in the configuration is {type, nodes, vcpus, memory_gib, usd_per_hour}.

    checkpoint: null where none was kept. baseline: only where the study has one.
    """
    return {
        **picked(recommended, "configuration fraction metrics"),
        "limits": [{"limit": text, "probability": sure} for text, sure in recommended.probabilities.items()],
        **picked(recommended, "state feasible tested why notes"),
        "checkpoint": checkpoint,
        **comparison_json(comparison),
    }


def comparison_json(comparison: Comparison | None) -> Json:
    """The user's present setting under its key, with what was measured of it; nothing where there is none."""
    names = "configuration basis trial fraction metrics broken gain saved_usd saved_seconds predicted words"
    return {} if comparison is None else {"baseline": picked(comparison, names)}


# -- a study


def study_lines(status: StudyStatus) -> list[str]:
    """Trials, money and the best result, in two columns."""
    rows = [("trials", status.count_words)]
    if status.has_dollars:
        rows.append(("dollars", status.money_words))
    hours = status.problem.budget.hours
    trained = status.history.seconds
    rows.append(("training", duration(trained) if hours is None else f"{duration(trained)} of {hours:g} h"))
    rows.append(("best", status.best_words))
    if status.best is not None:
        rows.append(("", described(status.best.trial.configuration)))
    lines = aligned(rows)
    return [*lines, *(f"  note: {note} ({counted(count, 'trial')})" for note, count in status.notes.items())]


def study_json(status: StudyStatus) -> Json:
    """The same for a program, with {text: trials} for notes.

    best.on_answer: measured where an answer may lie (on all data, unless the goal lies anywhere).
    """
    problem, best = status.problem, status.best
    trial = "trial=trial.number fraction=seen.fraction configuration=trial.configuration"
    result = "metrics=seen.metrics cost=seen.cost seconds=seen.seconds on_answer limits_kept"
    by_state = {state.value: status.counts.get(state.value, 0) for state in TrialState}
    return {
        **picked(status, "study=name store strategy seed"),
        "goal": picked(problem.goal, "metric direction"),
        "limits": [limit.text for limit in problem.constraints],
        "budget": problem.budget,
        "trials": {"total": len(status.history), **by_state},
        "dollars": picked(status.money, "budget=budget_usd spent reserved left"),
        "seconds": status.history.seconds,
        "best": None if best is None else picked(best, f"{trial} {result}"),
        "notes": status.notes,
    }


def status(status: StudyStatus, stop_reason: str | None, workers: Sequence[WorkerRow], now: float) -> Answer:
    """A study, its workers, what runs and what failed (in the lines only the last failures)."""
    trials, fidelity = status.history.trials, status.problem.fidelity
    running = [(trial, _ago(trial.moves[-1].time, now)) for trial in trials if trial.state is TrialState.RUNNING]
    failed = [(trial.number, trial.moves[-1].cause) for trial in trials if trial.state is TrialState.FAILED]
    at_work = [
        f"{worker.id} ({counted(worker.slots, 'run')} at once, seen {duration(_ago(worker.seen, now))} ago)"
        for worker in workers
    ]
    about = [
        ("goal", goal_words(status.problem)),
        ("strategy", f"{status.strategy}, seed {status.seed}"),
        ("budget", budget_words(status.problem.budget)),
        ("store", status.store),
        ("workers", "; ".join(at_work) or "none"),
    ]
    lines = [
        f"Study {status.name}: {'not over yet' if stop_reason is None else f'over, {stop_reason}'}",
        *aligned(about),
        *study_lines(status),
        *([f"  compared: {status.comparison.words}"] if status.comparison else []),
        *(
            f"  running: trial {trial.number}, {trial_words(trial, fidelity)}, {duration(ran)}"
            for trial, ran in running
        ),
        *(f"  failed: trial {number}, {cause_words(cause)}" for number, cause in failed[-3:]),
    ]
    document = {
        **study_json(status),
        **comparison_json(status.comparison),
        "over": stop_reason is not None,
        "stop_reason": stop_reason,
        "running": [{**picked(trial, "trial=number fraction configuration"), "seconds": ran} for trial, ran in running],
        "failed": [{"trial": number, "cause": cause} for number, cause in failed],
        "workers": [
            {**picked(worker, "id host pid slots"), "seen_seconds_ago": _ago(worker.seen, now)} for worker in workers
        ],
    }
    return Answer(document, lines)


def _ago(time: float, now: float) -> float:
    return max(0.0, now - time)


# -- the end of a run


def ended(
    status: StudyStatus,
    end: End,
    recommended: Recommendation | None,
    why_none: str,
    comparison: Comparison | None = None,
    checkpoint: Path | None = None,
    *,
    shown: bool = False,
) -> Answer:
    """How a run ended, what there is now (for people unless a live view has `shown` that), and what to use."""
    document = {
        **study_json(status),
        **picked(end, "outcome reason"),
        "recommendation": recommendation_json(recommended, comparison, checkpoint) if recommended else None,
        "why_no_recommendation": why_none,
    }
    fidelity = status.problem.fidelity
    lines = [
        f"Study {status.name}: {end.outcome.value}, {end.reason}",
        *([] if shown else study_lines(status)),
        *(recommendation_lines(recommended, comparison, fidelity, checkpoint) if recommended else []),
        *([f"No recommendation: {why_none}"] if why_none else []),
    ]
    return Answer(document, lines)


# -- a dry run


def dry_run(name: str, strategy: str, problem: Problem, dry: DryRun) -> Answer:
    """What a run would do first.

    configurations and pairs are null where infinite, time_limit where each run gets its own; over says why nothing
    would follow the proposals.
    """
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
        lines += _forecast_lines(place, forecast, problem.fidelity)
    together = [forecast.worst_case_usd for forecast in dry.first if forecast.worst_case_usd is not None]
    lines += [f"Together they cost at most {usd(sum(together))}."] if len(together) > 1 else []
    lines += [f"Then the study is over: {dry.over}"] if dry.first and dry.over else []
    pair = "configuration=proposal.configuration fraction=proposal.fraction snapshots=proposal.snapshots"
    terms = "time_limit worst_case_usd expected=proposal.expected notes=proposal.notes"
    document = {
        "study": name,
        "strategy": strategy,
        "limits": [limit.text for limit in problem.constraints],
        "fractions": problem.fractions,
        **picked(dry, "configurations=size pairs budget trials_so_far=resumes"),
        **picked(dry.rules, "time_limit grace parallel"),
        "proposals": [picked(forecast, f"{pair} {terms}") for forecast in dry.first],
        "over": dry.over,
    }
    return Answer(document, lines)


def _size_words(problem: Problem, dry: DryRun) -> str:
    if dry.size is None or dry.pairs is None:
        return "infinitely many configurations"
    if len(problem.fractions) == 1:
        return counted(dry.size, "configuration")
    shares = f"{len(problem.fractions)} shares of the {problem.fidelity}"
    return f"{counted(dry.size, 'configuration')}, {dry.pairs:,} with each of {shares}"


def _limit_words(dry: DryRun) -> str:
    grace = f"then {duration(dry.rules.grace)} to end"
    if dry.rules.time_limit is None:
        return f"set for each run from the dollars that are left and from what is predicted, {grace}"
    return f"{duration(dry.rules.time_limit)} a run, {grace}"


def _forecast_lines(place: int, forecast: Forecast, fidelity: Fidelity) -> list[str]:
    proposal = forecast.proposal
    limit = "no time limit" if forecast.time_limit is None else f"at most {duration(forecast.time_limit)}"
    cost = "no price" if forecast.worst_case_usd is None else f"at most {usd(forecast.worst_case_usd)}"
    return [
        f"  trial {place}: {described(proposal.configuration)}; {share_of_data(proposal.fraction, fidelity)}",
        f"    {limit}, {cost}{expected_clause(proposal.expected)}",
        f"    why: {'; '.join(map(str, proposal.notes))}",
    ]


# -- a verification


def verification(name: str, problem: Problem, checked: Verification, checkpoint: Path | None = None) -> Answer:
    """Whether the limits held in the verifying run, and how its metrics compare with the prediction.

    failed: the cause, or empty.
    """
    trial, seen = checked.trial, checked.measured
    document = {
        "study": name,
        **picked(checked, "held failed trial=trial.number fraction=trial.fraction configuration=trial.configuration"),
        "metrics": {} if seen is None else seen.metrics,
        **picked(trial, "seconds cost"),
        "limits": [picked(limit, "limit=text value held") for limit in checked.limits],
        "recommendation": recommendation_json(checked.recommendation, None, checkpoint),
    }
    lines = [_verdict(checked), *aligned((name, exact_text(value)) for name, value in trial.configuration.items())]
    if seen is not None:
        metrics = [name for name in (*problem.required_metrics, TIME, COST) if math.isfinite(seen.value(name))]
        predicted = {name: f" (predicted {estimated(name, e)})" for name, e in checked.recommendation.metrics.items()}
        rows = [(name, f"{quantity(name, seen.value(name))}{predicted.get(name, '')}") for name in metrics]
        lines += [
            f"Measured on {share_of_data(trial.fraction, problem.fidelity)}, trial {trial.number}:",
            *aligned(rows),
        ]
    if seen is not None and checked.limits:
        lines.append("Limits:")
        lines += aligned((limit.text, "held" if limit.held else "BROKEN") for limit in checked.limits)
    lines += [f"Checkpoint: {checkpoint}"] if checkpoint else []
    return Answer(document, lines, ExitCode.WELL if checked.held else ExitCode.BAD_NEWS)


def _verdict(checked: Verification) -> str:
    if checked.failed:
        return f"Not verified: the run failed, {cause_words(checked.failed)}"
    broken = [limit.text for limit in checked.limits if not limit.held]
    if broken:
        return f"Not verified: {listed(broken)} did not hold"
    return "Verified: every limit held" if checked.limits else "Verified: the run succeeded; there is no limit"
