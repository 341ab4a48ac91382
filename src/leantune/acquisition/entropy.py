"""Entropy search: the information of a test about where the optimum at full data lies.

    gain(x, s) = E_y[KL(p_opt(. | S + (x, s, y)) || u)] - KL(p_opt(. | S) || u)

TrimTuner's Eq. 2, 3 and 5 print only the first term, which divided by dollars ranks almost by dollars alone; that form
is `differenced=False`. Both terms use the same random numbers, so a test that tells nothing gains exactly nothing, once
differences of rounding size are set to 0: divided by small dollars they would decide ties.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leantune.acquisition.base import Belief, Conditions, Pairs
from leantune.arrays import FloatArray
from leantune.models.base import Roots

ROUNDING = 1e-12  # one sample that changes its winner moves the divergence by some 1 / samples^2


@dataclass(frozen=True)
class InformationGain:
    """Gain about the optimum of the objective at full data; p_opt over `Belief.optimum_at`."""

    roots: int = 3
    samples: int = 300
    differenced: bool = True

    def values(self, belief: Belief, pairs: Pairs, conditions: Conditions) -> FloatArray:
        optimum = belief.optimum(conditions.representers, self.samples, conditions.seed)
        expected = optimum.expected_divergence(belief.candidates.points(pairs), Roots.of(self.roots))
        if not self.differenced:
            return expected
        gain = expected - optimum.divergence
        return np.where(gain > ROUNDING, gain, 0.0)
