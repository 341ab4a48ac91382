"""A study and a run of it at one moment, and their words for `status`, the live view and the plain lines.

Pure: computed from history and events. Words are one line each.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from leantune.executors.base import Report
from leantune.history import Estimate, History, Note, NoteKind, Observation, Trial, TrialState, counted_notes
from leantune.problem import COST, TIME, Constraint, Fidelity, Problem
from leantune.run.events import (
    Event,
    MachineRented,
    ReportReceived,
    RunEnded,
    RunStarted,
    Stopping,
    TrialJudged,
    TrialProposed,
    TrialRecovered,
    Waiting,
)
from leantune.store.rows import Money
from leantune.strategies.baseline import Comparison, compared
from leantune.strategies.recommending import answers, best_result, excess
from leantune.text import counted, described, estimated, limit_text, listed, quantity, share_of_data, usd

ENDED_SHOWN = 6  # ended runs that are remembered
LONGEST_CAUSE = 300  # characters of a failure's cause in a line

# Notes that concern the whole study: told when they are new, and counted.
_WORTH_TELLING = (NoteKind.FALLBACK, NoteKind.CAP, NoteKind.EXTRA_RUNS, NoteKind.POOL)


@dataclass(frozen=True)
class Best:
    """The best result so far. on_answer: it was measured where an answer may lie (on all data, or anywhere)."""

    trial: Trial
    seen: Observation
    on_answer: bool
    limits_kept: bool
    broken: tuple[Constraint, ...]


@dataclass(frozen=True)
class StudyStatus:
    """What is known of a study. store: its address, without a password."""

    name: str
    store: str
    strategy: str
    seed: int
    problem: Problem
    history: History
    money: Money

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """Trials by state."""
        return Counter(trial.state.value for trial in self.history.trials)

    @cached_property
    def best(self) -> Best | None:
        """The best result that answers the problem and keeps all limits; else the result nearest to that."""
        problem = self.problem
        result = best_result(problem, self.history)
        if result is None:
            return None
        trial, seen = result
        broken = tuple(limit for limit in problem.constraints if not limit.holds(seen.value(limit.metric)))
        return Best(trial, seen, answers(problem, seen.fraction), excess(problem, seen) == 0.0, broken)

    @cached_property
    def notes(self) -> Mapping[Note, int]:
        """Fallbacks, caps and extra charges, each with the number of trials it concerns; numbers as of the last one."""
        return counted_notes(self.history, _WORTH_TELLING)

    @cached_property
    def comparison(self) -> Comparison | None:
        """The best result so far beside the user's present setting; None while there is one of both or neither."""
        if self.best is None:
            return None
        seen = self.best.seen
        values = {name: seen.value(name) for name in (*seen.metrics, COST, TIME)}
        estimates = {name: Estimate(value, 0.0) for name, value in values.items() if math.isfinite(value)}
        return compared(self.problem, self.history, self.best.trial.configuration, seen.fraction, estimates)

    @property
    def has_dollars(self) -> bool:
        """Whether the study costs dollars."""
        return self.problem.space.has_prices or self.money.budget_usd is not None or self.money.spent > 0

    # -- in words

    @property
    def count_words(self) -> str:
        """Trials by state, against the budget."""
        verifying = sum(trial.verifies for trial in self.history.trials)
        total, most = len(self.history) - verifying, self.problem.budget.trials
        states = ", ".join(f"{count} {state}" for state, count in sorted(self.counts.items()))
        number = f"{total:,}" if most is None else f"{total:,} of {most:,}"
        number += f" and {counted(verifying, 'verification')}" if verifying else ""
        return f"{number} ({states})" if states else number

    @property
    def money_words(self) -> str:
        """Dollars spent, reserved and left."""
        money = self.money
        left = "no limit" if money.budget_usd is None else f"left {usd(max(money.left, 0.0))}"
        return f"spent {usd(money.spent)}, reserved {usd(money.reserved)}, {left}"

    @property
    def best_words(self) -> str:
        """The best result: its value, where it was measured, and what it breaks."""
        best, goal, fidelity = self.best, self.problem.goal.metric, self.problem.fidelity
        if best is None:
            return "no result yet"
        value = f"{goal} {quantity(goal, best.seen.value(goal))}, {share_of_data(best.seen.fraction, fidelity)}"
        if not best.on_answer:
            limits = f" (no result on all {fidelity} yet)"
        elif best.limits_kept:
            limits = ", all limits kept" if self.problem.constraints else ""
        else:
            values = ((limit, quantity(limit.metric, best.seen.value(limit.metric))) for limit in best.broken)
            broken = listed(f"{limit_text(limit)} ({value})" for limit, value in values)
            limits = f", breaks {broken or 'a limit, as far as it was measured'}"
        return f"{value}{limits}, trial {best.trial.number}"

    def outcome_words(self, trial: Trial, cause: str) -> str:
        """The result of a run that ended: the metrics that matter to the problem, or why there are none."""
        if trial.state is not TrialState.DONE or not trial.observations:
            return cause_words(cause)
        seen = trial.observations[-1]
        metrics = ", ".join(f"{name} {quantity(name, seen.value(name))}" for name in self.problem.required_metrics)
        return "; ".join(part for part in (metrics, cause_words(cause)) if part)

    def reasons(self, trial: Trial) -> str:
        """Why a trial was proposed, without notes about the whole study, which are shown once."""
        of_the_study = {note.without_numbers for note in self.notes}
        return "; ".join(str(note) for note in trial.notes if note.without_numbers not in of_the_study)


