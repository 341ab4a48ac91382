"""A study in plain Python objects, which nobody keeps: for simulations, which make hundreds of thousands of moves. The
promises are those of `base.Store`; what is legal is decided by the same pure functions as in a database.

What is costly is kept up to date rather than computed: sums of dollars, the queue, the history as of the last change.
"""

from bisect import bisect_right, insort
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from threading import RLock
from types import MappingProxyType
from typing import NamedTuple

from leantune.errors import StoreError
from leantune.history import (
    Estimate,
    History,
    Move,
    Note,
    Observation,
    Trial,
    TrialKind,
    TrialState,
    in_order,
    moved,
    proposed,
    recorded,
)
from leantune.problem import Budget
from leantune.space import Space
from leantune.store.encoding import clean, clean_notes
from leantune.store.rows import (
    Booking,
    Claim,
    JudgedMove,
    LedgerRow,
    Look,
    Money,
    ReportRow,
    StayRow,
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
from leantune.units import RunningSum

_QUEUED, _RUNNING = TrialState.QUEUED, TrialState.RUNNING


class _Run(NamedTuple):
    """A trial's latest run; no worker when it is not running."""

    attempt: int = 0
    worker: str | None = None
    started: float = 0.0
    lease_until: float = 0.0
    booking: Booking | None = None


_NEVER_RUN = _Run()
# A row of the ledger as it is kept: 110,000 dataclasses would take longer to make than all the rest.
_LedgerValues = tuple[int, int, str, float | None, float | None, float, float, float, float]


@dataclass
class _Book:
    """A study's contents. `lock` is held by whoever looks or changes."""

    budget: Budget
    trials: list[Trial] = field(default_factory=list)
    runs: list[_Run] = field(default_factory=list)
    queued: list[int] = field(default_factory=list)  # numbers, rising
    settled: list[_LedgerValues] = field(default_factory=list)
    spent: RunningSum = field(default_factory=RunningSum)
    reserved: RunningSum = field(default_factory=RunningSum)
    reports: list[ReportRow] = field(default_factory=list)
    reports_of: dict[int, list[ReportRow]] = field(default_factory=dict)
    stays: dict[tuple[int, int, str], StayRow] = field(default_factory=dict)  # by trial, attempt and machine
    machines: dict[int, list[str]] = field(default_factory=dict)  # of the runs that are going on, by trial
    workers: dict[str, WorkerRow] = field(default_factory=dict)
    proposing: tuple[str, float] | None = None  # who, and until when
    lock: RLock = field(default_factory=RLock)
    claiming: bool = False
    latest: History | None = field(default_factory=History)  # None once something has changed

    def check_free(self) -> None:
        """Within the lock: refuse to change what is being claimed from just now."""
        if self.claiming:
            raise StoreError("a change within another transaction", where="memory", hint="Make it before or afterwards")

    def check_number(self, number: int) -> None:
        """Refuse (UnknownTrial) a trial that is not there."""
        if not 0 <= number < len(self.trials):
            self.history().trial(number)

    def history(self) -> History:
        """All trials; made anew only when one has changed."""
        if self.latest is None:
            self.latest = in_order(tuple(self.trials))
        return self.latest

    def money(self) -> Money:
        """Sums are kept exactly, so that a reservation leaves no trace when it is settled."""
        return Money(self.budget.usd, self.spent.total, self.reserved.total)

    def put(self, trial: Trial, run: _Run) -> None:
        """A later version of a trial that is there."""
        number, before = trial.number, self.trials[trial.number].state
        self.trials[number], self.runs[number], self.latest = trial, run, None
        if before is _QUEUED and trial.state is not _QUEUED:
            del self.queued[bisect_right(self.queued, number) - 1]
        elif trial.state is _QUEUED and before is not _QUEUED:
            insort(self.queued, number)

    def settle(self, number: int, run: _Run, dollars: float, time: float) -> None:
        """Close the row of a run that has ended."""
        booking = run.booking
        assert booking is not None and run.worker is not None  # it runs
        if booking.usd:
            self.reserved.add(-booking.usd)
        self.spent.add(dollars)
        self.settled.append(
            (
                number,
                run.attempt,
                run.worker,
                booking.rate,
                booking.time_limit,
                booking.usd,
                run.started,
                dollars,
                time,
            )
        )

    def put_stay(self, stay: StayRow) -> None:
        """What is known of a machine; it ends with the run that is going on, if it is one of that."""
        row, run = _storable_stay(stay), self.runs[stay.number]
        self.stays[row.number, row.attempt, row.machine] = row
        if run.worker is not None and run.attempt == row.attempt:
            machines = self.machines.setdefault(row.number, [])
            if row.machine not in machines:
                machines.append(row.machine)

    def close_stays(self, number: int, run: _Run, time: float, cause: str, dollars: float | None = None) -> None:
        """End what is open of a run's machines; its dollars are those of the machine where there is one."""
        stays = [self.stays[number, run.attempt, machine] for machine in self.machines.pop(number)]
        still_open = [stay for stay in stays if stay.ended is None]
        usd = dollars if len(still_open) == 1 else None
        for stay in still_open:
            over = replace(stay, ended=time, why=cause, gross_usd=usd, revoked=False)
            self.stays[number, run.attempt, stay.machine] = over


class MemoryStudyStore:
    """A study. Threads may share it."""

    def __init__(self, space: Space, budget: Budget, *, name: str = "study") -> None:
        self.name = name
        self._space = space
        self._book = _Book(budget)

    # -- looking

    def history(self) -> History:
        """See Store."""
        with self._book.lock:
            return self._book.history()

    def money(self) -> Money:
        """See Store."""
        with self._book.lock:
            return self._book.money()

    def look(self) -> Look:
        """See Store."""
        book = self._book
        with book.lock:
            return Look(book.history(), book.budget, book.money())

    def running(self) -> list[Claim]:
        """See Store."""
        with self._looking() as book:
            return [
                Claim(trial, run.attempt, run.worker, run.started, run.lease_until, run.booking)
                for trial, run in zip(book.trials, book.runs, strict=True)
                if run.worker is not None and run.booking is not None
            ]

    def ledger(self) -> list[LedgerRow]:
        """See Store."""
        with self._looking() as book:
            over = [LedgerRow(*values) for values in book.settled]
            still_open = [
                LedgerRow(
                    number,
                    run.attempt,
                    run.worker,
                    run.booking.rate,
                    run.booking.time_limit,
                    run.booking.usd,
                    run.started,
                    None,
                    None,
                )
                for number, run in enumerate(book.runs)
                if run.worker is not None and run.booking is not None
            ]
        return sorted([*over, *still_open], key=lambda row: (row.trial, row.attempt))

    def stays(self, number: int | None = None) -> list[StayRow]:
        """See Store."""
        with self._looking() as book:
            found = [stay for stay in book.stays.values() if number is None or stay.number == number]
        return sorted(found, key=lambda stay: (stay.launched, stay.number, stay.attempt, stay.machine))

    def reports(self, number: int | None = None, after: int = 0) -> list[ReportRow]:
        """See Store."""
        with self._looking() as book:
            if number is None:
                return book.reports[max(after, 0) :]  # the first one's id is 1
            rows = book.reports_of.get(number, [])
            return rows[bisect_right(rows, after, key=lambda row: row.id) :]

    def workers(self) -> list[WorkerRow]:
        """See Store."""
        with self._looking() as book:
            return sorted(book.workers.values(), key=lambda worker: (worker.joined, worker.id))

    # -- proposing

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
        chosen, said = self._space.configuration(configuration), clean_notes(notes)
        with self._changing() as book:
            number = len(book.trials)
            if after is not None and number > after:
                book.proposing = None
                raise outdated_proposal(self.name, after, number)
            trial = proposed(number, chosen, fraction, snapshots, said, float(time), expected, time_limit, kind=kind)
            book.proposing = None
            if queue:
                trial = moved(trial, Move(_QUEUED, float(time)))
                book.queued.append(number)
            book.trials.append(trial)
            book.runs.append(_NEVER_RUN)
            book.latest = None
            return trial

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

    def claim(
        self, worker: str, *, time: float, lease: float, fitting: Callable[[Trial, Money], Booking | None]
    ) -> Claim | None:
        """See Store."""
        until, who = finite(time, "time") + positive(lease, "lease"), named(worker)
        book = self._book
        with book.lock:
            book.check_free()
            money = book.money()
            book.claiming = True
            try:
                found = _first_fitting(book, fitting, money)
            finally:
                book.claiming = False
            if found is None:
                return None
            queued, booking = found
            check_booking(queued, booking, money)
            trial = moved(queued, Move(_RUNNING, float(time)))
            attempt = book.runs[trial.number].attempt + 1
            book.put(trial, _Run(attempt, who, float(time), until, booking))
            if booking.usd:
                book.reserved.add(booking.usd)
            return Claim(trial, attempt, who, float(time), until, booking)

    def renew(self, worker: str, numbers: Iterable[int], *, time: float, lease: float) -> frozenset[int]:
        """See Store."""
        until, wanted = finite(time, "time") + positive(lease, "lease"), frozenset(numbers)
        with self._changing() as book:
            held = range(len(book.runs))
            kept = frozenset(number for number in wanted if number in held and book.runs[number].worker == worker)
            for number in kept:
                book.runs[number] = book.runs[number]._replace(lease_until=until)
            return kept

    def open_stay(self, worker: str, stay: StayRow) -> None:
        """See Store."""
        check_stay(stay)
        number = stay.number
        book = self._book
        with book.lock:
            book.check_free()
            book.check_number(number)
            run = book.runs[number]
            if run.worker != worker or run.attempt != stay.attempt:
                raise lease_lost(self.name, worker, number, stay.attempt)
            book.put_stay(stay)

    def settle_stay(self, stay: StayRow) -> None:
        """See Store."""
        check_stay(stay)
        book = self._book
        with book.lock:
            book.check_free()
            book.check_number(stay.number)
            book.put_stay(stay)

    def add_reports(self, reports: Sequence[ReportRow]) -> None:
        """See Store."""
        book = self._book
        with book.lock:
            book.check_free()
            rows: list[ReportRow] = []
            for row in reports:
                book.check_number(row.number)
                seconds, arrived = finite(row.seconds, "seconds"), len(book.reports) + len(rows) + 1
                metrics = {name: float(value) for name, value in row.metrics.items()}
                rows.append(ReportRow(row.number, row.attempt, seconds, metrics, row.step, row.fraction, arrived))
            book.reports += rows
            for row in rows:
                book.reports_of.setdefault(row.number, []).append(row)

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
        book = self._book
        with book.lock:
            book.check_free()
            book.check_number(number)
            run = book.runs[number]
            if run.worker != claim.worker or run.attempt != claim.attempt:
                raise lease_lost(self.name, claim.worker, number, claim.attempt)
            trial = ended(book.trials[number], shown, end, resumed_dollars)
            book.settle(number, run, paid, end.time)
            said = {stay.machine: stay for stay in map(_storable_stay, machines)}
            if number in book.machines:
                book.machines[number] = [machine for machine in book.machines[number] if machine not in said]
                book.close_stays(number, run, end.time, end.cause)
            book.stays.update(((number, run.attempt, machine), stay) for machine, stay in said.items())
            book.put(trial, _Run(run.attempt))
            return trial

    def lose(self, claim: Claim, *, time: float, cause: str, dollars: float, seconds: float | None = None) -> bool:
        """See Store."""
        number, paid = claim.trial.number, not_negative(dollars, "dollars")
        end = Move(TrialState.LOST, float(time), clean(cause), paid, seconds)
        with self._changing() as book:
            book.check_number(number)
            run = book.runs[number]
            if (run.worker, run.attempt) != (claim.worker, claim.attempt) or run.lease_until > claim.lease_until:
                return False
            trial = ended(book.trials[number], (), end, 0.0)
            book.settle(number, run, paid, end.time)
            if number in book.machines:
                book.close_stays(number, run, end.time, end.cause, paid)
            book.put(trial, _Run(run.attempt))
            return True

    def judge(self, changes: Sequence[JudgedMove], *, time: float) -> list[Trial]:
        """See Store."""
        with self._changing() as book:
            after: dict[int, Trial] = {}
            for judged in changes:
                trial = after.get(judged.number) or book.history().trial(judged.number)
                seen = storable(self.name, judged.number, judged.observations)
                after[judged.number] = judged_trial(trial, judged, seen, float(time))
            for number, trial in after.items():
                book.put(trial, _Run(book.runs[number].attempt))
            return [after[judged.number] for judged in changes]

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
        with self._changing() as book:
            end = Move(TrialState(state), float(time), clean(cause))
            trial = recorded(book.history().trial(number), shown, end)
            run, dollars = book.runs[number], told_dollars(trial.observations)
            if run.worker is None:  # nothing was reserved
                unbooked = Booking(0.0, trial.configuration.usd_per_hour, None)
                run = _Run(run.attempt + 1, "", end.time, 0.0, unbooked)
            book.settle(number, run, dollars, end.time)
            if number in book.machines:
                book.close_stays(number, run, end.time, "its result was told", dollars)
            book.put(trial, _Run(run.attempt))
            return trial

    # -- budget

    def budget(self) -> Budget:
        """See Store."""
        with self._looking() as book:
            return book.budget

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

    @contextmanager
    def _looking(self) -> Iterator[_Book]:
        with self._book.lock:
            yield self._book

    @contextmanager
    def _changing(self) -> Iterator[_Book]:
        with self._book.lock:
            self._book.check_free()
            yield self._book


def _first_fitting(
    book: _Book, fitting: Callable[[Trial, Money], Booking | None], money: Money
) -> tuple[Trial, Booking] | None:
    for number in book.queued:
        booking = fitting(book.trials[number], money)
        if booking is not None:
            return book.trials[number], booking
    return None


def _storable_stay(stay: StayRow) -> StayRow:
    """As a database would keep it."""
    texts = (stay.machine, stay.market, stay.source, stay.quotes, stay.why)
    together = "".join(texts)
    if clean(together) == together:
        return stay
    machine, market, source, quotes, why = map(clean, texts)
    return replace(stay, machine=machine, market=market, source=source, quotes=quotes, why=why)
