"""Small parts of what is told, for people: one line each, used by the results, the live view and the plain lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from leantune.cli.standing import Best, Standing
from leantune.executors.base import Report
from leantune.history import Estimate, Trial, TrialState
from leantune.problem import Budget, Problem
from leantune.run.events import Stopping
from leantune.store.rows import Money
from leantune.text import (
    counted,
    described,
    estimated,
    limit_text,
    listed,
    quantity,
    share_of_data,
    usd,
)

LONGEST_CAUSE = 300  # characters of a failure's cause in a line


def aligned(rows: Iterable[tuple[str, str]], indent: str = "  ") -> list[str]:
    """Two columns."""
    rows = list(rows)
    width = max((len(name) for name, _ in rows), default=0)
    return [f"{indent}{name:<{width}}  {value}".rstrip() for name, value in rows]


def expected_words(expected: Mapping[str, Estimate]) -> str:
    """What the models predict, on one line."""
    return ", ".join(f"{name} {estimated(name, estimate)}" for name, estimate in expected.items())


def cause_words(cause: str) -> str:
    """Why something failed, on one line; cut in the middle, because the end names the log file."""
    line = " ".join(cause.split())
    half = LONGEST_CAUSE // 2
    return line if len(line) <= LONGEST_CAUSE else f"{line[:half]} … {line[-half:]}"


def outcome_words(problem: Problem, trial: Trial, cause: str) -> str:
    """What a run that ended brought: the metrics that matter to the problem, or why there are none."""
    if trial.state is not TrialState.DONE or not trial.observations:
        return cause_words(cause)
    seen = trial.observations[-1]
    return ", ".join(f"{name} {quantity(name, seen.value(name))}" for name in problem.required_metrics)


def money_words(money: Money) -> str:
    """Dollars spent, reserved and left."""
    left = "no limit" if money.budget_usd is None else f"left {usd(max(money.left, 0.0))}"
    return f"spent {usd(money.spent)}, reserved {usd(money.reserved)}, {left}"


def budget_words(budget: Budget) -> str:
    """The limits of a study."""
    parts = [
        "" if budget.usd is None else usd(budget.usd),
        "" if budget.trials is None else counted(budget.trials, "trial"),
        "" if budget.hours is None else f"{budget.hours:g} h of training",
    ]
    return listed(part for part in parts if part) or "no limit"


def trial_words(trial: Trial) -> str:
    """What a trial tests."""
    return f"{described(trial.configuration)}; {share_of_data(trial.fraction)}"


def count_words(standing: Standing) -> str:
    """Trials by state, against the budget."""
    verifying = sum(trial.verifies for trial in standing.history.trials)
    total, most = len(standing.history) - verifying, standing.problem.budget.trials
    states = ", ".join(f"{count} {state}" for state, count in sorted(standing.counts.items()))
    number = f"{total:,}" if most is None else f"{total:,} of {most:,}"
    number += f" and {counted(verifying, 'verification')}" if verifying else ""
    return f"{number} ({states})" if states else number


def best_words(problem: Problem, best: Best | None) -> str:
    """The best result in one line: its value, where it was measured, and what it breaks."""
    if best is None:
        return "no result yet"
    goal = problem.goal.metric
    value = f"{goal} {quantity(goal, best.seen.value(goal))}, {share_of_data(best.seen.fraction)}"
    if not best.answers:
        return f"{value} (no result on all data yet), trial {best.trial.number}"
    if best.kept:
        return f"{value}{', all limits kept' if problem.constraints else ''}, trial {best.trial.number}"
    broken = [f"{limit_text(limit)} ({quantity(limit.metric, best.seen.value(limit.metric))})" for limit in best.broken]
    what = listed(broken) or "a limit, as far as it was measured"
    return f"{value}, breaks {what}, trial {best.trial.number}"


def goal_words(problem: Problem) -> str:
    """What is wanted."""
    goal = f"{problem.goal.direction.value} {problem.goal.metric}"
    limits = listed(limit_text(limit) for limit in problem.constraints)
    return f"{goal}, subject to {limits}" if limits else goal


def reported_words(report: Report) -> str:
    """What a running trial said about itself."""
    metrics = ", ".join(f"{name} {quantity(name, value)}" for name, value in report.metrics.items())
    step = "" if report.step is None else f", step {report.step:g}"
    return f"{metrics}{step}" + ("" if report.fraction is None else f", {share_of_data(report.fraction)}")


def stopping_words(stopping: Stopping) -> str:
    """What happens after Ctrl-C, and what a second one does."""
    runs = counted(stopping.running, "running trial")
    if not stopping.running:
        return "nothing is running"
    if stopping.gently:
        return f"asking {runs} to save a checkpoint; Ctrl-C again to end them at once"
    return f"ending {runs} at once"
