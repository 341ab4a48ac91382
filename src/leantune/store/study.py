"""One study in a store: its trials, its money, its workers. Every method is one transaction.

Any number of processes may use the same study: whoever changes it holds its lock, looks at the newest history, lets the
pure `History` decide what is legal, and writes only what is new. Times are the caller's: the store reads no clock.

Invariants: a running trial that was claimed has one worker, one lease and one open row in the ledger, any other trial
none, nor an open stay on a machine; a trial's runs are counted 1, 2, ... and claimed once each; no claim takes spent +
reserved above the budget; dollars in the history are those in the ledger.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from types import MappingProxyType
from typing import NamedTuple

import sqlalchemy as sa

from leantune.errors import Outdated, UnknownStudy
from leantune.history import Estimate, History, Move, Note, Observation, Trial, TrialKind, TrialState
from leantune.problem import Budget
from leantune.space import Space
from leantune.store import statements as sql
from leantune.store.change import Change, Run
from leantune.store.connections import Connections
from leantune.store.encoding import (
    clean,
    clean_notes,
    clean_observation,
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
    positive,
)
from leantune.store.upgrade import check_revision

__all__ = [
    "Booking",
    "BudgetChange",
    "Claim",
    "JudgedMove",
    "LedgerRow",
    "Look",
    "Money",
    "ReportRow",
    "StayRow",
    "StudyRow",
    "StudyStore",
    "WorkerRow",
]


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
        """All trials, up to date; only what changed since the last call is read."""
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
        """Add a trial, and queue it. Whoever was proposing (see `may_propose`) no longer is.

        after: the number of trials that the proposal was computed from; Outdated when there are more by now.
        """
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
            raise Outdated(
                f"the proposal was computed from {after} trials, and there are {number}",
                where=f"study {self.name!r}",
                hint="Look at the history again, and propose again",
            )
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
        """End a trial with a result that was told, whoever ran it; what it cost goes through the ledger as well.

        A worker that runs the trial at that moment loses it.
        """
        shown = self._storable(number, observations)
        with self._changing() as change:
            before = change.run(number)
            history = change.history.record(number, shown, time=float(time), state=state, cause=clean(cause))
            attempt = before.attempt + (before.worker is None)
            trial = change.put(history, number, Run(attempt))
            dollars = next((seen.cost for seen in reversed(trial.observations) if seen.cost is not None), 0.0)
            if before.worker is None:
                change.pay(number, attempt, trial.configuration.usd_per_hour, dollars, float(time))
            else:
                change.settle(number, attempt, dollars, float(time))
            if before.stays:
                change.close_stays(number, before.attempt, float(time), "its result was told", dollars)
            return trial

    def may_propose(self, worker: str, *, time: float, for_seconds: float) -> bool:
        """Whether this worker is the one that computes the next proposal, until `for_seconds` from now.

        True when nobody else is, or its time is over. `propose` ends it, and `release_proposing`.
        """
        until = finite(time, "time") + positive(for_seconds, "for_seconds")
        with self._writing() as connection:
            values = {"study": self._id, "who": named(worker), "now": float(time), "until": until}
            return connection.execute(sql.MAY_PROPOSE, values).rowcount == 1

    def release_proposing(self, worker: str) -> None:
        """Let others propose, if this worker was the one."""
        with self._writing() as connection:
            connection.execute(sql.STOP_PROPOSING, {"study": self._id, "who": worker})

    def claim(
        self, worker: str, *, time: float, lease: float, fitting: Callable[[Trial, Money], Booking | None]
    ) -> Claim | None:
        """Start the oldest queued trial for which `fitting` gives a booking; None when there is none.

        `fitting` is called within the transaction, while every other writer waits, with the trial and the money as they
        are. It must be pure: arithmetic over the money and over what was read before (which trials have room), no
        executor, no clock, no change of the store. StoreError when a booking exceeds what is left of the budget.
        """
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
        """Extend this worker's leases of these trials; those that it still holds are returned."""
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
        """End a run and settle it with `dollars`; LeaseLost when the trial is no longer this worker's.

        done, failed, stopped: the trial is over, with these observations; dollars that none of them tells are those of
        the move. queued, revoked, lost: it goes back to the queue, paused: it waits to be chosen again, and its dollars
        are those of the move. seconds: how long the machine was ours. stays: the run's machines as they are by now;
        those that are not named end with it.
        """
        number, paid = claim.trial.number, not_negative(dollars, "dollars")
        end = Move(TrialState(state), float(time), clean(cause), paid, seconds)
        shown, machines = self._storable(number, observations), checked_stays(claim, stays)
        with self._changing() as change:
            run = change.run(number)
            if (run.worker, run.attempt) != (claim.worker, claim.attempt):
                raise lease_lost(self.name, claim.worker, number, claim.attempt)
            trial = ended(change.history.trial(number), shown, end, resumed_dollars)
            change.settle(number, claim.attempt, paid, end.time)
            change.put_stays(machines)
            if run.stays:
                change.close_stays(number, claim.attempt, end.time, end.cause)
            return change.put(change.history.with_trial(trial), number, Run(claim.attempt))

    def open_stay(self, worker: str, stay: StayRow) -> None:
        """A machine was launched for a run; LeaseLost when that run is no longer this worker's."""
        check_stay(stay)
        with self._changing() as change:
            run = change.run(stay.number)
            if (run.worker, run.attempt) != (worker, stay.attempt):
                raise lease_lost(self.name, worker, stay.number, stay.attempt)
            change.put_stays([stay])

    def settle_stay(self, stay: StayRow) -> None:
        """More is known of a machine, during its run or after: a checkpoint, or its bill."""
        check_stay(stay)
        with self._changing() as change:
            change.put_stays([stay])

    def stays(self, number: int | None = None) -> list[StayRow]:
        """The machines of one trial's runs, or of all, in the order of their launch."""
        statement = sql.STAYS if number is None else sql.STAYS_OF_TRIAL
        with self._connections.reading() as connection:
            return [StayRow(*row) for row in connection.execute(statement, self._of_trial(number))]

    def judge(self, changes: Sequence[JudgedMove], *, time: float) -> list[Trial]:
        """Pause, queue or stop trials that do not run: all of them, or (Outdated) none, when one has moved on since it
        was judged.
        """
        shown = [self._storable(judged.number, judged.observations) for judged in changes]
        with self._changing() as change:
            trials = []
            for judged, seen in zip(changes, shown, strict=True):
                trial = judged_trial(change.history.trial(judged.number), judged, seen, float(time))
                run = Run(change.run(judged.number).attempt)
                trials.append(change.put(change.history.with_trial(trial), judged.number, run))
            return trials

    def running(self) -> list[Claim]:
        """Every run that a worker holds, by trial; nothing is changed."""
        with self._looking() as (connection, _, known):
            return [
                Claim(known.history.trial(number), attempt, worker, started, until, Booking(usd, rate, limit))
                for number, attempt, worker, started, until, usd, rate, limit in connection.execute(
                    sql.RUNNING, {"study": self._id}
                )
            ]

    def lose(self, claim: Claim, *, time: float, cause: str, dollars: float, seconds: float | None = None) -> bool:
        """Take a trial from a worker that vanished: running -> lost -> queued, settled with `dollars`.

        Its machines are over as far as we know, and the dollars those of the machine where there is one. False, and
        nothing is changed, when the trial has moved on or its lease was renewed since `claim` was looked up.
        """
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
        """The budget's dollars, and what is spent and reserved of them."""
        with self._looking() as (_, budget, known):
            return known.money(budget)

    def look(self) -> Look:
        """History, budget and money as of one moment."""
        with self._looking() as (_, budget, known):
            return Look(known.history, budget, known.money(budget))

    def ledger(self) -> list[LedgerRow]:
        """Every run's dollars, by trial and attempt."""
        with self._connections.reading() as connection:
            return [LedgerRow(*row) for row in connection.execute(sql.LEDGER, {"study": self._id})]

    def budget(self) -> Budget:
        """The budget in force."""
        with self._looking() as (_, budget, _):
            return budget

    def set_budget(self, budget: Budget, *, time: float, cause: str) -> None:
        """Change the budget; the earlier ones stay on record."""
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
        """Keep what running trials said about themselves."""
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
        """Reports of one trial, or of all, in the order of arrival; only those that came after the one of that id."""
        statement = sql.REPORTS if number is None else sql.REPORTS_OF_TRIAL
        with self._connections.reading() as connection:
            rows = connection.execute(statement, {**self._of_trial(number), "after": after})
            return [
                ReportRow(of, attempt, at, read_metrics(metrics), step, share and read_share(share), arrived)
                for of, attempt, at, metrics, step, share, arrived in rows
            ]

    def join(self, worker: WorkerRow) -> None:
        """A process begins to work on the study, or begins again."""
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
        """The worker was alive at that time; nothing happens when it has left."""
        with self._writing() as connection:
            connection.execute(sql.SEEN, {"study": self._id, "who": worker_id, "now": finite(time, "time")})

    def leave(self, worker_id: str) -> None:
        """The worker no longer works on the study; leaving twice is fine."""
        with self._writing() as connection:
            connection.execute(sql.DELETE_WORKER, {"study": self._id, "who": worker_id})

    def workers(self) -> list[WorkerRow]:
        """The processes that work on the study, in the order of joining."""
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

    def _storable(self, number: int, observations: Iterable[Observation]) -> list[Observation]:
        where = f"trial {number} of study {self.name!r}"
        return [clean_observation(observation, where) for observation in observations]


def log_budget(connection: sa.Connection, study_id: int, change: BudgetChange) -> None:
    """Add to the log of budgets."""
    position = connection.execute(sql.COUNT_BUDGETS, {"study": study_id}).scalar_one()
    budget = change.budget
    values = {"time": change.time, "usd": budget.usd, "trials": budget.trials, "hours": budget.hours}
    connection.execute(sql.INSERT_BUDGET, {"study_id": study_id, "position": position, "cause": change.cause, **values})
