"""Rules for a curve before any fit: diverged, a drop to come, too short, flat.

Levels are medians of a few points and scatter comes from differences between neighbours, so that one odd value decides
nothing. Everything is relative to the curve's own range and size: scaling a metric changes no verdict.
"""

from __future__ import annotations

import math
from bisect import bisect_left

import numpy as np
from numba import njit

from leantune.arrays import FloatArray
from leantune.curves.base import Curve, Outlook, Prediction
from leantune.curves.stages import Jump, follow_stage, last_stage, scaled_losses, unscaled

PLATEAU_SHARE = 1.0 / 3.0  # of the stage's points that must be flat
PLATEAU_POINTS = 15  # at least
PLATEAU_TOLERANCE = 0.005  # of the range of the stage
LEVEL_POINTS = 3  # points of a level
OPENING_SHARE = 1.0 / 3.0  # the first part of a curve, to compare with
_ROOM = 64  # points that a watch has at first
_JUMP = Jump()


def finite(curve: Curve) -> Curve:
    """Without the values that are no numbers: a run that went on after them has not diverged."""
    is_number = np.isfinite(curve.values)
    return (
        curve
        if is_number.all()
        else Curve(curve.steps[is_number], curve.values[is_number], curve.drops, curve.maximize)
    )


def diverged(curve: Curve) -> str:
    """Why the run counts as diverged; "" when it does not.

    It does when its last value is no finite number, or when its level is worse than the worst of its first third by
    more than that third's range and more than that value's distance from zero.
    """
    if not np.isfinite(curve.values[-1]):
        return f"the value at step {curve.steps[-1]:g} is {curve.values[-1]}"
    loss, exponent = scaled_losses(finite(curve))
    worst, is_far_worse = _far_worse(loss)
    if len(loss) < 2 * LEVEL_POINTS or not is_far_worse:
        return ""
    return f"far worse than it was: {curve.values[-1]:g} after {unscaled(abs(worst), exponent):g} at worst at first"


def drop_ahead(curve: Curve, final_step: float) -> float | None:
    """The first declared drop after what is known and not after the end."""
    return next((drop for drop in curve.drops if curve.steps[-1] < drop <= final_step), None)


def plateaued(curve: Curve) -> bool:
    """Whether a job may be ended because it has converged; usable online, after every value (`PlateauWatch`).

    True when the last max(PLATEAU_POINTS, PLATEAU_SHARE * stage) values of the stage are flat: the levels of their
    first, second and last third differ by at most PLATEAU_TOLERANCE of the stage's range. Never before the last
    declared drop, never of a diverged run, and never unless the stage is longer than the window.
    """
    if (curve.drops and curve.drops[-1] > curve.steps[-1]) or not np.isfinite(curve.values[-1]):
        return False
    finite_curve = finite(curve)
    return bool(_flat(scaled_losses(finite_curve)[0], last_stage(finite_curve, _JUMP)))


class PlateauWatch:
    """`plateaued` of a curve that grows point by point, without going through all of it again for each point.

    Whether a stage begins at a place depends on the points around that place alone, so that each further point decides
    about one further place. drops, maximize: as of a Curve; the points must be finite, their steps increasing.
    """

    def __init__(self, drops: tuple[float, ...] = (), *, maximize: bool = False) -> None:
        self._last_drop = drops[-1] if drops else None
        self._sign = -1.0 if maximize else 1.0
        self._steps: list[float] = []
        self._loss = np.empty(_ROOM)
        self._stage = np.array([-1.0, 0.0])  # where the present stage begins, -1: with the curve; how far it fell there

    def add(self, step: float, value: float) -> bool:
        """Whether the curve is flat with this point."""
        count = len(self._steps)
        if count == len(self._loss):
            self._loss = np.concatenate([self._loss, np.empty(count)])
        self._loss[count] = self._sign * value
        self._steps.append(step)
        loss = self._loss[: count + 1]
        if self._last_drop is None:
            follow_stage(loss, self._stage, _JUMP.before, _JUMP.after, _JUMP.limits)
            begin = max(int(self._stage[0]), 0)
        elif self._last_drop > step:
            return False
        else:
            begin = bisect_left(self._steps, self._last_drop)
        return count + 1 - begin > PLATEAU_POINTS and bool(_flat(loss, begin))


@njit(cache=True, nogil=True)
def _far_worse(loss: FloatArray) -> tuple[float, bool]:
    """The worst of the first third, and whether the level is worse than that by more than `diverged` allows."""
    opening = loss[: max(LEVEL_POINTS, math.ceil(len(loss) * OPENING_SHARE))]
    worst = opening.max()
    return worst, np.median(loss[-LEVEL_POINTS:]) - worst > max(worst - opening.min(), abs(worst))


@njit(cache=True, nogil=True)
def _flat(loss: FloatArray, begin: int) -> bool:
    """Not far worse, and the thirds of the window, at the end of the stage that begins there, on one level."""
    points = len(loss) - begin
    window = max(PLATEAU_POINTS, math.ceil(PLATEAU_SHARE * points))
    if points <= window or _far_worse(loss)[1]:
        return False
    recent = loss[-window:]
    short, longer = window // 3, window % 3  # the first `longer` thirds have a point more, as np.array_split has it
    first = short + (1 if longer > 0 else 0)
    second = first + short + (1 if longer > 1 else 0)
    a, b, c = np.median(recent[:first]), np.median(recent[first:second]), np.median(recent[second:])
    stage = loss[begin:]
    spread: float = max(a, b, c) - min(a, b, c)
    return bool(spread <= PLATEAU_TOLERANCE * (stage.max() - stage.min()))


def verdict(curve: Curve, final_step: float) -> Prediction | None:
    """The answer for a curve that needs no fit or allows none; None for one to be fitted."""
    why = diverged(curve)
    if why:
        return Prediction(math.nan, math.nan, Outlook.DIVERGED, why)
    last = float(curve.values[-1])
    if final_step <= curve.steps[-1]:
        return Prediction(last, 0.0, Outlook.PREDICTED, "the run is over")
    drop = drop_ahead(curve, final_step)
    if drop is not None:
        return not_predictable(curve, f"the learning rate drops at step {drop:g}, after what is known")
    if plateaued(curve):
        loss, exponent = scaled_losses(finite(curve))
        recent = -loss[-PLATEAU_POINTS:] if curve.maximize else loss[-PLATEAU_POINTS:]
        mean, sd = unscaled(float(np.median(recent)), exponent), unscaled(float(np.std(recent)), exponent)
        return Prediction(mean, sd, Outlook.PLATEAU, "flat for a while")
    return None


def not_predictable(curve: Curve, why: str) -> Prediction:
    """The last value with an infinite standard deviation."""
    return Prediction(float(curve.values[-1]), math.inf, Outlook.NOT_PREDICTABLE, why)


def worsens(loss: FloatArray) -> bool:
    """Whether the level of the last third is worse than that of the first third by more than neighbours scatter."""
    if len(loss) < 2 * LEVEL_POINTS:
        return False
    first, _, last = np.array_split(loss, 3)
    noise = float(np.median(np.abs(np.diff(loss))))
    return float(np.median(last)) - float(np.median(first)) > noise
