"""The Gaussian process under one hyper-parameter sample, conditioned on the observations.

    k((x, s), (x', s')) = Matern52_ARD(x, x') * phi(s)^T Sigma phi(s'),     Sigma = L L^T

is Fabolas' kernel; models.saturation has another.

V = L^-1 K(observed, .) is the whitened cross-covariance, so that posterior covariances are K(a, b) - V_a^T V_b.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import numpy as np
from scipy.linalg import cholesky
from scipy.linalg.lapack import dtrtri

from leantune.arrays import FloatArray, IntArray
from leantune.models.base import Points
from leantune.models.gp_kernels import JITTER, SIGMA_PARAMETERS, matern52

SMALLEST_VARIANCE = 1e-10
LARGEST_BLOCK = 144  # simulated tests handed to a thread at once: smaller blocks cost more than they balance


class Kernel(Protocol):
    """The constants of a kernel."""

    def member(self, theta: FloatArray, points: Points, targets: FloatArray) -> Member:
        """The process under one hyper-parameter sample."""


class FabolasForm(StrEnum):
    """Fabolas' kernel by phi_2(s): how a quantity changes with the share of the data."""

    COST = "s~"
    QUALITY = "(1 - s~)^2"

    def level_features(self, s: FloatArray) -> FloatArray:
        """phi(s) = (1, phi_2(s)); [n, 2]."""
        return np.stack([np.ones_like(s), s if self is FabolasForm.COST else (1.0 - s) ** 2], axis=1)

    def member(self, theta: FloatArray, points: Points, targets: FloatArray) -> FabolasMember:
        """The process under one hyper-parameter sample."""
        return FabolasMember(theta, points, targets, self)


def run_starts(x: FloatArray) -> IntArray:
    """Rows that differ from the row before, the first row included."""
    changed = np.ones(len(x), dtype=np.bool_)
    changed[1:] = (x[1:] != x[:-1]).any(axis=1)
    return np.flatnonzero(changed)


def matern_by_runs(left: FloatArray, right: FloatArray, inverse_scales: FloatArray) -> FloatArray:
    """`matern52`. The pairs of one configuration stand side by side in a grid: their column is computed once."""
    starts = run_starts(right)
    matern: FloatArray = matern52(left, right[starts], inverse_scales)
    return matern if len(starts) == len(right) else np.repeat(matern, np.diff(starts, append=len(right)), axis=1)


@dataclass(frozen=True)
class Posterior:
    """Belief of one member at some points: mean [m], variance [m], whitened cross-covariance V [n, m]."""

    mean: FloatArray
    variance: FloatArray
    whitened: FloatArray


