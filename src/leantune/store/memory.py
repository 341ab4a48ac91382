"""A study in plain Python objects, kept nowhere: for simulations, which make hundreds of thousands of moves. The
promises are those of `base.Store`; what is legal is decided by the same pure functions as in a database.

Costly values are kept up to date rather than computed: sums of dollars, the queue, the history as of the last change.
"""

from bisect import bisect_right, insort
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from threading import RLock
from typing import Self

from leantune.errors import StoreError
from leantune.history import History, Move, Trial, TrialState, in_order
from leantune.problem import Budget
from leantune.space import Space
from leantune.store.base import LatestRun, Store, Transaction
from leantune.store.encoding import clean
from leantune.store.rows import Claim, LedgerRow, Look, Money, ReportRow, StayRow, WorkerRow
from leantune.store.rules import finite, named, positive
from leantune.units import RunningSum

_QUEUED = TrialState.QUEUED


@dataclass
class _Book(Transaction):
    """A study's contents. `lock` is held to read or change them."""

    budget: Budget
    trials: list[Trial] = field(default_factory=list)
    runs: list[LatestRun] = field(default_factory=list)
    waiting: list[int] = field(default_factory=list)  # numbers of queued trials, rising
    settled: list[LedgerRow] = field(default_factory=list)
    spent: RunningSum = field(default_factory=RunningSum)
    reserved: RunningSum = field(default_factory=RunningSum)
    reports: list[ReportRow] = field(default_factory=list)
    reports_of: dict[int, list[ReportRow]] = field(default_factory=dict)
    stays: dict[tuple[int, int, str], StayRow] = field(default_factory=dict)  # by trial, attempt and machine
    machines: dict[int, dict[str, None]] = field(default_factory=dict)  # of the runs that are going on, by trial
    workers: dict[str, WorkerRow] = field(default_factory=dict)
    proposing: tuple[str, float] | None = None  # who, and until when
    lock: RLock = field(default_factory=RLock)
    changing: bool = False
    latest: History | None = field(default_factory=History)  # None once something has changed

    def __enter__(self) -> Self:
        """To change it."""
        self.lock.acquire()
        if self.changing:
            self.lock.release()
            raise StoreError("a change within another transaction", where="memory", hint="Make it before or afterwards")
        self.changing = True
        return self

    def __exit__(self, _kind: object, _error: object, _trace: object) -> None:
        self.changing = False
        self.lock.release()

    def count(self) -> int:
        return len(self.trials)

    def trial(self, number: int) -> Trial:
        if type(number) is int and 0 <= number < len(self.trials):
            return self.trials[number]
        return self.history().trial(number)

    def run(self, number: int) -> LatestRun:
        self.trial(number)
        return self.runs[number]

    def queued(self) -> Iterator[tuple[Trial, int]]:
        for number in self.waiting:
            yield self.trials[number], self.runs[number].attempt

    def add(self, trial: Trial) -> None:
        if trial.state is _QUEUED:
            self.waiting.append(trial.number)
        self.trials.append(trial)
        self.runs.append(LatestRun())
        self.latest = None

    def reserve(self, number: int, run: LatestRun) -> None:
        if run.booking.usd:
            self.reserved.add(run.booking.usd)

    def stop_proposing(self) -> None:
        self.proposing = None

    def history(self) -> History:
        """All trials; made anew only when one has changed."""
        if self.latest is None:
            self.latest = in_order(tuple(self.trials))
        return self.latest

    def money(self) -> Money:
        """Sums are kept exactly, so that a reservation leaves no trace when it is settled."""
        return Money(self.budget.usd, self.spent.total, self.reserved.total)

    def put(self, trial: Trial, run: LatestRun) -> None:
        number, before = trial.number, self.trials[trial.number].state
        self.trials[number], self.runs[number], self.latest = trial, run, None
        if before is _QUEUED and trial.state is not _QUEUED:
            del self.waiting[bisect_right(self.waiting, number) - 1]
        elif trial.state is _QUEUED and before is not _QUEUED:
            insort(self.waiting, number)

    def settle(self, number: int, run: LatestRun, dollars: float, time: float) -> None:
        if run.booking.usd:
            self.reserved.add(-run.booking.usd)
        self.spent.add(dollars)
        self.settled.append(run.ledger_row(number, dollars, time))

    def add_reports(self, reports: Sequence[ReportRow]) -> None:
        for report in reports:
            metrics = {name: float(value) for name, value in report.metrics.items()}
            kept = replace(report, seconds=float(report.seconds), metrics=metrics, id=len(self.reports) + 1)
            self.reports.append(kept)
            self.reports_of.setdefault(report.number, []).append(kept)

    def put_stays(self, stays: Sequence[StayRow]) -> None:
        """A machine ends with the run that is going on, if it is one of that."""
        for stay in stays:
            self.stays[stay.number, stay.attempt, stay.machine] = stay
            run = self.runs[stay.number]
            if run.worker is not None and run.attempt == stay.attempt:
                self.machines.setdefault(stay.number, {})[stay.machine] = None

    def close_stays(
        self, number: int, run: LatestRun, end: Move, dollars: float | None = None, stays: Sequence[StayRow] = ()
    ) -> None:
        self.put_stays(stays)
        others = self.machines.pop(number, {})
        for stay in stays:
            others.pop(stay.machine, None)
        if others:
            rows = [self.stays[number, run.attempt, machine] for machine in others]
            still_open = [row for row in rows if row.ended is None]
            usd = dollars if len(still_open) == 1 else None
            self.put_stays(
                [replace(row, ended=end.time, why=end.cause, gross_usd=usd, revoked=False) for row in still_open]
            )


