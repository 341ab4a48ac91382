"""What the loop, and whoever looks at a study, needs of a store; `StudyStore` (SQL) and `MemoryStudyStore` keep it.

Promises (testing/store_contract.py): every method is one transaction, all or nothing. Any number of threads may share a
store, and what one has been told, the others see. Times are the caller's: a store reads no clock.

Invariants: a running trial that was claimed has one worker, one lease and one open row in the ledger, any other trial
none; a trial's runs are counted 1, 2, ... and claimed once each; no claim takes spent +
reserved above the budget; dollars in the history are those in the ledger.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Protocol

from leantune.history import Estimate, History, Note, Observation, Trial, TrialKind, TrialState
from leantune.problem import Budget
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


class Store(Protocol):
    """One study: its trials, its money, its workers."""

    name: str

    # -- looking

    def history(self) -> History:
        """All trials, up to date."""

    def money(self) -> Money:
        """The budget's dollars, and what is spent and reserved of them."""

    def look(self) -> Look:
        """History, budget and money as of one moment."""

    def running(self) -> list[Claim]:
        """Every run that a worker holds, by trial; nothing is changed."""

    def ledger(self) -> list[LedgerRow]:
        """Every run's dollars, by trial and attempt."""

    def stays(self, number: int | None = None) -> list[StayRow]:
        """The machines of one trial's runs, or of all, in the order of their launch."""

    def reports(self, number: int | None = None, after: int = 0) -> list[ReportRow]:
        """Reports of one trial, or of all, in the order of arrival; only those that came after the one of that id."""

    def workers(self) -> list[WorkerRow]:
        """The processes that work on the study, in the order of joining."""

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
        """Add a trial, and queue it. Whoever was proposing (see `may_propose`) no longer is.

        after: the number of trials that the proposal was computed from; Outdated when there are more by now.
        """

    def may_propose(self, worker: str, *, time: float, for_seconds: float) -> bool:
        """Whether this worker is the one that computes the next proposal, until `for_seconds` from now.

        True when nobody else is, or its time is over. `propose` ends it, and `release_proposing`.
        """

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

    def renew(self, worker: str, numbers: Iterable[int], *, time: float, lease: float) -> frozenset[int]:
        """Extend this worker's leases of these trials; those that it still holds are returned."""

    def open_stay(self, worker: str, stay: StayRow) -> None:
        """A machine was launched for a run; LeaseLost when that run is no longer this worker's."""

    def settle_stay(self, stay: StayRow) -> None:
        """More is known of a machine, during its run or after it: a checkpoint, or its bill."""

    def add_reports(self, reports: Sequence[ReportRow]) -> None:
        """Keep what running trials said about themselves."""

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
        are those of the move. seconds: how long the machine was ours. stays: the run's machines as they are by now, one
        that was left to its provider still open; those that are not named end with the run.
        """

    def lose(self, claim: Claim, *, time: float, cause: str, dollars: float, seconds: float | None = None) -> bool:
        """Take a trial from a worker that vanished: running -> lost -> queued, settled with `dollars`.

        Its machines are over as far as we know, and the dollars those of the machine where there is one. False, and
        nothing is changed, when the trial has moved on or its lease was renewed since `claim` was looked up.
        """

    def judge(self, changes: Sequence[JudgedMove], *, time: float) -> list[Trial]:
        """Pause, queue or stop trials that do not run: all of them, or (Outdated) none, when one has moved on since it
        was judged.
        """

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

    # -- budget

    def budget(self) -> Budget:
        """The budget in force."""

    def set_budget(self, budget: Budget, *, time: float, cause: str) -> None:
        """Change the budget."""

    # -- workers

    def join(self, worker: WorkerRow) -> None:
        """A process begins to work on the study, or begins again."""

    def seen(self, worker_id: str, time: float) -> None:
        """The worker was alive at that time; nothing happens when it has left."""

    def leave(self, worker_id: str) -> None:
        """The worker no longer works on the study; leaving twice is fine."""
