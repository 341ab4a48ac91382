"""What the loop, and readers of a study, need of a store; `StudyStore` (SQL) and `MemoryStudyStore` keep it.

Promises (testing/store_contract.py): every method is one transaction, all or nothing. Any number of threads may share a
store, and each sees what the others have written. Times are the caller's: a store reads no clock.

Invariants: a running trial that was claimed has one worker, one lease and one open row in the ledger, any other trial
none; a trial's runs are counted 1, 2, ... and claimed once each; no claim takes spent +
reserved above the budget; dollars in the history are those in the ledger.

The meaning of a change is written here, once. A store adds how it is kept: its `Transaction`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from fractions import Fraction
from typing import NamedTuple, Protocol, Unpack

from leantune.history import (
    History,
    Move,
    Observation,
    RunEndDetails,
    Trial,
    TrialDetails,
    TrialState,
    moved,
    proposed,
    recorded,
    told_dollars,
)
from leantune.problem import Budget
from leantune.space import Space
from leantune.store.encoding import clean_notes
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
    checked_stay,
    checked_stays,
    ended,
    finite,
    judged_trial,
    lease_lost,
    named,
    outdated_proposal,
    positive,
    retried,
    storable,
    storable_move,
)
from leantune.units import NO_USD, Seconds, Usd

_UNBOOKED = Booking(NO_USD, None, None)
_QUEUED, _RUNNING, _LOST = TrialState.QUEUED, TrialState.RUNNING, TrialState.LOST


class LatestRun(NamedTuple):
    """A trial's latest run; no worker when it is not running. stays: a machine of it may not have ended."""

    attempt: int = 0
    worker: str | None = None
    started: float = 0.0
    lease_until: float = 0.0
    booking: Booking = _UNBOOKED
    stays: bool = False

    def ledger_row(self, number: int, settled: float | None = None, settled_at: float | None = None) -> LedgerRow:
        """Its row of the ledger, open as long as it is not settled."""
        rate, limit = self.booking.rate, self.booking.time_limit
        reserved, worker = self.booking.usd, self.worker or ""
        return LedgerRow(number, self.attempt, worker, rate, limit, reserved, self.started, settled, settled_at)

    def claim(self, trial: Trial) -> Claim:
        """The claim of its worker."""
        assert self.worker is not None
        return Claim(trial, self.attempt, self.worker, self.started, self.lease_until, self.booking)


class Transaction(Protocol):
    """A study while one caller changes it and no other can. The caller has checked everything before."""

    def count(self) -> int:
        """The number of trials."""

    def trial(self, number: int) -> Trial:
        """A trial; UnknownTrial when there is none."""

    def run(self, number: int) -> LatestRun:
        """A trial's latest run; UnknownTrial when there is no such trial."""

    def queued(self) -> Iterable[tuple[Trial, int]]:
        """Queued trials by number, with the number of their last attempt."""

    def money(self) -> Money:
        """Dollars spent and reserved, beside the budget."""

    def add(self, trial: Trial) -> None:
        """A new trial, which has never run."""

    def put(self, trial: Trial, run: LatestRun) -> None:
        """A later version of a trial, and its run."""

    def reserve(self, number: int, run: LatestRun) -> None:
        """Open a row of the ledger for a run that starts, with its booking."""

    def settle(self, number: int, run: LatestRun, dollars: Usd, time: float) -> None:
        """Close the row of a run that has ended."""

    def add_reports(self, reports: Sequence[ReportRow]) -> None:
        """Keep what trials reported, with ids that rise in this order."""

    def put_stays(self, stays: Sequence[StayRow]) -> None:
        """Write machines of a run; what is there of the same machine is replaced."""

    def close_stays(
        self, number: int, run: LatestRun, end: Move, dollars: float | None = None, stays: Sequence[StayRow] = ()
    ) -> None:
        """End what is open of a run's machines; its dollars are those of the machine where there is one.

        stays: machines of it that are written as they are.
        """

    def stop_proposing(self) -> None:
        """End the claim of the worker that computes the next proposal."""