class MemoryStudyStore(Store):
    """A study. Threads may share it."""

    def __init__(self, space: Space, budget: Budget, *, name: str = "study") -> None:
        self.name = name
        self._space = space
        self._book = _Book(budget)

    # -- looking

    def look(self) -> Look:
        """See Store."""
        book = self._book
        with book.lock:
            return Look(book.history(), book.budget, book.money())

    def running(self) -> list[Claim]:
        """See Store."""
        book = self._book
        with book.lock:
            return [
                run.claim(trial) for trial, run in zip(book.trials, book.runs, strict=True) if run.worker is not None
            ]

    def ledger(self) -> list[LedgerRow]:
        """See Store."""
        book = self._book
        with book.lock:
            still_open = [run.ledger_row(number) for number, run in enumerate(book.runs) if run.worker is not None]
            return sorted([*book.settled, *still_open], key=lambda row: (row.number, row.attempt))

    def stays(self, number: int | None = None) -> list[StayRow]:
        """See Store."""
        book = self._book
        with book.lock:
            stays = [stay for stay in book.stays.values() if number is None or stay.number == number]
        return sorted(stays, key=lambda stay: (stay.launched, stay.number, stay.attempt, stay.machine))

    def reports(self, number: int | None = None, after: int = 0) -> list[ReportRow]:
        """See Store."""
        book = self._book
        with book.lock:
            if number is None:
                return book.reports[max(after, 0) :]  # the first one's id is 1
            rows = book.reports_of.get(number, [])
            return rows[bisect_right(rows, after, key=lambda row: row.id) :]

    def workers(self) -> list[WorkerRow]:
        """See Store."""
        book = self._book
        with book.lock:
            return sorted(book.workers.values(), key=lambda worker: (worker.joined, worker.id))

    # -- proposing

    def may_propose(self, worker: str, *, time: float, for_seconds: float) -> bool:
        """See Store."""
        until, who = finite(time, "time") + positive(for_seconds, "for_seconds"), named(worker)
        with self._changing() as book:
            if book.proposing is not None and book.proposing[0] != who and book.proposing[1] > time:
                return False
            book.proposing = (who, until)
            return True

    def release_proposing(self, worker: str) -> None:
        """See Store."""
        with self._changing() as book:
            if book.proposing is not None and book.proposing[0] == worker:
                book.proposing = None

    # -- running

    def renew(self, worker: str, numbers: Iterable[int], *, time: float, lease: float) -> frozenset[int]:
        """See Store."""
        until, wanted = finite(time, "time") + positive(lease, "lease"), frozenset(numbers)
        with self._changing() as book:
            held = range(len(book.runs))
            kept = frozenset(number for number in wanted if number in held and book.runs[number].worker == worker)
            for number in kept:
                book.runs[number] = book.runs[number]._replace(lease_until=until)
            return kept

    # -- budget

    def set_budget(self, budget: Budget, *, time: float, cause: str) -> None:
        """See Store."""
        finite(time, "time")
        with self._changing() as book:
            book.budget = budget

    # -- workers

    def join(self, worker: WorkerRow) -> None:
        """See Store."""
        row = replace(worker, id=named(worker.id), host=clean(worker.host))
        with self._changing() as book:
            book.workers[row.id] = row

    def seen(self, worker_id: str, time: float) -> None:
        """See Store."""
        at = finite(time, "time")
        with self._changing() as book:
            if worker_id in book.workers:
                book.workers[worker_id] = replace(book.workers[worker_id], seen=at)

    def leave(self, worker_id: str) -> None:
        """See Store."""
        with self._changing() as book:
            book.workers.pop(worker_id, None)

    def _changing(self) -> AbstractContextManager[_Book]:
        return self._book
