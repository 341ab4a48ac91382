"""When a strategy has arrived: our form of the savings that the papers plot (ALGORITHMS.md, "Metrics").

Arrival: dollars and seconds spent until the recommendation is good, and stays good until the last test. Not arriving
counts as infinite, and medians and intervals are taken with that in mind.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from leantune.lab.replay.runs import Advice, Row

RESAMPLES = 2000
LEVEL = 0.95


@dataclass(frozen=True)
class Arrival:
    """Dollars, seconds and tests until a run arrived; infinite when it did not.

    thinking: seconds the strategy needed to choose the tests until then, which `seconds` (of training) leaves out.
    """

    dollars: float = math.inf
    seconds: float = math.inf
    tests: float = math.inf
    thinking: float = math.inf


def arrival(rows: Sequence[Row], rule: str, good: Callable[[Advice], bool]) -> Arrival:
    """The first row from which on every recommendation by `rule` is good."""
    arrived: Row | None = None
    for row in reversed(rows):
        if rule not in row.advice or not good(row.advice[rule]):
            break
        arrived = row
    if arrived is None:
        return Arrival()
    thinking = math.fsum(row.ask_seconds for row in rows[: arrived.test])
    return Arrival(arrived.dollars, arrived.seconds, arrived.test, thinking)


@dataclass(frozen=True)
class Median:
    """A median over seeds with a bootstrap interval, and how many of how many values were finite."""

    value: float
    low: float
    high: float
    finite: int
    count: int

    @property
    def share(self) -> float:
        """Of the seeds, those with a finite value."""
        return self.finite / self.count if self.count else math.nan


def median(values: Sequence[float], *, seed: int = 0) -> Median:
    """Median and its 95 % percentile-bootstrap interval; infinite values count as infinite.

    By hand: scipy.stats.bootstrap interpolates between resampled statistics, and inf - inf is no number.
    """
    given = np.asarray(values, dtype=np.float64)
    if not len(given):
        return Median(math.nan, math.nan, math.nan, 0, 0)
    drawn = np.random.default_rng(seed).integers(len(given), size=(RESAMPLES, len(given)))
    medians = np.sort(medians_of(given[drawn]))
    tail = (1.0 - LEVEL) / 2.0
    low, high = (medians[round(quantile * (RESAMPLES - 1))] for quantile in (tail, 1.0 - tail))
    return Median(float(medians_of(given)), float(low), float(high), int(np.isfinite(given).sum()), len(given))


def medians_of(values: np.ndarray) -> np.ndarray:
    """Medians along the last axis; of an even number the mean of the middle two, infinite if one of them is."""
    ordered = np.sort(values, axis=-1)
    count = ordered.shape[-1]
    return np.asarray((ordered[..., (count - 1) // 2] + ordered[..., count // 2]) / 2.0)


def mean_of(values: Iterable[float]) -> float:
    """The mean; NaN where there are none."""
    given = list(values)
    return fmean(given) if given else math.nan
