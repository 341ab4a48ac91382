"""The predictors by name. A predictor = how stages are found, and what is fitted to the last of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from leantune.arrays import FloatArray
from leantune.curves import kernels
from leantune.curves.base import Curve, CurvePredictor, Outlook, Prediction
from leantune.curves.kernels import EXPONENTIAL, INVERSE, LEVEL, POWER
from leantune.curves.rules import finite, not_predictable, verdict, worsens
from leantune.curves.stages import Jump, StageRule, last_stage, scaled_losses, unscaled
from leantune.errors import InvalidInput

_FALLBACK = Jump()


@dataclass(frozen=True)
class CurveFit:
    """One fit: its family, points weighted (k / k_n)^recency, and whether it is shifted to meet the curve's end."""

    family: int  # of `kernels`
    recency: float = 0.0
    anchored: bool = False


@dataclass(frozen=True)
class StagePredictor:
    """Members fitted to the present stage, weighted by how well each foresaw what is known of that stage.

    The standard deviation is how wrong they would have been from earlier origins (`kernels.predict_stack`): on real
    stages as well calibrated as a residual bootstrap, with 7 fits in place of 60 and nothing random (docs/curves.md).
    staged: whether stages are told apart at all; rule: finds them where no schedule is declared.
    """

    name: str
    members: tuple[CurveFit, ...]
    least_points: int
    staged: bool = True
    rule: StageRule | None = _FALLBACK

    def predict(self, curve: Curve, final_step: float) -> Prediction:
        """The rules first, then the fit."""
        decided = verdict(curve, final_step)
        if decided is not None:
            return decided
        finite_curve = finite(curve)
        begin = last_stage(finite_curve, self.rule) if self.staged else 0
        points = len(finite_curve.steps) - begin
        if points < self.least_points:
            return not_predictable(curve, f"{points} points of this stage are known; {self.least_points} are needed")
        loss, exponent = scaled_losses(finite_curve)
        stage = np.ascontiguousarray(loss[begin:])
        members = np.array([[fit.family, fit.recency, fit.anchored] for fit in self._falling(stage)])
        k, target = local_steps(finite_curve.steps[begin:], final_step)
        mean, sd, _ = kernels.predict_stack(members, k, stage, target, floor_of(loss))
        why = "the metric does not improve" if worsens(stage) else ""
        return Prediction(
            unscaled(-mean if curve.maximize else mean, exponent), unscaled(sd, exponent), Outlook.PREDICTED, why
        )

    def _falling(self, loss: FloatArray) -> tuple[CurveFit, ...]:
        """Eq. 4 can only fall: it says nothing of a metric that rises, whose last value stands in for it."""
        if not worsens(loss):
            return self.members
        return tuple(CurveFit(LEVEL) if fit.family == INVERSE else fit for fit in self.members)


def local_steps(steps: FloatArray, final_step: float) -> tuple[FloatArray, float]:
    """(k, K): steps counted from 1 at the stage's first point in units of their usual distance."""
    unit = float(np.median(np.diff(steps))) if len(steps) > 1 else 1.0
    return np.ascontiguousarray((steps - steps[0]) / unit + 1.0), float((final_step - steps[0]) / unit + 1.0)


def floor_of(loss: FloatArray) -> float:
    """The lowest end a fit may foresee: 0 for a loss that has never been negative, else one range below its lowest."""
    low = float(loss.min())
    return 0.0 if low >= 0.0 else low - float(np.ptp(loss))


_STACK = (
    CurveFit(INVERSE, 2.0, True),
    CurveFit(POWER, 0.0, True),
    CurveFit(POWER, 2.0, True),
    CurveFit(EXPONENTIAL, 4.0, True),
    CurveFit(LEVEL, 0.0, True),
)
PREDICTORS: dict[str, Callable[[], CurvePredictor]] = {
    "stacked": lambda: StagePredictor("stacked", _STACK, 5),
    "earlycurve": lambda: StagePredictor("earlycurve", (CurveFit(INVERSE),), 5),
    "slaq": lambda: StagePredictor("slaq", (CurveFit(INVERSE),), 5, staged=False),
    "powerlaw": lambda: StagePredictor("powerlaw", (CurveFit(POWER),), 5),
    "exponential": lambda: StagePredictor("exponential", (CurveFit(EXPONENTIAL),), 5),
    "last": lambda: StagePredictor("last", (CurveFit(LEVEL),), 4),
}
DEFAULT = "stacked"  # best of them at theta = 0.7 on both sets of real curves: docs/curves.md


def curve_predictor(name: str = DEFAULT) -> CurvePredictor:
    """The predictor of that name."""
    if name not in PREDICTORS:
        hint = f"Take one of {', '.join(PREDICTORS)}"
        raise InvalidInput(f"there is no curve predictor {name!r}", where="curve predictor", hint=hint)
    return PREDICTORS[name]()
