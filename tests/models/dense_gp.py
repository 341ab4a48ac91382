"""An independent Gaussian process: the whole covariance from scikit-learn's Matern kernel, posteriors by dense solves.

Slow and plain on purpose; what leantune.models.gp computes by whitening and blocks is compared with it.
"""

from dataclasses import dataclass

import numpy as np
from scipy.stats import multivariate_normal
from sklearn.gaussian_process.kernels import Matern

from leantune.arrays import FloatArray
from leantune.models.base import Points
from leantune.models.gp_posterior import FabolasForm


@dataclass(frozen=True)
class DenseGp:
    """theta = log length-scales (d), log L11, L21, log L22, log noise variance; y standardised."""

    theta: FloatArray
    points: Points
    y: FloatArray
    form: FabolasForm

    @property
    def noise(self) -> float:
        """What a second run would not repeat."""
        return float(np.exp(self.theta[self.points.x.shape[1] + 3])) + 1e-8  # the jitter is part of the model

    def feature(self, s: float) -> float:
        """phi_2, by its words."""
        return s if self.form is FabolasForm.COST else (1.0 - s) ** 2

    def kernel(self, left: Points, right: Points) -> FloatArray:
        """Prior covariance of the noise-free function."""
        d = left.x.shape[1]
        root = np.array([[np.exp(self.theta[d]), 0.0], [self.theta[d + 1], np.exp(self.theta[d + 2])]])
        sigma = root @ root.T
        matern = np.asarray(Matern(length_scale=np.exp(self.theta[:d]), nu=2.5)(left.x, right.x))
        result = np.empty((len(left), len(right)))
        for i, s in enumerate(left.s):
            for j, t in enumerate(right.s):
                phi, other = np.array([1.0, self.feature(s)]), np.array([1.0, self.feature(t)])
                result[i, j] = matern[i, j] * (phi @ sigma @ other)
        return result

    @property
    def observed_covariance(self) -> FloatArray:
        return self.kernel(self.points, self.points) + self.noise * np.eye(len(self.points))

    def posterior(self, at: Points) -> tuple[FloatArray, FloatArray]:
        """Mean [m] and joint covariance [m, m] of the noise-free function."""
        cross = self.kernel(self.points, at)
        mean = cross.T @ np.linalg.solve(self.observed_covariance, self.y)
        return mean, self.kernel(at, at) - cross.T @ np.linalg.solve(self.observed_covariance, cross)

    def log_marginal_likelihood(self) -> float:
        return float(multivariate_normal(np.zeros(len(self.y)), self.observed_covariance).logpdf(self.y))

    def given(self, points: Points, y: FloatArray) -> "DenseGp":
        """The process with further observations."""
        return DenseGp(self.theta, self.points.followed_by(points), np.concatenate([self.y, y]), self.form)


def scattered(seed: int, count: int, dimensions: int, levels: tuple[float, ...] = (0.0, 0.4, 1.0)) -> Points:
    """Random points on random levels."""
    rng = np.random.default_rng(seed)
    return Points(rng.random((count, dimensions)), rng.choice(np.array(levels), count))


def likely_theta(seed: int, dimensions: int, members: int = 1) -> FloatArray:
    """Hyper-parameters as the priors favour them, with a noise of a few per cent; [members, d + 4]."""
    rng = np.random.default_rng(seed)
    centre = np.array([-0.7] * dimensions + [0.1, 0.3, -0.4, -4.0])
    return np.asarray(centre + 0.3 * rng.standard_normal((members, len(centre))))
