"""Judges a run by its learning curve alone.

A curve is walked along point by point, each point looked at once and in order:

    no number                                              -> diverged
    the last step                                          -> over: its program ends by itself
    the first at or after theta * last step, predictable   -> theta: it pauses until the best are chosen
    flat for a while, no drop of the learning rate to come -> converged

The first of these counts; a run that was chosen walks on after theta. Equal curves give equal turns, however many
points come between two looks. That a point is not looked at again is a matter of speed alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from leantune.curves.base import Curve, CurvePredictor, Outlook, Prediction
from leantune.curves.rules import PlateauWatch
from leantune.strategies.tuner import LearningCurve


class TurnKind(StrEnum):
    """A verdict of a curve."""

    DIVERGED = "diverged"
    OVER = "over"
    THETA = "theta"
    CONVERGED = "converged"


@dataclass(frozen=True)
class Turn:
    """The point of a verdict. prediction: of the run's end, at theta alone."""

    kind: TurnKind
    step: float
    value: float
    prediction: Prediction | None = None


@dataclass(frozen=True)
class TrainingSchedule:
    """The schedule of a run. drops: declared drops of the learning rate. plateau: whether a flat run is over."""

    last_step: float
    drops: tuple[float, ...] = ()
    maximize: bool = False
    theta: float = 0.7
    plateau: bool = True

    def curve(self, reported: LearningCurve, points: int | None = None) -> Curve:
        """The first so many points (None: all), as predictors take them."""
        steps = np.array(reported.steps[:points], dtype=np.float64)
        return Curve(steps, np.array(reported.values[:points], dtype=np.float64), self.drops, self.maximize)


class Walk:
    """The progress along a curve, and the turns on the way. theta: None before it, or if it is not predictable.

    end: the turn after which nothing else counts.
    """

    def __init__(self, schedule: TrainingSchedule, predictor: CurvePredictor) -> None:
        self.theta: Turn | None = None
        self.end: Turn | None = None
        self._schedule, self._predictor = schedule, predictor
        self._goal = schedule.last_step * schedule.theta
        self._curve = LearningCurve((), ())
        self._looked = 0
        self._reached_theta = False
        self._watch = PlateauWatch(schedule.drops, maximize=schedule.maximize)

    def leads_to(self, curve: LearningCurve, schedule: TrainingSchedule) -> bool:
        """Whether what was walked along is the beginning of this curve, on this schedule."""
        if schedule != self._schedule:
            return False
        if curve is self._curve:
            return True
        looked, mine = self._looked, self._curve
        return (
            len(curve.steps) >= looked
            and list(curve.steps[:looked]) == list(mine.steps[:looked])
            and list(curve.values[:looked]) == list(mine.values[:looked])
        )

    def follow(self, curve: LearningCurve, *, chosen: bool) -> Turn | None:
        """Walk on to the end of the curve; the turn that counts, if any: for a chosen run, one after theta."""
        self._curve, steps, values = curve, curve.steps, curve.values
        while self._looked < len(steps) and self.end is None and (chosen or self.theta is None):
            self._look_at(float(steps[self._looked]), float(values[self._looked]))
        return self.end if chosen or self.theta is None else self.theta

    def _look_at(self, step: float, value: float) -> None:
        self._looked += 1
        if not math.isfinite(value):
            self.end = Turn(TurnKind.DIVERGED, step, value)
            return
        flat = self._watch.add(step, value)
        if step >= self._schedule.last_step:
            self.end = Turn(TurnKind.OVER, step, value)
        elif not self._reached_theta and step >= self._goal and self._is_predicted(step, value):
            return
        elif self._schedule.plateau and flat:
            self.end = Turn(TurnKind.CONVERGED, step, value)

    def _is_predicted(self, step: float, value: float) -> bool:
        self._reached_theta = True
        walked = self._schedule.curve(self._curve, self._looked)
        prediction = self._predictor.predict(walked, self._schedule.last_step)
        if prediction.outlook is Outlook.NOT_PREDICTABLE:
            return False  # it goes on to its end
        self.theta = Turn(TurnKind.THETA, step, value, prediction)
        return True
