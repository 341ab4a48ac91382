"""The truth of a table, hidden from the strategy: how good a recommendation really is, and facts of the table.

Judged on the table's own values (means of repeated runs). Symbols: a objective, q metric with a limit, C dollars.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from statistics import median

from leantune.executors.replay import Measurement
from leantune.lab.replay.tables import MeasuredTable
from leantune.problem import COST, TIME, At, Direction, Problem

ROUNDING = 1e-12
INFEASIBLE_REGRET = 1.5  # of a recommendation that breaks a limit, or is none, in the units of `Truth.regret`
NEAR = 0.95  # share of the best feasible value that counts as nearly optimal
Pair = tuple[str, Fraction]  # configuration id, share of the data


@dataclass(frozen=True)
class TrueQuality:
    """How good a pair is by the measured values of the table.

    accuracy_c: TrimTuner Eq. 7, a prod_i min(1, limit_i / value_i) over the limits it violates (for goals to maximise).
    ratio: objective over that of the best pair that counts as an answer, at least 1 for feasible ones whichever way is
    better (infinite where signs differ); for dollars this is the thesis' CNO (Eq. 11) normalised over all fractions.
    ratio_full: over the best at full data.
    """

    metrics: Mapping[str, float]
    feasible: bool
    accuracy_c: float | None
    ratio: float
    ratio_full: float

    def at_most(self, factor: float, *, full: bool = False) -> bool:
        """Whether it is feasible and within that factor of the best (full: of the best at full data)."""
        return self.feasible and (self.ratio_full if full else self.ratio) <= factor * (1.0 + ROUNDING)

    def within(self, share: float) -> bool:
        """Whether it is feasible and at least that share of the best: a >= share best, C <= best / share."""
        return self.at_most(1.0 / share)


@dataclass(frozen=True)
class Truth:
    """A problem with every measurement known."""

    problem: Problem
    measurements: Mapping[Pair, Measurement]

    @classmethod
    def of(cls, table: MeasuredTable) -> Truth:
        """The truth about a table's problem."""
        return cls(table.problem, table.measurements)

    def judge(self, pair: Pair) -> TrueQuality:
        """How good the pair is as an answer; a pair whose run failed has no metrics and is worth nothing."""
        values = self.values(pair)
        maximise = self.problem.goal.direction is Direction.MAXIMIZE
        if values is None:
            return TrueQuality({}, False, 0.0 if maximise else None, math.inf, math.inf)
        value = values[self.problem.goal.metric]
        return TrueQuality(
            values,
            self.feasible(values),
            value * self._penalty(values) if maximise else None,
            self._ratio(value, self.best),
            self._ratio(value, self.best_full),
        )

    def regret(self, verdict: TrueQuality | None) -> float:
        """How much worse than the best: |best - value| / |best - median|, both over the feasible pairs that count as an
        answer. A recommendation that breaks a limit, or none at all, counts 1.5; NaN where nothing is feasible.
        """
        if not self._feasible_values:
            return math.nan
        if verdict is None or not verdict.feasible:
            return INFEASIBLE_REGRET
        behind = abs(self.best - verdict.metrics[self.problem.goal.metric])
        spread = abs(self.best - median(self._feasible_values))
        return behind / spread if spread > 0 else (0.0 if behind == 0 else math.inf)

    def values(self, pair: Pair) -> dict[str, float] | None:
        """Every metric of the pair, dollars and seconds included; None when its run failed or is not in the table."""
        row = self.measurements.get(pair)
        if row is None or row.failure:
            return None
        dollars = {} if row.cost is None else {COST: row.cost}
        return {**row.metrics, TIME: row.seconds, **dollars}

    def feasible(self, values: Mapping[str, float]) -> bool:
        """Whether all limits hold."""
        return all(limit.holds(values[limit.metric]) for limit in self.problem.constraints)

    @cached_property
    def best(self) -> float:
        """Objective of the best feasible pair that counts as an answer; NaN when there is none."""
        return self._best(self._feasible_values)

    @cached_property
    def best_full(self) -> float:
        """The same at full data only."""
        return self._best(self._objectives(pair for pair in self.measurements if pair[1] == 1))

    def answers(self) -> Iterator[Pair]:
        """Pairs that may be recommended: at full data, or (cheapest anywhere) all of them."""
        anywhere = self.problem.goal.at is At.ANYWHERE
        return (pair for pair in self.measurements if anywhere or pair[1] == 1)

    @cached_property
    def _feasible_values(self) -> list[float]:
        return self._objectives(self.answers())

    def _objectives(self, pairs: Iterator[Pair]) -> list[float]:
        """Of those that are feasible."""
        rows = (self.values(pair) for pair in pairs)
        return [row[self.problem.goal.metric] for row in rows if row is not None and self.feasible(row)]

    def _best(self, objectives: list[float]) -> float:
        if not objectives:
            return math.nan
        return max(objectives) if self.problem.goal.direction is Direction.MAXIMIZE else min(objectives)

    def _ratio(self, value: float, best: float) -> float:
        above, below = (best, value) if self.problem.goal.direction is Direction.MAXIMIZE else (value, best)
        if above == below:
            return 1.0
        if below > 0:
            return above / below
        return below / above if above < 0 else math.inf

    def _penalty(self, values: Mapping[str, float]) -> float:
        penalty = 1.0
        for limit in self.problem.constraints:
            value = values[limit.metric]
            if not limit.holds(value):
                small, large = (limit.limit, value) if limit.upper else (value, limit.limit)
                penalty *= max(0.0, small / large) if large > 0 else 0.0
        return penalty


def facts(table: MeasuredTable) -> dict[str, object]:
    """The facts of a table, as plain JSON; judged on the measured values, those of runs that were cut included."""
    problem, truth = table.problem, Truth.of(table)
    answers = [(pair, truth.values(pair)) for pair in truth.answers()]
    feasible = {
        pair: values[problem.goal.metric] for pair, values in answers if values is not None and truth.feasible(values)
    }
    by_fraction = {
        share: sum(fraction == share for _, fraction in feasible)
        for share in sorted({fraction for (_, fraction), _ in answers})
    }
    maximising = problem.goal.direction is Direction.MAXIMIZE
    by_id = {configuration.id: configuration for configuration in problem.space.grid()}
    best = (max if maximising else min)(feasible, key=lambda pair: feasible[pair], default=None)
    return {
        "table": table.name,
        "problem": table.problem_name,
        "rows": table.rows,
        "configurations": len(by_id),
        "feasible": len(feasible),
        "near_optimal": sum(truth.judge(pair).within(NEAR) for pair in feasible),
        "best": None if best is None else feasible[best],
        "best_cost": None if best is None else table.measurements[best].cost,
        "best_configuration": None if best is None else by_id[best[0]].as_json(),
        "best_fraction": None if best is None else str(best[1]),
        "feasible_by_fraction": {str(share): count for share, count in by_fraction.items()},
        "remarks": [remark.text for remark in table.remarks],
    }
