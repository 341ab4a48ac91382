"""What can be said of a curve before anything is fitted: diverged, a drop to come, too short, flat.

Levels are medians of a few points and scatter comes from differences between neighbours, so that one odd value decides
nothing. Everything is relative to the curve's own range and size: scaling a metric changes no verdict.
"""

from __future__ import annotations

import math

import numpy as np

from leantune.arrays import FloatArray
from leantune.curves.base import Curve, Outlook, Prediction
from leantune.curves.stages import Jump, last_stage, scaled_losses, unscaled

PLATEAU_SHARE = 1.0 / 3.0  # of the stage's points that must be flat
PLATEAU_POINTS = 15  # at least
PLATEAU_TOLERANCE = 0.005  # of the range of the stage
LEVEL_POINTS = 3  # points of a level
OPENING_SHARE = 1.0 / 3.0  # the part of a curve that says how bad it was at first


def finite(curve: Curve) -> Curve:
    """Without the values that are no numbers: a run that went on after them has not diverged."""
    known = np.isfinite(curve.values)
    return curve if known.all() else Curve(curve.steps[known], curve.values[known], curve.drops, curve.maximize)


def diverged(curve: Curve) -> str:
    """Why the run counts as diverged; "" when it does not.

    It does when its last value is no finite number, or when its level is worse than the worst of its first third by
    more than that third's range and more than that value's distance from zero.
    """
    if not np.isfinite(curve.values[-1]):
        return f"the value at step {curve.steps[-1]:g} is {curve.values[-1]}"
    loss, exponent = scaled_losses(finite(curve))
    if len(loss) < 2 * LEVEL_POINTS:
        return ""
    opening = loss[: max(LEVEL_POINTS, math.ceil(len(loss) * OPENING_SHARE))]
    worst = float(opening.max())
    worse = level(loss) - worst
    if worse > max(worst - float(opening.min()), abs(worst)):
        return f"far worse than it was: {curve.values[-1]:g} after {unscaled(abs(worst), exponent):g} at worst at first"
    return ""


def level(values: FloatArray) -> float:
    """The median of the last points."""
    return float(np.median(values[-LEVEL_POINTS:]))


def drop_ahead(curve: Curve, final_step: float) -> float | None:
    """The first declared drop after what is known and not after the end."""
    return next((drop for drop in curve.drops if curve.steps[-1] < drop <= final_step), None)


def plateaued(
    curve: Curve,
    *,
    share: float = PLATEAU_SHARE,
    points: int = PLATEAU_POINTS,
    tolerance: float = PLATEAU_TOLERANCE,
) -> bool:
    """Whether a job may be ended because it has converged; usable online, after every value.

    True when the last max(points, share * stage) values of the stage are flat: the levels of their first, second and
    last third differ by at most `tolerance` of the stage's range. Never before the last declared drop, never of a
    diverged run, and never unless the stage is longer than the window.
    """
    if (curve.drops and curve.drops[-1] > curve.steps[-1]) or diverged(curve):
        return False
    known = finite(curve)
    loss, _ = scaled_losses(known)
    begin = last_stage(known, Jump())
    window = max(points, math.ceil(share * (len(loss) - begin)))
    if len(loss) - begin <= window:
        return False
    thirds = [float(np.median(part)) for part in np.array_split(loss[-window:], 3)]
    return max(thirds) - min(thirds) <= tolerance * float(np.ptp(loss[begin:]))


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