@dataclass(frozen=True)
class WatchedRun:
    """A run on this worker: the event that told of its start, when that came, and the run's last report."""

    started: RunStarted
    began: float
    report: Report | None = None


@dataclass(frozen=True)
class Progress:
    """A run of a study so far: `status` comes from the store, the rest from this worker's events.

    waiting: why nothing can be started now; stopping: set once the user asked for the end; over: the loop has ended.
    """

    status: StudyStatus
    began: float
    runs: Mapping[int, WatchedRun] = field(default_factory=dict)
    ended: tuple[RunEnded, ...] = ()
    proposed: TrialProposed | None = None
    recovered: int = 0
    waiting: str = ""
    stopping: Stopping | None = None
    over: bool = False

    def after(self, event: Event, now: float) -> Progress:
        """The state after an event."""
        match event:
            case TrialProposed():
                new = replace(self, proposed=event, waiting="")
            case RunStarted(trial):
                new = replace(self, runs={**self.runs, trial.number: WatchedRun(event, now)}, waiting="")
            case ReportReceived(report) if report.number in self.runs:
                run = replace(self.runs[report.number], report=report)
                new = replace(self, runs={**self.runs, report.number: run}, waiting="")
            case RunEnded(trial):
                runs = {number: run for number, run in self.runs.items() if number != trial.number}
                new = replace(self, runs=runs, ended=(*self.ended, event)[-ENDED_SHOWN:], waiting="")
            case TrialRecovered():
                new = replace(self, recovered=self.recovered + 1)
            case Waiting(reason):
                new = replace(self, waiting=reason)
            case Stopping():
                new = replace(self, stopping=event)
            case ReportReceived() | MachineRented() | TrialJudged():
                new = self
        return new

    @property
    def elsewhere(self) -> tuple[Trial, ...]:
        """Trials that other workers run."""
        running = (trial for trial in self.status.history.pending if trial.state is TrialState.RUNNING)
        return tuple(trial for trial in running if trial.number not in self.runs)


# -- words


def expected_clause(expected: Mapping[str, Estimate]) -> str:
    """What the models predict, as the end of a line; empty where they predict nothing."""
    values = ", ".join(f"{name} {estimated(name, estimate)}" for name, estimate in expected.items())
    return f"; expected {values}" if values else ""


def cause_words(cause: str) -> str:
    """Why something failed, on one line; cut in the middle, because the end names the log file."""
    line = " ".join(cause.split())
    half = LONGEST_CAUSE // 2
    return line if len(line) <= LONGEST_CAUSE else f"{line[:half]} … {line[-half:]}"


def trial_words(trial: Trial, fidelity: Fidelity) -> str:
    """The configuration that a trial tests, and on which share of the data."""
    return f"{described(trial.configuration)}; {share_of_data(trial.fraction, fidelity)}"


def reported_words(report: Report, fidelity: Fidelity) -> str:
    """The metrics, step and share of a report."""
    metrics = ", ".join(f"{name} {quantity(name, value)}" for name, value in report.metrics.items())
    step = "" if report.step is None else f", step {report.step:g}"
    return f"{metrics}{step}" + ("" if report.fraction is None else f", {share_of_data(report.fraction, fidelity)}")


def stopping_words(stopping: Stopping) -> str:
    """What happens after Ctrl-C, and what a second one does."""
    runs = counted(stopping.running, "running trial")
    if not stopping.running:
        return "nothing is running"
    if stopping.gently:
        return f"asking {runs} to save a checkpoint; Ctrl-C again to end them at once"
    return f"ending {runs} at once"
