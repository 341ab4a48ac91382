"""Rows of a study besides its history: money, claims, reports, workers."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from leantune.history import History, Observation, Trial, TrialState
from leantune.problem import Budget
from leantune.units import NO_USD, Usd


@dataclass(frozen=True)
class StudyRow:
    """A study at a glance; `counts` are its trials by state, states without trials left out."""

    name: str
    created: float
    definition: Mapping[str, object]
    job: str
    budget: Budget
    counts: Mapping[str, int]


@dataclass(frozen=True)
class BudgetChange:
    """From `time` on the study had this budget."""

    time: float
    budget: Budget
    cause: str


class Money(NamedTuple):
    """Dollars of a study: the limit (None for no limit), spent on ended runs, reserved for those that run."""

    budget_usd: float | None
    spent: float
    reserved: float

    @property
    def left(self) -> float:
        """The budget - spent - reserved; infinite without a limit, below 0 where the limit was lowered too far."""
        return math.inf if self.budget_usd is None else self.budget_usd - self.spent - self.reserved


@dataclass(frozen=True)
class Look:
    """A study as of one moment."""

    history: History
    budget: Budget
    money: Money


@dataclass(frozen=True)
class Booking:
    """Worst-case dollars of a run, and how they come about: USD per hour (None: free) and seconds (None: no
    limit).
    """

    usd: Usd
    rate: float | None
    time_limit: float | None


class Claim(NamedTuple):
    """A worker's right to run a trial until `lease_until`; `trial` is as it was when claimed or looked up."""

    trial: Trial
    attempt: int
    worker: str
    started: float
    lease_until: float
    booking: Booking


class LedgerRow(NamedTuple):
    """Dollars of one run of a trial; settled is None while it runs. worker is empty where the result was told."""

    number: int
    attempt: int
    worker: str
    rate: float | None
    time_limit: float | None
    reserved: float
    opened: float
    settled: float | None
    settled_at: float | None


@dataclass(frozen=True)
class ReportRow:
    """A report of a running trial, `seconds` after the start of that attempt.

    id: given by the store, rising in the order of arrival.
    """

    number: int
    attempt: int
    seconds: float
    metrics: Mapping[str, float]
    step: float | None = None
    fraction: Fraction | None = None
    id: int = field(default=0, compare=False)


@dataclass(frozen=True)
class JudgedMove:
    """A change of a trial that does not run, decided while it was in the state `expected`.

    state: paused, queued or stopped; what is stopped may bring observations, which count resumed_dollars of its moves
    again (see Trial).
    """

    number: int
    expected: TrialState
    state: TrialState
    cause: str
    observations: tuple[Observation, ...] = ()
    resumed_dollars: Usd = NO_USD


@dataclass(frozen=True)
class StayRow:
    """One job on one machine: one row of the ledger.

    max_price: the most that is paid for an hour, None on demand. usd_per_hour: at launch, and source says where that
    price is from. quotes: JSON, what the placement saw. launched, ready, left, ended: moments; left: when its program
    was gone. step_from: where its program began; reached: the last step it showed; kept: the last step in a checkpoint.
    saving_seconds: how long saving took. gross_usd, refund_usd: of the bill, None while there is none.
    """

    number: int
    attempt: int
    machine: str
    market: str
    on_demand: bool
    max_price: float | None
    usd_per_hour: float
    source: str
    launched: float
    quotes: str = ""
    step_from: float = 0.0
    ready: float | None = None
    left: float | None = None
    ended: float | None = None
    kept: float = 0.0
    reached: float = 0.0
    saving_seconds: float = 0.0
    gross_usd: float | None = None
    refund_usd: float | None = None
    revoked: bool = False
    why: str = ""

    @property
    def usd(self) -> float:
        """Dollars paid for the machine; 0 while there is no bill."""
        return (self.gross_usd or 0.0) - (self.refund_usd or 0.0)

    @property
    def kept_steps(self) -> float:
        """Steps that a checkpoint holds."""
        return self.kept - self.step_from

    @property
    def lost_steps(self) -> float:
        """Steps that were reported and are not in a checkpoint."""
        return max(self.reached - self.kept, 0.0)

    @property
    def over(self) -> float:
        """When the machine ended, or when it was last heard of."""
        return next((time for time in (self.ended, self.left) if time is not None), self.launched)


@dataclass(frozen=True)
class WorkerRow:
    """A process that works on a study; host, pid and process_started together tell whether it still lives."""

    id: str
    host: str
    pid: int
    process_started: float
    slots: int
    joined: float
    seen: float
