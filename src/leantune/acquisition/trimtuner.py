"""TrimTuner's own factor: will the incumbent after the test meet the limits? (Eq. 5, first line)

alpha_T(x, s) = gain(x, s) / C(x, s) * E[prod_i p(q_i(x*, 1) >= 0 | S + (x, s, q, a))]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leantune.acquisition.base import Belief, Pairs, PerDollar, Times
from leantune.acquisition.entropy import InformationGain
from leantune.acquisition.incumbents import simulated_incumbents
from leantune.arrays import FloatArray
from leantune.models.base import Roots


@dataclass(frozen=True)
class IncumbentFeasibility:
    """E[prod_i p(q_i(x*, 1) >= 0)], x* the incumbent of the models refitted with the simulated outcome.

    One root: the outcome is the models' own prediction, as in the paper; more: the full tensor product of the
    quantities' roots.
    """

    roots: int = 1

    def values(self, belief: Belief, pairs: Pairs) -> FloatArray:
        result = np.zeros(len(pairs))
        for after in simulated_incumbents(belief, pairs, Roots.of(self.roots)):
            result += after.weight * after.feasibility
        return result


def alpha_t(gain: InformationGain, incumbent_roots: int = 1) -> PerDollar:
    """TrimTuner Eq. 5."""
    return PerDollar(Times((gain, IncumbentFeasibility(incumbent_roots))))
