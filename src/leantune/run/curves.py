"""The learning curves of a study, from the reports in its store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from leantune.problem import Problem
from leantune.store.base import Store
from leantune.store.rows import ReportRow
from leantune.strategies.tuner import LearningCurve


def learning_curves(store: Store, problem: Problem) -> Mapping[int, LearningCurve]:
    """By trial number; none where nobody said how many steps a training has."""
    return {} if problem.steps is None else curves_from(store.reports(), problem.goal.metric)


def curves_from(reports: Iterable[ReportRow], metric: str) -> dict[int, LearningCurve]:
    """The metric at increasing steps, by trial number; reports come in the order of their arrival.

    A step at or before one that was reported already was done again after a revocation and tells nothing new.
    """
    points: dict[int, tuple[list[float], list[float]]] = {}
    for report in reports:
        value = report.metrics.get(metric)
        if report.step is None or value is None:
            continue
        steps, values = points.setdefault(report.number, ([], []))
        if not steps or report.step > steps[-1]:
            steps.append(report.step)
            values.append(value)
    return {number: LearningCurve(steps, values) for number, (steps, values) in points.items()}
