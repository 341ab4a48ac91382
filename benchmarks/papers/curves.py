"""Curves over dollars or hours: at each place the median over seeds of what was recommended last.

A recommendation stands from the end of the test it follows until the end of the next. Where a run has recommended
nothing yet, or nothing feasible where only that counts, its value is the worst there is; so a median is drawn from
where more than half of the seeds have one, and no seed is dropped.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.papers.results import Run, Runs
from leantune.arrays import FloatArray
from leantune.lab.replay.runs import Advice, Row

POINTS = 180  # places of a curve, equally far apart on a log scale
QUARTILES = (0.25, 0.75)

Along = Callable[[Run], FloatArray]  # where each row of a run lies on the axis
Worth = Callable[[Advice], float]


@dataclass(frozen=True)
class Curve:
    """Median and quartiles at places x, NaN where most seeds have no value; start: where it ends, in the median."""

    x: FloatArray
    middle: FloatArray
    low: FloatArray
    high: FloatArray
    start: float


def accuracy_c(advice: Advice) -> float:
    """TrimTuner Eq. 7."""
    return advice.verdict.accuracy_c if advice.verdict.accuracy_c is not None else math.nan


def accuracy_or_zero(advice: Advice) -> float:
    """Thesis Eq. 12: accuracy, 0 when infeasible."""
    return accuracy_c(advice) if advice.verdict.feasible else 0.0


def cno(advice: Advice) -> float:
    """Thesis Eq. 11 over the best at any fraction; infinite when infeasible."""
    return advice.verdict.ratio if advice.verdict.feasible else math.inf


def cno_full(advice: Advice) -> float:
    """The same over the best at full data: the own space of strategies that do not sub-sample."""
    return advice.verdict.ratio_full if advice.verdict.feasible else math.inf


def dollars(run: Run) -> FloatArray:
    """Dollars spent after each test."""
    return np.array([row.dollars for row in run])


def hours(run: Run) -> FloatArray:
    """Hours trained after each test."""
    return np.array([row.seconds for row in run]) / 3600.0


def hours_and_thinking(run: Run) -> FloatArray:
    """Hours trained, and those in which tests were chosen."""
    return hours(run) + np.cumsum([row.ask_seconds for row in run]) / 3600.0


def curve(runs: Runs, rule: str, worth: Worth, along: Along = dollars, *, worst: float = -math.inf) -> Curve | None:
    """The curve of one method; None where nothing was ever recommended in half of the runs."""
    runs = [run for run in runs if run]
    if not runs:
        return None
    places = [along(run) for run in runs]
    first = min(float(place[0]) for place in places)
    last = float(np.median([place[-1] for place in places]))
    x = np.geomspace(max(first, 1e-9), max(last, first * 1.0001), POINTS)
    values = np.sort(
        [_standing(run, place, x, rule, worth, worst) for run, place in zip(runs, places, strict=True)], axis=0
    )
    middle = (values[(len(values) - 1) // 2] + values[len(values) // 2]) / 2.0
    low, high = (values[round(quartile * (len(values) - 1))] for quartile in QUARTILES)
    known = np.isfinite(middle)
    if not known.any():
        return None
    starts = [_along_start(run, place) for run, place in zip(runs, places, strict=True)]
    shown = slice(int(np.argmax(known)), None)
    middle = np.where(known, middle, np.nan)
    return Curve(x[shown], middle[shown], low[shown], high[shown], float(np.median(starts)))


def _standing(run: Run, place: FloatArray, x: FloatArray, rule: str, worth: Worth, worst: float) -> FloatArray:
    values = np.array([worst, *(_value(row, rule, worth, worst) for row in run)])
    return values[np.searchsorted(place, x, side="right")]


def _value(row: Row, rule: str, worth: Worth, worst: float) -> float:
    advice = row.advice.get(rule)
    return worst if advice is None else worth(advice)


def _along_start(run: Run, place: FloatArray) -> float:
    """Where the last test of the start lies."""
    return max((float(place[index]) for index, row in enumerate(run) if row.start), default=0.0)
