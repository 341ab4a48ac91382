"""The input of acquisitions, and how acquisitions compose.

A `Belief` has the models' predictions: candidate configurations and levels, modelled quantities, limits on them.
`Conditions` are the rest: cost of a test, budget, rule of recommendation. An `Acquisition` turns both into one
number a pair. EI per dollar is `PerDollar(Improvement())`, constrained EI is `Times(Improvement(), Feasibility())`:
variants are compositions, not subclasses.

Shapes: N configurations, k levels, B pairs, R configurations at full data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from leantune.arrays import BoolArray, FloatArray, IntArray
from leantune.models.base import Gaussian, OptimumBelief, Points, Surrogate
from leantune.models.scales import Transform
from leantune.problem import At
from leantune.units import SECONDS_PER_HOUR


@dataclass(frozen=True)
class Pairs:
    """Rows of the configuration table and of the levels; both [B]."""

    configuration: IntArray
    level: IntArray

    @classmethod
    def of(cls, mask: BoolArray) -> Pairs:
        """The pairs where a mask [N, k] is true, configuration by configuration."""
        return cls(*np.nonzero(mask))

    def __len__(self) -> int:
        return len(self.configuration)

    def take(self, indices: IntArray) -> Pairs:
        return Pairs(self.configuration[indices], self.level[indices])


@dataclass(frozen=True)
class Candidates:
    """Configurations (encoded, [N, d]), their dollars per hour ([N], where prices are known) and the levels s~ ([k],
    last = full data).
    """

    x: FloatArray
    levels: FloatArray
    rates: FloatArray | None = None

    def points(self, pairs: Pairs) -> Points:
        return Points(self.x[pairs.configuration], self.levels[pairs.level])

    def at_full(self, configurations: IntArray) -> Points:
        return Points(self.x[configurations], np.full(len(configurations), self.levels[-1]))

    def full_pairs(self, configurations: IntArray) -> Pairs:
        return Pairs(configurations, np.full(len(configurations), len(self.levels) - 1))


@dataclass(frozen=True)
class Quantity:
    """One modelled metric."""

    name: str
    model: Surrogate
    transform: Transform


@dataclass(frozen=True)
class Limit:
    """low <= y <= high on the modelled scale of one quantity; bounds [N], since a limit in dollars is one in seconds
    that depends on the configuration's price.
    """

    quantity: int
    low: FloatArray
    high: FloatArray

    def probability(self, belief: Gaussian, configuration: IntArray) -> FloatArray:
        """P(low <= y <= high); `configuration` indexes the last axis of the belief."""
        result = np.ones(belief.mean.shape)
        if self._bounded_above:
            result = belief.below(self.high[configuration])
        if self._bounded_below:
            result = result - belief.below(self.low[configuration])
        return np.asarray(result)

    @cached_property
    def _bounded_above(self) -> bool:
        return bool(np.isfinite(self.high).any())

    @cached_property
    def _bounded_below(self) -> bool:
        return bool(np.isfinite(self.low).any())


def product_of_probabilities(
    limits: Sequence[Limit], beliefs: Sequence[Gaussian], configuration: IntArray
) -> FloatArray:
    """prod_i P(limit i holds), quantities taken as independent; shape of the beliefs. Without limits: ones."""
    result = np.ones(beliefs[0].mean.shape)
    for limit in limits:
        result *= limit.probability(beliefs[limit.quantity], configuration)
    return result


def largest(score: FloatArray, count: int) -> IntArray:
    """Indices of the `count` largest scores in ascending order; ties go to the smaller index."""
    if len(score) <= count:
        return np.arange(len(score))
    threshold = np.partition(score, len(score) - count)[len(score) - count]
    above = np.flatnonzero(score > threshold)
    return np.sort(np.concatenate([above, np.flatnonzero(score == threshold)[: count - len(above)]]))


@dataclass(frozen=True)
class Belief:
    """What the models predict.

    quantities[0] is the objective, oriented so that larger is better. `limits` has at most one entry a quantity (limits
    on the same quantity are merged before).
    best: largest objective among tests whose measured values met the limits; worst: smallest of all; centre, spread: of
    all; best_of_all: largest without the limits. answers_at: where a result counts as best.
    """

    candidates: Candidates
    quantities: tuple[Quantity, ...]
    limits: tuple[Limit, ...]
    best: float | None
    worst: float
    centre: float
    spread: float
    best_of_all: float | None = None
    answers_at: At = At.ANYWHERE
    _optima: dict[tuple[int, int, int], OptimumBelief] = field(default_factory=dict, compare=False, repr=False)

    @property
    def objective(self) -> Quantity:
        return self.quantities[0]

    @cached_property
    def grid(self) -> tuple[Gaussian, ...]:
        """Belief about every quantity at every (configuration, level); each [N, k]."""
        return tuple(q.model.predict_grid(self.candidates.x, self.candidates.levels) for q in self.quantities)

    @cached_property
    def full_beliefs(self) -> tuple[Gaussian, ...]:
        """Belief about every quantity of every configuration at full data; each [N]."""
        where = (self.everything, np.zeros(len(self.candidates.x), dtype=np.int64))
        last = self.candidates.levels[-1:]
        return tuple(q.model.predict_grid(self.candidates.x, last).at(where) for q in self.quantities)

    @property
    def everything(self) -> IntArray:
        return np.arange(len(self.candidates.x))

    def at(self, pairs: Pairs) -> tuple[Gaussian, ...]:
        """Belief about every quantity at these pairs, read from the grid; each [B]."""
        where = (pairs.configuration, pairs.level)
        return tuple(g.at(where) for g in self.grid)

    def predict(self, pairs: Pairs) -> tuple[Gaussian, ...]:
        """The same for few pairs, without the grid."""
        points = self.candidates.points(pairs)
        return tuple(q.model.predict(points) for q in self.quantities)

    def at_full(self, configurations: IntArray) -> tuple[Gaussian, ...]:
        """Belief about every quantity at these configurations at full data; each [B]."""
        return tuple(g.at((configurations,)) for g in self.full_beliefs)

    def feasibility(self, beliefs: Sequence[Gaussian], configuration: IntArray) -> FloatArray:
        """Probability that all limits hold."""
        return product_of_probabilities(self.limits, beliefs, configuration)

    def merit(self, objective: Gaussian) -> FloatArray:
        """The objective's value for products, in [0, 1]."""
        return self.objective.transform.merit(objective, self.centre, self.spread)

    @cached_property
    def largest_deviation(self) -> float:
        """Of the objective over the whole grid."""
        return float(self.grid[0].sd.max())

    def optimum_at(self, count: int) -> IntArray:
        """Configurations over which p_opt is sampled: those of largest mean + sd at full data."""
        objective = self.full_beliefs[0]
        return largest(objective.mean + objective.sd, count)

    def optimum(self, count: int, samples: int, seed: int) -> OptimumBelief:
        """p_opt over `optimum_at(count)` at full data; computed once, since searches ask for values pair by pair."""
        key = (count, samples, seed)
        if key not in self._optima:
            where = self.candidates.at_full(self.optimum_at(count))
            self._optima[key] = self.objective.model.optimum(where, samples, seed)
        return self._optima[key]

    def incumbents_among(self, count: int) -> IntArray:
        """Where the incumbent after a simulated test is sought: configurations of largest CEA at full data."""
        return largest(self._full_accuracy, count)

    @cached_property
    def _full_accuracy(self) -> FloatArray:
        """CEA at full data, [N]."""
        beliefs = self.full_beliefs
        return self.merit(beliefs[0]) * self.feasibility(beliefs, self.everything)

    def extended(self, pairs: Pairs, outcomes: Sequence[FloatArray]) -> Belief:
        """The belief after tests of the pairs with these outcomes (per quantity, modelled scale, each [B])."""
        points = self.candidates.points(pairs)
        quantities = tuple(
            replace(q, model=q.model.extend(points, y)) for q, y in zip(self.quantities, outcomes, strict=True)
        )
        counts = np.ones(len(pairs), dtype=np.bool_)
        if self.answers_at is At.FULL:
            counts = pairs.level == len(self.candidates.levels) - 1
        met = counts.copy()
        for limit in self.limits:
            y = outcomes[limit.quantity]
            met &= (y <= limit.high[pairs.configuration]) & (y >= limit.low[pairs.configuration])
        return replace(
            self,
            quantities=quantities,
            best=_larger(self.best, outcomes[0][met]),
            best_of_all=_larger(self.best_of_all, outcomes[0][counts]),
            worst=min(self.worst, float(outcomes[0].min())),
            _optima={},
        )


