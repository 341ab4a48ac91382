"""The learning curves of a study, from the reports in its store alone: any worker sees the same ones."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from leantune.history import Trial
from leantune.problem import Problem
from leantune.store.base import Store
from leantune.store.rows import ReportRow
from leantune.strategies.tuner import LearningCurve
from leantune.units import is_value


def learning_curves(store: Store, problem: Problem) -> Mapping[int, LearningCurve]:
    """By trial number; empty where the steps of a training are unknown and no run reports before its end."""
    if problem.steps is None and not problem.curves_by_share:
        return {}
    curves = Curves(store, problem)
    curves.read()
    return curves.by_trial


class Curves:
    """Learning curves of all trials; `read` adds what is new.

    A report of a step without any number is one of a metric that was none: NaN. A step at or before one that was
    reported already was done again after a revocation and tells nothing new. Where curves go by shares, reports of a
    share are their points.
    """

    def __init__(self, store: Store, problem: Problem) -> None:
        self._store, self.problem, self._read = store, problem, 0
        self._metric, self._by_share = problem.goal.metric, problem.curves_by_share
        self.by_trial: dict[int, LearningCurve] = {}
        self._points: dict[int, tuple[list[float], list[float]]] = {}
        self._latest: dict[int, Mapping[str, float]] = {}
        self._shares: dict[int, dict[Fraction, ReportRow]] = {}

    def read(self) -> set[int]:
        """Read the reports since the last call; returns their trials."""
        changed: set[int] = set()
        for row in self._store.reports(after=self._read):
            self._read = row.id
            if row.fraction is not None:
                self._shares.setdefault(row.number, {}).setdefault(row.fraction, row)
            step = self._step(row)
            if step is None or (row.metrics and self._metric not in row.metrics):
                continue
            points = self._points.get(row.number)
            if points is None:
                points = self._points[row.number] = ([], [])
                self.by_trial[row.number] = LearningCurve(*points)
            steps, values = points
            if not steps or step > steps[-1]:  # steps done again tell nothing new
                steps.append(step)
                value = row.metrics.get(self._metric, math.nan)
                values.append(value if is_value(value) else math.nan)
                self._latest[row.number] = row.metrics
                changed.add(row.number)
        return changed

    def _step(self, row: ReportRow) -> float | None:
        if not self._by_share:
            return row.step
        return None if row.fraction is None else float(row.fraction)

    def passed(self, trial: Trial) -> list[ReportRow]:
        """Its reports at the smaller shares that it has passed, as far as they are results there."""
        by_share = self._shares.get(trial.number, {})
        rows = [by_share[share] for share in trial.snapshots if share < trial.fraction and share in by_share]
        required = self.problem.required_metrics
        return [row for row in rows if all(is_value(row.metrics.get(name, math.nan)) for name in required)]

    def step(self, number: int) -> float:
        """The last step that a trial has reported."""
        curve = self.by_trial.get(number)
        return curve.steps[-1] if curve is not None else 0.0

    def latest(self, number: int) -> Mapping[str, float]:
        """The report of a trial at its last step."""
        return self._latest.get(number, {})
