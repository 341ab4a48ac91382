"""The interface of providers of machines: a real provider, or the simulated provider in `simcloud`.

Life of a machine, all times in seconds since 1970:

    launch ── boots ──> Running ── terminate ────────────────────> billed, own termination
                  └────────┴──> Noticed (gone at ...) ── Revoked ─> billed, revoked

Revoked may come without Noticed (a notice is best effort), and both may come while the machine still boots. A machine
is billed once, from launch, when it ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable

from leantune.cloud.billing import Bill, BillingPolicy
from leantune.cloud.markets import Market, PriceSeries
from leantune.space import Machine


class Cause(StrEnum):
    """Why a provider takes a machine away."""

    PRICE = "price"
    CAPACITY = "capacity"


@dataclass(frozen=True, slots=True)
class Revocation:
    """When a machine will be taken away; `notice_at` is None where nothing is said before."""

    notice_at: float | None
    gone_at: float
    cause: Cause


@dataclass(frozen=True)
class Offer:
    """A machine that can be rented at `usd_per_hour` now; on demand it is never revoked and its price is flat."""

    machine: Machine
    market: Market
    on_demand: bool
    usd_per_hour: float


class MachineState(StrEnum):
    """The phase of a rented machine."""

    BOOTING = "booting"
    RUNNING = "running"
    NOTICED = "noticed"


@dataclass(frozen=True)
class RentedMachine:
    """A machine that is being paid for. `gone_at` is known once its revocation was announced."""

    id: str
    offer: Offer
    max_price: float | None
    tag: str
    launched_at: float
    state: MachineState
    gone_at: float | None = None


@dataclass(frozen=True, slots=True)
class Running:
    """The machine has booted and can be used."""

    machine_id: str
    time: float


@dataclass(frozen=True, slots=True)
class Noticed:
    """The provider has announced that it will take the machine away at `gone_at`."""

    machine_id: str
    time: float
    gone_at: float


@dataclass(frozen=True, slots=True)
class Revoked:
    """The provider has taken the machine away; its bill is in `bills`."""

    machine_id: str
    time: float
    cause: Cause


Event = Running | Noticed | Revoked


@runtime_checkable
class Provider(Protocol):
    """Rents machines out. Not safe to be used by several threads at once; no call waits for a machine."""

    @property
    def policy(self) -> BillingPolicy:
        """How it bills, and how long before a revocation it says so."""
        ...

    def offers(self) -> tuple[Offer, ...]:
        """Current offers with their current prices; a launch can still be refused."""
        ...

    def history(self, market: Market) -> PriceSeries:
        """The spot prices of a market that are known now: nothing that is set later."""
        ...

    def launch(self, offer: Offer, max_price: float | None, tag: str) -> str:
        """Rent a machine and return its id; it boots from now and is billed from now.

        max_price: USD per hour above which the machine is given up; None for no limit. On demand there is none.
        tag: whose machine it is, to find it again after a crash.
        Raises LaunchRefused; InvalidInput where the offer is not among this provider's.
        """
        ...

    def terminate(self, machine_id: str) -> Bill:
        """End a machine now, as its renter, and return what it costs. Raises MachineGone, UnknownMachine."""
        ...

    def machines(self, tag: str | None = None) -> tuple[RentedMachine, ...]:
        """Those that are being paid for now, of one tag or all, in the order of launch."""
        ...

    def poll(self) -> tuple[Event, ...]:
        """Events since the last call, in the order of time; each is returned once.

        Of a machine that its renter has terminated nothing more is told.
        """
        ...

    def bills(self) -> Mapping[str, Bill]:
        """The bill of each machine that has ended until now, by id, in the order of ending."""
        ...


@runtime_checkable
class Foreseeing(Protocol):
    """A provider that is simulated, and so knows when it will next have something to tell."""

    def next_event_time(self) -> float | None:
        """When `poll` will next return something if nothing is launched or terminated; None if never."""
        ...