def _larger(best: float | None, more: FloatArray) -> float | None:
    return max([*([] if best is None else [best]), *more.tolist()], default=None)


_LOG = Transform("log")


@dataclass(frozen=True)
class CostModel:
    """The cost of a test. quantity: the modelled cost, None where there is none; transform: its scale. rates:
    USD per hour [N], where dollars are modelled as seconds.
    """

    quantity: int | None = None
    transform: Transform = _LOG
    rates: FloatArray | None = None

    def dollars(self, beliefs: Sequence[Gaussian], configuration: IntArray) -> FloatArray:
        """Expected dollars of a test (seconds where nothing is priced, one where nothing is known)."""
        if self.quantity is None:
            return np.ones(beliefs[0].mean.shape)
        expected = self.transform.expectation(beliefs[self.quantity])
        return expected if self.rates is None else expected * self.rates[configuration] / SECONDS_PER_HOUR


@dataclass(frozen=True)
class Requirement:
    """The product of these limits' probabilities must reach `probability` for a configuration to be recommended."""

    limits: tuple[Limit, ...]
    probability: float

    def reached(self, beliefs: Sequence[Gaussian], configuration: IntArray) -> FloatArray:
        return product_of_probabilities(self.limits, beliefs, configuration)


@dataclass(frozen=True)
class RecommendationRule:
    """Which configurations may be recommended: those that meet each requirement with its probability."""

    requirements: tuple[Requirement, ...] = ()

    def qualifies(self, beliefs: Sequence[Gaussian], configuration: IntArray) -> BoolArray:
        """Whether each requirement is met with its probability."""
        result = np.ones(beliefs[0].mean.shape, dtype=np.bool_)
        for requirement in self.requirements:
            result &= requirement.reached(beliefs, configuration) >= requirement.probability
        return result

    def assurance(self, beliefs: Sequence[Gaussian], configuration: IntArray) -> FloatArray:
        """Product over the requirements of min(P / the probability asked for, 1): 1 where they are met."""
        result = np.ones(beliefs[0].mean.shape)
        for requirement in self.requirements:
            result *= np.minimum(requirement.reached(beliefs, configuration) / requirement.probability, 1.0)
        return result


