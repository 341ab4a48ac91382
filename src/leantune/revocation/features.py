"""A predictor's input about a market: one record per minute, computed from the past alone.

    record at time tau (SpotTune, section III-B):
      price, average price of the past hour, price changes in the past hour, time since the price was set, workday, hour
    windows: (n, 59, channels), the minutes t-59 .. t-1;  present: (n, channels), the minute t

Two scales. RELATIVE (the default) makes markets alike: prices as log(price / average of the last week at t), counts and
minutes as log(1 + x), the hour as sine and cosine. PRINTED is the paper's: dollars, counts, minutes, the hour's number.
Hours and workdays are those of UTC. Before a series starts its first price is taken to have
held; times since a price was set end at a week.
"""

from __future__ import annotations

import math
from enum import StrEnum

import numpy as np
from numba import njit
from numpy.typing import NDArray

from leantune.arrays import FloatArray
from leantune.revocation.pasts import WEEK, Flat, Pasts

FEATURES_VERSION = 1
MINUTES_BACK = 59
_HOUR, _DAY, _MINUTE = 3600.0, 86400.0, 60.0
_LEAST_DELTA = 1e-4


class FeatureScale(StrEnum):
    """In which units a record is written."""

    RELATIVE = "relative"
    PRINTED = "printed"


NAMES: dict[FeatureScale, tuple[str, ...]] = {
    FeatureScale.RELATIVE: (
        "log_price_to_week",
        "log_hour_average_to_week",
        "log1p_changes_in_hour",
        "log1p_minutes_since_set",
        "workday",
        "hour_sine",
        "hour_cosine",
    ),
    FeatureScale.PRINTED: ("price", "hour_average", "changes_in_hour", "minutes_since_set", "workday", "hour"),
}


def present_records(pasts: Pasts, scale: FeatureScale = FeatureScale.RELATIVE) -> FloatArray:
    """The record of each query's own minute (n, channels)."""
    return _records(pasts, 0, 1, scale)[:, 0].astype(np.float64)


def past_windows(pasts: Pasts, scale: FeatureScale = FeatureScale.RELATIVE) -> NDArray[np.float32]:
    """The records of the 59 minutes before each query, oldest first (n, 59, channels)."""
    return _records(pasts, 1, MINUTES_BACK, scale)


def _records(pasts: Pasts, newest: int, count: int, scale: FeatureScale) -> NDArray[np.float32]:
    out = np.empty((len(pasts.asked), count, len(NAMES[scale])), dtype=np.float32)
    relative = scale is FeatureScale.RELATIVE
    _fill(pasts.flat, newest, relative, out)
    return out


def max_price_column(pasts: Pasts, max_prices: FloatArray, scale: FeatureScale = FeatureScale.RELATIVE) -> FloatArray:
    """The max price b as a feature (n,): log(b / p(t) - 1), kept above log 0.0001; or b itself as printed."""
    if scale is FeatureScale.PRINTED:
        return np.asarray(max_prices, dtype=np.float64)
    return np.log(np.maximum(max_prices / pasts.present - 1.0, _LEAST_DELTA))


@njit(cache=True, nogil=True)
def mean_price(times: FloatArray, prices: FloatArray, first: int, last: int, time: float, seconds: float) -> float:
    """Time-weighted average of p over (time - seconds, time], or since the series starts; `last` in force at time."""
    begin = max(time - seconds, times[first])
    if begin >= time:
        return float(prices[last])
    total, until, i = 0.0, time, last
    while True:
        since = max(times[i], begin)
        total += prices[i] * (until - since)
        if times[i] <= begin or i == first:
            break
        until = since
        i -= 1
    return float(total / (time - begin))


@njit(cache=True, nogil=True)
def workday_and_hour(time: float) -> tuple[float, float]:
    """(1 from Monday to Friday else 0, hour of the day with its fraction), in UTC; 1970-01-01 was a Thursday."""
    day = math.floor(time / _DAY)
    weekday = (day + 3) % 7
    return (1.0 if weekday < 5 else 0.0), (time - day * _DAY) / _HOUR


@njit(cache=True, nogil=True)
def _fill(flat: Flat, newest: int, relative: bool, out: NDArray[np.float32]) -> None:
    """out[q, k] = record at asked[q] - (newest + count - 1 - k) minutes."""
    times, prices, first, last, asked = flat
    count = out.shape[1]
    for q in range(len(asked)):
        week = mean_price(times, prices, first[q], last[q], asked[q], WEEK) if relative else 1.0
        i = last[q]
        for back in range(newest, newest + count):
            tau = asked[q] - back * _MINUTE
            while i > first[q] and times[i] > tau:
                i -= 1
            row = out[q, newest + count - 1 - back]
            _record(times, prices, first[q], i, tau, row)
            if relative:
                _make_relative(row, week)


@njit(cache=True, nogil=True)
def _record(times: FloatArray, prices: FloatArray, first: int, i: int, tau: float, row: NDArray[np.float32]) -> None:
    """The printed record at tau, where price i is in force; a series that has not started yet holds its first price."""
    changes, j = 0, i
    while j > first and times[j] > tau - _HOUR:
        changes += 1
        j -= 1
    workday, hour = workday_and_hour(tau)
    row[0] = prices[i]
    row[1] = mean_price(times, prices, first, i, tau, _HOUR)
    row[2] = changes
    row[3] = min(max(tau - times[i], 0.0), WEEK) / _MINUTE
    row[4] = workday
    row[5] = math.floor(hour)


@njit(cache=True, nogil=True)
def _make_relative(row: NDArray[np.float32], week: float) -> None:
    row[0] = math.log(row[0] / week)
    row[1] = math.log(row[1] / week)
    row[2] = math.log1p(row[2])
    row[3] = math.log1p(row[3])
    angle = 2.0 * math.pi * row[5] / 24.0
    row[5] = math.sin(angle)
    row[6] = math.cos(angle)