class Store(ABC):
    """One study: its trials, its money, its workers."""

    name: str
    _space: Space

    @abstractmethod
    def _changing(self) -> AbstractContextManager[Transaction]:
        """The study's lock, until the transaction ends; StoreError within another transaction of this thread."""

    # -- looking

    def history(self) -> History:
        """All trials, up to date."""
        return self.look().history

    def money(self) -> Money:
        """The budget's dollars, and what is spent and reserved of them."""
        return self.look().money

    @abstractmethod
    def look(self) -> Look:
        """History, budget and money as of one moment."""

    @abstractmethod
    def running(self) -> list[Claim]:
        """Every run that a worker holds, by trial; nothing is changed."""

    @abstractmethod
    def ledger(self) -> list[LedgerRow]:
        """Every run's dollars, by trial and attempt."""

    @abstractmethod
    def stays(self, number: int | None = None) -> list[StayRow]:
        """The machines of one trial's runs, or of all, in the order of their launch."""

    @abstractmethod
    def reports(self, number: int | None = None, after: int = 0) -> list[ReportRow]:
        """Reports of one trial, or of all, in the order of arrival; only those that came after the one of that id."""

    @abstractmethod
    def workers(self) -> list[WorkerRow]:
        """The processes that work on the study, in the order of joining."""

    # -- proposing

    def propose(
        self,
        configuration: Mapping[str, object],
        fraction: Fraction,
        snapshots: Iterable[Fraction] = (),
        *,
        time: float,
        after: int | None = None,
        queue: bool = True,
        **details: Unpack[TrialDetails],
    ) -> Trial:
        """Add a trial, and queue it. This ends the claim to propose (see `may_propose`).

        after: the number of trials that the proposal was computed from; Outdated when there are more by now.
        """
        chosen, trial = self._space.configuration(configuration), None
        details["notes"] = clean_notes(details.get("notes", ()))
        with self._changing() as change:
            number = change.count()
            if after is None or number <= after:
                trial = proposed(number, chosen, fraction, snapshots, time=float(time), **details)
                trial = moved(trial, Move(_QUEUED, float(time))) if queue else trial
                change.add(trial)
            change.stop_proposing()
        if trial is None:  # raised only now, so that the marker stays removed
            raise outdated_proposal(self.name, after, number)
        return trial

    @abstractmethod
    def may_propose(self, worker: str, *, time: float, for_seconds: float) -> bool:
        """Whether this worker is the one that computes the next proposal, until `for_seconds` from now.

        True when no other worker proposes, or its time is over. `propose` ends it, and `release_proposing`.
        """

    @abstractmethod
    def release_proposing(self, worker: str) -> None:
        """Let others propose, if this worker was the one."""

    # -- running

    def claim(
        self, worker: str, *, time: float, lease: float, fitting: Callable[[Trial, Money], Booking | None]
    ) -> Claim | None:
        """Start the oldest queued trial for which `fitting` gives a booking; None when there is none.

        `fitting` is called within the transaction, while every other writer waits, with the trial and the money as they
        are. It must be pure: arithmetic over the money and over what was read before (which trials have room), no
        executor, no clock, no change of the store. StoreError when a booking exceeds what is left of the budget.
        """
        until, who = finite(time, "time") + positive(lease, "lease"), named(worker)
        with self._changing() as change:
            money = change.money()
            for queued, attempts in change.queued():
                booking = fitting(queued, money)
                if booking is None:
                    continue
                check_booking(queued, booking, money)
                run = LatestRun(attempts + 1, who, float(time), until, booking)
                trial = moved(queued, Move(_RUNNING, float(time)))
                change.put(trial, run)
                change.reserve(trial.number, run)
                return run.claim(trial)
            return None

    @abstractmethod
    def renew(self, worker: str, numbers: Iterable[int], *, time: float, lease: float) -> frozenset[int]:
        """Extend this worker's leases of these trials; those that it still holds are returned."""

    def open_stay(self, worker: str, stay: StayRow) -> None:
        """A machine was launched for a run; LeaseLost when that run is no longer this worker's."""
        row = checked_stay(stay)
        with self._changing() as change:
            self._check_held(change.run(row.number), worker, row.number, row.attempt)
            change.put_stays([row])

    def settle_stay(self, stay: StayRow) -> None:
        """News of a machine, during its run or after it: a checkpoint, or its bill."""
        row = checked_stay(stay)
        with self._changing() as change:
            change.trial(row.number)
            change.put_stays([row])

    def add_reports(self, reports: Sequence[ReportRow]) -> None:
        """Keep reports of running trials."""
        with self._changing() as change:
            for report in reports:
                change.trial(report.number)
                finite(report.seconds, "seconds")
            change.add_reports(reports)

    def finish(
        self,
        claim: Claim,
        *,
        observations: Iterable[Observation],
        state: TrialState,
        resumed_dollars: Usd = NO_USD,
        stays: Iterable[StayRow] = (),
        **details: Unpack[RunEndDetails],
    ) -> Trial:
        """End a run and settle it with `dollars`; LeaseLost when the trial is no longer this worker's.

        done, failed, stopped: the trial is over, with these observations; dollars that none of them tells are those of
        the move. queued, revoked, lost: it goes back to the queue, paused: it waits to be chosen again, and its dollars
        are those of the move. seconds: how long the machine was ours. stays: the run's machines as they are by now, one
        that was left to its provider still open; those that are not named end with the run.
        """
        number, end = claim.trial.number, storable_move(state, **details)
        shown, machines = storable(self.name, number, observations), checked_stays(claim, stays)
        with self._changing() as change:
            run = change.run(number)
            self._check_held(run, claim.worker, number, claim.attempt)
            trial = ended(change.trial(number), shown, end, resumed_dollars)
            _end_run(change, trial, run, end)
            change.close_stays(number, run, end, stays=machines)
            return trial

    def lose(self, claim: Claim, **details: Unpack[RunEndDetails]) -> bool:
        """Take a trial from a worker that vanished: running -> lost -> queued, settled with `dollars`.

        Its machines are over as far as we know, and the dollars those of the machine where there is one. False, and
        nothing is changed, when the trial has moved on or its lease was renewed since `claim` was looked up.
        """
        number, end = claim.trial.number, storable_move(_LOST, **details)
        with self._changing() as change:
            run = change.run(number)
            if (run.worker, run.attempt) != (claim.worker, claim.attempt) or run.lease_until > claim.lease_until:
                return False
            _end_run(change, ended(change.trial(number), (), end, NO_USD), run, end)
            change.close_stays(number, run, end, dollars=end.dollars)
            return True

    def judge(self, changes: Sequence[JudgedMove], *, time: float) -> list[Trial]:
        """Pause, queue or stop trials that do not run: all of them, or (Outdated) none, when one has moved on since it
        was judged.
        """
        shown = [storable(self.name, judged.number, judged.observations) for judged in changes]
        with self._changing() as change:
            after: dict[int, Trial] = {}
            for judged, seen in zip(changes, shown, strict=True):
                trial = after.get(judged.number) or change.trial(judged.number)
                after[judged.number] = judged_trial(trial, judged, seen, float(time))
            for number, trial in after.items():
                change.put(trial, LatestRun(change.run(number).attempt))
            return [after[judged.number] for judged in changes]

    def retry(self, numbers: Iterable[int], *, time: float, cause: str) -> list[Trial]:
        """Queue failed trials again: all of them, or (IllegalMove) none when one has not failed.

        What their failures showed is no result any more; what they cost stays spent.
        """
        with self._changing() as change:
            after = [retried(change.trial(number), float(time), cause) for number in sorted(set(numbers))]
            for trial in after:
                change.put(trial, LatestRun(change.run(trial.number).attempt))
            return after

    def record(
        self,
        number: int,
        observations: Iterable[Observation],
        *,
        time: float,
        state: TrialState = TrialState.DONE,
        cause: str = "",
        seconds: Seconds | None = None,
        resumed_dollars: Usd = NO_USD,
    ) -> Trial:
        """End a trial with a told result, also of a run elsewhere; what it cost goes through the ledger as well.

        seconds, resumed_dollars: where it went on from another trial, how long it took itself, and those dollars of its
        observations that were paid before. A worker that runs the trial at that moment loses it.
        """
        shown = storable(self.name, number, observations)
        end = storable_move(state, time=time, cause=cause, seconds=seconds)
        with self._changing() as change:
            before = run = change.run(number)
            trial = recorded(change.trial(number), shown, end, resumed_dollars)
            dollars = told_dollars(trial.observations) - resumed_dollars
            if run.worker is None:  # it is over before we heard of it
                run = LatestRun(
                    run.attempt + 1, "", end.time, booking=Booking(NO_USD, trial.configuration.usd_per_hour, None)
                )
                change.reserve(number, run)
            _end_run(change, trial, run, end._replace(dollars=Usd(dollars)))
            change.close_stays(number, before, end._replace(cause="its result was told"), dollars=dollars)
            return trial

    # -- budget

    def budget(self) -> Budget:
        """The budget in force."""
        return self.look().budget

    @abstractmethod
    def set_budget(self, budget: Budget, *, time: float, cause: str) -> None:
        """Change the budget."""

    # -- workers

    @abstractmethod
    def join(self, worker: WorkerRow) -> None:
        """A process begins to work on the study, or begins again."""

    @abstractmethod
    def seen(self, worker_id: str, time: float) -> None:
        """The worker was alive at that time; nothing happens when it has left."""

    @abstractmethod
    def leave(self, worker_id: str) -> None:
        """The worker no longer works on the study; leaving twice is fine."""

    def _check_held(self, run: LatestRun, worker: str, number: int, attempt: int) -> None:
        if run.worker != worker or run.attempt != attempt:
            raise lease_lost(self.name, worker, number, attempt)


def _end_run(change: Transaction, trial: Trial, run: LatestRun, end: Move) -> None:
    """The run is over and paid, and the trial has become this."""
    change.settle(trial.number, run, end.dollars, end.time)
    change.put(trial, LatestRun(run.attempt))
