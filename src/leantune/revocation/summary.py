"""A query's past in one row of numbers: how the price moved, and how often the price exceeded such a max price before.

    windows w: hour, 6 hours, day, week before t;  a_w average price, m_w largest price, s_w deviation of log price
    rise(tau) = max of p over [tau, tau + 1 h] / p(tau), on a grid of ten minutes, known once tau + 1 h <= t
    exceeded_w = share of the rises of window w that were above b / p(t): the past frequency of the label itself

Shared by boosted trees, the wide forms of RevPred and of logistic regression, and the hazard rate fitted online.
MONOTONE says how the probability may move with each feature (-1, 0, 1), which makes it fall as the max price grows.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from leantune.arrays import FloatArray, IntArray
from leantune.revocation.features import workday_and_hour
from leantune.revocation.pasts import WEEK, Flat, Pasts

GRID = 600.0  # seconds between the rises that are counted
_HOUR, _DAY, _MINUTE = 3600.0, 86400.0, 60.0
_WINDOWS = np.array([_HOUR, 6 * _HOUR, _DAY, WEEK])
_WORDS = ("hour", "six_hours", "day", "week")
_STATE = 21  # features from here on do not depend on the max price
_STILL = 1e-4  # deviation of log price below which a market counts as constant

SUMMARY_NAMES: tuple[str, ...] = (
    *(f"log_max_price_to_average_{w}" for w in _WORDS),
    *(f"log_max_price_to_highest_{w}" for w in _WORDS),
    *(f"share_above_{w}" for w in _WORDS),
    *(f"exceeded_{w}" for w in _WORDS[1:]),
    "exceeded_same_hour_week",
    "level_exceeded_day",
    "level_exceeded_week",
    "log_max_price_to_price",
    "max_price_in_deviations_hour",
    "max_price_in_deviations_day",
    *(f"log_price_to_average_{w}" for w in _WORDS),
    *(f"deviation_{w}" for w in _WORDS),
    "changes_hour",
    "changes_six_hours",
    "rises_hour",
    "largest_rise_hour",
    "last_step",
    "step_before",
    "minutes_since_set",
    "log_price_to_10_minutes_ago",
    "log_price_to_30_minutes_ago",
    "log_price_to_hour_ago",
    "workday",
    "hour",
    "days_known",
)
MONOTONE: tuple[int, ...] = (-1,) * 8 + (1,) * 4 + (1,) * 6 + (-1,) * 3 + (0,) * (len(SUMMARY_NAMES) - 21)


class Rises(NamedTuple):
    """ratio, level (g,): the rise from each grid point, and the price there; offset, number (n,): a query's first."""

    ratio: FloatArray
    level: FloatArray
    offset: IntArray
    number: IntArray


def summaries(pasts: Pasts, max_prices: FloatArray) -> FloatArray:
    """The summary of each query (n, features): float64, finite."""
    out = np.empty((len(pasts.asked), len(SUMMARY_NAMES)))
    limits = np.ascontiguousarray(max_prices, dtype=np.float64)
    _fill(pasts.flat, np.log(pasts.flat.prices), limits, rises(pasts), out)
    return out


def rises(pasts: Pasts) -> Rises:
    """Rises from ten minutes to ten minutes, of a week before each group's first query until its last one."""
    groups = len(pasts.markets)
    times, prices, first, last, _ = pasts.flat
    begin, end = np.zeros(groups, dtype=np.int64), np.zeros(groups, dtype=np.int64)
    begin[pasts.group] = first
    np.maximum.at(end, pasts.group, last + 1)
    since, until = np.full(groups, np.inf), np.full(groups, -np.inf)
    np.minimum.at(since, pasts.group, pasts.asked)
    np.maximum.at(until, pasts.group, pasts.asked)
    asked = until > -np.inf  # a group without queries has no rises
    since, until = np.where(asked, since, 0.0), np.where(asked, until, -np.inf)
    numbers = np.ceil(np.maximum(times[begin], since - WEEK) / GRID).astype(np.int64)
    newest = np.floor((np.maximum(until, 0.0) - _HOUR) / GRID).astype(np.int64)
    counts = np.where(asked, np.maximum(newest - numbers + 1, 0), 0)
    offsets = np.concatenate(([0], np.cumsum(counts)))
    ratio, level = np.empty(offsets[-1]), np.empty(offsets[-1])
    _fill_rises(times, prices, begin, end, numbers, offsets, ratio, level)
    return Rises(ratio, level, offsets[:-1][pasts.group], numbers[pasts.group])


