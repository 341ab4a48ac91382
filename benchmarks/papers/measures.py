"""What a run was worth: dollars of a step, shares of the data, arrivals, thinking, and ratios of medians over seeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from statistics import fmean

import numpy as np

from benchmarks.papers.results import Run, Runs
from leantune.lab.replay.arrivals import LEVEL, RESAMPLES, Arrival, Median, arrival, medians_of
from leantune.lab.replay.runs import Advice

Good = Callable[[Advice], bool]


def within(share: float) -> Good:
    """Whether a recommendation is feasible and at least that share of the optimum."""
    return lambda advice: advice.verdict.within(share)


def near_full(factor: float) -> Good:
    """Whether it is feasible and costs at most `factor` times the best at full data."""
    return lambda advice: advice.verdict.at_most(factor, full=True)


def near_best(factor: float) -> Good:
    """Whether it is feasible and costs at most `factor` times the best anywhere."""
    return lambda advice: advice.verdict.at_most(factor)


def feasible(advice: Advice) -> bool:
    """Whether it keeps the limits."""
    return advice.verdict.feasible


def arrivals(runs: Runs, rule: str, good: Good) -> list[Arrival]:
    """When each run arrived."""
    return [arrival(run, rule, good) for run in runs]


def ends(runs: Runs, rule: str, good: Good) -> float:
    """Share of the runs whose last recommendation is good."""
    last = [run[-1].advice.get(rule) for run in runs if run]
    return fmean(advice is not None and good(advice) for advice in last) if last else math.nan


def step_cost(run: Run) -> float:
    """Mean dollars of a test after the start."""
    return _mean([row.test_dollars for row in run if not row.start])


def step_share(run: Run) -> float:
    """Mean share of the data of a test after the start."""
    return _mean([float(Fraction(row.fraction)) for row in run if not row.start])


def ask_seconds(runs: Runs) -> list[float]:
    """How long each test after the start took to choose."""
    return [row.ask_seconds for run in runs for row in run if not row.start]


def start_dollars(run: Run) -> float:
    """Dollars of the start."""
    return max((row.dollars for row in run if row.start), default=0.0)


def total_dollars(run: Run) -> float:
    """Dollars of the whole run."""
    return run[-1].dollars if run else math.nan


def total_seconds(run: Run, *, thinking: bool) -> float:
    """Seconds of training of the whole run, with or without those in which tests were chosen."""
    return run[-1].seconds + (math.fsum(row.ask_seconds for row in run) if thinking else 0.0) if run else math.nan


def ratio(above: Sequence[float], below: Sequence[float], *, seed: int = 0) -> Median:
    """Median of `above` over median of `below`, with a bootstrap interval over the seeds that both have.

    A strategy that never arrives is infinite: inf / x is inf, x / inf is 0, and inf / inf says nothing: not a number as
    the value, and the widest possible in the interval.
    """
    count = min(len(above), len(below))
    if count == 0:
        return Median(math.nan, math.nan, math.nan, 0, 0)
    left, right = (np.asarray(values[:count], dtype=np.float64) for values in (above, below))
    drawn = np.random.default_rng(seed).integers(count, size=(RESAMPLES, count))
    value = _over(medians_of(left), medians_of(right))
    resampled = _over(medians_of(left[drawn]), medians_of(right[drawn]))
    tail = (1.0 - LEVEL) / 2.0
    low = np.sort(np.where(np.isnan(resampled), 0.0, resampled))[round(tail * (RESAMPLES - 1))]
    high = np.sort(np.where(np.isnan(resampled), np.inf, resampled))[round((1.0 - tail) * (RESAMPLES - 1))]
    finite = int((np.isfinite(left) & np.isfinite(right)).sum())
    return Median(float(value), float(low), float(high), finite, count)


def _mean(values: Sequence[float]) -> float:
    return fmean(values) if values else math.nan


def _over(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(above / below)
