"""The same ensemble of trees, made of scikit-learn's parts: what one would write without kernels of one's own.

A Surrogate (leantune.models.base), so that a recipe runs with it unchanged and computes the very same acquisition:

    replace(recipe("trimtuner"), models=SklearnTrees(20))

Every simulated test refits a BaggingRegressor of ExtraTreeRegressor on the extended data. T trees, R places, S samples.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import BaggingRegressor
from sklearn.tree import ExtraTreeRegressor

from leantune.models.base import Data, FloatArray, Gaussian, Points, Roots

SMALLEST_SHARE_OF_SPREAD = 1e-3  # floor of the deviation, of the targets' own


class _Tree(Protocol):
    def predict(self, x: NDArray[np.float32], check_input: bool) -> FloatArray: ...


@dataclass(frozen=True)
class SklearnTrees:
    """How the ensemble is made; see models.base.Fitter. Censored targets are taken as measured."""

    trees: int = 20

    def fit(self, data: Data, *, grows_with_data: bool, seed: int) -> SklearnEnsemble:
        """Grow the trees; they need not know which quantities grow with the data."""
        return SklearnEnsemble(self.trees, data.points, data.y, seed % 2**32)


@dataclass(frozen=True)
class SklearnEnsemble:
    """A fitted ensemble. The random state is kept in every refit, so that refits share their bootstrap draws."""

    trees: int
    points: Points
    y: FloatArray
    random_state: int
    _refits: dict[tuple[bytes, float], SklearnEnsemble] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def _grown(self) -> list[_Tree]:
        bag = BaggingRegressor(ExtraTreeRegressor(), n_estimators=self.trees, random_state=self.random_state)
        return list(bag.fit(_columns(self.points), self.y).estimators_)

    def values(self, points: Points) -> FloatArray:
        """What each tree says; [T, n]."""
        x = _columns(points)
        return np.stack([tree.predict(x, check_input=False) for tree in self._grown])

    def predict(self, points: Points) -> Gaussian:
        """See Surrogate: mean and deviation over trees."""
        values = self.values(points)
        floor = SMALLEST_SHARE_OF_SPREAD * max(float(self.y.std()), 1e-12)
        return Gaussian(values.mean(axis=0), np.maximum(values.std(axis=0), floor))

    def predict_grid(self, x: FloatArray, levels: FloatArray) -> Gaussian:
        """See Surrogate."""
        shape = (len(x), len(levels))
        flat = self.predict(Points(np.repeat(x, len(levels), axis=0), np.tile(levels, len(x))))
        return Gaussian(flat.mean.reshape(shape), flat.sd.reshape(shape))

    def extend(self, points: Points, y: FloatArray) -> SklearnEnsemble:
        """See Surrogate: a real refit."""
        return replace(self, points=self.points.followed_by(points), y=np.concatenate([self.y, y]), _refits={})

    def refitted(self, point: Points, y: float) -> SklearnEnsemble:
        """Refitted with one more test; kept, because two parts of an acquisition may simulate the same outcome."""
        key = (_columns(point).tobytes(), y)
        if key not in self._refits:
            self._refits[key] = self.extend(point, np.array([y]))
        return self._refits[key]

    def outcomes(self, points: Points, roots: Roots) -> FloatArray:
        """Simulated outcomes mean + z_k sd; [B, K]."""
        now = self.predict(points)
        return now.mean[:, None] + now.sd[:, None] * roots.z

    def simulate(self, points: Points, roots: Roots, at: Points) -> Gaussian:
        """See Surrogate."""
        shape = (len(points), len(roots.z), len(at))
        result = Gaussian(np.empty(shape), np.empty(shape))
        for (b, k), y in np.ndenumerate(self.outcomes(points, roots)):
            after = self.refitted(points.take(np.array([b])), float(y)).predict(at)
            result.mean[b, k], result.sd[b, k] = after.mean, after.sd
        return result

    def optimum(self, at: Points, samples: int, seed: int) -> SklearnOptimum:
        """See Surrogate."""
        return SklearnOptimum(self, at, samples, seed)


class SklearnOptimum:
    """p_opt by samples of the Gaussian with the trees' covariance: their mean plus a random mixture of deviations."""

    def __init__(self, ensemble: SklearnEnsemble, at: Points, samples: int, seed: int) -> None:
        self._ensemble, self._at = ensemble, at
        self._mix = np.random.default_rng(seed).standard_normal((samples, ensemble.trees)) / np.sqrt(ensemble.trees)

    def _probability(self, ensemble: SklearnEnsemble) -> FloatArray:
        values = ensemble.values(self._at)
        mean = values.mean(axis=0)
        winners = (mean + self._mix @ (values - mean)).argmax(axis=1)
        return np.bincount(winners, minlength=len(self._at)) / len(self._mix)

    @property
    def probability(self) -> FloatArray:
        """See OptimumBelief."""
        return self._probability(self._ensemble)

    @cached_property
    def divergence(self) -> float:
        """See OptimumBelief."""
        return _divergence(self.probability)

    def expected_divergence(self, points: Points, roots: Roots) -> FloatArray:
        """See OptimumBelief."""
        result = np.zeros(len(points))
        for (b, k), y in np.ndenumerate(self._ensemble.outcomes(points, roots)):
            after = self._ensemble.refitted(points.take(np.array([b])), float(y))
            result[b] += roots.w[k] * _divergence(self._probability(after))
        return result


def _columns(points: Points) -> NDArray[np.float32]:
    """[x, s~] in the precision that scikit-learn's trees work in, so that it need not convert; [n, d + 1]."""
    return np.column_stack([points.x, points.s]).astype(np.float32)


def _divergence(probability: FloatArray) -> float:
    """KL(p || uniform)."""
    there = probability[probability > 0]
    return float(there @ np.log(there * len(probability)))
