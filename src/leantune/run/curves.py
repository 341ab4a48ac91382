"""The learning curves of a study, from the reports in its store alone: any worker sees the same ones."""

from __future__ import annotations

import math
from collections.abc import Mapping

from leantune.problem import Problem
from leantune.store.base import Store
from leantune.strategies.tuner import LearningCurve


def learning_curves(store: Store, problem: Problem) -> Mapping[int, LearningCurve]:
    """By trial number; none where nobody said how many steps a training has."""
    if problem.steps is None:
        return {}
    curves = Curves(store, problem.goal.metric)
    curves.read()
    return curves.by_trial


class Curves:
    """Learning curves of all trials; `read` adds what is new.

    A report of a step without any number is one of a metric that was none: NaN. A step at or before one that was
    reported already was done again after a revocation and tells nothing new.
    """

    def __init__(self, store: Store, metric: str) -> None:
        self._store, self._metric, self._read = store, metric, 0
        self.by_trial: dict[int, LearningCurve] = {}
        self._points: dict[int, tuple[list[float], list[float]]] = {}
        self._latest: dict[int, Mapping[str, float]] = {}

    def read(self) -> set[int]:
        """Take in what was reported since the last call; the trials that it is about."""
        changed: set[int] = set()
        for row in self._store.reports(after=self._read):
            self._read = row.id
            if row.step is None or (row.metrics and self._metric not in row.metrics):
                continue
            points = self._points.get(row.number)
            if points is None:
                points = self._points[row.number] = ([], [])
                self.by_trial[row.number] = LearningCurve(*points)
            steps, values = points
            if not steps or row.step > steps[-1]:  # steps done again tell nothing new
                steps.append(row.step)
                values.append(row.metrics.get(self._metric, math.nan))
                self._latest[row.number] = row.metrics
                changed.add(row.number)
        return changed

    def step(self, number: int) -> float:
        """The last step that a trial has told of."""
        curve = self.by_trial.get(number)
        return curve.steps[-1] if curve is not None else 0.0

    def latest(self, number: int) -> Mapping[str, float]:
        """What it told there."""
        return self._latest.get(number, {})
