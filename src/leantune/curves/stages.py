"""Stages of a curve: where the learning rate is declared to change, or, with no schedule, where the metric shows it.

    change rate  zeta_i = |L_i - L_(i-1)| / |L_(i-1)|;  a stage begins at i when zeta_i > xi after five rates < eps
                                                                                                  (SpotTune Eq. 7)

With the printed thresholds (xi = 0.5, eps = 0.01) this found none of the declared drops of 34 real runs: validation
error moves by more than 1 % from epoch to epoch, and a drop of the learning rate seldom halves it at once. `Jump` asks
instead whether the level fell by much more than the values scatter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numba import njit

from leantune.arrays import FloatArray
from leantune.curves.base import Curve

_STEADY = 5  # rates that Eq. 7 wants to be small


class StageRule(Protocol):
    """Finds where stages begin from values alone, smaller is better."""

    def starts(self, values: FloatArray) -> list[int]:
        """Indices, increasing, each > 0."""
        ...


@dataclass(frozen=True)
class ChangeRate:
    """Eq. 7 with its printed thresholds."""

    xi: float = 0.5
    eps: float = 0.01

    def starts(self, values: FloatArray) -> list[int]:
        """Where the change rate exceeds xi after five rates below eps; a rate from 0 is infinite unless 0 stays."""
        change, base = np.abs(np.diff(values)), np.abs(values[:-1])
        rates = np.divide(change, base, out=np.where(change > 0, np.inf, 0.0), where=base > 0)
        places = range(_STEADY, len(rates))
        return [i + 1 for i in places if rates[i] > self.xi and (rates[i - _STEADY : i] < self.eps).all()]


@dataclass(frozen=True)
class Jump:
    """A stage begins where the level falls suddenly.

    The next `after` points lie below the last `before` ones by more than `scatter` standard deviations of those, more
    than `share` of their distance from zero, and more than `steeper` times what they lie below the `before` points
    earlier. On real runs it finds every second declared drop, and one place in seven that it finds is not a drop.
    """

    before: int = 8
    after: int = 3
    scatter: float = 3.0
    share: float = 0.1
    steeper: float = 3.0

    def starts(self, values: FloatArray) -> list[int]:
        """Where the fall is largest within each run of places that qualify."""
        return [int(i) for i in _jumps(np.ascontiguousarray(values), self.before, self.after, self.limits)]

    @property
    def limits(self) -> FloatArray:
        """scatter, share and steeper."""
        return np.array([self.scatter, self.share, self.steeper])


@njit(cache=True, nogil=True)
def _jump_at(values: FloatArray, i: int, before: int, after: int, limits: FloatArray) -> bool:
    """Whether the level falls as suddenly at i as a stage's beginning does; 2 * before <= i <= len(values) - after."""
    scatter, share, steeper = limits
    earlier, recent = values[i - 2 * before : i - before], values[i - before : i]
    level = np.median(recent)
    fall = level - np.median(values[i : i + after])
    noise = 1.4826 * np.median(np.abs(np.diff(recent))) / np.sqrt(2.0)
    trend = max(np.median(earlier) - level, 0.0)
    return bool(fall > scatter * noise and fall > share * abs(level) and fall > steeper * trend)


@njit(cache=True, nogil=True)
def _jumps(values: FloatArray, before: int, after: int, limits: FloatArray) -> list[int]:
    starts = [0 for _ in range(0)]
    stage = np.array([-1.0, 0.0])
    for count in range(2 * before + after, len(values) + 1):
        before_it = stage[0]
        follow_stage(values[:count], stage, before, after, limits)
        if stage[0] != before_it:
            if before_it >= 0 and stage[0] - before_it < before:
                starts.pop()
            starts.append(int(stage[0]))
    return starts


@njit(cache=True, nogil=True)
def follow_stage(values: FloatArray, stage: FloatArray, before: int, after: int, limits: FloatArray) -> None:
    """Decide about the one place that the last value completes.

    stage (2,): where the last stage begins, -1 with the curve, and how far it fell there; of places next to each other
    the one with the largest fall counts.
    """
    place = len(values) - after
    if place < 2 * before or not _jump_at(values, place, before, after, limits):
        return
    step = values[place - 1] - values[place]
    if stage[0] < 0 or place - stage[0] >= before or step > stage[1]:
        stage[0] = place
        stage[1] = step


def last_stage(curve: Curve, rule: StageRule | None) -> int:
    """The index at which the present stage begins: by the declared drops, else by the rule (None: one stage)."""
    if curve.drops:
        past = [drop for drop in curve.drops if drop <= curve.steps[-1]]
        return int(np.searchsorted(curve.steps, past[-1])) if past else 0
    if rule is None:
        return 0
    starts = rule.starts(scaled_losses(curve)[0])
    return starts[-1] if starts else 0


def scaled_losses(curve: Curve) -> tuple[FloatArray, int]:
    """(values with smaller as better, in [-1, 1]; e): the metric is 2^e times that. The values must be finite.

    A power of two changes no digit, so the metric's unit changes nothing, and no square overflows.
    """
    exponent = math.frexp(float(np.abs(curve.values).max()))[1]
    return np.ldexp(-curve.values if curve.maximize else curve.values, -exponent), exponent


def unscaled(value: float, exponent: int) -> float:
    """2^e times the value; the largest number where that is none."""
    largest = np.finfo(np.float64).max
    with np.errstate(over="ignore"):
        return float(np.clip(np.ldexp(value, exponent), -largest, largest))
