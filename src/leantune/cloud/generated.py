"""Realistic generated prices, where there is no price history: two regimes, seeded.

    r(t) = price / on-demand price = base * exp(x(t) + rhythm(t)), and at least the peak during a burst

    base    the market's usual discount                  x       a mean-reverting walk with heavy-tailed steps
    rhythm  hour of the day and weekend, UTC             burst   a while above on-demand (volatile regime only)
    heat    in [0, 1), drawn for each market: how nervous it is; steps, rhythm and bursts grow with it

`volatile` was matched to six markets of AWS us-east-1 in 2016 (a change every five to ten minutes; half of the markets
are hardly ever above on-demand, the others for some per cent of the time), `smooth` to 34 markets of 2024 to 2026
(three or four changes of some tenths of a per cent a day, never above on-demand); docs/spot-prices.md has both sides.
Only numpy and scipy are needed. A market's prices depend on the seed and its own name, not on the other markets.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from leantune.arrays import FloatArray
from leantune.cloud.market_settings import Regime
from leantune.cloud.markets import Market, PriceSeries
from leantune.errors import InvalidInput
from leantune.units import SECONDS_PER_HOUR

_DAY = 24 * SECONDS_PER_HOUR
_HIGHEST = 10.0  # AWS took no bid above ten times on-demand
_LOWEST = 0.08  # of on-demand
_DIGITS = 4  # AWS's prices have four decimals; cheap machines need more to move at all
_SIGNIFICANT = 1e-3


def generate_prices(
    on_demand: Mapping[Market, float], *, start: float, days: float, regime: str = Regime.VOLATILE, seed: int = 0
) -> dict[Market, PriceSeries]:
    """Prices of markets whose on-demand prices (USD/h) are given, from start (seconds since 1970) for some days."""
    if regime not in set(Regime):
        hint = f"Known: {', '.join(Regime)}"
        raise InvalidInput(f"unknown regime {regime!r}", where="generate_prices", hint=hint)
    if not (np.isfinite(start) and np.isfinite(days) and days > 0):
        raise InvalidInput(f"{days} days from {start}", where="generate_prices", hint="Give more than 0 days")
    draw = _volatile if regime == Regime.VOLATILE else _smooth
    return {market: _series(market, usd, start, days, draw, seed) for market, usd in on_demand.items()}


_Draw = Callable[[np.random.Generator, float, float], tuple[FloatArray, FloatArray]]


def _series(market: Market, usd: float, start: float, days: float, draw: _Draw, seed: int) -> PriceSeries:
    if not (np.isfinite(usd) and usd > 0):
        raise InvalidInput(f"an on-demand price of {usd}", where=str(market), hint="Give dollars per hour above 0")
    name = f"{market.instance_type}/{market.zone}/{market.product}"
    random = np.random.default_rng([seed, zlib.crc32(name.encode())])
    times, ratios = draw(random, start, days)
    digits = max(_DIGITS, int(np.ceil(-np.log10(usd * _LOWEST * _SIGNIFICANT))))
    prices = np.round(ratios * usd, digits)
    changed = np.concatenate(([True], np.diff(prices) != 0))
    times, prices = _restated(times[changed], prices[changed], start + days * _DAY)
    return PriceSeries(market, times, prices, end=start + days * _DAY)


def _restated(times: FloatArray, prices: FloatArray, end: float) -> tuple[FloatArray, FloatArray]:
    """A price without a change is repeated after a day, as AWS does."""
    repeats = np.ceil(np.diff(times, append=end) / _DAY).astype(np.int64) - 1
    since = np.repeat(np.cumsum(repeats) - repeats, repeats)
    again = np.repeat(times, repeats) + _DAY * (np.arange(repeats.sum()) - since + 1)
    order = np.argsort(np.concatenate((times, again)), kind="stable")
    return np.concatenate((times, again))[order], np.concatenate((prices, np.repeat(prices, repeats)))[order]


def _volatile(random: np.random.Generator, start: float, days: float) -> tuple[FloatArray, FloatArray]:
    """Times and ratios to on-demand of one market as in 2016."""
    heat = random.random()
    median = random.uniform(150.0, 210.0)  # seconds between changes; their mean is about twice it
    times = _moments(random, start, days, lambda count: random.lognormal(np.log(median), 1.2, count))
    # Most changes are tiny and some are jumps: Student's t with 1.5 degrees, cut at 40 times its scale.
    scale = 0.004 * 4.0**heat
    steps = scale * np.clip(random.standard_t(1.5, len(times)), -40, 40)
    walk = _reverting(steps, 1 - 1 / random.uniform(150, 400))
    walk = np.where(walk < 0, 0.25 * walk, walk)  # prices have a floor and no ceiling
    level = np.log(0.11 * 2.2**heat) + walk + _rhythm(times, 0.03 + 0.12 * heat)
    ratios = np.maximum(np.exp(level), _LOWEST)
    # Only a burst goes above on-demand: from 0.6 of it on the walk is slowed down, and never reaches 0.98.
    ratios = np.where(ratios > 0.6, 0.98 - 0.38 * np.exp((0.6 - ratios) / 0.38), ratios)
    return _with_bursts(random, times, ratios, start + days * _DAY, per_day=3 * heat**3)


def _smooth(random: np.random.Generator, start: float, days: float) -> tuple[FloatArray, FloatArray]:
    """Times and ratios to on-demand of one market of today."""
    times = _moments(
        random, start, days, lambda count: np.minimum(random.lognormal(np.log(6 * 3600), 0.35, count), _DAY)
    )
    trend = _reverting(0.0006 * random.standard_normal(len(times)), 0.9)  # rises and falls last some days
    steps = trend + 0.0026 * np.clip(random.standard_t(3, len(times)), -8, 8)
    ratios = random.uniform(0.3, 0.55) * np.exp(_reverting(steps, 0.998))
    return times, np.clip(ratios, _LOWEST, 0.95)


def _moments(random: np.random.Generator, start: float, days: float, waits: Callable[[int], FloatArray]) -> FloatArray:
    """Whole seconds at which a price is set, from the start on; more of them in the evening of the US east coast."""
    end, times = start + days * _DAY, np.array([start])
    while times[-1] < end:
        gaps = waits(1024)
        pace = 1 + 0.25 * np.cos(2 * np.pi * (times[-1] + np.cumsum(gaps) - 22 * SECONDS_PER_HOUR) / _DAY)
        times = np.append(times, times[-1] + np.cumsum(np.maximum(np.round(gaps / pace), 1.0)))
    kept: FloatArray = times[times < end]
    return kept


def _reverting(steps: FloatArray, memory: float) -> FloatArray:
    """x[i] = memory * x[i-1] + steps[i]."""
    from scipy.signal import lfilter

    walk: FloatArray = lfilter([1.0], [1.0, -memory], steps)
    return walk


def _rhythm(times: FloatArray, strength: float) -> FloatArray:
    """High in the evening (22 h UTC), lower on Saturday and Sunday."""
    hours = 2 * np.pi * (times - 22 * SECONDS_PER_HOUR) / _DAY
    weekend = (np.floor(times / _DAY) + 3) % 7 >= 5  # 1970 began on a Thursday
    return strength * (np.cos(hours) - weekend)


def _with_bursts(
    random: np.random.Generator, times: FloatArray, ratios: FloatArray, end: float, per_day: float
) -> tuple[FloatArray, FloatArray]:
    """Whiles above on-demand: likelier when the price is high already, minutes to hours long, mostly just above it."""
    seconds = np.diff(times, append=end)
    weights = seconds * ratios
    count = min(random.poisson(per_day * (end - times[0]) / _DAY), len(times))
    firsts = random.choice(len(times), size=count, replace=False, p=weights / weights.sum())
    begins = times[firsts]
    ends = np.minimum(begins + np.maximum(np.round(random.lognormal(np.log(600), 1.6, count)), 60), end)
    peaks = np.minimum(1 + 0.05 * np.exp(1.6 * random.standard_normal(count)), _HIGHEST)
    # When a burst ends, the price falls back to the price without it.
    backs = np.setdiff1d(ends[ends < end], times)
    where = np.searchsorted(times, backs, side="right")
    before = ratios[where - 1]
    times, ratios = np.insert(times, where, backs), np.insert(ratios, where, before)
    for begin, until, peak in zip(begins, ends, peaks, strict=True):
        inside: NDArray[np.int64] = np.arange(*np.searchsorted(times, (begin, until)))
        wobble = peak * np.exp(0.004 * random.standard_normal(len(inside)))
        ratios[inside] = np.clip(np.maximum(ratios[inside], wobble), None, _HIGHEST)
    return times, ratios
