"""The worth of a test above the best result so far.

y: the goal on its modelled scale, larger is better; m, sd, P: what is believed of it on all data, and the probability
that the limits hold. Of what was measured on all data m = y, sd = 0 and P is 0 or 1. With the floor b, the best
measured y whose limits held (none yet: a little below what is expected of the others),

    worth      U(x)    = P max(m - kappa sd - b, 0)                              of what was not measured
    gain       G(x, s) = E[max U after the test] - max U,  at s = 1 at least P EI(x) - max U

so that an untested recommendation counts for nothing until it beats what was measured by more than half a deviation.
Its price is in strategies.budgets. Source: shared/design/MODEL.md, "How to decide within a budget".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.special import ndtr

from leantune.acquisition.base import Belief, Pairs, largest
from leantune.arrays import BoolArray, FloatArray, IntArray
from leantune.models.base import Gaussian, Roots

GOAL_ROOTS, LIMIT_ROOTS = Roots.of(7), Roots.of(3)
ROUNDING = 1e-9


@dataclass(frozen=True)
class MeasuredResults:
    """Results on all data: rows of the configuration table [M], the goal there [M], whether the limits held [M]."""

    rows: IntArray
    y: FloatArray
    kept: BoolArray


@dataclass(frozen=True)
class FullDataOutlook:
    """The belief of every configuration on all data; each [N]. probability: that all limits hold."""

    mean: FloatArray
    sd: FloatArray
    probability: FloatArray
    is_measured: BoolArray
    floor: float
    has_result: bool  # some configuration was measured to keep the limits
    kappa: float

    @classmethod
    def of(cls, belief: Belief, measured: MeasuredResults, kappa: float) -> FullDataOutlook:
        beliefs = belief.full_beliefs
        mean, sd = beliefs[0].mean.copy(), beliefs[0].sd.copy()
        probability = belief.feasibility(beliefs, belief.everything)
        is_measured = np.zeros(len(mean), dtype=np.bool_)
        is_measured[measured.rows] = True
        mean[measured.rows], sd[measured.rows] = measured.y, 0.0
        probability[measured.rows] = measured.kept
        kept = measured.y[measured.kept]
        total = float(probability.sum())
        if len(kept):
            floor = float(kept.max())
        else:
            floor = float(probability @ mean / total if total > 0 else mean.mean()) - float(mean.std())
        return cls(mean, sd, probability, is_measured, floor, bool(len(kept)), kappa)

    @property
    def worth(self) -> FloatArray:
        """U; 0 of what was measured."""
        above = np.maximum(self.mean - self.kappa * self.sd - self.floor, 0.0)
        return np.where(self.is_measured, 0.0, self.probability * above)

    @property
    def improvement(self) -> FloatArray:
        """P EI(x) above the floor; 0 of what was measured."""
        sd = np.maximum(self.sd, ROUNDING)
        z = (self.mean - self.floor) / sd
        expected = sd * (z * ndtr(z) + np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi))
        return np.where(self.is_measured, 0.0, self.probability * np.maximum(expected, 0.0))


def gains(belief: Belief, outlook: FullDataOutlook, pairs: Pairs, among: IntArray) -> FloatArray:
    """G of each pair, the best after it sought `among` these configurations; [B], at least 0."""
    present = float(outlook.worth.max())
    among = among[~outlook.is_measured[among]]
    gain = np.zeros(len(pairs))
    if len(among):
        gain = _expected_best(_after(belief, outlook, pairs, among)) - present
    on_all_data = pairs.level == len(belief.candidates.levels) - 1
    direct = outlook.improvement[pairs.configuration] - present
    gain = np.where(on_all_data, np.maximum(gain, direct), gain)
    return np.where(gain > ROUNDING, gain, 0.0)


def _after(
    belief: Belief, outlook: FullDataOutlook, pairs: Pairs, among: IntArray
) -> list[tuple[FloatArray, FloatArray]]:
    """For each quantity that decides: what it contributes to U at `among` after each test and root [B, K, R], and the
    weights of its roots [K].
    """
    points, at = belief.candidates.points(pairs), belief.candidates.at_full(among)
    factors = []
    for q in sorted({0, *(limit.quantity for limit in belief.limits)}):
        roots = GOAL_ROOTS if q == 0 else LIMIT_ROOTS
        after: Gaussian = belief.quantities[q].model.simulate(points, roots, at)
        factor = np.ones_like(after.mean)
        if q == 0:
            factor = np.maximum(after.mean - outlook.kappa * after.sd - outlook.floor, 0.0)
        for limit in belief.limits:
            if limit.quantity == q:
                factor *= limit.probability(after, among)
        factors.append((factor, roots.w))
    return factors


def _expected_best(factors: Sequence[tuple[FloatArray, FloatArray]]) -> FloatArray:
    """E[max_x prod_q factor_q(x)] over the tensor product of the roots; [B]."""
    result = np.zeros(len(factors[0][0]))
    for combination in product(*(range(len(weights)) for _, weights in factors)):
        weight, worth = 1.0, None
        for (factor, weights), root in zip(factors, combination, strict=True):
            weight *= float(weights[root])
            worth = factor[:, root] if worth is None else worth * factor[:, root]
        assert worth is not None
        result += weight * worth.max(axis=1)
    return result


def places(outlook: FullDataOutlook, count: int) -> IntArray:
    """Configurations among which the best after a test is sought: those that promise most now."""
    return largest(outlook.worth + outlook.improvement, count)
