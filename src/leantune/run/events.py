"""What the loop tells its observers (the live view, the plain lines, a test), and why it has ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from leantune.executors.base import Report
from leantune.history import Trial
from leantune.store.rows import Booking, StayRow
from leantune.strategies.tuner import Judgement


@dataclass(frozen=True)
class TrialProposed:
    """A trial was proposed; `seconds` is how long that took."""

    trial: Trial
    seconds: float


class RunStarted(NamedTuple):
    """A run of a trial has begun; continues: the trial at a smaller share that it goes on from, where that can be."""

    trial: Trial
    attempt: int
    booking: Booking
    continues: int | None = None


@dataclass(frozen=True)
class ReportReceived:
    """A running trial said something about itself."""

    report: Report


class RunEnded(NamedTuple):
    """A run of a trial has ended; the trial is final, or queued to be run again."""

    trial: Trial
    dollars: float
    seconds: float
    cause: str


@dataclass(frozen=True)
class TrialRecovered:
    """A trial whose worker vanished is queued again."""

    trial: Trial
    cause: str


@dataclass(frozen=True)
class MachineRented:
    """A machine was rented for a trial."""

    trial: Trial
    stay: StayRow


@dataclass(frozen=True)
class TrialJudged:
    """A trial that had begun is paused, goes on, or is stopped; told when that is so."""

    trial: Trial
    judgement: Judgement


@dataclass(frozen=True)
class Waiting:
    """Nothing can be started now, and why; told once until that changes."""

    reason: str


@dataclass(frozen=True)
class Stopping:
    """The user asked for the end; gently: running trials have their grace period to save a checkpoint."""

    gently: bool
    running: int


class Outcome(StrEnum):
    """Why a loop has ended."""

    OVER = "over"  # the strategy's stop rule, the budget, or nothing left to test
    ENOUGH = "enough"  # this call has proposed all of its trials
    INTERRUPTED = "interrupted"  # by the user; everything resumes
    FAILING = "failing"  # trial after trial fails


@dataclass(frozen=True)
class End:
    """Why a loop has ended, and in words."""

    outcome: Outcome
    reason: str


Event = (
    TrialProposed
    | RunStarted
    | MachineRented
    | ReportReceived
    | TrialJudged
    | RunEnded
    | TrialRecovered
    | Waiting
    | Stopping
)
Observer = Callable[[Event], None]


def no_observer(_event: Event) -> None:
    """The default observer: ignores every event."""
