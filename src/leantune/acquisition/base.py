"""What an acquisition sees, and how acquisitions compose.

A `Belief` is everything the models say at one moment: the candidate configurations and levels, the modelled quantities,
the limits on them. An `Acquisition` turns it into one number a pair. EI per dollar is `PerDollar(Improvement())`,
constrained EI is `Times(Improvement(), Feasibility())`: variants are compositions, not subclasses.

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


@dataclass(frozen=True)
class Requirement:
    """The product of these limits' probabilities must reach `probability` for a configuration to be recommended."""

    limits: tuple[Limit, ...]
    probability: float


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
    """Everything the models say.

    quantities[0] is the objective, oriented so that larger is better. `limits` has at most one entry a quantity (limits
    on the same quantity are merged before), `requirements` keeps what the user asked with which certainty.
    `spend` is the quantity that says what a test costs, in dollars, or in seconds where `spend_in_seconds`.
    best: largest objective among tests whose measured values met the limits; worst: smallest of all; centre, spread: of
    all; best_of_all: largest whatever the limits. at_full_only: only results at full data count as best.
    open_pairs: what may be tested next (look-ahead goes on among them). representers, incumbents: caps on where the
    optimum and the next incumbent are sought.
    """

    candidates: Candidates
    quantities: tuple[Quantity, ...]
    limits: tuple[Limit, ...]
    requirements: tuple[Requirement, ...]
    spend: int | None
    spend_in_seconds: bool
    best: float | None
    worst: float
    centre: float
    spread: float
    dollars_left: float = np.inf
    representers: int = 500
    incumbents: int = 500
    seed: int = 0
    best_of_all: float | None = None
    at_full_only: bool = False
    open_pairs: Pairs | None = None
    simulated: bool = False
    inherited_deviation: float = 0.0
    _optima: dict[int, OptimumBelief] = field(default_factory=dict, compare=False, repr=False)

    @property
    def objective(self) -> Quantity:
        return self.quantities[0]

    @cached_property
    def grid(self) -> tuple[Gaussian, ...]:
        """Belief about every quantity at every (configuration, level); each [N, k]."""
        return tuple(q.model.predict_grid(self.candidates.x, self.candidates.levels) for q in self.quantities)

    @cached_property
    def optimum_at(self) -> IntArray:
        """Configurations over which p_opt is sampled: those of largest mean + sd at full data."""
        objective = self.at_full(self.everything)[0]
        return largest(objective.mean + objective.sd, self.representers)

    @cached_property
    def incumbents_among(self) -> IntArray:
        """Where the incumbent after a simulated test is sought: configurations of largest CEA at full data."""
        beliefs = self.at_full(self.everything)
        return largest(self.merit(beliefs[0]) * self.feasibility(beliefs, self.everything), self.incumbents)

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
        """Belief about every quantity at these pairs; each [B].

        A simulated belief is asked about few pairs, once: it does not compute its grid for them.
        """
        if self.simulated:
            points = self.candidates.points(pairs)
            return tuple(q.model.predict(points) for q in self.quantities)
        where = (pairs.configuration, pairs.level)
        return tuple(g.at(where) for g in self.grid)

    def at_full(self, configurations: IntArray) -> tuple[Gaussian, ...]:
        """Belief about every quantity at these configurations at full data; each [B]."""
        if self.simulated:
            return self.at(self.candidates.full_pairs(configurations))
        return tuple(g.at((configurations,)) for g in self.full_beliefs)

    def feasibility(self, beliefs: Sequence[Gaussian], configuration: IntArray) -> FloatArray:
        """Probability that all limits hold."""
        return product_of_probabilities(self.limits, beliefs, configuration)

    def qualifies(self, beliefs: Sequence[Gaussian], configuration: IntArray) -> BoolArray:
        """Whether each requirement is met with its probability."""
        result = np.ones(beliefs[0].mean.shape, dtype=np.bool_)
        for requirement in self.requirements:
            result &= product_of_probabilities(requirement.limits, beliefs, configuration) >= requirement.probability
        return result

    def assurance(self, beliefs: Sequence[Gaussian], configuration: IntArray) -> FloatArray:
        """Product over the requirements of min(P / the probability asked for, 1): 1 where they are met."""
        result = np.ones(beliefs[0].mean.shape)
        for requirement in self.requirements:
            probability = product_of_probabilities(requirement.limits, beliefs, configuration)
            result *= np.minimum(probability / requirement.probability, 1.0)
        return result

    def merit(self, objective: Gaussian) -> FloatArray:
        """The objective's value for products, in [0, 1]."""
        return self.objective.transform.merit(objective, self.centre, self.spread)

    @cached_property
    def largest_deviation(self) -> float:
        """Of the objective over the whole grid; a simulated belief has that of the belief it came from."""
        return self.inherited_deviation if self.simulated else float(self.grid[0].sd.max())

    def optimum(self, samples: int) -> OptimumBelief:
        """p_opt over `optimum_at` at full data; computed once, since searches ask for values pair by pair."""
        if samples not in self._optima:
            where = self.candidates.at_full(self.optimum_at)
            self._optima[samples] = self.objective.model.optimum(where, samples, self.seed)
        return self._optima[samples]

    def dollars(self, beliefs: Sequence[Gaussian], configuration: IntArray) -> FloatArray:
        """Expected dollars of a test (seconds where nothing is priced, one where nothing is known)."""
        if self.spend is None:
            return np.ones(beliefs[0].mean.shape)
        expected = self.quantities[self.spend].transform.expectation(beliefs[self.spend])
        if self.spend_in_seconds and self.candidates.rates is not None:
            expected = expected * self.candidates.rates[configuration] / SECONDS_PER_HOUR
        return expected

    def extended(self, pairs: Pairs, outcomes: Sequence[FloatArray], *, simulated: bool = True) -> Belief:
        """The belief after tests of the pairs with these outcomes (per quantity, modelled scale, each [B]).

        simulated: it will be asked about few pairs, once (see `at`).
        """
        points = self.candidates.points(pairs)
        quantities = tuple(
            replace(q, model=q.model.extend(points, y)) for q, y in zip(self.quantities, outcomes, strict=True)
        )
        counts = np.ones(len(pairs), dtype=np.bool_)
        if self.at_full_only:
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
            simulated=simulated,
            inherited_deviation=self.largest_deviation if simulated else 0.0,
            _optima={},
        )


