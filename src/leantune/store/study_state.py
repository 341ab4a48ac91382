"""A process's copy of a study as of one change, and how it reads later changes."""

import gc
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TypeVar

import sqlalchemy as sa

from leantune.errors import SpaceError, StudyChanged
from leantune.history import History, Move, Moves, Observation, Trial, in_order
from leantune.problem import Budget
from leantune.space import Configuration, Space
from leantune.store import statements as sql
from leantune.store.encoding import read_json
from leantune.store.rows import Money
from leantune.units import NOTHING, Partials, added, total

Row = TypeVar("Row")
_MANY = 500  # changed trials, beyond which all rows of the study are read rather than those of each trial


@dataclass(frozen=True)
class StudyState:
    """A study after so many `changes`: its history, the sum of the ended runs' dollars, dollars reserved by (trial,
    attempt).
    """

    changes: int = 0
    history: History = field(default_factory=History)
    settled: Partials = NOTHING
    reserved: Mapping[tuple[int, int], float] = field(default_factory=dict)

    def money(self, budget: Budget) -> Money:
        """Dollars spent and reserved, beside the budget."""
        return Money(budget.usd, total(self.settled), math.fsum(self.reserved.values()))

    def with_added(self, trial: Trial) -> "StudyState":
        """With a new trial."""
        return replace(self, history=in_order((*self.history.trials, trial)))

    def with_reserved(self, number: int, attempt: int, usd: float) -> "StudyState":
        """With another open reservation."""
        return replace(self, reserved={**self.reserved, (number, attempt): usd})

    def with_settled(self, number: int, attempt: int, usd: float) -> "StudyState":
        """With the reservation of a run, if it had one, replaced by what the run cost."""
        others = {run: dollars for run, dollars in self.reserved.items() if run != (number, attempt)}
        return replace(self, settled=added(self.settled, usd), reserved=others)

    def refreshed(self, connection: sa.Connection, study_id: int, changes: int, space: Space) -> "StudyState":
        """After so many `changes`, which the connection's transaction must see; reads only what is new since."""
        if changes == self.changes:
            return self
        if changes < self.changes:  # an older copy of the database was restored
            return StudyState().refreshed(connection, study_id, changes, space)
        since = {"study": study_id, "since": self.changes}
        with no_garbage():
            history = _refreshed_history(self.history, connection, since, space)
        reserved, settled = dict(self.reserved), self.settled
        for number, attempt, usd, paid in connection.execute(sql.CHANGED_LEDGER, since):
            if paid is None:
                reserved[number, attempt] = usd
            else:
                reserved.pop((number, attempt), None)
                settled = added(settled, paid)
        return StudyState(changes, history, settled, reserved)


@contextmanager
def no_garbage() -> Iterator[None]:
    """Python looks for garbage again and again while many objects are made, and there is none: a third of the time."""
    was_looking = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_looking:
            gc.enable()


def _refreshed_history(history: History, connection: sa.Connection, since: Mapping[str, int], space: Space) -> History:
    """The history with the trials that have changed since; the configuration of a trial never does."""
    changed = sorted(connection.execute(sql.CHANGED_TRIALS, since).all())
    numbers = [row[0] for row in changed]
    made = _by_trial(Move, (sql.MOVES, sql.MOVES_OF), connection, since, numbers)
    seen = _by_trial(Observation, (sql.OBSERVATIONS, sql.OBSERVATIONS_OF), connection, since, numbers)
    trials = list(history.trials)
    configurations: dict[str, Configuration] = {}  # those that come again are made once
    for number, text, share, snapshots, state, notes, expected, time_limit, resumed, kind in changed:
        if number < len(history):
            configuration = trials[number].configuration
        else:
            configuration = configurations.get(text) or _configuration(space, text, number)
            configurations[text] = configuration
        shown, moves = tuple(seen[number]), Moves(made[number])
        trial = Trial(
            number, configuration, share, snapshots, state, shown, moves, notes, expected, time_limit, resumed, kind
        )
        trials[number : number + 1] = [trial]
    return History(tuple(trials))


def _by_trial(
    kind: Callable[..., Row],
    statements: tuple[sa.Executable, sa.Executable],
    connection: sa.Connection,
    keys: Mapping[str, int],
    numbers: list[int],
) -> dict[int, list[Row]]:
    """Rows of these trials, or of all where they are many: by (the statement for all, the one for some)."""
    statement = statements[len(numbers) <= _MANY]
    by_trial: dict[int, list[Row]] = {number: [] for number in numbers}
    for number, *values in connection.execute(statement, {**keys, "numbers": numbers}).all():
        if number in by_trial:
            by_trial[number].append(kind(*values))
    return by_trial


def _configuration(space: Space, text: str, number: int) -> Configuration:
    try:
        return space.configuration(read_json(text))
    except SpaceError as error:
        raise StudyChanged(
            f"its configuration is not one of this space: {error}",
            where=f"trial {number} in the store",
            hint="Open the study with the space it was created with",
        ) from None
