"""One study in a SQL database: its trials, its money, its workers. Every method is one transaction (see `base.Store`).

Any number of processes may use the same study: whoever changes it holds its lock, looks at the newest history, lets the
pure `History` decide what is legal, and writes only what is new. Times are the caller's: the store reads no clock.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from types import MappingProxyType
from typing import NamedTuple

import sqlalchemy as sa

from leantune.errors import UnknownStudy
from leantune.history import Estimate, History, Move, Note, Observation, Trial, TrialKind, TrialState
from leantune.problem import Budget
from leantune.space import Space
from leantune.store import statements as sql
from leantune.store.change import Change, Run
from leantune.store.connections import Connections
from leantune.store.encoding import (
    clean,
    clean_notes,
    definition_text,
    metrics_text,
    read_metrics,
    read_share,
)
from leantune.store.known import Known
from leantune.store.rows import (
    Booking,
    BudgetChange,
    Claim,
    JudgedMove,
    LedgerRow,
    Look,
    Money,
    ReportRow,
    StayRow,
    StudyRow,
    WorkerRow,
)
from leantune.store.rules import (
    check_booking,
    check_stay,
    checked_stays,
    ended,
    finite,
    judged_trial,
    lease_lost,
    named,
    not_negative,
    outdated_proposal,
    positive,
    storable,
    told_dollars,
)
from leantune.store.upgrade import check_revision


class _Head(NamedTuple):
    """A study's own row: how often it has changed, its budget, and whether somebody computes the next proposal."""

    changes: int
    budget: Budget
    proposing: bool