@njit(cache=True, nogil=True)
def _fill_rises(
    times: FloatArray,
    prices: FloatArray,
    begin: IntArray,
    end: IntArray,
    numbers: IntArray,
    offsets: IntArray,
    ratio: FloatArray,
    level: FloatArray,
) -> None:
    """Largest price within an hour of each grid point over the price there; sliding maximum by a decreasing queue."""
    for g in range(len(begin)):
        queue = np.empty(end[g] - begin[g], dtype=np.int64)
        head, tail, enter, hold = 0, 0, begin[g], begin[g]
        for k in range(offsets[g + 1] - offsets[g]):
            tau = (numbers[g] + k) * GRID
            while enter < end[g] and times[enter] <= tau + _HOUR:
                while tail > head and prices[queue[tail - 1]] <= prices[enter]:
                    tail -= 1
                queue[tail] = enter
                tail += 1
                enter += 1
            while hold + 1 < end[g] and times[hold + 1] <= tau:
                hold += 1
            while queue[head] < hold:
                head += 1
            level[offsets[g] + k] = prices[hold]
            ratio[offsets[g] + k] = prices[queue[head]] / prices[hold]


@njit(cache=True, nogil=True)
def _fill(flat: Flat, logs: FloatArray, max_prices: FloatArray, risen: Rises, out: FloatArray) -> None:
    """logs: of the prices."""
    averages, highest, lows = np.empty(4), np.empty(4), np.empty(4, dtype=np.int64)
    last, asked = flat.last, flat.asked
    for q in range(len(asked)):
        row, limit = out[q], max_prices[q]
        if q > 0 and last[q] == last[q - 1] and asked[q] == asked[q - 1]:  # another max price: the past is the same
            row[_STATE:] = out[q - 1, _STATE:]
        else:
            _levels(flat, logs, q, averages, highest, lows, row)
            _moves(flat, logs, q, row)
        _against(averages, highest, limit, logs[last[q]], row)
        _above(flat, q, limit, lows, row)
        _exceeded(risen, q, asked[q], limit / flat.prices[last[q]], limit, row)


@njit(cache=True, nogil=True)
def _levels(
    flat: Flat, logs: FloatArray, query: int, averages: FloatArray, highest: FloatArray, lows: IntArray, row: FloatArray
) -> None:
    """Log averages, log highest prices and deviations of the four windows, and the price in force where each begins."""
    times, prices, first, last, time = flat.times, flat.prices, flat.first[query], flat.last[query], flat.asked[query]
    seconds, paid, summed, squared = np.zeros(4), np.zeros(4), np.zeros(4), np.zeros(4)
    highest[:] = logs[last]
    until, i, w0, now = time, last, 0, logs[last]
    while i >= first and w0 < 4:
        for w in range(w0, 4):
            held = until - max(times[i], time - _WINDOWS[w])
            seconds[w] += held
            paid[w] += prices[i] * held
            off = logs[i] - now
            summed[w] += off * held
            squared[w] += off * off * held
            highest[w] = max(highest[w], logs[i])
            lows[w] = i
        until = times[i]
        while w0 < 4 and until <= time - _WINDOWS[w0]:
            w0 += 1
        i -= 1
    for w in range(4):
        any_price = seconds[w] > 0
        averages[w] = math.log(paid[w] / seconds[w]) if any_price else now
        mean = summed[w] / seconds[w] if any_price else 0.0
        row[21 + w] = now - averages[w]
        row[25 + w] = math.sqrt(max(squared[w] / seconds[w] - mean * mean, 0.0)) if any_price else 0.0
    row[41] = seconds[3] / _DAY


