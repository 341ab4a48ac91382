"""All trials of a study. Immutable; every change is a new History."""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Unpack

import numpy as np

from leantune.errors import HistoryError, IllegalMove, UnknownTrial
from leantune.history.moves import Move, MoveDetails, TrialState
from leantune.history.observations import Note, NoteKind, Observation, ObservationKind
from leantune.history.trials import Trial, TrialDetails, moved, proposed, recorded
from leantune.space import Configuration
from leantune.units import NO_USD, Seconds, Usd


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
        *,
        time: float = 0.0,
        **details: Unpack[TrialDetails],
    ) -> tuple["History", Trial]:
        """Add a trial of the configuration at `fraction` that reports at each of `snapshots` (default: the end)."""
        trial = proposed(len(self.trials), configuration, fraction, snapshots, time=time, **details)
        return in_order((*self.trials, trial)), trial

    def move(self, number: int, state: TrialState, **details: Unpack[MoveDetails]) -> "History":
        """Change a trial's state by one legal move; results come by `record`, which also ends a trial."""
        state = TrialState(state)
        if state in (TrialState.DONE, TrialState.FAILED):
            raise IllegalMove(
                f"a trial cannot become {state} without observations", where=f"trial {number}", hint="Use record()"
            )
        return self.with_trial(moved(self.trial(number), Move(state, **details)))

    def record(
        self,
        number: int,
        observations: Iterable[Observation],
        *,
        state: TrialState = TrialState.DONE,
        resumed_dollars: Usd = NO_USD,
        **details: Unpack[MoveDetails],
    ) -> "History":
        """End a trial with what it showed, walking the moves it skipped (proposed -> queued -> running -> state).

        dollars: not in any observation. resumed_dollars: dollars that the observations count again (see
        Trial).
        """
        end = Move(TrialState(state), **details)
        return self.with_trial(recorded(self.trial(number), observations, end, resumed_dollars))

    def trial(self, number: int) -> Trial:
        """The trial of that number."""
        if isinstance(number, bool) or not isinstance(number, int | np.integer) or not 0 <= number < len(self.trials):
            hint = f"Trials 0 to {len(self.trials) - 1} exist" if self.trials else "There is no trial yet: ask first"
            raise UnknownTrial(f"there is no trial {number!r}", where="history", hint=hint)
        return self.trials[number]

    @property
    def observations(self) -> Iterator[tuple[Trial, Observation]]:
        """Every observation with its trial, by number and share; without what a run had shown midway (partial)."""
        return ((trial, observation) for trial in self.trials for observation in trial.results)

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
    def seconds(self) -> Seconds:
        """Seconds of all trials, one after the other."""
        return Seconds(math.fsum(trial.seconds for trial in self.trials))

    def tested(self, configuration_id: str) -> frozenset[Fraction]:
        """Shares at which the configuration was tested, pending trials included."""
        return self._tested.get(configuration_id, frozenset())

    @cached_property
    def _tested(self) -> dict[str, frozenset[Fraction]]:
        shares: dict[str, frozenset[Fraction]] = {}
        for trial in self.trials:
            before = shares.get(trial.configuration.id, frozenset())
            shares[trial.configuration.id] = before.union(trial.tested)
        return shares

    def continued(self, configuration_id: str, fraction: Fraction) -> "tuple[Trial, Observation] | None":
        """What a run at `fraction` may go on from where shares are of epochs: the result of the configuration at the
        largest smaller share, of a trial that is done and was not cut; the last one of several. Only the end of a trial
        counts: snapshots that it passed on the way left no checkpoint.
        """
        results = [
            (trial, seen)
            for trial in self.trials
            if trial.state is TrialState.DONE and trial.configuration.id == configuration_id
            for seen in trial.results
            if seen.fraction == trial.fraction < fraction and seen.kind is ObservationKind.MEASURED
        ]
        return max(results, key=lambda result: (result[1].fraction, result[0].number), default=None)

    def repeat_of(self, trial: Trial) -> int:
        """How many trials before it were of the same configuration up to the same share; 0: it is the first."""
        same = (trial.configuration.id, trial.fraction)
        earlier = self.trials[: trial.number]
        return sum((other.configuration.id, other.fraction) == same for other in earlier)

    def with_trial(self, trial: Trial) -> "History":
        """With a later version of one of its trials."""
        return in_order((*self.trials[: trial.number], trial, *self.trials[trial.number + 1 :]))


def in_order(trials: tuple[Trial, ...]) -> History:
    """A history of trials with checked numbers: checking 10,000 of them again takes longer than the
    change itself.
    """
    history = object.__new__(History)
    object.__setattr__(history, "trials", trials)
    return history


def counted_notes(history: History, kinds: Collection[NoteKind]) -> dict[Note, int]:
    """Notes of these kinds with the number of trials that carry each, the commonest first.

    Notes that differ in their numbers only are counted as one, and shown as the last of them was.
    """
    counts: Counter[Note] = Counter()
    shown: dict[Note, Note] = {}
    for trial in history.trials:
        notes = {note.without_numbers: note for note in trial.notes if note.kind in kinds}
        counts.update(notes.keys())
        shown.update(notes)
    return {shown[kind]: count for kind, count in counts.most_common()}
