"""`rules.plateaued` of a curve that grows point by point, without going through all of it again for each point.

Stages are found as `stages.Jump` finds them: whether one begins at a place depends on the points around that place
alone, so that each further point decides about one further place.
"""

from __future__ import annotations

import math
from bisect import bisect_left

import numpy as np
from numba import njit

from leantune.arrays import FloatArray
from leantune.curves.rules import LEVEL_POINTS, OPENING_SHARE, PLATEAU_POINTS, PLATEAU_SHARE, PLATEAU_TOLERANCE
from leantune.curves.stages import Jump, jump_at

_ROOM = 64  # points at first
_JUMP = Jump()
_LIMITS = np.array([_JUMP.scatter, _JUMP.share, _JUMP.steeper])


class PlateauWatch:
    """Watches one curve. drops, maximize: as of a Curve; the points must be finite, their steps increasing."""

    def __init__(self, drops: tuple[float, ...] = (), *, maximize: bool = False) -> None:
        self._last_drop = drops[-1] if drops else None
        self._sign = -1.0 if maximize else 1.0
        self._steps: list[float] = []
        self._loss = np.empty(_ROOM)
        self._stage = np.array([-1.0, 0.0])  # where the present stage begins, -1: with the curve; how far it fell there

    def add(self, step: float, value: float) -> bool:
        """Whether the curve is flat with this point, by the default measures of `plateaued`."""
        count = len(self._steps)
        if count == len(self._loss):
            self._loss = np.concatenate([self._loss, np.empty(count)])
        self._loss[count] = self._sign * value
        self._steps.append(step)
        loss = self._loss[: count + 1]
        if self._last_drop is None:
            _follow_stage(loss, self._stage, _JUMP.before, _JUMP.after, _LIMITS)
            begin = max(int(self._stage[0]), 0)
        elif self._last_drop > step:
            return False
        else:
            begin = bisect_left(self._steps, self._last_drop)
        return count + 1 - begin > PLATEAU_POINTS and bool(_flat(loss, begin))


@njit(cache=True, nogil=True)
def _follow_stage(loss: FloatArray, stage: FloatArray, before: int, after: int, limits: FloatArray) -> None:
    """Decide about the one place that the last point completes, as `stages._jumps` does."""
    place = len(loss) - after
    if place < 2 * before or not jump_at(loss, place, before, after, limits):
        return
    step = loss[place - 1] - loss[place]
    if stage[0] < 0 or place - stage[0] >= before or step > stage[1]:
        stage[0] = place
        stage[1] = step


@njit(cache=True, nogil=True)
def _flat(loss: FloatArray, begin: int) -> bool:
    """As `plateaued`: not diverged, and the thirds of the window on one level."""
    points = len(loss) - begin
    window = max(PLATEAU_POINTS, math.ceil(PLATEAU_SHARE * points))
    if points <= window:
        return False
    opening = loss[: max(LEVEL_POINTS, math.ceil(len(loss) * OPENING_SHARE))]
    worst, best = opening.max(), opening.min()
    if np.median(loss[-LEVEL_POINTS:]) - worst > max(worst - best, abs(worst)):
        return False
    recent = loss[-window:]
    short, longer = window // 3, window % 3  # the first `longer` thirds have a point more, as np.array_split has it
    first = short + (1 if longer > 0 else 0)
    second = first + short + (1 if longer > 1 else 0)
    a, b, c = np.median(recent[:first]), np.median(recent[first:second]), np.median(recent[second:])
    stage = loss[begin:]
    spread: float = max(a, b, c) - min(a, b, c)
    return bool(spread <= PLATEAU_TOLERANCE * (stage.max() - stage.min()))
