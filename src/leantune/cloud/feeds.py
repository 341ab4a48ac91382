"""Where revocations come from: a market's prices, its capacity, or both.

    by price      notice at the first t >= launch with p(t) > max price; gone notice_seconds later
    by capacity   gone at the first preemption t > launch that hits the machine; notice notice_seconds before (not
                  before launch), or none at all
    both          whichever takes the machine first

A preemption at which k of n machines went hits a given machine with probability k/n. The luck of a machine is drawn
from (seed, slot): the same slot has the same luck again, different slots are independent.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from leantune.arrays import FloatArray
from leantune.cloud.billing import AWS
from leantune.cloud.markets import Market, PriceSeries
from leantune.cloud.provider import Cause, Revocation
from leantune.errors import InvalidInput
from leantune.space import Machine

Mode = Literal["price", "capacity", "both"]


class MarketCapacity:
    """When a market grants machines, and when it takes machines back.

    begins, ends: (m,) launches succeed within [begins[i], ends[i]) and fail outside; disjoint, in order.
    preemptions: (d,) times at which machines were taken, increasing.
    shares: (d,) k/n, the share of the machines that went, in (0, 1]; all of them where it is left out.
    source: where it comes from, for reports.
    """

    def __init__(
        self,
        begins: ArrayLike,
        ends: ArrayLike,
        preemptions: ArrayLike = (),
        shares: ArrayLike | None = None,
        *,
        seed: tuple[int, ...] = (0,),
        source: str = "",
    ) -> None:
        self.begins, self.ends = _array(begins), _array(ends)
        self.preemptions = _array(preemptions)
        self.shares = np.ones_like(self.preemptions) if shares is None else _array(shares)
        self.seed, self.source = seed, source
        self._check()
        self._edges: list[float] = np.ravel(np.column_stack((self.begins, self.ends))).tolist()
        self._hits: dict[int, list[float]] = {}
        self._takes_all = bool((self.shares == 1.0).all())

    def available(self, time: float) -> bool:
        """Whether a launch at this time succeeds."""
        return bisect_right(self._edges, time) % 2 == 1

    def preemption(self, launch_time: float, slot: int = 0) -> float | None:
        """When a machine of this slot, launched then, is taken; None when it never is."""
        key = 0 if self._takes_all else slot
        if key not in self._hits:
            luck = np.random.default_rng((*self.seed, key)).random(len(self.preemptions))
            self._hits[key] = self.preemptions[luck < self.shares].tolist()
        hits = self._hits[key]
        index = bisect_right(hits, launch_time)
        return hits[index] if index < len(hits) else None

    def _check(self) -> None:
        edges = np.ravel(np.column_stack((self.begins, self.ends))) if self.begins.shape == self.ends.shape else None
        if edges is None or not (np.isfinite(edges).all() and (np.diff(edges) > 0).all()):
            raise self._error("intervals that overlap, touch or are empty", "Give [begin, end) in order, with gaps")
        if not (np.isfinite(self.preemptions).all() and (np.diff(self.preemptions) > 0).all()):
            raise self._error("preemption times that do not increase", "Sort them, one share for each time")
        if self.shares.shape != self.preemptions.shape or not ((self.shares > 0) & (self.shares <= 1)).all():
            raise self._error("a share of machines outside (0, 1]", "Give one share k/n for each preemption time")

    def _error(self, what: str, hint: str) -> InvalidInput:
        return InvalidInput(f"the capacity has {what}", where=self.source or "capacity", hint=hint)


@dataclass(frozen=True, eq=False)
class MarketFeed:
    """All events of one market, past and future: for simulated providers only.

    machine: what is rented; its usd_per_hour is the price on demand.
    prices: spot prices, which hold after their end; None on demand.
    on_demand: never revoked, at the flat price of the machine.
    mode: what revokes machines and refuses launches: "price", "capacity" or "both".
    with_notice: whether preemptions for capacity are announced; price crossings always are.
    """

    machine: Machine
    market: Market
    prices: PriceSeries | None
    capacity: MarketCapacity | None = None
    on_demand: bool = False
    mode: Mode = "price"
    notice_seconds: float = AWS.notice_seconds
    with_notice: bool = True

    def __post_init__(self) -> None:
        if self.mode not in get_args(Mode):
            raise self._error(f"mode {self.mode!r} is unknown", f"Modes: {', '.join(get_args(Mode))}")
        if self.on_demand and (self.prices is not None or self.machine.usd_per_hour is None):
            raise self._error("on demand has one flat price", "Give a machine with usd_per_hour, and prices=None")
        if not self.on_demand and self.prices is None:
            raise self._error("there are no prices", "Give a PriceSeries, or on_demand=True")
        if not self.on_demand and self.mode != "price" and self.capacity is None:
            raise self._error(f"mode {self.mode!r} needs a capacity", "Give one, such as from leantune.cloud.traces")
        if not (math.isfinite(self.notice_seconds) and self.notice_seconds >= 0):
            raise self._error(f"notice_seconds is {self.notice_seconds}", "Give finite seconds of at least 0")

    @property
    def tariff(self) -> PriceSeries | float:
        """The price argument of `BillingPolicy.bill`."""
        if self.prices is not None:
            return self.prices
        assert self.machine.usd_per_hour is not None
        return self.machine.usd_per_hour

    def price_at(self, time: float) -> float:
        """USD per hour at a time."""
        tariff = self.tariff
        return tariff.at(time) if isinstance(tariff, PriceSeries) else tariff

    def refusal(self, time: float, max_price: float = math.inf) -> str | None:
        """Why a launch at a time would fail; None where it would succeed. On demand never fails for these reasons."""
        if self.on_demand:
            return None
        if self.mode != "capacity" and self.price_at(time) > max_price:
            return f"the price {self.price_at(time):g} USD/h is above the max price {max_price:g}"
        if self.mode != "price" and self.capacity is not None and not self.capacity.available(time):
            return "there is no capacity"
        return None

    def revocation(self, launch_time: float, max_price: float, slot: int = 0) -> Revocation | None:
        """When a machine launched then at this max price (inf: no limit) is taken away; None if never."""
        if self.prices is None:
            return None
        crossing = self.prices.first_above(launch_time, max_price) if self.mode != "capacity" else None
        taken = None
        if self.mode != "price" and self.capacity is not None:
            taken = self.capacity.preemption(launch_time, slot)
        if crossing is not None and (taken is None or crossing + self.notice_seconds <= taken):
            return Revocation(crossing, crossing + self.notice_seconds, Cause.PRICE)
        if taken is None:
            return None
        notice = max(launch_time, taken - self.notice_seconds) if self.with_notice else None
        return Revocation(notice, taken, Cause.CAPACITY)

    def _error(self, what: str, hint: str) -> InvalidInput:
        return InvalidInput(what, where=f"market {self.market}", hint=hint)


def _array(values: ArrayLike) -> FloatArray:
    array = np.array(values, dtype=np.float64, ndmin=1)
    array.flags.writeable = False
    return array
