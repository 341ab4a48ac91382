"""One study in a SQL database: its trials, its money, its workers. Every method is one transaction (see `base.Store`).

Any number of processes may use the same study: a change holds its lock, looks at the newest history, lets the
pure `History` decide what is legal, and writes only what is new. Times are the caller's: the store reads no clock.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import NamedTuple

import sqlalchemy as sa

from leantune.errors import UnknownStudy
from leantune.problem import Budget
from leantune.space import Space
from leantune.store import statements as sql
from leantune.store.base import Store
from leantune.store.change import Change
from leantune.store.connections import Connections
from leantune.store.encoding import clean, definition_text
from leantune.store.rows import (
    Booking,
    BudgetChange,
    Claim,
    LedgerRow,
    Look,
    ReportRow,
    StayRow,
    StudyRow,
    WorkerRow,
)
from leantune.store.rules import finite, named, positive
from leantune.store.study_state import StudyState
from leantune.store.upgrade import check_revision


class _Head(NamedTuple):
    """A study's own row: how often it has changed, its budget, and which worker computes the next proposal."""

    changes: int
    budget: Budget
    proposing: bool


class StudyStore(Store):
    """A study; get one from `Database.create` or `Database.open`. Threads may share it."""

    def __init__(self, connections: Connections, study_id: int, row: StudyRow, space: Space) -> None:
        self.name = row.name
        self.created = row.created
        self.definition = row.definition
        self.job = row.job
        self._connections = connections
        self._id = study_id
        self._space = space
        self._state = StudyState()

    @property
    def key(self) -> str:
        """Names the study's store on this host: the same for every process that opens it, by any path or address, and
        another name for a copy that lies beside it.
        """
        return f"{self._connections.key} {self._id} {self.created!r}"

    def may_propose(self, worker: str, *, time: float, for_seconds: float) -> bool:
        """See Store."""
        until = finite(time, "time") + positive(for_seconds, "for_seconds")
        with self._writing() as connection:
            values = {"study": self._id, "who": named(worker), "now": float(time), "proposing_until": until}
            return connection.execute(sql.MAY_PROPOSE, values).rowcount == 1

    def release_proposing(self, worker: str) -> None:
        """See Store."""
        with self._writing() as connection:
            connection.execute(sql.STOP_PROPOSING, {"study": self._id, "who": worker})

    def renew(self, worker: str, numbers: Iterable[int], *, time: float, lease: float) -> frozenset[int]:
        """See Store."""
        until, wanted = finite(time, "time") + positive(lease, "lease"), frozenset(numbers)
        if not wanted:
            return wanted
        with self._locking() as (connection, _):
            held = set(connection.execute(sql.HELD, {"study": self._id, "who": worker}).scalars())
            kept = wanted & held
            if kept:
                rows = [{"study": self._id, "trial": number, "lease_until": until} for number in sorted(kept)]
                connection.execute(sql.UPDATE_TRIAL, rows)
            return kept

    def stays(self, number: int | None = None) -> list[StayRow]:
        """See Store."""
        statement = sql.STAYS if number is None else sql.STAYS_OF_TRIAL
        with self._connections.reading() as connection:
            return [StayRow(*row) for row in connection.execute(statement, self._of_trial(number))]

    def running(self) -> list[Claim]:
        """See Store."""
        with self._looking() as (connection, _, state):
            return [
                Claim(state.history.trial(number), attempt, worker, started, until, Booking(usd, rate, limit))
                for number, attempt, worker, started, until, usd, rate, limit in connection.execute(
                    sql.RUNNING, {"study": self._id}
                )
            ]

    def look(self) -> Look:
        """See Store."""
        with self._looking() as (_, budget, state):
            return Look(state.history, budget, state.money(budget))

    def ledger(self) -> list[LedgerRow]:
        """See Store."""
        with self._connections.reading() as connection:
            return [LedgerRow(*row) for row in connection.execute(sql.LEDGER, {"study": self._id})]

    def set_budget(self, budget: Budget, *, time: float, cause: str) -> None:
        """See Store."""
        with self._locking() as (connection, _):
            connection.execute(sql.UPDATE_STUDY, {"study": self._id, **budget_columns(budget)})
            log_budget(connection, self._id, BudgetChange(finite(time, "time"), budget, clean(cause)))

    def redefine(self, definition: Mapping[str, object], job: str) -> None:
        """Replace the study's definition; the caller checks that its trials still fit."""
        with self._locking() as (connection, _):
            values = {"definition": definition_text(definition), "job": clean(job)}
            connection.execute(sql.UPDATE_STUDY, {"study": self._id, **values})
        self.definition, self.job = MappingProxyType(dict(definition)), job

    def budgets(self) -> list[BudgetChange]:
        """Every budget the study has had, oldest first."""
        with self._connections.reading() as connection:
            return [
                BudgetChange(time, Budget(*budget), cause)
                for time, cause, *budget in connection.execute(sql.BUDGETS, {"study": self._id})
            ]

    def reports(self, number: int | None = None, after: int = 0) -> list[ReportRow]:
        """See Store."""
        statement = sql.REPORTS if number is None else sql.REPORTS_OF_TRIAL
        with self._connections.reading() as connection:
            rows = connection.execute(statement, {**self._of_trial(number), "after": after})
            return [ReportRow(*row) for row in rows]

    def join(self, worker: WorkerRow) -> None:
        """See Store."""
        checked = {"id": named(worker.id), "host": clean(worker.host), "heard": worker.seen}
        values = {"study_id": self._id, **vars(worker), **checked}
        with self._writing() as connection:
            connection.execute(sql.DELETE_WORKER, {"study": self._id, "who": worker.id})
            connection.execute(sql.INSERT_WORKER, values)

    def seen(self, worker_id: str, time: float) -> None:
        """See Store."""
        with self._writing() as connection:
            now = finite(time, "time")
            connection.execute(sql.UPDATE_WORKER, {"study": self._id, "who": worker_id, "heard": now, "seen": now})

    def leave(self, worker_id: str) -> None:
        """See Store."""
        with self._writing() as connection:
            connection.execute(sql.DELETE_WORKER, {"study": self._id, "who": worker_id})

    def workers(self) -> list[WorkerRow]:
        """See Store."""
        with self._connections.reading() as connection:
            return [WorkerRow(*row) for row in connection.execute(sql.WORKERS, {"study": self._id})]

    @contextmanager
    def _looking(self) -> Iterator[tuple[sa.Connection, Budget, StudyState]]:
        """A transaction that reads, with the newest budget and history."""
        with self._connections.reading() as connection:
            head = self._head(connection, sql.HEAD)
            yield connection, head.budget, self._refreshed(connection, head.changes)

    @contextmanager
    def _writing(self) -> Iterator[sa.Connection]:
        """A transaction that writes beside the study's trials, without its lock."""
        with self._connections.writing() as connection:
            check_revision(connection.execute(sql.REVISION).scalar_one_or_none(), self._connections.shown)
            yield connection

    @contextmanager
    def _locking(self) -> Iterator[tuple[sa.Connection, _Head]]:
        """A transaction that holds the study's lock, with the study's row."""
        with self._connections.writing() as connection:
            yield connection, self._head(connection, sql.LOCK)

    @contextmanager
    def _changing(self) -> Iterator[Change]:
        """A transaction that holds the study's lock and changes its trials, from the newest history on."""
        with self._locking() as (connection, head):
            state = self._refreshed(connection, head.changes)
            change = Change(connection, self._id, head.budget, state, proposing=head.proposing)
            yield change
            change.tell()
        self._state = change.state  # not before the commit

    def _refreshed(self, connection: sa.Connection, changes: int) -> StudyState:
        # These rows were committed by others: they stay true when this transaction fails.
        self._state = self._state.refreshed(connection, self._id, changes, self._space)
        return self._state

    def _head(self, connection: sa.Connection, statement: sa.Executable) -> _Head:
        row = connection.execute(statement, {"study": self._id}).first()
        if row is None:
            raise UnknownStudy(f"the study {self.name!r} is gone", where="store", hint="Its row was deleted")
        revision, changes, usd, trials, hours, proposing = row
        check_revision(revision, self._connections.shown)
        return _Head(changes, Budget(usd, trials, hours), proposing is not None)

    def _of_trial(self, number: int | None) -> dict[str, int]:
        return {"study": self._id} if number is None else {"study": self._id, "trial": number}


def budget_columns(budget: Budget) -> dict[str, float | None]:
    """The budget in force, in the row of its study."""
    return {"budget_usd": budget.usd, "budget_trials": budget.trials, "budget_hours": budget.hours}


def log_budget(connection: sa.Connection, study_id: int, change: BudgetChange) -> None:
    """Add to the log of budgets."""
    position = connection.execute(sql.COUNT_BUDGETS, {"study": study_id}).scalar_one()
    budget = change.budget
    values = {"time": change.time, "usd": budget.usd, "trials": budget.trials, "hours": budget.hours}
    connection.execute(sql.INSERT_BUDGET, {"study_id": study_id, "position": position, "cause": change.cause, **values})
