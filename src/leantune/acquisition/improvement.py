"""Expected improvement (TrimTuner Eq. 1; the thesis' Eq. 2 has the sign and the density's argument wrong)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from leantune.acquisition.base import Belief, Pairs
from leantune.arrays import FloatArray

PESSIMISM = 3.0  # deviations below the worst result: Lynceus' rule while nothing feasible is known


def expected_improvement(mean: FloatArray, sd: FloatArray, best: float) -> FloatArray:
    """E[max(0, y - best)] of y ~ N(mean, sd^2) = (mean - best) Phi(z) + sd phi(z), z = (mean - best) / sd."""
    z = (mean - best) / sd
    density = np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)
    return np.asarray(np.maximum((mean - best) * ndtr(z) + sd * density, 0.0))


@dataclass(frozen=True)
class Improvement:
    """EI on the modelled scale, over the best result that met the limits (feasible_only) or over the best of all."""

    feasible_only: bool = True

    def values(self, belief: Belief, pairs: Pairs) -> FloatArray:
        objective = belief.at(pairs)[0]
        best = belief.best if self.feasible_only else belief.best_of_all
        return expected_improvement(objective.mean, objective.sd, reference(belief, best))


def reference(belief: Belief, best: float | None) -> float:
    """y*: the best result; none yet: the worst - 3 x the largest predicted deviation (larger is better here)."""
    return belief.worst - PESSIMISM * belief.largest_deviation if best is None else best
