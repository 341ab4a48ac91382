"""What has been tried: trials, their states and their observations. Immutable; every change is a new History.

    proposed -> queued -> running -> done
                  ^         |-> revoked -> queued   (never a failure; keeps its checkpoint)
                  |         |-> lost    -> queued   (the worker vanished; same)
                  |         |-> failed              (the program's own fault: an observation with its cost)
                  |         |-> stopped             (by us, with the prediction that decided it)
                  |         |-> paused -> queued    (judged midway: waits with its checkpoint until it is chosen)
                  +---------+                       (taken off its machine by us, to run elsewhere)

Invariants: trials are numbered 0, 1, 2, ... and stay in that order, never in the order they end; states follow
LEGAL_MOVES; a trial in a final state never changes; what a trial observed lies at its own snapshots, in increasing
order; a trial is charged once, however many snapshots it brings.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType

import numpy as np

from leantune.errors import HistoryError, IllegalMove, ObservationError, UnknownTrial
from leantune.problem import COST, TIME, Problem
from leantune.space import Configuration


class TrialState(StrEnum):
    """Where a trial stands."""

    PROPOSED = "proposed"
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    REVOKED = "revoked"
    LOST = "lost"
    FAILED = "failed"
    STOPPED = "stopped"
    PAUSED = "paused"


VERIFICATION = "verification"  # how the note of a trial begins that verifies a recommendation
_NUMBER = re.compile(r"\d[\d.,]*")
NOTE_SEPARATOR = "\n"  # between the notes of a proposal, in the one text that a trial keeps
_S = TrialState
LEGAL_MOVES: Mapping[TrialState, frozenset[TrialState]] = MappingProxyType(
    {
        _S.PROPOSED: frozenset({_S.QUEUED}),
        _S.QUEUED: frozenset({_S.RUNNING, _S.PAUSED, _S.STOPPED}),
        _S.RUNNING: frozenset({_S.DONE, _S.REVOKED, _S.LOST, _S.FAILED, _S.STOPPED, _S.QUEUED, _S.PAUSED}),
        _S.PAUSED: frozenset({_S.QUEUED, _S.STOPPED}),
        _S.REVOKED: frozenset({_S.QUEUED}),
        _S.LOST: frozenset({_S.QUEUED}),
        _S.DONE: frozenset(),
        _S.FAILED: frozenset(),
        _S.STOPPED: frozenset(),
    }
)
FINAL_STATES = frozenset(state for state, following in LEGAL_MOVES.items() if not following)
# How a result that is told without further ado gets to `running`, from each state that may still end.
_WAY_TO_RUNNING: Mapping[TrialState, tuple[TrialState, ...]] = MappingProxyType(
    {
        _S.PROPOSED: (_S.QUEUED, _S.RUNNING),
        _S.QUEUED: (_S.RUNNING,),
        _S.RUNNING: (),
        _S.REVOKED: (_S.QUEUED, _S.RUNNING),
        _S.LOST: (_S.QUEUED, _S.RUNNING),
        _S.PAUSED: (_S.QUEUED, _S.RUNNING),
    }
)


class ObservationKind(StrEnum):
    """measured: all true. censored: cut at a limit; metrics are real, seconds and cost only lower bounds.

    failed: no metrics; seconds and cost are what it cost us, and only lower bounds of a full run.
    """

    MEASURED = "measured"
    CENSORED = "censored"
    FAILED = "failed"


@dataclass(frozen=True)
class Observation:
    """What one run showed at one share of the data; seconds and cost (USD) are None where nobody knows them."""

    fraction: Fraction
    kind: ObservationKind
    metrics: Mapping[str, float]
    seconds: float | None
    cost: float | None
    cause: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "metrics", MappingProxyType(dict(self.metrics)))

    def value(self, metric: str) -> float:
        """A measured metric, dollars (cost) or seconds (time); NaN where nobody knows it."""
        known = {COST: self.cost, TIME: self.seconds}.get(metric, self.metrics.get(metric))
        return math.nan if known is None else known


@dataclass(frozen=True)
class Estimate:
    """A predicted metric on its own scale."""

    mean: float
    sd: float

    def __str__(self) -> str:
        return f"{self.mean:.4g} ± {self.sd:.2g}"


@dataclass(frozen=True)
class Move:
    """One change of state; `dollars` are those spent since the last move that no observation accounts for."""

    state: TrialState
    time: float
    cause: str = ""
    dollars: float = 0.0


@dataclass(frozen=True)
class Trial:
    """One run (or its repetition after a revocation) of one configuration up to `fraction` of the data.

    expected: what the models predicted when it was proposed. time_limit: seconds after which its run is ended, None for
    no limit. resumed_dollars: those of its moves that its observations count again, because the run that brought them
    went on from a checkpoint of an earlier one.
    """

    number: int
    configuration: Configuration
    fraction: Fraction
    snapshots: tuple[Fraction, ...]
    state: TrialState
    observations: tuple[Observation, ...] = ()
    moves: tuple[Move, ...] = ()
    proposal_note: str = ""
    expected: Mapping[str, Estimate] = field(default_factory=dict)
    time_limit: float | None = None
    resumed_dollars: float = 0.0

    @property
    def notes(self) -> tuple[str, ...]:
        """What its proposal comes from, every fallback and every cap that bit."""
        return tuple(self.proposal_note.split(NOTE_SEPARATOR)) if self.proposal_note else ()

    @property
    def verifies(self) -> bool:
        """Whether it runs a recommendation once, to see whether the limits hold; the model it trains is kept."""
        return self.proposal_note.startswith(VERIFICATION)

    @property
    def pending(self) -> bool:
        """Whether its result is still to come."""
        return self.state not in FINAL_STATES

    @cached_property
    def cost(self) -> float:
        """Dollars at its largest share (snapshots are charged once) plus those of its moves; unknown counts 0."""
        told = next((seen.cost for seen in reversed(self.observations) if seen.cost is not None), 0.0)
        return told + math.fsum([move.dollars for move in self.moves]) - self.resumed_dollars

    @cached_property
    def seconds(self) -> float:
        """Seconds at its largest share; unknown counts 0."""
        return next((seen.seconds for seen in reversed(self.observations) if seen.seconds is not None), 0.0)

    @cached_property
    def tested(self) -> tuple[Fraction, ...]:
        """Shares at which it has shown something, or (pending) will; a run that failed was a test of all its shares."""
        if self.pending or self.state is TrialState.FAILED:
            return self.snapshots
        return tuple(observation.fraction for observation in self.observations)


@dataclass(frozen=True)
class History:
    """All trials of a study, by number."""

    trials: tuple[Trial, ...] = ()

    def __post_init__(self) -> None:
        if any(trial.number != index for index, trial in enumerate(self.trials)):
            numbers = [trial.number for trial in self.trials]
            raise HistoryError(f"trials are numbered {numbers[:10]}", where="history", hint="Number them 0, 1, 2, ...")

    def __len__(self) -> int:
        return len(self.trials)

    def propose(
        self,
        configuration: Configuration,
        fraction: Fraction,
        snapshots: Iterable[Fraction] = (),
        note: str = "",
        time: float = 0.0,
        expected: Mapping[str, Estimate] = MappingProxyType({}),
        time_limit: float | None = None,
    ) -> tuple["History", Trial]:
        """Add a trial of the configuration at `fraction` that reports at each of `snapshots` (default: the end)."""
        number = len(self.trials)
        reports = _checked_snapshots(number, fraction, tuple(snapshots) or (fraction,))
        first = _checked_move(number, Move(TrialState.PROPOSED, time))
        if time_limit is not None and not (math.isfinite(time_limit) and time_limit > 0):
            raise HistoryError(
                f"the time limit is {time_limit}", where=f"trial {number}", hint="Give finite seconds above 0, or None"
            )
        trial = Trial(
            number,
            configuration,
            fraction,
            reports,
            first.state,
            moves=(first,),
            proposal_note=note,
            expected=dict(expected),
            time_limit=time_limit,
        )
        return _in_order((*self.trials, trial)), trial

    def move(self, number: int, state: TrialState, *, time: float, cause: str = "", dollars: float = 0.0) -> "History":
        """Change a trial's state by one legal move; results come by `record`, which also ends a trial."""
        state = TrialState(state)
        if state in (TrialState.DONE, TrialState.FAILED):
            raise IllegalMove(
                f"a trial cannot become {state} without observations", where=f"trial {number}", hint="Use record()"
            )
        return self._with(_moved(self.trial(number), Move(state, time, cause, dollars)))

    def record(
        self,
        number: int,
        observations: Iterable[Observation],
        *,
        time: float,
        state: TrialState = TrialState.DONE,
        cause: str = "",
        resumed_dollars: float = 0.0,
    ) -> "History":
        """End a trial with what it showed, walking the moves it skipped (proposed -> queued -> running -> state).

        resumed_dollars: those of earlier moves that the observations count again (see Trial).
        """
        trial = self.trial(number)
        if not trial.pending:
            raise IllegalMove(f"it is {trial.state} already", where=f"trial {number}", hint="A trial is told once")
        state = TrialState(state)
        shown = _checked_observations(trial, tuple(observations), state)
        for step in _WAY_TO_RUNNING[trial.state]:
            trial = _moved(trial, Move(step, time))
        trial = _moved(trial, Move(state, time, cause))
        already = math.fsum(move.dollars for move in trial.moves)
        if not 0 <= resumed_dollars <= already:
            raise HistoryError(
                f"resumed_dollars are {resumed_dollars}",
                where=f"trial {number}",
                hint=f"Give at most the {already:g} dollars of its earlier runs",
            )
        return self._with(replace(trial, observations=shown, resumed_dollars=resumed_dollars))

    def trial(self, number: int) -> Trial:
        """The trial of that number."""
        if isinstance(number, bool) or not isinstance(number, int | np.integer) or not 0 <= number < len(self.trials):
            known = f"Trials 0 to {len(self.trials) - 1} exist" if self.trials else "There is no trial yet: ask first"
            raise UnknownTrial(f"there is no trial {number!r}", where="history", hint=known)
        return self.trials[number]

    @property
    def observations(self) -> Iterator[tuple[Trial, Observation]]:
        """Every observation with its trial, by number and share."""
        return ((trial, observation) for trial in self.trials for observation in trial.observations)

    @cached_property
    def pending(self) -> tuple[Trial, ...]:
        """Trials whose result is still to come."""
        return tuple(trial for trial in self.trials if trial.pending)

    @cached_property
    def finished(self) -> tuple[Trial, ...]:
        """Trials in a final state."""
        return tuple(trial for trial in self.trials if not trial.pending)

    @cached_property
    def cost(self) -> float:
        """Dollars of all trials."""
        return math.fsum(trial.cost for trial in self.trials)

    @cached_property
    def seconds(self) -> float:
        """Seconds of all trials, one after the other."""
        return math.fsum(trial.seconds for trial in self.trials)

    def tested(self, configuration_id: str) -> frozenset[Fraction]:
        """Shares at which the configuration was tested, pending trials included."""
        return self._tested.get(configuration_id, frozenset())

    @cached_property
    def _tested(self) -> dict[str, frozenset[Fraction]]:
        shares: dict[str, frozenset[Fraction]] = {}
        for trial in self.trials:
            known = shares.get(trial.configuration.id, frozenset())
            shares[trial.configuration.id] = known.union(trial.tested)
        return shares

    def _with(self, trial: Trial) -> "History":
        return _in_order((*self.trials[: trial.number], trial, *self.trials[trial.number + 1 :]))


