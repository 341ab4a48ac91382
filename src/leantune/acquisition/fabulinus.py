"""Fabulinus' constrained entropy search (thesis Eq. 9 and 10).

ESc(x, s) = gain(x, s) / (C(x, s) + overhead) * E[a(x_inc, 1)] * prod_i p(q_i(x_inc, 1) >= 0)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leantune.acquisition.base import Belief, Feasibility, Pairs, PerDollar, Times
from leantune.acquisition.entropy import InformationGain
from leantune.acquisition.incumbents import simulated_incumbents
from leantune.arrays import FloatArray
from leantune.models.base import Roots


@dataclass(frozen=True)
class IncumbentAccuracy:
    """E[a(x_inc, 1)] prod_i p(q_i(x_inc, 1) >= 0), x_inc the incumbent of the models refitted with the simulated
    outcome.
    """

    roots: int = 1

    def values(self, belief: Belief, pairs: Pairs) -> FloatArray:
        result = np.zeros(len(pairs))
        for after in simulated_incumbents(belief, pairs, Roots.of(self.roots)):
            result += after.weight * after.merit * after.feasibility
        return result


@dataclass(frozen=True)
class FullDataFeasibility:
    """prod_i p(q_i(x, 1) >= 0) of the candidate's own configuration by the present models: the variant without
    simulated refit that the thesis proposes to test (section IX).
    """

    def values(self, belief: Belief, pairs: Pairs) -> FloatArray:
        return Feasibility().values(belief, belief.candidates.full_pairs(pairs.configuration))


def constrained_entropy_search(gain: InformationGain, *, refit: bool = True, overhead: float = 0.0) -> PerDollar:
    """Thesis Eq. 9, or (refit=False) its ablation."""
    return PerDollar(Times((gain, IncumbentAccuracy() if refit else FullDataFeasibility())), overhead)