class StudyStore:
    """A study; get one from `Database.create` or `Database.open`. Threads may share it."""

    def __init__(self, connections: Connections, study_id: int, row: StudyRow, space: Space) -> None:
        self.name = row.name
        self.created = row.created
        self.definition = row.definition
        self.job = row.job
        self._connections = connections
        self._id = study_id
        self._space = space
        self._known = Known()

    def history(self) -> History:
        """See Store. Only what changed since the last call is read."""
        with self._looking() as (_, _, known):
            return known.history

    def propose(  # noqa: PLR0913 - what a trial is made of
        self,
        configuration: Mapping[str, object],
        fraction: Fraction,
        snapshots: Iterable[Fraction] = (),
        *,
        time: float,
        notes: Iterable[Note] = (),
        expected: Mapping[str, Estimate] = MappingProxyType({}),
        time_limit: float | None = None,
        kind: TrialKind = TrialKind.SEARCH,
        after: int | None = None,
        queue: bool = True,
    ) -> Trial:
        """See Store."""
        checked = self._space.configuration(configuration)
        trial = None
        with self._changing() as change:
            number = len(change.history)
            change.stop_proposing()
            if after is None or number <= after:
                history, _ = change.history.propose(
                    checked, fraction, snapshots, clean_notes(notes), float(time), expected, time_limit, kind=kind
                )
                if queue:
                    history = history.move(number, TrialState.QUEUED, time=float(time))
                trial = change.add(history, number)
        if trial is None:  # told only now, so that the marker is gone for good
            raise outdated_proposal(self.name, after, number)
        return trial

    def record(
        self,
        number: int,
        observations: Iterable[Observation],
        *,
        time: float,
        state: TrialState = TrialState.DONE,
        cause: str = "",
    ) -> Trial:
        """See Store."""
        shown = storable(self.name, number, observations)
        with self._changing() as change:
            before = change.run(number)
            history = change.history.record(number, shown, time=float(time), state=state, cause=clean(cause))
            attempt = before.attempt + (before.worker is None)
            trial = change.put(history, number, Run(attempt))
            dollars = told_dollars(trial.observations)
            if before.worker is None:
                change.pay(number, attempt, trial.configuration.usd_per_hour, dollars, float(time))
            else:
                change.settle(number, attempt, dollars, float(time))
            if before.stays:
                change.close_stays(number, before.attempt, float(time), "its result was told", dollars)
            return trial

    def may_propose(self, worker: str, *, time: float, for_seconds: float) -> bool:
        """See Store."""
        until = finite(time, "time") + positive(for_seconds, "for_seconds")
        with self._writing() as connection:
            values = {"study": self._id, "who": named(worker), "now": float(time), "until": until}
            return connection.execute(sql.MAY_PROPOSE, values).rowcount == 1

    def release_proposing(self, worker: str) -> None:
        """See Store."""
        with self._writing() as connection:
            connection.execute(sql.STOP_PROPOSING, {"study": self._id, "who": worker})

    def claim(
        self, worker: str, *, time: float, lease: float, fitting: Callable[[Trial, Money], Booking | None]
    ) -> Claim | None:
        """See Store."""
        until = finite(time, "time") + positive(lease, "lease")
        named(worker)
        with self._changing() as change:
            money = change.known.money(change.budget)
            for queued, attempts in change.queued():
                booking = fitting(queued, money)
                if booking is None:
                    continue
                check_booking(queued, booking, money)
                run = Run(attempts + 1, worker, float(time), until)
                history = change.history.move(queued.number, TrialState.RUNNING, time=float(time))
                trial = change.put(history, queued.number, run)
                change.reserve(queued.number, run, booking)
                return Claim(trial, run.attempt, worker, float(time), until, booking)
            return None

    def renew(self, worker: str, numbers: Iterable[int], *, time: float, lease: float) -> frozenset[int]:
        """See Store."""
        until, wanted = finite(time, "time") + positive(lease, "lease"), frozenset(numbers)
        if not wanted:
            return wanted
        with self._locking() as (connection, _):
            held = set(connection.execute(sql.HELD, {"study": self._id, "who": worker}).scalars())
            kept = wanted & held
            if kept:
                rows = [{"study": self._id, "trial": number, "new_lease": until} for number in sorted(kept)]
                connection.execute(sql.RENEW, rows)
            return kept

    def finish(  # noqa: PLR0913 - what a run leaves behind
        self,
        claim: Claim,
        *,
        observations: Iterable[Observation],
        state: TrialState,
        cause: str,
        time: float,
        dollars: float,
        seconds: float | None = None,
        resumed_dollars: float = 0.0,
        stays: Iterable[StayRow] = (),
    ) -> Trial:
        """See Store."""
        number, paid = claim.trial.number, not_negative(dollars, "dollars")
        end = Move(TrialState(state), float(time), clean(cause), paid, seconds)
        shown, machines = storable(self.name, number, observations), checked_stays(claim, stays)
        with self._changing() as change:
            run = change.run(number)
            if (run.worker, run.attempt) != (claim.worker, claim.attempt):
                raise lease_lost(self.name, claim.worker, number, claim.attempt)
            trial = ended(change.history.trial(number), shown, end, resumed_dollars)
            change.settle(number, claim.attempt, paid, end.time)
            if run.stays:
                change.close_stays(number, claim.attempt, end.time, end.cause)
            change.put_stays(machines)
            return change.put(change.history.with_trial(trial), number, Run(claim.attempt))

    def open_stay(self, worker: str, stay: StayRow) -> None:
        """See Store."""
        check_stay(stay)
        with self._changing() as change:
            run = change.run(stay.number)
            if (run.worker, run.attempt) != (worker, stay.attempt):
                raise lease_lost(self.name, worker, stay.number, stay.attempt)
            change.put_stays([stay])

    def settle_stay(self, stay: StayRow) -> None:
        """See Store."""
        check_stay(stay)
        with self._changing() as change:
            change.history.trial(stay.number)
            change.put_stays([stay])

    def stays(self, number: int | None = None) -> list[StayRow]:
        """See Store."""
        statement = sql.STAYS if number is None else sql.STAYS_OF_TRIAL
        with self._connections.reading() as connection:
            return [StayRow(*row) for row in connection.execute(statement, self._of_trial(number))]

    def judge(self, changes: Sequence[JudgedMove], *, time: float) -> list[Trial]:
        """See Store."""
        shown = [storable(self.name, judged.number, judged.observations) for judged in changes]
        with self._changing() as change:
            trials = []
            for judged, seen in zip(changes, shown, strict=True):
                trial = judged_trial(change.history.trial(judged.number), judged, seen, float(time))
                run = Run(change.run(judged.number).attempt)
                trials.append(change.put(change.history.with_trial(trial), judged.number, run))
            return trials

    def running(self) -> list[Claim]:
        """See Store."""
        with self._looking() as (connection, _, known):
            return [
                Claim(known.history.trial(number), attempt, worker, started, until, Booking(usd, rate, limit))
                for number, attempt, worker, started, until, usd, rate, limit in connection.execute(
                    sql.RUNNING, {"study": self._id}
                )
            ]

    def lose(self, claim: Claim, *, time: float, cause: str, dollars: float, seconds: float | None = None) -> bool:
        """See Store."""
        number, paid = claim.trial.number, not_negative(dollars, "dollars")
        end = Move(TrialState.LOST, float(time), clean(cause), paid, seconds)
        with self._changing() as change:
            run = change.run(number)
            if (run.worker, run.attempt) != (claim.worker, claim.attempt):
                return False
            if run.lease_until is None or run.lease_until > claim.lease_until:
                return False
            trial = ended(change.history.trial(number), (), end, 0.0)
            change.settle(number, claim.attempt, paid, end.time)
            if run.stays:
                change.close_stays(number, claim.attempt, end.time, end.cause, paid)
            change.put(change.history.with_trial(trial), number, Run(claim.attempt))
            return True

    def money(self) -> Money:
        """See Store."""
        with self._looking() as (_, budget, known):
            return known.money(budget)

    def look(self) -> Look:
        """See Store."""
        with self._looking() as (_, budget, known):
            return Look(known.history, budget, known.money(budget))

    def ledger(self) -> list[LedgerRow]:
        """See Store."""
        with self._connections.reading() as connection:
            return [LedgerRow(*row) for row in connection.execute(sql.LEDGER, {"study": self._id})]

    def budget(self) -> Budget:
        """See Store."""
        with self._looking() as (_, budget, _):
            return budget

    def set_budget(self, budget: Budget, *, time: float, cause: str) -> None:
        """See Store."""
        with self._locking() as (connection, _):
            limits = {"usd": budget.usd, "hours": budget.hours}
            connection.execute(sql.SET_BUDGET, {"study": self._id, "most_trials": budget.trials, **limits})
            log_budget(connection, self._id, BudgetChange(finite(time, "time"), budget, clean(cause)))

    def redefine(self, definition: Mapping[str, object], job: str) -> None:
        """Replace what defines the study; whether its trials still fit is for the caller to know."""
        with self._locking() as (connection, _):
            values = {"new_definition": definition_text(definition), "new_job": clean(job)}
            connection.execute(sql.REDEFINE, {"study": self._id, **values})
        self.definition, self.job = MappingProxyType(dict(definition)), job

    def budgets(self) -> list[BudgetChange]:
        """Every budget the study has had, oldest first."""
        with self._connections.reading() as connection:
            return [
                BudgetChange(time, Budget(usd, trials, hours), cause)
                for time, usd, trials, hours, cause in connection.execute(sql.BUDGETS, {"study": self._id})
            ]

    def add_reports(self, reports: Sequence[ReportRow]) -> None:
        """See Store."""
        with self._changing() as change:
            for number in {row.number for row in reports}:
                change.history.trial(number)
            rows = [
                {
                    "study_id": self._id,
                    "number": row.number,
                    "attempt": row.attempt,
                    "seconds": finite(row.seconds, "seconds"),
                    "metrics": metrics_text(row.metrics),
                    "step": row.step,
                    "fraction": None if row.fraction is None else str(row.fraction),
                }
                for row in reports
            ]
            if rows:
                change.connection.execute(sql.INSERT_REPORTS, rows)

    def reports(self, number: int | None = None, after: int = 0) -> list[ReportRow]:
        """See Store."""
        statement = sql.REPORTS if number is None else sql.REPORTS_OF_TRIAL
        with self._connections.reading() as connection:
            rows = connection.execute(statement, {**self._of_trial(number), "after": after})
            return [
                ReportRow(of, attempt, at, read_metrics(metrics), step, share and read_share(share), arrived)
                for of, attempt, at, metrics, step, share, arrived in rows
            ]

    def join(self, worker: WorkerRow) -> None:
        """See Store."""
        values = {
            "study_id": self._id,
            "id": named(worker.id),
            "host": clean(worker.host),
            "pid": worker.pid,
            "process_started": worker.process_started,
            "slots": worker.slots,
            "joined": worker.joined,
            "seen": worker.seen,
            "heard": worker.seen,
        }
        with self._writing() as connection:
            connection.execute(sql.DELETE_WORKER, {"study": self._id, "who": worker.id})
            connection.execute(sql.INSERT_WORKER, values)

    def seen(self, worker_id: str, time: float) -> None:
        """See Store."""
        with self._writing() as connection:
            connection.execute(sql.SEEN, {"study": self._id, "who": worker_id, "now": finite(time, "time")})

    def leave(self, worker_id: str) -> None:
        """See Store."""
        with self._writing() as connection:
            connection.execute(sql.DELETE_WORKER, {"study": self._id, "who": worker_id})

    def workers(self) -> list[WorkerRow]:
        """See Store."""
        with self._connections.reading() as connection:
            return [WorkerRow(*row) for row in connection.execute(sql.WORKERS, {"study": self._id})]

    @contextmanager
    def _looking(self) -> Iterator[tuple[sa.Connection, Budget, Known]]:
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
            known = self._refreshed(connection, head.changes)
            change = Change(connection, self._id, head.budget, known, proposing=head.proposing)
            yield change
            change.count()
        self._known = change.known  # not before the commit

    def _refreshed(self, connection: sa.Connection, changes: int) -> Known:
        # What is read here was committed by others: it stays true whatever becomes of this transaction.
        self._known = self._known.refreshed(connection, self._id, changes, self._space)
        return self._known

    def _head(self, connection: sa.Connection, statement: sa.Executable) -> _Head:
        row = connection.execute(statement, {"study": self._id}).first()
        if row is None:
            raise UnknownStudy(f"the study {self.name!r} is gone", where="store", hint="Somebody deleted its row")
        revision, changes, usd, trials, hours, proposing = row
        check_revision(revision, self._connections.shown)
        return _Head(changes, Budget(usd, trials, hours), proposing is not None)

    def _of_trial(self, number: int | None) -> dict[str, int]:
        return {"study": self._id} if number is None else {"study": self._id, "trial": number}


def log_budget(connection: sa.Connection, study_id: int, change: BudgetChange) -> None:
    """Add to the log of budgets."""
    position = connection.execute(sql.COUNT_BUDGETS, {"study": study_id}).scalar_one()
    budget = change.budget
    values = {"time": change.time, "usd": budget.usd, "trials": budget.trials, "hours": budget.hours}
    connection.execute(sql.INSERT_BUDGET, {"study_id": study_id, "position": position, "cause": change.cause, **values})