def _in_order(trials: tuple[Trial, ...]) -> History:
    """A history of trials whose numbers are known to be right: looking at 10,000 of them again takes longer than the
    change itself.
    """
    history = object.__new__(History)
    object.__setattr__(history, "trials", trials)
    return history


def note_kind(note: str) -> str:
    """The note without its numbers: equal for those that say the same of different sizes."""
    return _NUMBER.sub("#", note)


def counted_notes(history: History, beginnings: tuple[str, ...]) -> dict[str, int]:
    """Notes that begin so, with the number of trials that carry each kind, the commonest first; each kind is shown as
    its last one was.
    """
    counts: Counter[str] = Counter()
    shown: dict[str, str] = {}
    for trial in history.trials:
        notes = {note_kind(note): note for note in trial.notes if note.startswith(beginnings)}
        counts.update(notes.keys())
        shown.update(notes)
    return {shown[kind]: count for kind, count in counts.most_common()}


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
    if kind is not ObservationKind.FAILED:
        _require_metrics(problem, reported, where)
    seconds = None if seconds is None else _not_negative(seconds, "seconds", where)
    cost = _dollars(trial, seconds) if cost is None else _not_negative(cost, "cost", where)
    if kind is not ObservationKind.FAILED:
        _require_price_and_time(problem, seconds, cost, where)
    share = trial.fraction if fraction is None else fraction
    if share not in trial.snapshots:
        known = ", ".join(str(snapshot) for snapshot in trial.snapshots)
        raise ObservationError(f"it does not report at the share {share}", where=where, hint=f"It reports at {known}")
    return Observation(share, kind, reported, seconds, cost, cause)


