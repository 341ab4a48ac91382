"""A trial and how it changes: `proposed`, then `moved` any number of times, then `recorded`. Pure functions."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TypedDict, Unpack

import numpy as np

from leantune.errors import HistoryError, IllegalMove, ObservationError, did_you_mean
from leantune.history.moves import (
    FINAL_STATES,
    WAY_TO_RUNNING,
    Move,
    Moves,
    TrialState,
    checked_move,
    checked_step,
)
from leantune.history.observations import Estimate, Note, Observation, ObservationKind, told_dollars
from leantune.problem import COST, TIME, Problem
from leantune.space import Configuration
from leantune.units import LARGEST, NO_USD, Seconds, Usd, is_value

_ROUNDING = 1e-9  # relative, of sums of seconds
_BRINGS_NO_RESULT = (ObservationKind.FAILED, ObservationKind.PARTIAL)  # so that nothing is required of them


class TrialKind(StrEnum):
    """Who wanted a trial: the strategy, `verify` (a recommendation is run once, to see whether the limits hold), or the
    user.
    """

    SEARCH = "search"
    VERIFICATION = "verification"
    ENQUEUED = "enqueued"


@dataclass(frozen=True)
class Trial:
    """One run (or its repetition after a revocation) of one configuration up to `fraction` of the data.

    notes: the origin of its proposal, every fallback and every cap that applied. expected: the models' prediction when
    it was proposed. time_limit: seconds after which its run is ended, None for no limit. resumed_dollars: those that
    its observations count again, because the run that brought them went on from a checkpoint: of an earlier run of its
    own (dollars of its moves), or of another trial of the configuration at a smaller share (fidelity: epochs).
    """

    number: int
    configuration: Configuration
    fraction: Fraction
    snapshots: tuple[Fraction, ...]
    state: TrialState
    observations: tuple[Observation, ...] = ()
    moves: Sequence[Move] = ()
    notes: tuple[Note, ...] = ()
    expected: Mapping[str, Estimate] = field(default_factory=dict)
    time_limit: float | None = None
    resumed_dollars: Usd = NO_USD
    kind: TrialKind = TrialKind.SEARCH

    @property
    def verifies(self) -> bool:
        """Whether it runs a recommendation once, to see whether the limits hold; the model it trains is kept."""
        return self.kind is TrialKind.VERIFICATION

    @property
    def details(self) -> "TrialDetails":
        """The arguments of its proposal, to propose the same."""
        return TrialDetails(notes=self.notes, expected=self.expected, time_limit=self.time_limit, kind=self.kind)

    @property
    def pending(self) -> bool:
        """Whether its result is still to come."""
        return self.state not in FINAL_STATES

    @cached_property
    def results(self) -> tuple[Observation, ...]:
        """Its observations without partial ones: results of their share of the data."""
        return tuple(seen for seen in self.observations if seen.kind is not ObservationKind.PARTIAL)

    @property
    def runs(self) -> Moves:
        """Its moves, with their sums."""
        return self.moves if isinstance(self.moves, Moves) else Moves(self.moves)

    @property
    def moved_dollars(self) -> Usd:
        """Dollars of its moves: those that no observation accounts for, before resumed ones are taken off."""
        return self.runs.dollars

    @cached_property
    def cost(self) -> Usd:
        """Dollars at its largest share (snapshots are charged once) plus those of its moves; unknown counts 0."""
        return Usd(told_dollars(self.observations) + self.moved_dollars - self.resumed_dollars)

    @cached_property
    def seconds(self) -> Seconds:
        """Seconds at its largest share, or of its runs where those took less, as they went on from another trial at a
        smaller share; before there is a result, those of its runs that have ended (a pause, a revocation), as far as
        they were measured.
        """
        own, runs = (seen.seconds for seen in reversed(self.observations) if seen.seconds is not None), self.runs
        seconds = next(own, runs.seconds)
        went_on = runs.seconds < seconds * (1.0 - _ROUNDING) and not runs.unmeasured
        return runs.seconds if went_on else seconds

    @cached_property
    def tested(self) -> tuple[Fraction, ...]:
        """Shares at which it has shown something, or (pending) will; a run that failed or that we stopped was a test of
        all its shares.
        """
        if self.pending or self.state in (TrialState.FAILED, TrialState.STOPPED):
            return self.snapshots
        return tuple(observation.fraction for observation in self.observations)


class TrialDetails(TypedDict, total=False):
    """Optional fields of a proposed trial (see Trial): keywords of functions that propose a trial."""

    notes: tuple[Note, ...]
    expected: Mapping[str, Estimate]
    time_limit: float | None
    kind: TrialKind


def proposed(
    number: int,
    configuration: Configuration,
    fraction: Fraction,
    snapshots: Iterable[Fraction] = (),
    *,
    time: float = 0.0,
    **details: Unpack[TrialDetails],
) -> Trial:
    """A new trial of the configuration at `fraction` that reports at each of `snapshots` (default: the end)."""
    reports = _checked_snapshots(number, fraction, tuple(snapshots) or (fraction,))
    first = checked_move(number, Move(TrialState.PROPOSED, time))
    time_limit = details.get("time_limit")
    if time_limit is not None and not 0.0 < time_limit < math.inf:
        raise HistoryError(
            f"the time limit is {time_limit}", where=f"trial {number}", hint="Give finite seconds above 0, or None"
        )
    details["expected"] = dict(details.get("expected", {}))
    return Trial(number, configuration, fraction, reports, first.state, moves=Moves((first,)), **details)


def moved(trial: Trial, *steps: Move) -> Trial:
    """The trial after these moves; results come by `recorded`, which also ends a trial.

    A failed trial that is queued again has no result any more; the dollars that its failure told are those of the move.
    """
    state, log = trial.state, trial.runs
    shown, resumed = trial.observations, trial.resumed_dollars
    for step in steps:
        checked = checked_step(trial.number, state, step)
        if state is TrialState.FAILED:
            failure = told_dollars(shown)
            checked = checked._replace(dollars=Usd(checked.dollars + max(0.0, failure - resumed)))
            shown, resumed = (), Usd(max(0.0, resumed - failure))
        log = log.with_move(checked)
        state = step.state
    return _changed(trial, state, log, shown, resumed)


def recorded(
    trial: Trial, observations: Iterable[Observation], end: Move, resumed_dollars: Usd = NO_USD, *, ran: bool = True
) -> Trial:
    """The trial ended by the move `end` with what it showed, by way of the moves it skipped (queued -> running).

    ran=False: it has not run since the last move, and is stopped where it waits. resumed_dollars: those of earlier
    moves that the observations count again (see Trial).
    """
    where = f"trial {trial.number}"
    if not trial.pending:
        raise IllegalMove(f"it is {trial.state} already", where=where, hint="A trial is told once")
    shown = checked_observations(trial, tuple(observations), end.state)
    most = trial.moved_dollars + told_dollars(shown)
    resumed_dollars = Usd(trial.resumed_dollars + resumed_dollars)  # of a failure that was run again some may be left
    if not 0 <= resumed_dollars <= most:
        raise HistoryError(
            f"resumed_dollars are {resumed_dollars}",
            where=where,
            hint=f"Give at most the {most:g} dollars of its earlier runs and its observations",
        )
    steps = WAY_TO_RUNNING[trial.state] if ran else ()
    ended = moved(trial, *(Move(state, end.time) for state in steps), end)
    return _changed(ended, ended.state, ended.moves, shown, resumed_dollars)


def _changed(
    trial: Trial,
    state: TrialState,
    moves: Sequence[Move],
    observations: tuple[Observation, ...],
    resumed_dollars: Usd,
) -> Trial:
    """The trial in a new state. A simulation makes hundreds of thousands, and dataclasses.replace takes several
    times as long.
    """
    made = object.__new__(Trial)
    made.__dict__.update(
        number=trial.number,
        configuration=trial.configuration,
        fraction=trial.fraction,
        snapshots=trial.snapshots,
        state=state,
        observations=observations,
        moves=moves,
        notes=trial.notes,
        expected=trial.expected,
        time_limit=trial.time_limit,
        resumed_dollars=resumed_dollars,
        kind=trial.kind,
    )
    return made


def _checked_snapshots(number: int, fraction: Fraction, snapshots: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    rising = all(earlier < later for earlier, later in pairwise(snapshots))
    if not (rising and snapshots[0] > 0 and snapshots[-1] == fraction and fraction <= 1):
        shown = ", ".join(str(snapshot) for snapshot in snapshots)
        raise HistoryError(
            f"snapshots at {shown} do not rise to the share {fraction}",
            where=f"trial {number}",
            hint="Give increasing shares in (0, 1] that end in the trial's own",
        )
    return snapshots


def checked_observations(
    trial: Trial, observations: tuple[Observation, ...], state: TrialState
) -> tuple[Observation, ...]:
    """In increasing order of share, and in keeping with the final state."""
    where = f"trial {trial.number}"
    if state not in FINAL_STATES:
        raise IllegalMove(f"a result cannot leave a trial {state}", where=where, hint="It ends done, failed or stopped")
    shares = [observation.fraction for observation in observations]
    if len(set(shares)) < len(shares) or not set(shares) <= set(trial.snapshots):
        own = ", ".join(str(snapshot) for snapshot in trial.snapshots)
        raise ObservationError(
            f"observations at {', '.join(map(str, shares))}", where=where, hint=f"Give at most one for each of {own}"
        )
    ordered = tuple(sorted(observations, key=lambda observation: observation.fraction))
    _check_partial(ordered, state, where)
    failures = [observation for observation in ordered if observation.kind is ObservationKind.FAILED]
    if state is TrialState.DONE and (failures or trial.fraction not in shares):
        what = (
            "a done trial has no failed observation" if failures else f"nothing is told at the share {trial.fraction}"
        )
        raise ObservationError(what, where=where, hint="Give a measured or censored observation at its largest share")
    if state is TrialState.FAILED and len(failures) != 1:
        raise ObservationError(
            f"a failed trial has one failed observation, got {len(failures)}", where=where, hint="Say where it failed"
        )
    return ordered


def _check_partial(ordered: Sequence[Observation], state: TrialState, where: str) -> None:
    partial = [seen.fraction for seen in ordered if seen.kind is ObservationKind.PARTIAL]
    if partial and state is not TrialState.STOPPED:
        raise ObservationError(
            f"a {state} trial has no partial observation", where=where, hint="Only a run that we stopped has one"
        )
    if len(partial) > 1 or (partial and partial[0] != ordered[-1].fraction):
        raise ObservationError(
            f"partial observations at {', '.join(map(str, partial))}",
            where=where,
            hint="Give one, at the share that the run had not yet reached when it was stopped",
        )


def observe(
    problem: Problem,
    trial: Trial,
    metrics: Mapping[str, float],
    *,
    seconds: float | None = None,
    cost: float | None = None,
    fraction: Fraction | None = None,
    kind: ObservationKind = ObservationKind.MEASURED,
    cause: str = "",
) -> Observation:
    """A checked observation of the trial at `fraction` (default: its largest share).

    cost = seconds / 3600 * the configuration's dollars per hour, unless it is told.
    """
    where = f"trial {trial.number}"
    kind = ObservationKind(kind)
    reported = {name: _finite(value, f"metric {name!r}", where) for name, value in metrics.items()}
    if kind is ObservationKind.FAILED and reported:
        raise ObservationError(
            f"a failed run cannot report {', '.join(reported)}", where=where, hint="Tell the metrics, or the failure"
        )
    _refuse_cost_and_time(reported, where)
    if kind not in _BRINGS_NO_RESULT:
        _require_metrics(problem, reported, where)
    seconds = None if seconds is None else _not_negative(seconds, "seconds", where)
    cost = _dollars(trial, seconds) if cost is None else _not_negative(cost, "cost", where)
    if kind not in _BRINGS_NO_RESULT:
        _require_price_and_time(problem, seconds, cost, where)
    share = trial.fraction if fraction is None else fraction
    if share not in trial.snapshots:
        own = ", ".join(str(snapshot) for snapshot in trial.snapshots)
        raise ObservationError(f"it does not report at the share {share}", where=where, hint=f"It reports at {own}")
    return Observation(
        share, kind, reported, None if seconds is None else Seconds(seconds), None if cost is None else Usd(cost), cause
    )


def _dollars(trial: Trial, seconds: float | None) -> float | None:
    rate = trial.configuration.usd_per_hour
    return None if rate is None or seconds is None else seconds / 3600.0 * rate


def _refuse_cost_and_time(reported: Mapping[str, float], where: str) -> None:
    for name in (COST, TIME):
        if name in reported:
            keyword = "cost=" if name == COST else "seconds="
            raise ObservationError(f"{name!r} is not a metric", where=where, hint=f"Tell it with {keyword}")


def _require_metrics(problem: Problem, reported: Mapping[str, float], where: str) -> None:
    for name in problem.required_metrics:
        if name not in reported:
            given = ", ".join(reported) or "nothing"
            hint = f"{did_you_mean(name, reported)}The goal or a limit needs it; got {given}"
            raise ObservationError(f"metric {name!r} was not reported", where=where, hint=hint)


def _require_price_and_time(problem: Problem, seconds: float | None, cost: float | None, where: str) -> None:
    if problem.needs_time and seconds is None:
        raise ObservationError("a time limit or goal needs seconds", where=where, hint="Tell seconds=")
    if problem.needs_cost and cost is None:
        hint = "Give the machines prices and tell seconds=, or tell cost="
        raise ObservationError(
            "the dollars of this run are unknown, and the problem is about dollars", where=where, hint=hint
        )


def _finite(value: object, name: str, where: str) -> float:
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        raise ObservationError(f"{name} is {value!r}", where=where, hint="Report a number")
    number = value if isinstance(value, int) else float(value)
    if not is_value(number):
        shown = f"beyond {LARGEST:g}" if isinstance(number, int) else f"{number}"
        hint = f"Report a finite number between -{LARGEST:g} and {LARGEST:g}, or tell the run as failed"
        raise ObservationError(f"{name} is {shown}", where=where, hint=hint)
    return float(number)


def _not_negative(value: object, name: str, where: str) -> float:
    number = _finite(value, name, where)
    if number < 0:
        raise ObservationError(f"{name} is {number}", where=where, hint="Tell a number of at least 0")
    return number


def was_ended(trial: Trial, seen: Observation) -> bool:
    """Whether a run was ended because it exceeded the useful seconds of its proposal: stopped, without a result.

    A run that a verdict stops has a partial observation, and one that fails by itself is a failed trial.
    """
    return seen.kind is ObservationKind.FAILED and trial.state is TrialState.STOPPED
