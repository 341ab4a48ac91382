"""Look-ahead (Nephele Alg. 3, Lynceus): reward and dollars of the path of tests that a first test would open.

    R(x, s; h) = EIc(x, s) + gamma sum_ij w_i w_j R(next step | outcome ij; h - 1),   C likewise;   value = R / C

The next step is the one greedy EIc choice among the pairs that the refitted models predict feasible and affordable.
Outcomes come from Gauss-Hermite quadrature over the quantities that the models predict, weights summing to one; seconds
follow from dollars and the known rate; measurement noise is left out, as in the paper. The budget left shrinks by each
simulated outcome's dollars (the paper keeps it constant in the path; a path that cannot be paid is no path).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from leantune.acquisition.base import Belief, Feasibility, Pairs, largest
from leantune.acquisition.improvement import Improvement
from leantune.arrays import BoolArray, FloatArray
from leantune.models.base import Gaussian, Roots


def feasible_and_affordable(belief: Belief, pairs: Pairs) -> BoolArray:
    """Alg. 3's Gamma: predicted to meet every limit (at the mean) and to cost no more than what is left; [B]."""
    beliefs = belief.at(pairs)
    result = belief.dollars(beliefs, pairs.configuration) <= belief.dollars_left
    for limit in belief.limits:
        mean = beliefs[limit.quantity].mean
        result &= (mean <= limit.high[pairs.configuration]) & (mean >= limit.low[pairs.configuration])
    return result


@dataclass(frozen=True)
class LookAhead:
    """Alg. 3 with horizon h; h = 0 is EIc / C. `step_pairs`: at most how many pairs a path may go on to."""

    horizon: int = 0
    roots: int = 3
    discount: float = 0.9
    step_pairs: int = 2000

    def values(self, belief: Belief, pairs: Pairs) -> FloatArray:
        reward, dollars = _step(belief, pairs)
        if self.horizon > 0:
            pool = self._pool(belief, pairs)
            for b in range(len(pairs)):
                one = pairs.take(np.array([b]))
                more_reward, more_dollars = self._beyond(belief, one, pool, self.horizon)
                reward[b] += more_reward
                dollars[b] += more_dollars
        return reward / np.maximum(dollars, 1e-12)

    def _pool(self, belief: Belief, pairs: Pairs) -> Pairs:
        """Where a path may go on: all open pairs (line 25), or those of largest EIc by the present models."""
        pool = pairs if belief.open_pairs is None else belief.open_pairs
        if len(pool) <= self.step_pairs:
            return pool
        reward, _ = _step(belief, pool)
        return pool.take(largest(reward, self.step_pairs))

    def _beyond(self, belief: Belief, pair: Pairs, pool: Pairs, horizon: int) -> tuple[float, float]:
        """Discounted expected reward and dollars of what follows a test of `pair` (lines 10 to 21)."""
        reward = dollars = 0.0
        rest = pool.take(np.flatnonzero((pool.configuration != pair.configuration[0]) | (pool.level != pair.level[0])))
        for weight, after in self._outcomes(belief, pair):
            allowed = np.flatnonzero(feasible_and_affordable(after, rest))
            if len(allowed) == 0:
                continue
            within = rest.take(allowed)
            rewards, costs = _step(after, within)
            best = int(rewards.argmax())
            step_reward, step_dollars = float(rewards[best]), float(costs[best])
            if horizon > 1:
                further = self._beyond(after, within.take(np.array([best])), rest, horizon - 1)
                step_reward, step_dollars = step_reward + further[0], step_dollars + further[1]
            reward += self.discount * weight * step_reward
            dollars += self.discount * weight * step_dollars
        return reward, dollars

    def _outcomes(self, belief: Belief, pair: Pairs) -> Iterator[tuple[float, Belief]]:
        """Each combination of roots of all quantities, with its weight and the belief refitted with it."""
        roots = Roots.of(self.roots)
        now = belief.at(pair)
        for combination in product(range(len(roots.z)), repeat=len(now)):
            outcomes = [g.mean + g.sd * roots.z[k] for g, k in zip(now, combination, strict=True)]
            after = belief.extended(pair, outcomes)
            spent = float(_dollars_of(belief, outcomes, pair)[0])
            yield float(np.prod(roots.w[list(combination)])), replace(after, dollars_left=belief.dollars_left - spent)


def _step(belief: Belief, pairs: Pairs) -> tuple[FloatArray, FloatArray]:
    """EIc and expected dollars of each pair (line 8)."""
    reward = Improvement().values(belief, pairs) * Feasibility().values(belief, pairs)
    return reward, belief.dollars(belief.at(pairs), pairs.configuration)


def _dollars_of(belief: Belief, outcomes: list[FloatArray], pair: Pairs) -> FloatArray:
    """Dollars of a simulated outcome: a belief without uncertainty."""
    certain = [Gaussian(y, np.zeros_like(y)) for y in outcomes]
    return belief.dollars(certain, pair.configuration)
