"""Expected improvement (TrimTuner Eq. 1; the thesis' Eq. 2 has the sign and the density's argument wrong)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from leantune.acquisition.base import Belief, Conditions, Pairs
from leantune.arrays import FloatArray

PESSIMISM = 3.0  # deviations below the worst result: Lynceus' rule while nothing feasible is known


def expected_improvement(mean: FloatArray, sd: FloatArray, best: float) -> FloatArray:
    """E[max(0, y - best)] of y ~ N(mean, sd^2) = (mean - best) Phi(z) + sd phi(z), z = (mean - best) / sd."""
    z = (mean - best) / sd
    density = np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)
    return np.asarray(np.maximum((mean - best) * ndtr(z) + sd * density, 0.0))


@dataclass(frozen=True)
class Improvement:
    """EI on the modelled scale, over the best that met the limits (feasible_only) or over the best of all.

    While there is none, over the worst - 3 x the largest predicted deviation (larger is better here).
    """

    feasible_only: bool = True

    def values(self, belief: Belief, pairs: Pairs, conditions: Conditions) -> FloatArray:
        objective = belief.at(pairs)[0]
        best = belief.best if self.feasible_only else belief.best_of_all
        if best is None:
            best = pessimistic_best(belief.worst, belief.largest_deviation)
        return expected_improvement(objective.mean, objective.sd, best)


def pessimistic_best(worst: float, largest_deviation: float) -> float:
    return worst - PESSIMISM * largest_deviation