def _dollars(trial: Trial, seconds: float | None) -> float | None:
    rate = trial.configuration.usd_per_hour
    return None if rate is None or seconds is None else seconds / 3600.0 * rate


def _require_metrics(problem: Problem, reported: Mapping[str, float], where: str) -> None:
    for name in (COST, TIME):
        if name in reported:
            keyword = "cost=" if name == COST else "seconds="
            raise ObservationError(f"{name!r} is not a metric", where=where, hint=f"Tell it with {keyword}")
    for name in problem.required_metrics:
        if name not in reported:
            given = ", ".join(reported) or "nothing"
            close = get_close_matches(name, reported, n=1)
            hint = f"Did you mean {close[0]!r}? " if close else ""
            raise ObservationError(
                f"metric {name!r} was not reported",
                where=where,
                hint=f"{hint}The goal or a limit needs it; got {given}",
            )


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
    if not math.isfinite(value):
        raise ObservationError(
            f"{name} is {value}", where=where, hint="Report a finite number, or tell the run as failed"
        )
    return float(value)


def _not_negative(value: object, name: str, where: str) -> float:
    number = _finite(value, name, where)
    if number < 0:
        raise ObservationError(f"{name} is {number}", where=where, hint="Tell a number of at least 0")
    return number


def _moved(trial: Trial, move: Move) -> Trial:
    if move.state not in LEGAL_MOVES[trial.state]:
        legal = " or ".join(sorted(LEGAL_MOVES[trial.state])) or "nothing: that is final"
        raise IllegalMove(
            f"a {trial.state} trial cannot become {move.state}",
            where=f"trial {trial.number}",
            hint=f"It can become {legal}",
        )
    return replace(trial, state=move.state, moves=(*trial.moves, _checked_move(trial.number, move)))


