"""A change of a study within one transaction: what is new about a trial, and the money it moves."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace

import sqlalchemy as sa

from leantune.history import History, Trial
from leantune.problem import Budget
from leantune.store import statements as sql
from leantune.store.encoding import clean, configuration_text, expected_text, metrics_text, notes_text, shares_text
from leantune.store.known import Known
from leantune.store.rows import Booking, StayRow


@dataclass(frozen=True)
class Run:
    """A trial's latest run; no worker when it is not running. stays: whether a machine of it has not ended."""

    attempt: int
    worker: str | None = None
    started: float | None = None
    lease_until: float | None = None
    stays: bool = False


class Change:
    """Holds the study's lock until the transaction ends. `known` is what will be true once it is committed."""

    def __init__(
        self, connection: sa.Connection, study_id: int, budget: Budget, known: Known, *, proposing: bool
    ) -> None:
        self.connection = connection
        self.study_id = study_id
        self.budget = budget
        self.known = known
        self._before = known
        self._proposing = proposing

    @property
    def history(self) -> History:
        """The study's trials, with this change."""
        return self.known.history

    def add(self, history: History, number: int) -> Trial:
        """Insert the trial that `history` has and the store has not."""
        trial = history.trial(number)
        self.connection.execute(
            sql.INSERT_TRIAL,
            {
                "study_id": self.study_id,
                "number": number,
                "configuration": configuration_text(trial.configuration),
                "fraction": str(trial.fraction),
                "snapshots": shares_text(trial.snapshots),
                "note": notes_text(trial.notes),
                "kind": trial.kind.value,
                "expected": expected_text(trial.expected),
                "time_limit": trial.time_limit,
                "state": trial.state.value,
                "resumed_dollars": trial.resumed_dollars,
                "attempt": 0,
                "changed": self._changes,
            },
        )
        self._append(trial, moves=0, observations=0)
        self._now(history)
        return trial

    def put(self, history: History, number: int, run: Run) -> Trial:
        """Write what `history` has and the store has not of a trial: its state, new moves, new observations."""
        old, trial = self.history.trial(number), history.trial(number)
        self.connection.execute(
            sql.SET_STANDING,
            {
                "study": self.study_id,
                "trial": number,
                "new_state": trial.state.value,
                "new_resumed": trial.resumed_dollars,
                "new_attempt": run.attempt,
                "new_worker": run.worker,
                "new_started": run.started,
                "new_lease": run.lease_until,
                "new_changes": self._changes,
            },
        )
        self._append(trial, moves=len(old.moves), observations=len(old.observations))
        self._now(history)
        return trial

    def run(self, number: int) -> Run:
        """The latest run of a trial, as stored."""
        self.history.trial(number)
        found = self.connection.execute(sql.RUN, {"study": self.study_id, "trial": number}).one()
        attempt, worker, lease_until, stays = found
        return Run(attempt, worker, None, lease_until, stays)

    def queued(self) -> Iterator[tuple[Trial, int]]:
        """Queued trials by number, with the number of their last attempt."""
        beyond = -1
        while True:
            rows = self.connection.execute(sql.QUEUED, {"study": self.study_id, "beyond": beyond}).all()
            if not rows:
                return
            for number, attempt in rows:
                yield self.history.trial(number), attempt
            beyond = rows[-1][0]

    def reserve(self, number: int, run: Run, booking: Booking) -> None:
        """Open a row of the ledger for a run that starts."""
        self._ledger(number, run, booking)
        self.known = self.known.with_reserved(number, run.attempt, booking.usd)

    def settle(self, number: int, attempt: int, dollars: float, time: float) -> None:
        """Close the row of a run that has ended."""
        self.connection.execute(
            sql.SETTLE,
            {
                "study": self.study_id,
                "trial": number,
                "run": attempt,
                "paid": dollars,
                "paid_at": time,
                "new_changes": self._changes,
            },
        )
        self.known = self.known.with_settled(number, attempt, dollars)

    def pay(self, number: int, attempt: int, rate: float | None, dollars: float, time: float) -> None:
        """A row for a run that is over before we heard of it: nothing was reserved."""
        self._ledger(number, Run(attempt, "", time), Booking(0.0, rate, None), settled=dollars, settled_at=time)
        self.known = self.known.with_settled(number, attempt, dollars)

    def stop_proposing(self) -> None:
        """Whoever computes the next proposal need not."""
        if self._proposing:
            self.connection.execute(sql.NOBODY_PROPOSES, {"study": self.study_id})

    def put_stays(self, stays: Iterable[StayRow]) -> None:
        """Write machines of a run; what is there of the same machine is replaced."""
        rows = [{"study_id": self.study_id, **_storable_stay(stay)} for stay in stays]
        for row in rows:
            keys = {"trial": row["number"], "run": row["attempt"], "which": row["machine"]}
            self.connection.execute(sql.DELETE_STAY, {"study": self.study_id, **keys})
        if rows:
            self.connection.execute(sql.INSERT_STAYS, rows)

    def close_stays(self, number: int, attempt: int, time: float, cause: str, dollars: float | None = None) -> None:
        """End what is open of a run's machines; its dollars are those of the machine where there is one."""
        keys = {"study": self.study_id, "trial": number, "run": attempt}
        alone = dollars is not None and self.connection.execute(sql.COUNT_OPEN_STAYS, keys).scalar_one() == 1
        values = {"end": time, "cause": cause, "usd": dollars if alone else None}
        self.connection.execute(sql.CLOSE_STAYS, {**keys, **values})

    def count(self) -> None:
        """Tell everybody that the study has changed, if it has."""
        if self.known is not self._before:
            self.connection.execute(sql.SET_CHANGES, {"study": self.study_id, "new_changes": self._changes})
            self.known = replace(self.known, changes=self._changes)

    @property
    def _changes(self) -> int:
        return self._before.changes + 1

    def _now(self, history: History) -> None:
        self.known = replace(self.known, history=history)

    def _append(self, trial: Trial, *, moves: int, observations: int) -> None:
        """The trial's moves and observations from these positions on."""
        keys = {"study_id": self.study_id, "number": trial.number}
        new_moves = [
            {
                **keys,
                "position": position,
                "state": move.state.value,
                "time": move.time,
                "cause": move.cause,
                "dollars": move.dollars,
                "seconds": move.seconds,
            }
            for position, move in enumerate(trial.moves[moves:], moves)
        ]
        self.connection.execute(sql.INSERT_MOVES, new_moves)
        new_observations = [
            {
                **keys,
                "position": position,
                "fraction": str(seen.fraction),
                "kind": seen.kind.value,
                "metrics": metrics_text(seen.metrics),
                "seconds": seen.seconds,
                "cost": seen.cost,
                "cause": seen.cause,
            }
            for position, seen in enumerate(trial.observations[observations:], observations)
        ]
        if new_observations:
            self.connection.execute(sql.INSERT_OBSERVATIONS, new_observations)

    def _ledger(
        self, number: int, run: Run, booking: Booking, *, settled: float | None = None, settled_at: float | None = None
    ) -> None:
        self.connection.execute(
            sql.INSERT_LEDGER,
            {
                "study_id": self.study_id,
                "number": number,
                "attempt": run.attempt,
                "worker": run.worker,
                "rate": booking.rate,
                "time_limit": booking.time_limit,
                "reserved": booking.usd,
                "opened": run.started,
                "settled": settled,
                "settled_at": settled_at,
                "changed": self._changes,
            },
        )


def _storable_stay(stay: StayRow) -> dict[str, object]:
    return {name: clean(value) if isinstance(value, str) else value for name, value in asdict(stay).items()}
