"""The same ensemble of trees, made of scikit-learn's parts: what one would write without kernels of one's own.

A Surrogate (leantune.models.base), so that a recipe runs with it unchanged and computes the very same acquisition:

    replace(recipe("trimtuner"), models=SklearnTrees(20, 300))

Every simulated test refits a BaggingRegressor of ExtraTreeRegressor on the extended data; the gain comes from a second
ensemble of more trees, conditioned. T trees, R places, S samples.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import BaggingRegressor
from sklearn.tree import ExtraTreeRegressor

from leantune.arrays import FloatArray
from leantune.models.base import UNKNOWN_SCALING, Data, Gaussian, Points, Roots, Scaling

SMALLEST_SHARE_OF_SPREAD = 1e-3  # floor of the deviation, of the targets' own
NOISE_SHARE_OF_SPREAD = 0.05  # of a simulated measurement, likewise


class _Tree(Protocol):
    def predict(self, x: NDArray[np.float32], check_input: bool) -> FloatArray: ...


@dataclass(frozen=True)
class SklearnTrees:
    """How the ensemble is made; see models.base.Fitter. Censored targets are taken as measured."""

    trees: int = 20
    gain_trees: int = 300

    def caps_at(self, observations: int, pairs: int = 0) -> tuple[str, ...]:
        """See Fitter: it has none."""
        return ()

    def fit(
        self, data: Data, *, grows_with_data: bool, seed: int, pairs: int = 0, scaling: Scaling = UNKNOWN_SCALING
    ) -> SklearnEnsemble:
        """Grow the trees; they need not know which quantities grow with the data, and by which law."""
        return SklearnEnsemble(self.trees, self.gain_trees, data.points, data.y, seed % 2**32)


@dataclass(frozen=True)
class SklearnEnsemble:
    """A fitted ensemble. The random state is kept in every refit, so that refits share their bootstrap draws."""

    trees: int
    gain_trees: int
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
    """p_opt by samples of the Gaussian with the covariance of more trees, conditioned on each simulated outcome.

    f_s + c(., p) (y - f_s(p) - e_s) / (v_p + noise), as in leantune.models.trees.TreesOptimum.
    """

    def __init__(self, ensemble: SklearnEnsemble, at: Points, samples: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self._crowd = replace(ensemble, trees=ensemble.gain_trees, _refits={})
        self._mix = rng.standard_normal((samples, self._crowd.trees)) / np.sqrt(self._crowd.trees)
        self._noise = NOISE_SHARE_OF_SPREAD * max(float(ensemble.y.std()), 1e-12)
        self._errors = self._noise * rng.standard_normal(samples)
        values = self._crowd.values(at)
        self._deviations = values - values.mean(axis=0)
        self._paths = values.mean(axis=0) + self._mix @ self._deviations

    @cached_property
    def probability(self) -> FloatArray:
        """See OptimumBelief."""
        return _winning_shares(self._paths)

    @cached_property
    def divergence(self) -> float:
        """See OptimumBelief."""
        return _divergence(self.probability)

    def expected_divergence(self, points: Points, roots: Roots) -> FloatArray:
        """See OptimumBelief."""
        result = np.zeros(len(points))
        for b, here in enumerate(self._crowd.values(points).T):
            deviation = here - here.mean()
            variance = float(deviation.var() + self._noise**2)
            direction = deviation @ self._deviations / len(deviation) / variance
            surprise = self._mix @ deviation + self._errors
            for z, weight in zip(roots.z, roots.w, strict=True):
                moved = self._paths + np.outer(z * np.sqrt(variance) - surprise, direction)
                result[b] += weight * _divergence(_winning_shares(moved))
        return result


def _columns(points: Points) -> NDArray[np.float32]:
    """[x, s~] in the precision that scikit-learn's trees work in, so that it need not convert; [n, d + 1]."""
    return np.column_stack([points.x, points.s]).astype(np.float32)


def _divergence(probability: FloatArray) -> float:
    """KL(p || uniform)."""
    there = probability[probability > 0]
    return float(there @ np.log(there * len(probability)))


def _winning_shares(paths: FloatArray) -> FloatArray:
    """In which share of the samples [S, R] each place is the best; [R]."""
    return np.bincount(paths.argmax(axis=1), minlength=paths.shape[1]) / len(paths)