def _checked_move(number: int, move: Move) -> Move:
    if not math.isfinite(move.time):
        raise HistoryError(f"the time is {move.time}", where=f"trial {number}", hint="Give finite seconds")
    if not (math.isfinite(move.dollars) and move.dollars >= 0):
        raise HistoryError(
            f"dollars are {move.dollars}", where=f"trial {number}", hint="Give a finite number of at least 0"
        )
    return move


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


def _checked_observations(
    trial: Trial, observations: tuple[Observation, ...], state: TrialState
) -> tuple[Observation, ...]:
    """In increasing order of share, and in keeping with the final state."""
    where = f"trial {trial.number}"
    if state not in FINAL_STATES:
        raise IllegalMove(f"a result cannot leave a trial {state}", where=where, hint="It ends done, failed or stopped")
    shares = [observation.fraction for observation in observations]
    if len(set(shares)) < len(shares) or not set(shares) <= set(trial.snapshots):
        known = ", ".join(str(snapshot) for snapshot in trial.snapshots)
        raise ObservationError(
            f"observations at {', '.join(map(str, shares))}", where=where, hint=f"Give at most one for each of {known}"
        )
    failures = [observation for observation in observations if observation.kind is ObservationKind.FAILED]
    if state is TrialState.DONE and (failures or trial.fraction not in shares):
        what = (
            "a done trial has no failed observation" if failures else f"nothing is told at the share {trial.fraction}"
        )
        raise ObservationError(what, where=where, hint="Give a measured or censored observation at its largest share")
    if state is TrialState.FAILED and len(failures) != 1:
        raise ObservationError(
            f"a failed trial has one failed observation, got {len(failures)}", where=where, hint="Say where it failed"
        )
    return tuple(sorted(observations, key=lambda observation: observation.fraction))
