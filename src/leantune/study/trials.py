"""Trials that the user's own code runs: what it is asked to run, and what it tells of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from leantune.errors import ObservationError
from leantune.history import Estimate, History, Note, Observation, ObservationKind, Trial, TrialState, observe
from leantune.problem import Problem
from leantune.space import Configuration
from leantune.units import Seconds, Usd

Metrics = Mapping[str, float]


@dataclass(frozen=True)
class Snapshot:
    """What one run showed when it passed `fraction`; seconds and dollars count from the start of the run."""

    fraction: Fraction
    metrics: Metrics
    seconds: float | None = None
    cost: float | None = None


@dataclass(frozen=True)
class AskedTrial:
    """A test to run: trial["lr"], trial.fraction; expected: what the models predict; notes: where it comes from. seed:
    the study's, and another for a run that repeats one.

    continues: with fidelity="epochs", the number of the trial of the same configuration at a smaller share that it may
    go on from, if one succeeded.
    """

    number: int
    configuration: Configuration
    fraction: Fraction
    snapshots: tuple[Fraction, ...]
    expected: Mapping[str, Estimate]
    notes: tuple[Note, ...]
    seed: int = 0
    continues: int | None = None

    @classmethod
    def of(cls, trial: Trial, seed: int, continues: int | None = None) -> AskedTrial:
        """The trial as its training function sees it."""
        shares = trial.fraction, trial.snapshots
        return cls(trial.number, trial.configuration, *shares, trial.expected, trial.notes, seed, continues)

    def __getitem__(self, name: str) -> Any:
        return self.configuration[name]

    def snapshot(
        self, fraction: Fraction, metrics: Metrics, *, seconds: float | None = None, cost: float | None = None
    ) -> Snapshot:
        """What the run showed when it passed `fraction`, to be told with `snapshots=`."""
        return Snapshot(fraction, metrics, seconds, cost)

    def report(
        self, *, step: float | None = None, fraction: int | float | str | Fraction | None = None, **metrics: object
    ) -> None:
        """Within `study.optimize(train)`: tell how it goes, as `leantune.current_trial().report` does."""
        from leantune.worker.client import current_trial

        current_trial().report(step=step, fraction=fraction, **metrics)

    @property
    def checkpoint_dir(self) -> Path:
        """Within `study.optimize(train)`: a folder for checkpoints.

        What is in it is there again when the trial is run again, where the study has a place for it (`checkpoints=`).
        With fidelity="epochs" it begins with what trial `continues` has left.
        """
        from leantune.worker.client import current_trial

        return current_trial().checkpoint_dir


@dataclass(frozen=True)
class RunResult:
    """A run that ended: what it measured, or why it failed. cut: at a limit, so that seconds and dollars are lower
    bounds. continues: the trial from whose checkpoint it went on; seconds and dollars are then those of the rest.
    """

    metrics: Metrics | None
    seconds: float | None
    cost: float | None
    snapshots: Sequence[Snapshot]
    cut: bool
    failed: str
    continues: int | None

    def observations(self, problem: Problem, trial: Trial) -> list[Observation]:
        """One for every share that was told of; ObservationError where the parts do not go together."""
        where, either = f"trial {trial.number}", "Tell one or the other"
        if self.failed and self.metrics:
            raise ObservationError("a failed run has no metrics", where=where, hint=either)
        if self.snapshots and (self.metrics is not None or self.failed):
            raise ObservationError("both snapshots and a result", where=where, hint=either)
        if self.metrics is None and not self.failed and not self.snapshots:
            raise ObservationError("nothing was told", where=where, hint="Give metrics, snapshots or failed=")
        kind = ObservationKind.CENSORED if self.cut else ObservationKind.MEASURED
        observed = partial(
            observe, problem, trial, kind=ObservationKind.FAILED if self.failed else kind, cause=self.failed
        )
        return [
            observed(shot.metrics, seconds=shot.seconds, cost=shot.cost, fraction=shot.fraction)
            for shot in self.snapshots
        ] or [observed(self.metrics or {}, seconds=self.seconds, cost=self.cost)]

    def continued(self, problem: Problem, history: History, trial: Trial) -> Observation | None:
        """The result at a smaller share that the run went on from; None: it started from nothing."""
        if self.continues is None:
            return None
        other, where = history.trial(self.continues), f"trial {trial.number}"
        if problem.fidelity == "data":
            what, hint = "a larger share of the data starts from nothing", "Give Study(..., fidelity='epochs')"
            raise ObservationError(what, where=where, hint=hint)
        came_through = other.state is TrialState.DONE and other.results[-1].kind is ObservationKind.MEASURED
        same = other.configuration == trial.configuration and other.fraction < trial.fraction
        if not (same and came_through):
            hint = "Name one of the same configuration at a smaller share that succeeded, such as trial.continues"
            raise ObservationError(f"it cannot go on from trial {other.number}", where=where, hint=hint)
        return other.results[-1]


def of_whole_training(rest: Observation, smaller: Observation | None) -> Observation:
    """What a run that went on from a smaller share showed, with the seconds and dollars of the whole training."""
    if smaller is None:
        return rest
    seconds = None if rest.seconds is None or smaller.seconds is None else Seconds(rest.seconds + smaller.seconds)
    cost = None if rest.cost is None else Usd(rest.cost + (smaller.cost or 0.0))  # unknown: the rest is not lost
    return replace(rest, seconds=seconds, cost=cost)
