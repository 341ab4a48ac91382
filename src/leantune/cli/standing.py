"""A study at one moment, as `status`, the live view and the plain lines tell of it. Pure: computed from its history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from leantune.history import History, Note, NoteKind, Observation, ObservationKind, Trial, counted_notes
from leantune.problem import At, Constraint, Direction, Problem
from leantune.store.rows import Money
from leantune.strategies.recommending import excess

# Notes that concern the whole study: told when they are new, and counted.
_WORTH_TELLING = (NoteKind.FALLBACK, NoteKind.CAP, NoteKind.EXTRA_RUNS, NoteKind.POOL)


@dataclass(frozen=True)
class Best:
    """The best result so far. answers: it was measured where an answer may lie (on all data, or anywhere)."""

    trial: Trial
    seen: Observation
    answers: bool
    kept: bool
    broken: tuple[Constraint, ...]


@dataclass(frozen=True)
class Standing:
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
        """The best result that answers the problem and keeps all limits; else the one that comes nearest to that."""
        problem = self.problem
        sign = 1.0 if problem.goal.direction is Direction.MINIMIZE else -1.0

        def order(row: tuple[Trial, Observation]) -> tuple[bool, float, float, int]:
            trial, seen = row
            value = sign * seen.value(problem.goal.metric)
            return not self._answers(seen), excess(problem, seen), value, trial.number

        shown = (row for row in self.history.observations if row[1].kind is not ObservationKind.FAILED)
        found = min(shown, key=order, default=None)
        if found is None:
            return None
        trial, seen = found
        broken = tuple(limit for limit in problem.constraints if not limit.holds(seen.value(limit.metric)))
        return Best(trial, seen, self._answers(seen), excess(problem, seen) == 0.0, broken)

    def _answers(self, seen: Observation) -> bool:
        return seen.fraction == 1 or self.problem.goal.at is At.ANYWHERE

    @cached_property
    def notes(self) -> Mapping[Note, int]:
        """Fallbacks, caps and extra charges, each with the number of trials it concerns; numbers as of the last one."""
        return counted_notes(self.history, _WORTH_TELLING)

    @property
    def has_dollars(self) -> bool:
        """Whether anybody pays."""
        return self.problem.space.has_prices or self.money.budget_usd is not None or self.money.spent > 0


def reasons(notes: Iterable[Note], told: Collection[Note] = ()) -> str:
    """Why a trial was proposed, without what concerns the whole study and is among the notes that were told."""
    known = {note.without_numbers for note in told}
    return "; ".join(str(note) for note in notes if note.without_numbers not in known)
