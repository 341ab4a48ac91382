"""What a test is worth by what will be recommended after it: the knowledge gradient (Frazier, Powell and Dayanik 2009),
with limits and with shares of the data.

A recommendation x brings a(x, 1) where all limits hold, and nothing where they do not (thesis Eq. 12). Expected,

    u(x | S) = E[a(x, 1) | S] prod_i P(q_i(x, 1) >= 0 | S),     V(S) = max_x u(x | S),

and a test of (x, s) is worth E_y[V(S + (x, s, y))] - V(S), y = its objective and the limited quantities together. So
knowing that a promising configuration meets the limits is worth something by itself, a test that cannot change the
recommendation is worth nothing, and one measure ranks cheap tests on little data and dear ones on all of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from leantune.acquisition.base import Acquisition, Belief, Pairs
from leantune.arrays import FloatArray, IntArray
from leantune.models.base import Gaussian, Roots

ROUNDING = 1e-9


@dataclass(frozen=True)
class ValueGain:
    """E_y[V(S + (x, s, y))] - V(S), the quantities independent, each by Gauss-Hermite with `roots`; x is sought among
    `Belief.incumbents_among`.
    """

    roots: int = 3

    def values(self, belief: Belief, pairs: Pairs) -> FloatArray:
        roots, among = Roots.of(self.roots), belief.incumbents_among
        now = belief.at_full(among)
        present = float((belief.merit(now[0]) * belief.feasibility(now, among)).max())
        gain = _expected_best(_factors(belief, pairs, roots, among), roots) - present
        return np.where(gain > ROUNDING, gain, 0.0)


def _factors(belief: Belief, pairs: Pairs, roots: Roots, among: IntArray) -> list[FloatArray]:
    """What each quantity that decides contributes to u at `among` after each test and root; each [B, K, R]."""
    points, at = belief.candidates.points(pairs), belief.candidates.at_full(among)
    factors = []
    for q in sorted({0, *(limit.quantity for limit in belief.limits)}):
        after: Gaussian = belief.quantities[q].model.simulate(points, roots, at)
        factor = belief.merit(after) if q == 0 else np.ones_like(after.mean)
        for limit in belief.limits:
            if limit.quantity == q:
                factor *= limit.probability(after, among)
        factors.append(factor)
    return factors


def _expected_best(factors: Sequence[FloatArray], roots: Roots) -> FloatArray:
    """E[max_x prod_q factor_q(x)] over the tensor product of the roots; [B]."""
    result = np.zeros(len(factors[0]))
    for combination in product(range(len(roots.z)), repeat=len(factors)):
        weight = float(np.prod(roots.w[list(combination)]))
        worth = factors[0][:, combination[0]]
        for factor, root in zip(factors[1:], combination[1:], strict=True):
            worth = worth * factor[:, root]
        result += weight * worth.max(axis=1)
    return result


@dataclass(frozen=True)
class ByGoal:
    """One acquisition for the best at full data, another for the cheapest anywhere."""

    full: Acquisition
    anywhere: Acquisition

    def values(self, belief: Belief, pairs: Pairs) -> FloatArray:
        return (self.full if belief.at_full_only else self.anywhere).values(belief, pairs)
