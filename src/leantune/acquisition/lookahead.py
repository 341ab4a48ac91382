"""Look-ahead (Nephele Alg. 3, Lynceus): reward and dollars of the path of tests that a first test would open.

    R(x, s; h) = EIc(x, s) + gamma sum_ij w_i w_j R(next step | outcome ij; h - 1),   C likewise;   value = R / C

The next step is the one greedy EIc choice among the pairs that the refitted models predict feasible and affordable.
Outcomes come from Gauss-Hermite quadrature over the quantities that the models predict, weights summing to one; seconds
follow from dollars and the known rate; measurement noise is left out, as in the paper. The budget left shrinks by each
simulated outcome's dollars (the paper keeps it constant in the path; a path that cannot be paid is no path).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from leantune.acquisition.base import Belief, Conditions, CostModel, Pairs, largest
from leantune.acquisition.improvement import expected_improvement, pessimistic_best
from leantune.arrays import BoolArray, FloatArray
from leantune.models.base import Gaussian, Roots


def feasible_and_affordable(belief: Belief, pairs: Pairs, conditions: Conditions) -> BoolArray:
    """Alg. 3's Gamma: predicted to meet every limit (at the mean) and to cost no more than what is left; [B]."""
    return _Stage.present(belief, conditions).allowed(pairs)


@dataclass(frozen=True)
class _Stage:
    """The belief at one place of a path.

    predict: the models' predictions there; after simulated tests of few pairs, so that no grid is computed for them.
    deviation: the largest of the objective, by the models before the path.
    """

    belief: Belief
    cost: CostModel
    dollars_left: float
    predict: Callable[[Pairs], tuple[Gaussian, ...]]
    deviation: float

    @classmethod
    def present(cls, belief: Belief, conditions: Conditions) -> _Stage:
        return cls(belief, conditions.cost, conditions.dollars_left, belief.at, belief.largest_deviation)

    def after(self, pair: Pairs, outcomes: list[FloatArray]) -> _Stage:
        """After a test with these outcomes, whose dollars are a prediction without uncertainty."""
        belief = self.belief.extended(pair, outcomes)
        certain = [Gaussian(y, np.zeros_like(y)) for y in outcomes]
        left = self.dollars_left - float(self.cost.dollars(certain, pair.configuration)[0])
        return _Stage(belief, self.cost, left, belief.predict, self.deviation)

    def allowed(self, pairs: Pairs) -> BoolArray:
        """See `feasible_and_affordable`."""
        beliefs = self.predict(pairs)
        result = self.cost.dollars(beliefs, pairs.configuration) <= self.dollars_left
        for limit in self.belief.limits:
            mean = beliefs[limit.quantity].mean
            result &= (mean <= limit.high[pairs.configuration]) & (mean >= limit.low[pairs.configuration])
        return result

    def step(self, pairs: Pairs) -> tuple[FloatArray, FloatArray]:
        """EIc and expected dollars of each pair (line 8)."""
        beliefs, best = self.predict(pairs), self.belief.best
        if best is None:
            best = pessimistic_best(self.belief.worst, self.deviation)
        improvement = expected_improvement(beliefs[0].mean, beliefs[0].sd, best)
        feasible = self.belief.feasibility(beliefs, pairs.configuration)
        return improvement * feasible, self.cost.dollars(beliefs, pairs.configuration)


@dataclass(frozen=True)
class LookAhead:
    """Alg. 3 with horizon h; h = 0 is EIc / C. `step_pairs`: at most how many pairs a path may go on to."""

    horizon: int = 0
    roots: int = 3
    discount: float = 0.9
    step_pairs: int = 2000

    def values(self, belief: Belief, pairs: Pairs, conditions: Conditions) -> FloatArray:
        stage = _Stage.present(belief, conditions)
        reward, dollars = stage.step(pairs)
        if self.horizon > 0:
            pool = self._pool(stage, pairs if conditions.open_pairs is None else conditions.open_pairs)
            for b in range(len(pairs)):
                more_reward, more_dollars = self._beyond(stage, pairs.take(np.array([b])), pool, self.horizon)
                reward[b] += more_reward
                dollars[b] += more_dollars
        return reward / np.maximum(dollars, 1e-12)

    def _pool(self, stage: _Stage, pairs: Pairs) -> Pairs:
        """Where a path may go on: all open pairs (line 25), or those of largest EIc by the present models."""
        if len(pairs) <= self.step_pairs:
            return pairs
        return pairs.take(largest(stage.step(pairs)[0], self.step_pairs))

    def _beyond(self, stage: _Stage, pair: Pairs, pool: Pairs, horizon: int) -> tuple[float, float]:
        """Discounted expected reward and dollars of what follows a test of `pair` (lines 10 to 21)."""
        reward = dollars = 0.0
        rest = pool.take(np.flatnonzero((pool.configuration != pair.configuration[0]) | (pool.level != pair.level[0])))
        for weight, after in self._outcomes(stage, pair):
            allowed = np.flatnonzero(after.allowed(rest))
            if len(allowed) == 0:
                continue
            within = rest.take(allowed)
            rewards, costs = after.step(within)
            best = int(rewards.argmax())
            step_reward, step_dollars = float(rewards[best]), float(costs[best])
            if horizon > 1:
                further = self._beyond(after, within.take(np.array([best])), rest, horizon - 1)
                step_reward, step_dollars = step_reward + further[0], step_dollars + further[1]
            reward += self.discount * weight * step_reward
            dollars += self.discount * weight * step_dollars
        return reward, dollars

    def _outcomes(self, stage: _Stage, pair: Pairs) -> Iterator[tuple[float, _Stage]]:
        """Each combination of roots of all quantities, with its weight and the models refitted with it."""
        roots = Roots.of(self.roots)
        now = stage.predict(pair)
        for combination in product(range(len(roots.z)), repeat=len(now)):
            outcomes = [g.mean + g.sd * roots.z[k] for g, k in zip(now, combination, strict=True)]
            yield float(np.prod(roots.w[list(combination)])), stage.after(pair, outcomes)
