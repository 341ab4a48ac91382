"""The pasts of queries: for each query the prices that were set until its time, and nothing later.

Query q sees flat.times[first[q] .. last[q]]: the prices of its series within REACH seconds before its time, the one
in force at its time being number last[q]. Kernels walk back from last[q]; none reads beyond it. A price that is said
again (AWS does so once a day) is no change and is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from leantune.arrays import FloatArray, IntArray
from leantune.cloud.markets import Market, PriceSeries
from leantune.errors import InvalidInput

WEEK = 7 * 86400.0  # seconds of history that features may use
REACH = WEEK + 2 * 3600.0  # and what they need of it: the average of the hour before the first minute


class Flat(NamedTuple):
    """The input of kernels: prices of many series side by side (m,), and where each query (n,) finds its own."""

    times: FloatArray
    prices: FloatArray
    first: IntArray
    last: IntArray
    asked: FloatArray


@dataclass(frozen=True)
class Pasts:
    """The pasts of queries, and of which market each is: `markets[group[q]]`."""

    flat: Flat
    group: IntArray
    markets: tuple[Market, ...]

    @property
    def asked(self) -> FloatArray:
        """Each query's time (n,)."""
        return self.flat.asked

    @property
    def present(self) -> FloatArray:
        """The price in force at each query's time (n,)."""
        return self.flat.prices[self.flat.last]

    def where(self, chosen: IntArray) -> Pasts:
        """Some of the queries, with the prices of their own series alone."""
        times, prices, first, last, asked = self.flat
        groups, group = np.unique(self.group[chosen], return_inverse=True)
        begin = np.zeros(len(groups), dtype=np.int64)
        end = np.zeros(len(groups), dtype=np.int64)
        begin[group] = first[chosen]
        np.maximum.at(end, group, last[chosen] + 1)
        offset = np.concatenate(([0], np.cumsum(end - begin)))[:-1] - begin  # how far each group's prices move
        kept = np.concatenate([np.arange(0), *map(np.arange, begin, end)])
        places = first[chosen] + offset[group], last[chosen] + offset[group]
        flat = Flat(times[kept], prices[kept], *places, asked[chosen])
        return Pasts(flat, group.astype(np.int64), tuple(self.markets[g] for g in groups))


def gather(series: Sequence[PriceSeries], times: FloatArray) -> Pasts:
    """The pasts of the queries: series (n; the same one may come many times), times (n,)."""
    times = np.ascontiguousarray(times, dtype=np.float64)
    if times.ndim != 1 or len(series) != len(times):
        what = f"{len(series)} series for times of shape {times.shape}"
        raise InvalidInput(what, where="predict", hint="Give one series for each time")
    if not np.isfinite(times).all():
        raise InvalidInput("a time is not finite", where="predict", hint="Give seconds since 1970")
    numbers: dict[int, int] = {}
    different: list[PriceSeries] = []
    group = np.empty(len(times), dtype=np.int64)
    for query, prices in enumerate(series):
        number = numbers.setdefault(id(prices), len(numbers))
        if number == len(different):
            different.append(prices)
        group[query] = number
    return _side_by_side(different, group, times)


def _side_by_side(different: list[PriceSeries], group: IntArray, times: FloatArray) -> Pasts:
    begins = np.full(len(different), np.inf)
    ends = np.full(len(different), -np.inf)
    np.minimum.at(begins, group, times)
    np.maximum.at(ends, group, times)
    first = np.zeros(len(different), dtype=np.int64)
    last = np.empty(len(times), dtype=np.int64)
    parts_times, parts_prices, offset = [np.empty(0)], [np.empty(0)], 0
    order = np.argsort(group, kind="stable")
    bounds = np.searchsorted(group[order], np.arange(len(different) + 1))
    for number, prices in enumerate(different):
        if begins[number] < prices.times[0]:
            what = f"no price is known at {begins[number]:.0f}, before the series starts at {prices.start:.0f}"
            raise InvalidInput(what, where=str(prices.market), hint="Ask for a later time")
        low = max(int(prices.times.searchsorted(begins[number] - REACH, side="right")) - 1, 0)
        high = int(prices.times.searchsorted(ends[number], side="right"))
        mine = order[bounds[number] : bounds[number + 1]]
        last[mine] = prices.times.searchsorted(times[mine], side="right") - 1 - low + offset
        parts_times.append(prices.times[low:high])
        parts_prices.append(prices.prices[low:high])
        first[number] = offset
        offset += high - low
    flat = Flat(np.concatenate(parts_times), np.concatenate(parts_prices), first[group], last, times)
    return Pasts(_without_repeats(flat, first), group, tuple(prices.market for prices in different))


def _without_repeats(flat: Flat, first: IntArray) -> Flat:
    """The same without prices that were said again; first: where each group begins."""
    changed = np.append(True, np.diff(flat.prices) != 0)[: len(flat.prices)]
    changed[first] = True
    if changed.all():
        return flat
    place = np.cumsum(changed) - 1  # of each price, or of the one it repeats
    return Flat(flat.times[changed], flat.prices[changed], place[flat.first], place[flat.last], flat.asked)
