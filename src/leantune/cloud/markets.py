"""Markets of revocable machines and their prices, as step functions of time.

    p(t) = prices[i] for t in [times[i], times[i+1]);  times: float64 (n,), seconds since 1970 UTC, increasing
    cost(a, b) = integral of p(t) dt / 3600 over [a, b), in USD

A price holds until the next one is set: interpolating between two prices would tell the future.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leantune.arrays import FloatArray
from leantune.errors import InvalidInput
from leantune.units import SECONDS_PER_HOUR

LINUX = "Linux/UNIX"
_NEAR = 128  # prices among which a crossing is looked for first


@dataclass(frozen=True, order=True)
class Market:
    """A market of one machine type: each zone and each product has its own prices."""

    instance_type: str
    zone: str
    product: str = LINUX

    def __str__(self) -> str:
        """Such as r3.large/us-east-1c; the product only where it is not Linux."""
        place = f"{self.instance_type}/{self.zone}"
        return place if self.product == LINUX else f"{place}/{self.product}"

    @classmethod
    def parse(cls, text: str) -> Market:
        """Read what `str` writes."""
        instance_type, separator, rest = text.partition("/")
        zone, _, product = rest.partition("/")
        if not (separator and instance_type and zone):
            raise InvalidInput(f"{text!r} names no market", where="market", hint="Write type/zone: r3.large/us-east-1c")
        return cls(instance_type, zone, product or LINUX)


class PriceSeries:
    """The prices of one market, known from `start` until `end` (the last price holds until then)."""

    def __init__(self, market: Market, times: ArrayLike, prices: ArrayLike, *, end: float | None = None) -> None:
        self.market = market
        self.times: FloatArray = np.array(times, dtype=np.float64)  # copies: these are made read-only
        self.prices: FloatArray = np.array(prices, dtype=np.float64)
        self._check()
        self.end = float(self.times[-1] if end is None else end)
        if not self.end >= self.times[-1]:
            raise self._error(f"ends at {self.end:.0f}, before its last price", "Give an end that is not earlier")
        seconds = np.diff(self.times, append=self.end)
        # Dollars paid from the start until each price was set.
        self._paid = np.concatenate(([0.0], np.cumsum(self.prices * seconds)))[:-1] / SECONDS_PER_HOUR
        self.times.flags.writeable = self.prices.flags.writeable = False

    @property
    def start(self) -> float:
        """When the first price was set."""
        return float(self.times[0])

    def __len__(self) -> int:
        return len(self.times)

    def at(self, time: float) -> float:
        """The price at a time from `start` on; after `end` the last one."""
        return float(self.prices[self._index(time)])

    def at_times(self, times: FloatArray) -> FloatArray:
        """The price at each of the times."""
        return self.prices[self._indices(times)]

    def cost(self, begin: float, end: float, *, ceiling: float = math.inf) -> float:
        """Dollars for one machine held from begin until end at the market's price, never above the ceiling (USD/h)."""
        if not begin <= end:
            raise self._error(f"[{begin}, {end}) is no period", "Give a begin that is not after the end")
        if ceiling == math.inf:
            return self._paid_until(end) - self._paid_until(begin)
        first, last = self._index(begin), self._index(end)
        if first == last:
            return min(float(self.prices[first]), ceiling) * (end - begin) / SECONDS_PER_HOUR
        edges = np.concatenate(([begin], self.times[first + 1 : last + 1], [end]))
        prices = np.minimum(self.prices[first : last + 1], ceiling)
        return float(prices @ np.diff(edges)) / SECONDS_PER_HOUR

    def mean(self, begin: float, end: float) -> float:
        """The average price over a period, or the price at its begin where it has no length."""
        return self.at(begin) if begin == end else self.cost(begin, end) * SECONDS_PER_HOUR / (end - begin)

    def first_above(self, time: float, limit: float) -> float | None:
        """The first moment from `time` on when the price exceeds the limit; None when it never does."""
        begin, size = self._index(time), _NEAR
        if not self._highest_from[begin] > limit:
            return None
        while True:
            above = self.prices[begin : begin + size] > limit
            place = int(above.argmax())
            if above[place]:
                return max(time, self._changes[begin + place])
            begin, size = begin + size, 4 * size

    def until(self, time: float) -> PriceSeries:
        """The series as known at a time: without prices that were set later."""
        count = self._index(time) + 1
        return PriceSeries(self.market, self.times[:count], self.prices[:count], end=min(time, self.end))

    def _paid_until(self, time: float) -> float:
        index = self._index(time)
        return float(self._paid[index] + self.prices[index] * (time - self.times[index]) / SECONDS_PER_HOUR)

    @cached_property
    def _changes(self) -> list[float]:
        """`times` as a list, in which a single time is found three times as fast."""
        changes: list[float] = self.times.tolist()
        return changes

    @cached_property
    def _highest_from(self) -> FloatArray:
        """The highest price from each one on."""
        return np.maximum.accumulate(self.prices[::-1])[::-1]

    def _index(self, time: float) -> int:
        index = bisect_right(self._changes, time) - 1
        if index < 0:
            raise self._error(f"has no price at {time:.0f}, before its start {self.start:.0f}", "Ask for a later time")
        return index

    def _indices(self, times: FloatArray) -> NDArray[np.int64]:
        indices = self.times.searchsorted(times, side="right") - 1
        if len(indices) and indices.min() < 0:
            raise self._error(f"has no price before its start {self.start:.0f}", "Ask for later times")
        return indices.astype(np.int64)

    def _check(self) -> None:
        if self.times.ndim != 1 or self.times.shape != self.prices.shape or not len(self.times):
            raise self._error("needs as many prices as times, at least one", "Give two arrays of one length")
        if not (np.isfinite(self.times).all() and (np.diff(self.times) > 0).all()):
            raise self._error("has times that do not increase", "Sort them and keep one price for each time")
        if not (np.isfinite(self.prices).all() and (self.prices > 0).all()):
            raise self._error("has a price that is not above 0", "Leave such rows out")

    def _error(self, what: str, hint: str) -> InvalidInput:
        return InvalidInput(f"the price series {what}", where=str(self.market), hint=hint)
