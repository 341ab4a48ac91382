"""A learning curve as far as it is known, and a prediction of where it ends."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import numpy as np

from leantune.arrays import FloatArray
from leantune.errors import InvalidInput


@dataclass(frozen=True)
class Curve:
    """Values of one metric at increasing steps (n,), n >= 1; NaN where the run diverged.

    drops: steps at which the learning rate is declared to change, the whole schedule, also the part still to come: a
    stage is [drop, next drop). maximize: whether larger is better.
    """

    steps: FloatArray
    values: FloatArray
    drops: tuple[float, ...] = ()
    maximize: bool = False

    def __post_init__(self) -> None:
        if self.steps.ndim != 1 or self.steps.shape != self.values.shape or not len(self.steps):
            raise InvalidInput(
                "a curve needs as many values as steps, at least one", where="curve", hint="Give arrays of one length"
            )
        if not (np.isfinite(self.steps).all() and (np.diff(self.steps) > 0).all()):
            raise InvalidInput("the steps of a curve do not increase", where="curve", hint="Sort them, one value each")
        if list(self.drops) != sorted(set(self.drops)):
            raise InvalidInput(
                f"drops {self.drops} do not increase", where="curve", hint="Name each step once, in order"
            )

    def until(self, step: float) -> Curve:
        """The part up to and including a step (the schedule stays whole)."""
        inside = self.steps <= step
        return Curve(self.steps[inside], self.values[inside], self.drops, self.maximize)


class Outlook(StrEnum):
    """The kind of a prediction."""

    PREDICTED = "predicted"
    PLATEAU = "plateau"  # flat for a while and no declared drop is to come: the last value stays
    DIVERGED = "diverged"  # not a number, infinite, or far worse than it was
    NOT_PREDICTABLE = "not predictable"  # a drop is declared between what is known and the end, or too few points


@dataclass(frozen=True)
class Prediction:
    """The metric at the final step: mean and standard deviation in the metric's own units, and the reason.

    A diverged run has mean NaN. One that is not predictable has its last value as mean and an infinite sd.
    """

    mean: float
    sd: float
    outlook: Outlook = Outlook.PREDICTED
    why: str = ""


class CurvePredictor(Protocol):
    """Predicts the metric at `final_step` from a curve known until some step before it; equal curves, equal bits."""

    @property
    def name(self) -> str:
        """Such as earlycurve or slaq."""
        ...

    def predict(self, curve: Curve, final_step: float) -> Prediction:
        """Where the curve ends."""
        ...
