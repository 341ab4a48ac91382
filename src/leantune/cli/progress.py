"""What a watcher of a run knows: an immutable state that every event of the loop turns into the next one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from leantune.cli.standing import Standing
from leantune.executors.base import Report
from leantune.history import Trial, TrialState
from leantune.run.events import Ended, Event, Judged, Proposed, Recovered, Rented, Reported, Started, Stopping, Waiting
from leantune.store.rows import Booking

ENDED_SHOWN = 6  # ended runs that are remembered


@dataclass(frozen=True)
class Run:
    """A run of a trial on this worker; `began` is when it was started."""

    trial: Trial
    attempt: int
    began: float
    booking: Booking
    report: Report | None = None


@dataclass(frozen=True)
class Progress:
    """A run of a study so far: `standing` is what the store knows, the rest what this worker has seen.

    waiting: why nothing can be started now; stopping: set once the user asked for the end; over: the loop has ended.
    """

    standing: Standing
    began: float
    parallel: int
    runs: Mapping[int, Run] = field(default_factory=lambda: MappingProxyType({}))
    ended: tuple[Ended, ...] = ()
    proposed: Proposed | None = None
    recovered: int = 0
    waiting: str = ""
    stopping: Stopping | None = None
    over: bool = False

    def after(self, event: Event, now: float) -> Progress:
        """The state after an event."""
        match event:
            case Proposed():
                new = replace(self, proposed=event, waiting="")
            case Started(trial, attempt, booking):
                new = self._with_run(Run(trial, attempt, now, booking))
            case Reported(report):
                run = self.runs.get(report.number)
                new = self if run is None else self._with_run(replace(run, report=report))
            case Ended():
                new = replace(self._without_run(event.trial.number), ended=(*self.ended, event)[-ENDED_SHOWN:])
            case Rented() | Judged():
                new = self
            case Recovered():
                new = replace(self, recovered=self.recovered + 1)
            case Waiting(reason):
                new = replace(self, waiting=reason)
            case Stopping():
                new = replace(self, stopping=event)
        return new

    def _with_run(self, run: Run) -> Progress:
        return replace(self, runs=MappingProxyType({**self.runs, run.trial.number: run}), waiting="")

    def _without_run(self, number: int) -> Progress:
        others = {other: run for other, run in self.runs.items() if other != number}
        return replace(self, runs=MappingProxyType(others), waiting="")

    @property
    def elsewhere(self) -> tuple[Trial, ...]:
        """Trials that other workers run."""
        running = (trial for trial in self.standing.history.pending if trial.state is TrialState.RUNNING)
        return tuple(trial for trial in running if trial.number not in self.runs)
