"""What a process knows of a study as of one change, and how it learns what has changed since."""

import gc
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import sqlalchemy as sa

from leantune.errors import SpaceError, StudyChanged
from leantune.history import (
    History,
    Move,
    Moves,
    Observation,
    ObservationKind,
    Trial,
    TrialKind,
    TrialState,
    in_order,
)
from leantune.problem import Budget
from leantune.space import Configuration, Space
from leantune.store.encoding import read_expected, read_json, read_metrics, read_notes, read_share, read_shares
from leantune.store.rows import Money
from leantune.store.schema import ledger, moves, observations, trials
from leantune.store.statements import all_but, columns
from leantune.units import NOTHING, Partials, added, total

_STATES = {state.value: state for state in TrialState}
_KINDS = {kind.value: kind for kind in ObservationKind}
_TRIAL_KINDS = {kind.value: kind for kind in TrialKind}
_MANY = 500  # changed trials, beyond which all rows of the study are read rather than those of each trial
_STUDY = sa.bindparam("study", type_=sa.Integer)
_SINCE = sa.bindparam("since", type_=sa.Integer)
_NUMBERS = sa.bindparam("numbers", expanding=True, type_=sa.Integer)

# Neither is to be sorted by the database: it might then read the whole study in order rather than what changed.
_TRIALS = sa.select(
    *columns(trials, "number state resumed_dollars configuration fraction snapshots note expected time_limit kind")
).where(trials.c.study_id == _STUDY, trials.c.changed > _SINCE)
_LEDGER = sa.select(*columns(ledger, "number attempt reserved settled")).where(
    ledger.c.study_id == _STUDY, ledger.c.changed > _SINCE
)
_MOVES = (
    sa.select(*all_but(moves, "study_id position"))
    .where(moves.c.study_id == _STUDY)
    .order_by(moves.c.number, moves.c.position)
)
_MOVES_OF = _MOVES.where(moves.c.number.in_(_NUMBERS))
_SEEN = (
    sa.select(*all_but(observations, "study_id position"))
    .where(observations.c.study_id == _STUDY)
    .order_by(observations.c.number, observations.c.position)
)
_SEEN_OF = _SEEN.where(observations.c.number.in_(_NUMBERS))


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
        if changes < self.changes:  # somebody put an older copy of the database back
            return StudyState().refreshed(connection, study_id, changes, space)
        since = {"study": study_id, "since": self.changes}
        with no_garbage():
            changed = connection.execute(_TRIALS, since).all()
            numbers = [row[0] for row in changed]
            made, seen = _moves(connection, study_id, numbers), _observations(connection, study_id, numbers)
            history = _refreshed_history(self.history, changed, made, seen, space)
        reserved, settled = dict(self.reserved), self.settled
        for number, attempt, usd, paid in connection.execute(_LEDGER, since):
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


def _moves(connection: sa.Connection, study_id: int, numbers: list[int]) -> dict[int, list[Move]]:
    by_trial: dict[int, list[Move]] = {number: [] for number in numbers}
    for number, state, time, cause, dollars, seconds in _rows(connection, (_MOVES, _MOVES_OF), study_id, numbers):
        if number in by_trial:
            by_trial[number].append(Move(_STATES[state], time, cause, dollars, seconds))
    return by_trial


def _observations(connection: sa.Connection, study_id: int, numbers: list[int]) -> dict[int, list[Observation]]:
    by_trial: dict[int, list[Observation]] = {number: [] for number in numbers}
    for number, share, kind, metrics, seconds, cost, cause in _rows(connection, (_SEEN, _SEEN_OF), study_id, numbers):
        if number in by_trial:
            shown = Observation(read_share(share), _KINDS[kind], read_metrics(metrics), seconds, cost, cause)
            by_trial[number].append(shown)
    return by_trial


def _rows(
    connection: sa.Connection, statements: tuple[sa.Executable, sa.Executable], study_id: int, numbers: list[int]
) -> Sequence[Any]:
    """Rows of these trials, or of all where they are many: by (the statement for all, the one for some)."""
    if len(numbers) > _MANY:
        return connection.execute(statements[0], {"study": study_id}).all()
    return connection.execute(statements[1], {"study": study_id, "numbers": numbers}).all()


def _refreshed_history(
    history: History,
    changed: Sequence[Any],
    made: Mapping[int, Sequence[Move]],
    seen: Mapping[int, Sequence[Observation]],
    space: Space,
) -> History:
    trials_now = list(history.trials)
    configurations: dict[str, Configuration] = {}  # those that come again are made once
    for number, state, resumed, text, share, snapshots, note, expected, time_limit, kind in sorted(changed):
        if number < len(trials_now):  # its proposal never changes
            trials_now[number] = replace(
                trials_now[number],
                state=_STATES[state],
                observations=tuple(seen[number]),
                moves=Moves(made[number]),
                resumed_dollars=resumed,
            )
            continue
        if text not in configurations:
            configurations[text] = _configuration(space, text, number)
        trial = Trial(
            number,
            configurations[text],
            read_share(share),
            read_shares(snapshots),
            _STATES[state],
            tuple(seen[number]),
            Moves(made[number]),
            read_notes(note),
            read_expected(expected),
            time_limit,
            resumed,
            _TRIAL_KINDS[kind],
        )
        trials_now.append(trial)
    return History(tuple(trials_now))


def _configuration(space: Space, text: str, number: int) -> Configuration:
    try:
        return space.configuration(read_json(text))
    except SpaceError as error:
        raise StudyChanged(
            f"its configuration is not one of this space: {error}",
            where=f"trial {number} in the store",
            hint="Open the study with the space it was created with",
        ) from None
