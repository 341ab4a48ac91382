"""Questions with known answers: the periods they come from, the max prices asked about, and the labels.

    label(t, b) = 1 when p exceeds b somewhere in (t, t + 1 h]
    b = p(t) * (1 + delta), log delta uniform over [log low, log high]: the one distribution used at inference, for
    training, calibration and scores alike. The paper's own is absolute: b = p(t) + U(0.00001, 0.2).

The default range [0.001, 10] holds what the provisioner asks: a little above the price, up to on-demand, which is two
to ten times a spot price.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numba import njit

from leantune.arrays import BoolArray, FloatArray, IntArray
from leantune.cloud.markets import PriceSeries
from leantune.cloud.predictor import HORIZON, MaxPrices
from leantune.errors import InvalidInput
from leantune.revocation.pasts import Flat, Pasts, gather

LEAST_HISTORY = 86400.0  # seconds of prices before the first question about a market
_TRIMMED = 0.2  # share of the deltas that Algorithm 2 leaves out at either end


_INFERENCE = MaxPrices()


@dataclass(frozen=True)
class Period:
    """Times in [begin, end), seconds since 1970."""

    begin: float
    end: float


@dataclass(frozen=True)
class Split:
    """Train, then validation (early stopping, tuning, calibration), then test, an hour apart: labels look that far."""

    train: Period
    validation: Period
    test: Period

    @classmethod
    def of(cls, series: Sequence[PriceSeries], validation: float = 0.15, test: float = 0.25) -> Split:
        """By shares of the time from the first start to the last end."""
        if not series:
            raise InvalidInput("no prices", where="training", hint="Give at least one market")
        if not (validation > 0 and test > 0 and validation + test < 1):
            what = f"validation {validation} and test {test} leave nothing to train on"
            raise InvalidInput(what, where="training", hint="Give shares above 0 that sum to less than 1")
        begin, end = min(s.start for s in series), max(s.end for s in series)
        first, second = end - (validation + test) * (end - begin), end - test * (end - begin)
        if min(first - begin - LEAST_HISTORY, second - first, end - second) < 3 * HORIZON:
            what = f"{(end - begin) / 86400:.1f} days of prices are too few to train, validate and test on"
            raise InvalidInput(what, where="training", hint="Give at least 2 days")
        return cls(Period(begin, first), Period(first + HORIZON, second), Period(second + HORIZON, end))


@dataclass(frozen=True)
class Examples:
    """Questions (n,) about series, and their labels."""

    series: tuple[PriceSeries, ...]
    index: IntArray
    times: FloatArray
    max_prices: FloatArray
    labels: BoolArray
    rule: MaxPrices = _INFERENCE  # how the max prices were drawn, and further ones shall be

    def __len__(self) -> int:
        return len(self.times)

    @property
    def all_alike(self) -> bool:
        """Whether every label is the same, so that there is nothing to tell apart."""
        return bool(self.labels.all() or not self.labels.any())

    @property
    def frequency(self) -> float:
        """The share of labels that hold; never 0 or 1 (Jeffreys' estimate)."""
        return (float(self.labels.sum()) + 0.5) / (len(self) + 1.0)

    @property
    def queried(self) -> list[PriceSeries]:
        """The series of each question."""
        return [self.series[i] for i in self.index]

    def pasts(self) -> Pasts:
        """The past of each question."""
        return gather(self.queried, self.times)

    def where(self, chosen: BoolArray | IntArray) -> Examples:
        """Some of the questions."""
        parts = (self.index[chosen], self.times[chosen], self.max_prices[chosen], self.labels[chosen])
        return Examples(self.series, *parts, self.rule)

    def of_market(self, number: int) -> Examples:
        """The questions about one series, which then is the only one."""
        mine = self.where(self.index == number)
        return replace(mine, series=(self.series[number],), index=np.zeros_like(mine.index))

    def asking(self, max_prices: FloatArray) -> Examples:
        """The same times with other max prices."""
        return replace(self, max_prices=max_prices, labels=labels(self.series, self.index, self.times, max_prices))


def draw_examples(
    series: Sequence[PriceSeries], period: Period, *, count: int, max_prices: MaxPrices, seed: int
) -> Examples:
    """About `count` questions spread evenly over markets and, with jitter, over the period."""
    random = np.random.default_rng(seed)
    index, times = [], []
    share = max(count // max(len(series), 1), 1)
    for number, quoted in enumerate(series):
        begin, end = max(period.begin, quoted.start + LEAST_HISTORY), min(period.end, quoted.end - HORIZON)
        if end <= begin:
            continue
        times.append(begin + (np.arange(share) + random.random(share)) / share * (end - begin))
        index.append(np.full(share, number))
    if not times:
        what = "no market has prices for a day before, and an hour after, any time of the period"
        raise InvalidInput(what, where="training", hint="Give longer price histories")
    where, when = np.concatenate(index), np.concatenate(times)
    prices = np.empty(len(when))
    for number, quoted in enumerate(series):
        prices[where == number] = quoted.at_times(when[where == number])
    limits = max_prices.draw(prices, random)
    return Examples(tuple(series), where, when, limits, labels(series, where, when, limits), max_prices)


def labels(series: Sequence[PriceSeries], index: IntArray, times: FloatArray, max_prices: FloatArray) -> BoolArray:
    """Whether each max price is exceeded within the hour after its time (n,)."""
    return np.asarray(highest_within_hour(series, index, times) > max_prices, dtype=np.bool_)


def highest_within_hour(series: Sequence[PriceSeries], index: IntArray, times: FloatArray) -> FloatArray:
    """The highest price in (t, t + 1 h] (n,): it tells the answer for every max price."""
    highest = np.empty(len(times))
    for number, quoted in enumerate(series):
        mine = np.flatnonzero(index == number)
        highest[mine] = _highest(quoted.times, quoted.prices, times[mine])
    return highest


@njit(cache=True, nogil=True)
def _highest(times: FloatArray, prices: FloatArray, asked: FloatArray) -> FloatArray:
    """The price in force at t still holds just after it, so it counts too."""
    highest = np.zeros(len(asked))
    held = np.searchsorted(times, asked, side="right") - 1
    for q in range(len(asked)):
        i = held[q]
        while i < len(times) and times[i] <= asked[q] + HORIZON:
            highest[q] = max(highest[q], prices[i])
            i += 1
    return highest


def fluctuation(pasts: Pasts) -> FloatArray:
    """Algorithm 2: trimmed mean of the absolute changes between the minutes of the past hour (n,), in USD/h.

    deltas[k] = |p(t - k min) - p(t - (k + 1) min)|, k = 0 .. 58; sum over 0.2 L < i < 0.8 L of the sorted, / (0.6 L).
    With step prices most are 0 (SPOT.md, point 2): callers put a floor under it.
    """
    out = np.empty(len(pasts.asked))
    _fluctuation(pasts.flat, out)
    return out


@njit(cache=True, nogil=True)
def _fluctuation(flat: Flat, out: FloatArray) -> None:
    times, prices, first, last, asked = flat
    length = 59
    deltas = np.empty(length)
    for q in range(len(asked)):
        i, newer = last[q], prices[last[q]]
        for k in range(length):
            tau = asked[q] - (k + 1) * 60.0
            while i > first[q] and times[i] > tau:
                i -= 1
            deltas[k] = abs(newer - prices[i])
            newer = prices[i]
        deltas.sort()
        total = 0.0
        for j in range(length):
            if _TRIMMED * length < j < (1.0 - _TRIMMED) * length:
                total += deltas[j]
        out[q] = total / ((1.0 - 2.0 * _TRIMMED) * length)
