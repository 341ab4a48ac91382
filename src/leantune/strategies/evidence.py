"""The history as arrays for the models.

Rows are observations in the order of (trial number, fraction), never in the order they arrived, so that the same
results give the same models.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from leantune.arrays import BoolArray, FloatArray, IntArray
from leantune.history import History, ObservationKind, was_ended
from leantune.models.base import Data, Points
from leantune.models.scales import Kind, Transform
from leantune.problem import COST, TIME, Direction, Problem, Scale
from leantune.space import Configurations

SMALLEST_SPEND = 1e-9  # dollars or seconds: a run that cost nothing still has a logarithm
RATE_TOLERANCE = 0.01


@dataclass(frozen=True)
class Evidence:
    """n observations: where (points, level), and what. NaN where a value is not known.

    failed: no metrics, by the program's own fault or because we ended it as of no more use (ended). cut: seconds and
    cost are only lower bounds (censored or failed).
    """

    problem: Problem
    points: Points
    level: IntArray
    metrics: dict[str, FloatArray]
    failed: BoolArray
    ended: BoolArray
    cut: BoolArray
    rates: FloatArray | None

    @classmethod
    def of(cls, problem: Problem, history: History) -> Evidence:
        rows = list(history.observations)
        tested = Configurations.of(problem.space, [trial.configuration for trial, _ in rows])
        level = np.array([problem.level_of(seen.fraction) for _, seen in rows], dtype=np.int64)
        metrics = {
            COST: _column([seen.value(COST) for _, seen in rows]),
            TIME: _column([seen.value(TIME) for _, seen in rows]),
            **{name: _column([seen.value(name) for _, seen in rows]) for name in problem.required_metrics},
        }
        kinds = [seen.kind for _, seen in rows]
        return cls(
            problem,
            Points(np.array(tested.features), problem.levels[level]),
            level,
            metrics,
            np.array([kind is ObservationKind.FAILED for kind in kinds], dtype=np.bool_),
            np.array([was_ended(trial, seen) for trial, seen in rows], dtype=np.bool_),
            np.array([kind is not ObservationKind.MEASURED for kind in kinds], dtype=np.bool_),
            tested.rates,
        )

    def seen_by(self, columns: IntArray) -> Evidence:
        """The same where models see only these features."""
        return replace(self, points=Points(np.ascontiguousarray(self.points.x[:, columns]), self.points.s))

    def informative(self, metric: str) -> BoolArray:
        """Rows where the metric says something; bounds count for dollars and seconds."""
        there = np.isfinite(self.metrics[metric])
        return there if metric in (COST, TIME) else there & ~self.failed

    def transform(self, metric: str, *, natural: bool = False) -> Transform:
        """The scale on which the metric is modelled: the goal's as declared, auto = share where all values, and all
        limits on it, lie in [0, 1]. natural: see Recipe.natural_scales.
        """
        goal = self.problem.goal
        is_goal = metric == goal.metric
        descending = is_goal and goal.direction is Direction.MINIMIZE
        if metric in (COST, TIME):
            return Transform("log", descending)
        share: Kind = "logit" if natural else "share"
        declared = goal.scale if is_goal else Scale.AUTO
        if declared is not Scale.AUTO:
            return Transform(share if declared is Scale.SHARE else _KINDS[declared], descending)
        values = self.metrics[metric][self.informative(metric)]
        limits = [limit.limit for limit in self.problem.constraints if limit.metric == metric]
        everything = np.append(values, limits)
        if not descending and len(values) > 0 and bool(((everything >= 0) & (everything <= 1)).all()):
            return Transform(share)
        if natural and descending and len(values) > 0 and bool((everything > 0).all()):
            return Transform("log", descending)
        return Transform("linear", descending)

    def data(self, metric: str, transform: Transform) -> Data:
        """Observations of the metric on its modelled scale; bounds of dollars and seconds are censored."""
        rows = self.informative(metric)
        values = self.metrics[metric][rows]
        bounds = np.zeros(int(rows.sum()), dtype=np.bool_)
        if metric in (COST, TIME):
            values = np.maximum(values, SMALLEST_SPEND)
            bounds = self.cut[rows]
        points = Points(self.points.x[rows], self.points.s[rows])
        return Data(points, transform.forward(values), bounds, bounds_above=transform.descending)

    @property
    def harmless(self) -> BoolArray:
        """Runs that we ended before they had broken a limit: they show nothing."""
        broke = np.zeros_like(self.failed)
        for limit in self.problem.constraints:
            if limit.metric in (COST, TIME) and limit.upper:
                broke |= self.metrics[limit.metric] > limit.limit
        return self.ended & ~broke

    def successes(self) -> Data:
        """+1 where the program succeeded, -1 where it failed. What was ended as of no more use says neither: that it
        takes long is for the model of its seconds.
        """
        there = ~self.ended
        points = Points(self.points.x[there], self.points.s[there])
        return Data.measured(points, np.where(self.failed[there], -1.0, 1.0))

    @property
    def dollars_follow_seconds(self) -> bool:
        """Whether all dollars are seconds times the known rate, so that limits on both are limits on one quantity."""
        if self.rates is None:
            return False
        seconds, cost = self.metrics[TIME], self.metrics[COST]
        both = np.isfinite(seconds) & np.isfinite(cost)
        implied = seconds[both] * self.rates[both] / 3600.0
        return bool(both.any() and (np.abs(cost[both] - implied) <= RATE_TOLERANCE * np.maximum(implied, 1e-12)).all())

    def kept_limits(self) -> BoolArray:
        """Rows whose measured values met every limit; a bound on dollars or seconds is no proof of having met one."""
        result = ~self.failed
        for limit in self.problem.constraints:
            values = self.metrics[limit.metric]
            proven = ~self.cut if limit.metric in (COST, TIME) and limit.upper else np.ones_like(result)
            result &= (values <= limit.limit if limit.upper else values >= limit.limit) & proven
        return result


_KINDS: dict[Scale, Kind] = {Scale.SHARE: "share", Scale.LINEAR: "linear", Scale.LOG: "log"}


def _column(values: list[float]) -> FloatArray:
    return np.array(values, dtype=np.float64)