def _larger(known: float | None, more: FloatArray) -> float | None:
    return max([*([] if known is None else [known]), *more.tolist()], default=None)


class Acquisition(Protocol):
    """How much a test of each pair is worth; larger is better, never negative, never NaN; [B]."""

    def values(self, belief: Belief, pairs: Pairs) -> FloatArray: ...


@dataclass(frozen=True)
class Times:
    """Product of acquisitions."""

    factors: tuple[Acquisition, ...]

    def values(self, belief: Belief, pairs: Pairs) -> FloatArray:
        result = np.ones(len(pairs))
        for factor in self.factors:
            result *= factor.values(belief, pairs)
        return result


@dataclass(frozen=True)
class PerDollar:
    """An acquisition over the expected dollars of the test plus an overhead (Fabolas; thesis Eq. 8)."""

    worth: Acquisition
    overhead: float = 0.0

    def values(self, belief: Belief, pairs: Pairs) -> FloatArray:
        dollars = belief.dollars(belief.at(pairs), pairs.configuration)
        return self.worth.values(belief, pairs) / np.maximum(dollars + self.overhead, 1e-12)


@dataclass(frozen=True)
class Feasibility:
    """Probability that the tested pair itself meets all limits."""

    def values(self, belief: Belief, pairs: Pairs) -> FloatArray:
        return belief.feasibility(belief.at(pairs), pairs.configuration)


@dataclass(frozen=True)
class ConstrainedAccuracy:
    """CEA(x, s) = E[a(x, s)] prod_i p(q_i(x, s) >= 0) (TrimTuner Eq. 6)."""

    def values(self, belief: Belief, pairs: Pairs) -> FloatArray:
        beliefs = belief.at(pairs)
        return belief.merit(beliefs[0]) * belief.feasibility(beliefs, pairs.configuration)