@dataclass(frozen=True)
class Conditions:
    """The input of a choice of tests besides the models' predictions.

    user_limits: the user's limits one by one, in the order given; a belief has them merged. open_pairs: what may be
    tested next (look-ahead goes on among them). representers, incumbents: how many configurations the optimum and the
    next incumbent are sought among. seed: of samples of the optimum.
    """

    cost: CostModel = CostModel()
    rule: RecommendationRule = RecommendationRule()
    user_limits: tuple[Limit, ...] = ()
    dollars_left: float = np.inf
    open_pairs: Pairs | None = None
    representers: int = 500
    incumbents: int = 500
    seed: int = 0


class Acquisition(Protocol):
    """The worth of a test of each pair; larger is better, never negative, never NaN; [B]."""

    def values(self, belief: Belief, pairs: Pairs, conditions: Conditions) -> FloatArray: ...


@dataclass(frozen=True)
class Times:
    """Product of acquisitions."""

    factors: tuple[Acquisition, ...]

    def values(self, belief: Belief, pairs: Pairs, conditions: Conditions) -> FloatArray:
        result = np.ones(len(pairs))
        for factor in self.factors:
            result *= factor.values(belief, pairs, conditions)
        return result


@dataclass(frozen=True)
class PerDollar:
    """An acquisition over the expected dollars of the test plus an overhead (Fabolas; thesis Eq. 8)."""

    worth: Acquisition
    overhead: float = 0.0

    def values(self, belief: Belief, pairs: Pairs, conditions: Conditions) -> FloatArray:
        dollars = conditions.cost.dollars(belief.at(pairs), pairs.configuration)
        return self.worth.values(belief, pairs, conditions) / np.maximum(dollars + self.overhead, 1e-12)


@dataclass(frozen=True)
class Feasibility:
    """Probability that the tested pair itself meets all limits."""

    def values(self, belief: Belief, pairs: Pairs, conditions: Conditions) -> FloatArray:
        return belief.feasibility(belief.at(pairs), pairs.configuration)


@dataclass(frozen=True)
class ConstrainedAccuracy:
    """CEA(x, s) = E[a(x, s)] prod_i p(q_i(x, s) >= 0) (TrimTuner Eq. 6)."""

    def values(self, belief: Belief, pairs: Pairs, conditions: Conditions) -> FloatArray:
        beliefs = belief.at(pairs)
        return belief.merit(beliefs[0]) * belief.feasibility(beliefs, pairs.configuration)
