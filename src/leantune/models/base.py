"""The interface of surrogate models.

Shapes: n observations, d features, B simulated tests, K quadrature roots, R full-data configurations ("where the
optimum may lie"), N configurations x k levels of a grid.

Orientation: a model never knows goals. `Surrogate.optimum` is about the *largest* value of the modelled function;
the caller of `fit` turns a quantity so that larger is better (see `scales`).

`predict` speaks of the noise-free function. `extend` and `simulate` mean a real refit (ALGORITHMS.md, "Refit means
refit"): trees are regrown on the longer data, Gaussian processes are conditioned on it with their hyper-parameters
kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from leantune.arrays import BoolArray, FloatArray, IntArray

SingleArray = NDArray[np.float32]


@dataclass(frozen=True)
class Points:
    """Pairs (configuration, share of the data): x [n, d] in [0, 1], s [n] = s~ in [0, 1]."""

    x: FloatArray
    s: FloatArray

    def __post_init__(self) -> None:
        if self.x.ndim != 2 or self.s.shape != (len(self.x),):
            raise ValueError(f"points need x [n, d] and s [n], got {self.x.shape} and {self.s.shape}")

    def __len__(self) -> int:
        return len(self.x)

    def take(self, indices: IntArray) -> Points:
        return Points(self.x[indices], self.s[indices])

    def followed_by(self, more: Points) -> Points:
        return Points(np.concatenate([self.x, more.x]), np.concatenate([self.s, more.s]))


@dataclass(frozen=True, eq=False)
class Data:
    """Observations on the modelled scale; where `censored`, y is only a bound of the true value: a lower one, or an
    upper one where `bounds_above` (a cut run's dollars, modelled with their sign turned).

    Equal where the observations are: fitted models are remembered by them.
    """

    points: Points
    y: FloatArray
    censored: BoolArray
    bounds_above: bool = False

    @classmethod
    def measured(cls, points: Points, y: FloatArray) -> Data:
        return cls(points, y, np.zeros(len(y), dtype=np.bool_))

    def __len__(self) -> int:
        return len(self.y)

    def take(self, indices: IntArray) -> Data:
        return Data(self.points.take(indices), self.y[indices], self.censored[indices], self.bounds_above)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Data) and self._content() == other._content()

    def __hash__(self) -> int:
        return hash(self._content())

    def _content(self) -> tuple[object, ...]:
        arrays = (self.points.x, self.points.s, self.y, self.censored)
        return self.points.x.shape, self.bounds_above, *(array.tobytes() for array in arrays)


@dataclass(frozen=True)
class Gaussian:
    """Independent normal beliefs of any common shape."""

    mean: FloatArray
    sd: FloatArray

    def below(self, bound: FloatArray) -> FloatArray:
        """P(y <= bound); the bound is broadcast to the belief's shape."""
        return np.asarray(ndtr((bound - self.mean) / self.sd))

    def at(self, where: tuple[IntArray, ...]) -> Gaussian:
        """The belief at some places."""
        return Gaussian(self.mean[where], self.sd[where])


@dataclass(frozen=True)
class Mixture(Gaussian):
    """Equal parts of H normal beliefs, with the mean and the deviation of the whole; means, sds: [H, ...].

    Of a tail the parts say more than a normal belief of the same deviation would.
    """

    means: FloatArray
    sds: FloatArray

    @classmethod
    def of(cls, means: FloatArray, sds: FloatArray) -> Mixture:
        deviation = np.sqrt(np.square(sds).mean(axis=0) + means.var(axis=0))
        return cls(means.mean(axis=0), deviation, means, sds)

    def below(self, bound: FloatArray) -> FloatArray:
        return np.asarray(ndtr((bound - self.means) / self.sds).mean(axis=0))

    def at(self, where: tuple[IntArray, ...]) -> Mixture:
        means = np.stack([part[where] for part in self.means])
        return Mixture(self.mean[where], self.sd[where], means, np.stack([part[where] for part in self.sds]))


@dataclass(frozen=True)
class Roots:
    """Gauss-Hermite nodes z [K] and weights w [K] of a standard normal; one root is the mean itself."""

    z: FloatArray
    w: FloatArray

    @classmethod
    def of(cls, count: int) -> Roots:
        nodes, weights = np.polynomial.hermite_e.hermegauss(count)
        return cls(np.ascontiguousarray(nodes), weights / weights.sum())


@dataclass(frozen=True)
class Scaling:
    """Prior knowledge of a quantity's change with the data. log_range: log(1 / s_1), 0 for a single level. logarithmic:
    a logarithm is modelled, so that a power of s is a line, and a difference of 1 a factor of e.
    """

    log_range: float = 0.0
    logarithmic: bool = False


UNKNOWN_SCALING = Scaling()


class OptimumBelief(Protocol):
    """p_opt: where the largest value lies among R points, by Monte Carlo with one set of random numbers for every
    question.
    """

    @property
    def probability(self) -> FloatArray:
        """p_opt(. | S), [R], averaged over hyper-parameter samples."""

    @property
    def divergence(self) -> float:
        """KL(p_opt(. | S) || uniform), averaged over hyper-parameter samples."""

    def expected_divergence(self, points: Points, roots: Roots) -> FloatArray:
        """E_y[KL(p_opt(. | S + (point, y)) || uniform)] for each point, random numbers as in `divergence`; [B]."""


class Surrogate(Protocol):
    """A fitted model of one quantity."""

    def predict(self, points: Points) -> Gaussian:
        """Noise-free belief at the points; [n]."""

    def predict_grid(self, x: FloatArray, levels: FloatArray) -> Gaussian:
        """The same at every (row of x, level), computed in blocks of bounded memory; [N, k]."""

    def extend(self, points: Points, y: FloatArray) -> Self:
        """The model refitted with further (simulated) measurements."""

    def simulate(self, points: Points, roots: Roots, at: Points) -> Gaussian:
        """Belief at `at` after testing one of B points with outcome mean + z_k sd (noise included); [B, K, R]."""

    def optimum(self, at: Points, samples: int, seed: int) -> OptimumBelief:
        """Belief about where among `at` the largest value lies."""


class Fitter(Protocol):
    """How a recipe makes a surrogate of one quantity; equal (data, seed) give equal models."""

    def __hash__(self) -> int:
        """Equal for equal fitters: what they have fitted is remembered by it."""

    def fit(
        self, data: Data, *, grows_with_data: bool, seed: int, pairs: int = 0, scaling: Scaling = UNKNOWN_SCALING
    ) -> Surrogate:
        """grows_with_data: the quantity is a cost (dollars, seconds) that grows with s, rather than a quality that
        levels off. pairs: how many are going to be predicted, for models that must then do with fewer observations.
        scaling: for models whose priors depend on it.
        """

    def caps_at(self, observations: int, pairs: int = 0) -> tuple[str, ...]:
        """Which of its own caps bite at so many observations and pairs, in words for the proposal."""


def rehearse(fitter: Fitter) -> None:
    """Fit and ask a model of four made-up observations: its kernels are compiled then, and kept on disk."""
    x, s = np.array([[0.0, 0.1], [0.4, 0.9], [0.8, 0.3], [1.0, 0.6]]), np.array([0.0, 0.5, 0.0, 1.0])
    points = Points(x, s)
    for is_cost in (False, True):
        data = Data(points, np.array([0.1, 0.4, 0.2, 0.7]), np.array([False, False, False, is_cost]), False)
        model = fitter.fit(data, grows_with_data=is_cost, seed=0, scaling=Scaling(1.0, True))
        model.predict_grid(x, np.array([0.0, 0.5, 1.0]))
        model.predict(points)
        model.extend(points.take(np.array([0])), np.array([0.3])).simulate(points, Roots.of(3), points)
