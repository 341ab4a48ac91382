"""A provider that is simulated: the same calls, under a clock that jumps, from feeds that know the future.

A machine is billed from its launch and can be used `boot_seconds` later: booting is paid for. All is decided by the
feeds, the seed and the order of the calls: the same calls at the same times give the same machines, events and bills.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from leantune.clock import Clock
from leantune.cloud.billing import Bill, BillingPolicy
from leantune.cloud.feeds import MarketFeed
from leantune.cloud.markets import Market, PriceSeries
from leantune.cloud.provider import (
    Event,
    MachineState,
    Noticed,
    Offer,
    RentedMachine,
    Revocation,
    Revoked,
    Running,
)
from leantune.errors import InvalidInput, LaunchRefused, MachineGone, UnknownMachine

_Key = tuple[Market, bool]


class _Held(NamedTuple):
    """A machine as it was launched, and its future."""

    machine: RentedMachine
    feed: MarketFeed
    usable_at: float
    revocation: Revocation | None


class SimCloud:
    """Rents out the machines of its feeds (a `Provider` that is also `Foreseeing`).

    launch_failures: probability that a launch is refused though the feed would grant it.
    seed: of these refusals. launches: machines of an earlier life, whose names are not given again; later all that were
    launched so far. A machine's slot, from which a feed draws its luck, is the number of its launch.
    """

    def __init__(
        self,
        feeds: Iterable[MarketFeed],
        policy: BillingPolicy,
        clock: Clock,
        *,
        boot_seconds: float = 60.0,
        launch_failures: float = 0.0,
        seed: int = 0,
        launches: int = 0,
    ) -> None:
        self._feeds = _by_key(feeds, policy)
        self.policy = policy
        self._clock = clock
        if not (math.isfinite(boot_seconds) and boot_seconds >= 0):
            raise InvalidInput(f"boot_seconds is {boot_seconds}", where="SimCloud", hint="Give seconds of at least 0")
        if not 0 <= launch_failures <= 1:
            hint = "Give a probability between 0 and 1"
            raise InvalidInput(f"launch_failures is {launch_failures}", where="SimCloud", hint=hint)
        self._boot_seconds = float(boot_seconds)
        self._launch_failures = launch_failures
        self._luck = np.random.default_rng(seed)
        self._held: dict[str, _Held] = {}
        self._bills: dict[str, Bill] = {}
        self.launches = launches
        # Future events of machines, by time and then by order of entry; those of ended machines are skipped.
        self._ahead: list[tuple[float, int, Event]] = []
        self._entries = 0
        self._unreported: list[Event] = []

    def offers(self) -> tuple[Offer, ...]:
        """One offer for each feed, in their order."""
        now = self._catch_up()
        return tuple(_offer(feed, now) for feed in self._feeds.values())

    def history(self, market: Market) -> PriceSeries:
        """The spot prices of a market until now."""
        now = self._catch_up()
        feed = self._feeds.get((market, False))
        if feed is None or not isinstance(feed.tariff, PriceSeries):
            raise _not_offered(market, on_demand=False)
        return feed.tariff.until(now)

    def launch(self, offer: Offer, max_price: float | None, tag: str) -> str:
        """Rent a machine; refused by the feed (price, capacity) or by chance."""
        now = self._catch_up()
        feed = self._feeds.get((offer.market, offer.on_demand))
        if feed is None:
            raise _not_offered(offer.market, on_demand=offer.on_demand)
        limit = _limit(offer, max_price)
        why = feed.refusal(now, limit)
        if why is None and self._launch_failures and self._luck.random() < self._launch_failures:
            why = "the launch failed"
        if why is not None:
            hint = "Try again later, at another price or in another market"
            raise LaunchRefused(f"no machine: {why}", where=str(offer.market), hint=hint)
        revocation = feed.revocation(now, limit, self.launches)
        self.launches += 1
        machine_id = f"sim-{self.launches:06d}"
        usable_at = now + self._boot_seconds
        machine = RentedMachine(machine_id, _offer(feed, now), max_price, tag, now, MachineState.BOOTING)
        self._held[machine_id] = _Held(machine, feed, usable_at, revocation)
        self._plan(machine_id, usable_at, revocation)
        return machine_id

    def terminate(self, machine_id: str) -> Bill:
        """End a machine now, as its renter: charged, also after a notice."""
        now = self._catch_up()
        if machine_id in self._bills:
            hint = "Its bill is in bills()"
            raise MachineGone("the machine has ended before", where=f"machine {machine_id}", hint=hint)
        if machine_id not in self._held:
            raise UnknownMachine("no such machine", where=f"machine {machine_id}", hint="machines() lists those held")
        self._unreported = [event for event in self._unreported if event.machine_id != machine_id]
        return self._end(machine_id, now, revoked=False)

    def machines(self, tag: str | None = None) -> tuple[RentedMachine, ...]:
        """Those being paid for now, in the order of launch."""
        now = self._catch_up()
        return tuple(_as_renters_see(held, now) for held in self._held.values() if tag in (None, held.machine.tag))

    def poll(self) -> tuple[Event, ...]:
        """Events since the last call."""
        self._catch_up()
        events, self._unreported = tuple(self._unreported), []
        return events

    def bills(self) -> Mapping[str, Bill]:
        """The bills of the machines that have ended, in the order of ending; a view that later ones are added to."""
        self._catch_up()
        return MappingProxyType(self._bills)

    def next_event_time(self) -> float | None:
        """When `poll` will next return something if nothing is launched or terminated."""
        now = self._catch_up()
        if self._unreported:
            return now
        while self._ahead and self._ahead[0][2].machine_id not in self._held:
            heapq.heappop(self._ahead)
        return self._ahead[0][0] if self._ahead else None

    def _plan(self, machine_id: str, usable_at: float, revocation: Revocation | None) -> None:
        if revocation is None or usable_at < revocation.gone_at:
            self._enter(Running(machine_id, usable_at))
        if revocation is None:
            return
        if revocation.notice_at is not None:
            self._enter(Noticed(machine_id, revocation.notice_at, revocation.gone_at))
        self._enter(Revoked(machine_id, revocation.gone_at, revocation.cause))

    def _enter(self, event: Event) -> None:
        self._entries += 1
        heapq.heappush(self._ahead, (event.time, self._entries, event))

    def _catch_up(self) -> float:
        """Process events that are due, and return the time."""
        now = self._clock.now()
        while self._ahead and self._ahead[0][0] <= now:
            _, _, event = heapq.heappop(self._ahead)
            if event.machine_id not in self._held:
                continue
            if isinstance(event, Revoked):
                self._end(event.machine_id, event.time, revoked=True)
            self._unreported.append(event)
        return now

    def _end(self, machine_id: str, time: float, *, revoked: bool) -> Bill:
        held = self._held.pop(machine_id)
        limit = _limit(held.machine.offer, held.machine.max_price)
        bill = self.policy.bill(held.feed.tariff, held.machine.launched_at, time, revoked=revoked, max_price=limit)
        self._bills[machine_id] = bill
        return bill


def _by_key(feeds: Iterable[MarketFeed], policy: BillingPolicy) -> dict[_Key, MarketFeed]:
    by_key: dict[_Key, MarketFeed] = {}
    for feed in feeds:
        key = (feed.market, feed.on_demand)
        if key in by_key:
            hint = "Give one feed for spot and one for on demand"
            raise InvalidInput("the market has two feeds", where=str(feed.market), hint=hint)
        if not feed.on_demand and feed.notice_seconds != policy.notice_seconds:
            what = f"the feed gives {feed.notice_seconds:g} s of notice, {policy.provider} {policy.notice_seconds:g} s"
            raise InvalidInput(what, where=str(feed.market), hint="Make the feed with the policy's notice_seconds")
        by_key[key] = feed
    if not by_key:
        raise InvalidInput("there are no markets", where="SimCloud", hint="Give at least one feed")
    return by_key


def _offer(feed: MarketFeed, now: float) -> Offer:
    return Offer(feed.machine, feed.market, feed.on_demand, feed.price_at(now))


def _limit(offer: Offer, max_price: float | None) -> float:
    if max_price is None:
        return math.inf
    if offer.on_demand:
        raise InvalidInput("on demand has no max price", where=str(offer.market), hint="Give max_price=None")
    if not max_price > 0:
        raise InvalidInput(f"the max price is {max_price}", where=str(offer.market), hint="Give USD/h above 0, or None")
    return max_price


def _as_renters_see(held: _Held, now: float) -> RentedMachine:
    """The renter's view of a machine: a revocation only once it was announced."""
    coming = held.revocation
    if coming is not None and coming.notice_at is not None and coming.notice_at <= now:
        return replace(held.machine, state=MachineState.NOTICED, gone_at=coming.gone_at)
    return replace(held.machine, state=MachineState.RUNNING) if now >= held.usable_at else held.machine


def _not_offered(market: Market, *, on_demand: bool) -> InvalidInput:
    what = f"{market} is not offered {'on demand' if on_demand else 'as spot'}"
    return InvalidInput(what, where="SimCloud", hint="Take an offer of offers()")