class Member(ABC):
    """A process under one hyper-parameter sample, conditioned on the observations: what all kernels share.

    A kernel says `noise` (before this constructor), `covariance`, `prior_variance` and `predict_grid`.
    """

    noise: float

    def __init__(self, points: Points, targets: FloatArray) -> None:
        self.points = points
        covariance = self.covariance(points, points)
        covariance[np.diag_indices_from(covariance)] += self.noise
        self.factor = stable_cholesky(covariance, least=0.0)
        self.inverse_factor = inverse_of_factor(self.factor)
        self.weights = self.inverse_factor.T @ (self.inverse_factor @ (targets - self.trend(points.s)))

    @abstractmethod
    def covariance(self, left: Points, right: Points) -> FloatArray:
        """Prior covariance of the noise-free function; [n, m]."""

    @abstractmethod
    def prior_variance(self, s: FloatArray) -> FloatArray:
        """Of the noise-free function at each s~."""

    @abstractmethod
    def predict_grid(self, x: FloatArray, levels: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance at each (row of x, level); each [N, k]."""

    def trend(self, s: FloatArray) -> FloatArray:
        """The prior mean at each s~."""
        return np.zeros(len(s))

    def condition(self, points: Points) -> Posterior:
        """Posterior at the points, one by one."""
        cross = self.covariance(self.points, points)
        whitened = self.inverse_factor @ cross
        variance = self.prior_variance(points.s) - np.square(whitened).sum(axis=0)
        mean = self.trend(points.s) + self.weights @ cross
        return Posterior(mean, np.maximum(variance, SMALLEST_VARIANCE), whitened)

    def left_out(self, rows: IntArray) -> tuple[float, float]:
        """Mean and variance of the noise-free function at one point as if its own observations, `rows`, had not been
        made. Of observations left out: mean y - A^-1 w and covariance A^-1, A the block of the inverse covariance, w
        the weights there.
        """
        block = self.inverse_factor[:, rows].T @ self.inverse_factor[:, rows]
        covariance = np.linalg.inv(block)
        fitted = self.factor[rows[:1]] @ (self.factor.T @ self.weights) + self.trend(self.points.s[rows[:1]])
        mean = float(fitted[0] - covariance[0] @ self.weights[rows])
        return mean, max(float(covariance[0, 0]) - self.noise, SMALLEST_VARIANCE)

    def joint_covariance(
        self, left: Points, right: Points, whitened_left: FloatArray, whitened_right: FloatArray
    ) -> FloatArray:
        """Posterior covariance between two sets of points; [n, m]."""
        return self.covariance(left, right) - whitened_left.T @ whitened_right


class FabolasMember(Member):
    """See the module."""

    def __init__(self, theta: FloatArray, points: Points, targets: FloatArray, form: FabolasForm) -> None:
        d = points.x.shape[1]
        self.inverse_scales = np.exp(-theta[:d])
        l11, l21, l22 = np.exp(theta[d]), theta[d + 1], np.exp(theta[d + 2])
        self.root = np.array([[l11, 0.0], [l21, l22]])
        self.noise = float(np.exp(theta[d + SIGMA_PARAMETERS])) + JITTER
        self.form = form
        super().__init__(points, targets)

    def loadings(self, s: FloatArray) -> FloatArray:
        """L^T phi(s), so that phi(s)^T Sigma phi(s') is a dot product; [n, 2]."""
        return np.asarray(self.form.level_features(s) @ self.root)

    def covariance(self, left: Points, right: Points) -> FloatArray:
        """See Member."""
        matern = matern_by_runs(left.x, right.x, self.inverse_scales)
        return matern * (self.loadings(left.s) @ self.loadings(right.s).T)

    def prior_variance(self, s: FloatArray) -> FloatArray:
        return np.asarray(np.square(self.loadings(s)).sum(axis=1))

    def predict_grid(self, x: FloatArray, levels: FloatArray) -> tuple[FloatArray, FloatArray]:
        """See Member.

        The covariance with level l is matern * (u_l0 a_0 + u_l1 a_1), a the loadings of the observations and u those of
        the level: two products serve all levels, and variances are quadratic forms in u.
        """
        matern = matern52(self.points.x, x, self.inverse_scales)
        loadings = self.loadings(self.points.s)
        parts = [matern * loadings[:, c, None] for c in range(2)]
        means = np.stack([self.weights @ part for part in parts], axis=1)
        first, second = (self.inverse_factor @ part for part in parts)
        moments = [(v * w).sum(axis=0) for v, w in ((first, first), (first, second), (second, second))]
        u = self.loadings(levels)
        quadratic = [u[:, 0] ** 2, 2.0 * u[:, 0] * u[:, 1], u[:, 1] ** 2]
        explained = np.stack(moments, axis=1) @ np.stack(quadratic)
        return means @ u.T, np.maximum(self.prior_variance(levels) - explained, SMALLEST_VARIANCE)


def inverse_of_factor(factor: FloatArray) -> FloatArray:
    """Inverse of a lower triangular matrix: products with it are faster than solves, and as exact as is needed here."""
    inverse, failed = dtrtri(factor, lower=1)
    if failed:
        raise np.linalg.LinAlgError("a Cholesky factor has a zero on its diagonal")
    return np.ascontiguousarray(inverse)


def stable_cholesky(covariance: FloatArray, least: float = 1e-9) -> FloatArray:
    """Lower factor of a covariance that may be singular up to rounding.

    The smallest sufficient jitter is added, relative to the largest variance and at least `least`.
    """
    scale = max(float(covariance.diagonal().max()), SMALLEST_VARIANCE)
    for jitter in (least, 1e-7, 1e-5, 1e-3):
        raised = covariance.copy()
        raised[np.diag_indices_from(raised)] += jitter * scale
        try:
            return np.asarray(cholesky(raised, lower=True, check_finite=False))
        except np.linalg.LinAlgError:
            continue
    raise np.linalg.LinAlgError("posterior covariance is not positive definite even with jitter of a thousandth")