@njit(cache=True, nogil=True)
def _against(averages: FloatArray, highest: FloatArray, limit: float, now: float, row: FloatArray) -> None:
    """The max price against averages, highest prices, the price, and in deviations."""
    asked = math.log(limit)
    for w in range(4):
        row[w] = asked - averages[w]
        row[4 + w] = asked - highest[w]
    row[18] = asked - now
    row[19] = row[18] / (row[25] + _STILL)
    row[20] = row[18] / (row[27] + _STILL)


@njit(cache=True, nogil=True)
def _above(flat: Flat, query: int, limit: float, lows: IntArray, row: FloatArray) -> None:
    """Share of each window that the price was above the limit; none where the limit is the week's highest price."""
    first, last, time = flat.first[query], flat.last[query], flat.asked[query]
    row[8:12] = 0.0
    if row[7] >= 0:
        return
    total, until, i = 0.0, time, last
    for w in range(4):
        while i > lows[w]:
            if flat.prices[i] > limit:
                total += until - flat.times[i]
            until = flat.times[i]
            i -= 1
        begin = max(time - _WINDOWS[w], flat.times[first])
        part = until - begin if flat.prices[i] > limit else 0.0
        row[8 + w] = (total + part) / (time - begin) if time > begin else 0.0


@njit(cache=True, nogil=True)
def _exceeded(risen: Rises, query: int, time: float, wanted: float, limit: float, row: FloatArray) -> None:
    """Shares of past hours in which the price rose by more than is asked, or above the limit itself."""
    ratio, level, number, offset = risen.ratio, risen.level, risen.number[query], risen.offset[query]
    available = max(math.floor((time - _HOUR) / GRID) - number + 1, 0)  # rises that are known at this time
    hits, tops, k = 0, 0, available - 1
    for w in range(1, 4):
        lowest = max(math.ceil((time - _WINDOWS[w]) / GRID) - number, 0)
        while k >= lowest:
            hits += ratio[offset + k] > wanted
            tops += ratio[offset + k] * level[offset + k] > limit
            k -= 1
        count = max(available - lowest, 0)
        row[11 + w] = _shrunk(hits, count)
        if w > 1:
            row[14 + w] = _shrunk(tops, count)
    near, met = 0, 0
    for days in range(1, 8):  # an hour to either side of this time of the day
        middle = time - days * _DAY
        low = max(math.ceil(max(middle - _HOUR, time - WEEK) / GRID) - number, 0)
        high = min(math.floor((middle + _HOUR) / GRID) - number, available - 1)
        for j in range(low, high + 1):
            near += 1
            met += ratio[offset + j] > wanted
    row[15] = _shrunk(met, near)


@njit(cache=True, nogil=True)
def _shrunk(hits: float, count: float) -> float:
    """Jeffreys' estimate; neighbours overlap, so that count * GRID / hour of them are independent."""
    share = GRID / _HOUR
    return (hits * share + 0.5) / (count * share + 1.0)


@njit(cache=True, nogil=True)
def _moves(flat: Flat, logs: FloatArray, query: int, row: FloatArray) -> None:
    """Counts and sizes of the latest changes, and the price against earlier ones."""
    times, first, last, time = flat.times, flat.first[query], flat.last[query], flat.asked[query]
    changes, long_changes, ups, largest, i = 0, 0, 0, 0.0, last
    while i > first and times[i] > time - 6 * _HOUR:
        long_changes += 1
        if times[i] > time - _HOUR:
            step = logs[i] - logs[i - 1]
            changes += 1
            ups += step > 0
            largest = max(largest, step)
        i -= 1
    row[29], row[30], row[31], row[32] = changes, long_changes, ups, largest
    recent = time - WEEK
    row[33] = logs[last] - logs[last - 1] if last > first and times[last] > recent else 0.0
    row[34] = logs[last - 1] - logs[last - 2] if last > first + 1 and times[last - 1] > recent else 0.0
    row[35] = min(time - times[last], WEEK) / _MINUTE
    i, place = last, 36
    for minutes in (10.0, 30.0, 60.0):
        while i > first and times[i] > time - minutes * _MINUTE:
            i -= 1
        row[place] = logs[last] - logs[i]
        place += 1
    row[39], row[40] = workday_and_hour(time)
