"""Gaussian process with Fabolas' kernel, hyper-parameters marginalised by sampling.

    k((x, s), (x', s')) = Matern52_ARD(x, x') * phi(s)^T Sigma phi(s'),   Sigma = L L^T,
    phi(s) = (1, (1 - s~)^2) for a quality, (1, s~) for dollars and seconds                    (Fabolas; TrimTuner
    III-A)

Notation: n observations, H hyper-parameter samples ("members"), R points where the optimum may lie, B simulated tests,
K roots, S sample paths. V = L^-1 K(observed, .) is the whitened cross-covariance, so that posterior covariances are
K(a, b) - V_a^T V_b. Predictions mix the members: mean of means; mean of variances plus variance of means.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import minimize

from leantune.models.base import BoolArray, Data, FloatArray, Gaussian, IntArray, Points, Roots, SingleArray
from leantune.models.gp_kernels import (
    JITTER,
    SIGMA_PARAMETERS,
    divergence_after,
    log_density,
    matern52,
    sample_hyperparameters,
    squared_differences,
)
from leantune.models.threads import parallel_blocks

GRID_BLOCK = 4096  # configurations predicted at once: bounds memory, and is the same for any number of threads
STEP_BLOCK = 128  # simulated tests handed to a thread at once
SMALLEST_VARIANCE = 1e-10


@dataclass(frozen=True)
class Priors:
    """Independent normal priors on theta (see gp_kernels); features and s~ lie in [0, 1], targets are standardised."""

    log_scale: tuple[float, float] = (0.0, 1.0)
    log_amplitude: tuple[float, float] = (0.0, 0.7)
    mixing: tuple[float, float] = (0.0, 1.0)
    log_slope: tuple[float, float] = (-0.5, 1.0)
    log_noise: tuple[float, float] = (-7.0, 2.0)

    def arrays(self, dimensions: int) -> tuple[FloatArray, FloatArray]:
        """Means and standard deviations, each [d + 4]."""
        rows = [self.log_scale] * dimensions + [self.log_amplitude, self.mixing, self.log_slope, self.log_noise]
        means, deviations = np.array(rows, dtype=np.float64).T
        return np.ascontiguousarray(means), np.ascontiguousarray(deviations)


@dataclass(frozen=True)
class GpFitter:
    """How hyper-parameters are found; equal data and seed give equal members.

    hyperparameters: "sampled" (slice sampling from the prior's mean: the start is recomputed, not carried over, so that
    a resumed study samples the same) or "map" (one maximum-a-posteriori point).
    Above `density_observations` the density uses a subset, above `posterior_observations` the posterior does: the
    latest half, and of the earlier ones every m-th in the order of their targets, so that the whole range stays
    represented.
    """

    samples: int = 5
    burn_in: int = 12
    thinning: int = 3
    hyperparameters: Literal["sampled", "map"] = "sampled"
    priors: Priors = Priors()
    density_observations: int = 200
    posterior_observations: int = 1000

    def fit(self, data: Data, *, grows_with_data: bool, seed: int) -> GaussianProcess:
        """Fit one quantity; see models.base.Fitter."""
        centre = float(data.y.mean())
        spread = float(data.y.std())
        if spread <= 1e-12 * max(1.0, abs(centre)):
            spread = 1.0
        if data.bounds_above:  # the process sees the targets upside down, where the bounds are lower ones
            spread = -spread
        standard = (data.y - centre) / spread
        kept = thinned(standard, self.posterior_observations)
        points = data.points.take(kept)
        y, censored = standard[kept], data.censored[kept]
        theta, targets = self._members(points, y, censored, grows_with_data=grows_with_data, seed=seed)
        return GaussianProcess(points, targets, theta, grows_with_data, centre, spread)

    def _members(
        self, points: Points, y: FloatArray, censored: BoolArray, *, grows_with_data: bool, seed: int
    ) -> tuple[FloatArray, FloatArray]:
        """Theta [H, d + 4] and targets [H, n]; a censored target is imputed per member."""
        used = thinned(y, self.density_observations)
        squares = squared_differences(np.ascontiguousarray(points.x[used]))
        phi = level_features(points.s[used], grows_with_data)
        mean, deviation = self.priors.arrays(points.x.shape[1])
        if self.hyperparameters == "map":

            def negative(theta: FloatArray) -> float:
                return -log_density(theta, squares, phi, y[used], mean, deviation)

            theta = np.asarray(minimize(negative, mean, method="L-BFGS-B").x)[None, :]
            imputed = y[used][None, :]
        else:
            theta, imputed = sample_hyperparameters(
                mean,
                (squares, phi, y[used], censored[used]),
                (mean, deviation),
                (self.burn_in, self.samples, self.thinning),
                np.random.default_rng(seed),
            )
        targets = np.repeat(y[None, :], len(theta), axis=0)
        targets[:, used] = imputed
        return theta, targets


def thinned(y: FloatArray, limit: int) -> IntArray:
    """At most `limit` indices: the latest half, and the earlier ones thinned evenly in the order of y."""
    n = len(y)
    if n <= limit:
        return np.arange(n)
    latest = limit - limit // 2
    earlier = np.argsort(y[: n - latest], kind="stable")
    spread = earlier[np.linspace(0, len(earlier) - 1, limit // 2).round().astype(np.int64)]
    return np.concatenate([np.sort(spread), np.arange(n - latest, n)])


def level_features(s: FloatArray, grows_with_data: bool) -> FloatArray:
    """phi(s) = (1, s~) or (1, (1 - s~)^2); [n, 2]."""
    return np.stack([np.ones_like(s), s if grows_with_data else (1.0 - s) ** 2], axis=1)


@dataclass(frozen=True)
class Conditioned:
    """Belief of one member at some points: mean [m], variance [m], whitened cross-covariance V [n, m]."""

    mean: FloatArray
    variance: FloatArray
    whitened: FloatArray


class Member:
    """The process under one hyper-parameter sample, conditioned on the observations."""

    def __init__(self, theta: FloatArray, points: Points, targets: FloatArray, grows_with_data: bool) -> None:
        d = points.x.shape[1]
        self.inverse_scales = np.exp(-theta[:d])
        l11, l21, l22 = np.exp(theta[d]), theta[d + 1], np.exp(theta[d + 2])
        self.root = np.array([[l11, 0.0], [l21, l22]])
        self.noise = float(np.exp(theta[d + SIGMA_PARAMETERS]) + JITTER)
        self.grows_with_data = grows_with_data
        self.points = points
        covariance = self.covariance(points, points)
        covariance[np.diag_indices_from(covariance)] += self.noise
        self.factor = cholesky(covariance, lower=True, check_finite=False)
        self.inverse_factor = solve_triangular(self.factor, np.eye(len(points)), lower=True, check_finite=False)
        self.weights = self.inverse_factor.T @ (self.inverse_factor @ targets)

    def loadings(self, s: FloatArray) -> FloatArray:
        """L^T phi(s), so that phi(s)^T Sigma phi(s') is a dot product; [n, 2]."""
        return np.asarray(level_features(s, self.grows_with_data) @ self.root)

    def covariance(self, left: Points, right: Points) -> FloatArray:
        """Prior covariance of the noise-free function; [n, m]."""
        matern: FloatArray = matern52(left.x, right.x, self.inverse_scales)
        return matern * (self.loadings(left.s) @ self.loadings(right.s).T)

    def prior_variance(self, s: FloatArray) -> FloatArray:
        return np.asarray(np.square(self.loadings(s)).sum(axis=1))

    def condition(self, points: Points) -> Conditioned:
        """Posterior at the points, one by one."""
        cross = self.covariance(self.points, points)
        whitened = self.inverse_factor @ cross
        variance = self.prior_variance(points.s) - np.square(whitened).sum(axis=0)
        return Conditioned(self.weights @ cross, np.maximum(variance, SMALLEST_VARIANCE), whitened)

    def joint_covariance(
        self, left: Points, right: Points, whitened_left: FloatArray, whitened_right: FloatArray
    ) -> FloatArray:
        """Posterior covariance between two sets of points; [n, m]."""
        return self.covariance(left, right) - whitened_left.T @ whitened_right

    def predict_grid(self, x: FloatArray, levels: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance at each (row of x, level); each [N, k].

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
        quadratic = np.stack([u[:, 0] ** 2, 2.0 * u[:, 0] * u[:, 1], u[:, 1] ** 2])
        variances = self.prior_variance(levels) - np.stack(moments, axis=1) @ quadratic
        return means @ u.T, np.maximum(variances, SMALLEST_VARIANCE)


@dataclass(frozen=True)
class GaussianProcess:
    """A Surrogate (models.base). targets [H, n] are standardised and differ only where they were imputed.

    y = centre + spread * standardised; a negative spread means that the process models -y.
    """

    points: Points
    targets: FloatArray
    theta: FloatArray
    grows_with_data: bool
    centre: float
    spread: float

    @property
    def orientation(self) -> float:
        return float(np.sign(self.spread))

    @cached_property
    def members(self) -> list[Member]:
        pairs = zip(self.theta, self.targets, strict=True)
        return [Member(theta, self.points, targets, self.grows_with_data) for theta, targets in pairs]

    def predict(self, points: Points) -> Gaussian:
        """See Surrogate."""
        conditioned = [member.condition(points) for member in self.members]
        return self._mixed(np.stack([c.mean for c in conditioned]), np.stack([c.variance for c in conditioned]))

    def predict_grid(self, x: FloatArray, levels: FloatArray) -> Gaussian:
        """See Surrogate."""
        result = Gaussian(np.empty((len(x), len(levels))), np.empty((len(x), len(levels))))
        _ = self.members  # computed once, before the threads ask for it

        def block(start: int, stop: int) -> None:
            parts = [member.predict_grid(x[start:stop], levels) for member in self.members]
            mixed = self._mixed(np.stack([p[0] for p in parts]), np.stack([p[1] for p in parts]))
            result.mean[start:stop], result.sd[start:stop] = mixed.mean, mixed.sd

        parallel_blocks(block, len(x), GRID_BLOCK)
        return result

    def extend(self, points: Points, y: FloatArray) -> GaussianProcess:
        """See Surrogate; hyper-parameters, centre and spread are kept."""
        more = np.repeat(((y - self.centre) / self.spread)[None, :], len(self.theta), axis=0)
        return replace(
            self, points=self.points.followed_by(points), targets=np.concatenate([self.targets, more], axis=1)
        )

    def simulate(self, points: Points, roots: Roots, at: Points) -> Gaussian:
        """See Surrogate. Closed form: mean + c z / sqrt(v + noise) and variance - c^2 / (v + noise), per member.

        In blocks of tests, so that the members' [B, K, R] stay in the cache.
        """
        shape = (len(points), len(roots.z), len(at))
        result = Gaussian(np.empty(shape), np.empty(shape))
        prepared = [(member, member.condition(at), member.condition(points)) for member in self.members]

        def block(start: int, stop: int) -> None:
            rows = np.arange(start, stop)
            means = np.empty((len(prepared), len(rows), *shape[1:]))
            variances = np.empty((len(prepared), len(rows), 1, shape[2]))
            for h, (member, there, tested) in enumerate(prepared):
                step = member.joint_covariance(points.take(rows), at, tested.whitened[:, rows], there.whitened)
                step /= np.sqrt(tested.variance[rows] + member.noise)[:, None]
                means[h] = there.mean + step[:, None, :] * (self.orientation * roots.z)[None, :, None]
                variances[h, :, 0, :] = np.maximum(there.variance - step**2, SMALLEST_VARIANCE)
            mixed = self._mixed(means, variances)
            result.mean[start:stop], result.sd[start:stop] = mixed.mean, mixed.sd

        parallel_blocks(block, len(points), STEP_BLOCK)
        return result

    def optimum(self, at: Points, samples: int, seed: int) -> GpOptimum:
        """See Surrogate."""
        return GpOptimum(self, at, samples, seed)

    def _mixed(self, means: FloatArray, variances: FloatArray) -> Gaussian:
        """Mixture over the first axis, back on the modelled scale."""
        deviation = np.sqrt(variances.mean(axis=0) + means.var(axis=0))
        return Gaussian(self.centre + self.spread * means.mean(axis=0), abs(self.spread) * deviation)


def stable_cholesky(covariance: FloatArray) -> FloatArray:
    """Lower factor of a covariance that may be singular up to rounding; the smallest sufficient jitter is added."""
    scale = max(float(covariance.diagonal().max()), SMALLEST_VARIANCE)
    for jitter in (1e-9, 1e-7, 1e-5, 1e-3):
        raised = covariance.copy()
        raised[np.diag_indices_from(raised)] += jitter * scale
        try:
            return np.asarray(cholesky(raised, lower=True, check_finite=False))
        except np.linalg.LinAlgError:
            continue
    raise np.linalg.LinAlgError("posterior covariance is not positive definite even with jitter of a thousandth")


def divergence_terms(samples: int, points: int) -> FloatArray:
    """What a point that is best in c of S samples adds to KL(p_opt || uniform): (c/S) log(R c/S), c = 0..S."""
    shares = np.arange(samples + 1) / samples
    return np.asarray(shares * np.log(np.maximum(shares, 1.0 / samples) * points))


class GpOptimum:
    """p_opt by sample paths, conditioned path-wise on simulated tests (Matheron; ALGORITHMS.md "Acquisition").

    f|y = f + c(., p) (y - f_p - e) / (v_p + n). The sampled value f_p is drawn given the path at R,
        f_p = m_p + W^T z + sqrt(v_p - |W|^2) epsilon,   f = m + L z,  C = L L^T,  W = L^-1 c(R, p),
    exact for each test by itself, which is all that is asked, and needs no joint sample over thousands of candidates.
    z [R, S], epsilon [S] and e [S] are drawn once: all tests, members and roots share them.
    """

    def __init__(self, model: GaussianProcess, at: Points, samples: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self._model, self._at = model, at
        self._draws = rng.standard_normal((len(at), samples))
        self._residual, self._noise = rng.standard_normal((2, samples))
        self._terms = divergence_terms(samples, len(at))
        self._prepared = [self._prepare(member) for member in model.members]

    def _prepare(self, member: Member) -> tuple[Member, FloatArray, FloatArray, SingleArray]:
        """The member with its whitened cross-covariance, factor and paths float32 [R, S] at R."""
        there = member.condition(self._at)
        covariance = member.joint_covariance(self._at, self._at, there.whitened, there.whitened)
        factor = stable_cholesky(covariance)
        paths = self._model.orientation * (there.mean[:, None] + factor @ self._draws)
        return member, there.whitened, factor, paths.astype(np.float32)

    @cached_property
    def probability(self) -> FloatArray:
        """See OptimumBelief."""
        samples = self._draws.shape[1]
        counts = [np.bincount(paths.argmax(axis=0), minlength=len(self._at)) for *_, paths in self._prepared]
        return np.asarray(np.mean(counts, axis=0) / samples)

    @cached_property
    def divergence(self) -> float:
        """See OptimumBelief."""
        none = np.zeros((1, len(self._at)), dtype=np.float32)
        still = np.zeros((1, self._draws.shape[1]), dtype=np.float32)
        return float(np.mean([divergence_after(paths, none, still, self._terms)[0] for *_, paths in self._prepared]))

    def expected_divergence(self, points: Points, roots: Roots) -> FloatArray:
        """See OptimumBelief."""
        result = np.zeros(len(points))
        tested = [member.condition(points) for member, *_ in self._prepared]

        def block(start: int, stop: int) -> None:
            rows = np.arange(start, stop)
            for (member, whitened, factor, paths), test in zip(self._prepared, tested, strict=True):
                cross = member.joint_covariance(self._at, points.take(rows), whitened, test.whitened[:, rows])
                result[rows] += self._divergences(member.noise, factor, paths, cross, test.variance[rows], roots)

        parallel_blocks(block, len(points), STEP_BLOCK)
        return result / len(self._prepared)

    def _divergences(
        self,
        noise: float,
        factor: FloatArray,
        paths: SingleArray,
        cross: FloatArray,
        variance: FloatArray,
        roots: Roots,
    ) -> FloatArray:
        """Expected divergence of one member for a block of tests; cross = c(R, p) [R, B], variance v_p [B]."""
        loading = solve_triangular(factor, cross, lower=True, check_finite=False)
        unexplained = np.sqrt(np.maximum(variance - np.square(loading).sum(axis=0), 0.0))
        sampled = loading.T @ self._draws + unexplained[:, None] * self._residual + np.sqrt(noise) * self._noise
        spread = np.sqrt(variance + noise)[:, None]
        directions = np.ascontiguousarray((self._model.orientation * cross.T / spread**2).astype(np.float32))
        total = np.zeros(len(variance))
        for z, weight in zip(roots.z, roots.w, strict=True):
            total += weight * divergence_after(
                paths, directions, (spread * z - sampled).astype(np.float32), self._terms
            )
        return total
