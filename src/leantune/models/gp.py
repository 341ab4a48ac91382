"""Gaussian process with Fabolas' kernel, hyper-parameters marginalised by sampling.

    k((x, s), (x', s')) = Matern52_ARD(x, x') * phi(s)^T Sigma phi(s'),   Sigma = L L^T,
    phi(s) = (1, (1 - s~)^2) for a quality, (1, s~) for dollars and seconds           (Fabolas; TrimTuner III-A)

Notation: n observations, H hyper-parameter samples ("members", see gp_posterior), R points where the optimum may lie
(see gp_optimum), B simulated tests, K roots. Predictions mix the members: mean of means; mean of variances plus
variance of means.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, Self

import numpy as np
from scipy.optimize import minimize

from leantune.arrays import BoolArray, FloatArray, IntArray
from leantune.models.base import UNKNOWN_SCALING, Data, Gaussian, Points, Roots, Scaling
from leantune.models.gp_kernels import (
    FabolasData,
    NormalPriors,
    Schedule,
    imputed,
    log_density,
    mixed_after,
    sample_hyperparameters,
    squared_differences,
)
from leantune.models.gp_posterior import (
    LARGEST_BLOCK,
    SMALLEST_VARIANCE,
    FabolasForm,
    Kernel,
    Member,
    stable_cholesky,
)
from leantune.models.threads import parallel_blocks

if TYPE_CHECKING:
    from leantune.models.gp_optimum import GpOptimum

GRID_BLOCK = 4096  # configurations predicted at once: bounds memory, and is the same for any number of threads


@dataclass(frozen=True)
class Priors:
    """Independent normal priors on theta (see gp_kernels); features and s~ lie in [0, 1], targets are standardised."""

    log_scale: tuple[float, float] = (0.5, 1.0)
    log_amplitude: tuple[float, float] = (0.0, 0.7)
    mixing: tuple[float, float] = (0.0, 1.0)
    log_slope: tuple[float, float] = (-0.5, 1.0)
    log_noise: tuple[float, float] = (-5.0, 1.5)

    def arrays(self, dimensions: int) -> NormalPriors:
        """Of theta, [d + 4]."""
        rows = [self.log_scale] * dimensions + [self.log_amplitude, self.mixing, self.log_slope, self.log_noise]
        means, deviations = np.array(rows, dtype=np.float64).T
        return NormalPriors(np.ascontiguousarray(means), np.ascontiguousarray(deviations))


@dataclass(frozen=True)
class GpFitter:
    """How hyper-parameters are found; equal data and seed give equal members.

    hyperparameters: "sampled" (slice sampling from the prior's mean: the start is recomputed, not carried over, so that
    a resumed study samples the same) or "map" (one maximum-a-posteriori point).
    Above `density_observations` the density uses a subset, above `posterior_observations` the posterior does: the
    latest half, and of the earlier ones every m-th in the order of their targets, so that the whole range stays
    represented. A prediction costs n^2 multiplications for each pair, so the posterior uses fewer where many pairs are
    to be predicted: n^2 pairs <= posterior_work, but never fewer than the density.
    """

    samples: int = 10
    burn_in: int = 16
    thinning: int = 2
    hyperparameters: Literal["sampled", "map"] = "sampled"
    priors: Priors = Priors()
    density_observations: int = 200
    posterior_observations: int = 1000
    posterior_work: float = 1e9

    def caps_at(self, observations: int, pairs: int = 0) -> tuple[str, ...]:
        return caps_that_bite(observations, self.density_observations, self._posterior_cap(pairs))

    def _posterior_cap(self, pairs: int) -> int:
        affordable = int(math.sqrt(self.posterior_work / max(pairs, 1)))
        return min(self.posterior_observations, max(self.density_observations, affordable))

    def fit(
        self, data: Data, *, grows_with_data: bool, seed: int, pairs: int = 0, scaling: Scaling = UNKNOWN_SCALING
    ) -> GaussianProcess:
        """Fit one quantity; see models.base.Fitter."""
        centre, spread = float(data.y.mean()), float(data.y.std())
        if spread <= 1e-12 * max(1.0, abs(centre)):
            spread = 1.0
        if data.bounds_above:  # the process sees the targets upside down, where the bounds are lower ones
            spread = -spread
        standard = (data.y - centre) / spread
        kept = thinned(standard, self._posterior_cap(pairs))
        points = data.points.take(kept)
        form = FabolasForm.COST if grows_with_data else FabolasForm.QUALITY
        theta, targets = self._members(points, standard[kept], data.censored[kept], form, seed)
        return GaussianProcess(points, targets, theta, form, centre, spread)

    def _members(
        self, points: Points, y: FloatArray, censored: BoolArray, form: FabolasForm, seed: int
    ) -> tuple[FloatArray, FloatArray]:
        """Theta [H, d + 4] and targets [H, n]; a censored target is imputed per member."""
        used = thinned(y, self.density_observations)
        data = _data(points.take(used), y[used], censored[used], form)
        prior = self.priors.arrays(points.x.shape[1])
        rng = np.random.default_rng(seed)
        if self.hyperparameters == "map":

            def negative(theta: FloatArray) -> float:
                return -log_density(theta, data.squares, data.phi, data.y, prior)

            theta = np.asarray(minimize(negative, prior.mean, method="L-BFGS-B").x)[None, :]
            drawn = data.y[None, :]
        else:
            theta, drawn = sample_hyperparameters(data, prior, Schedule(self.burn_in, self.samples, self.thinning), rng)
        targets = np.repeat(y[None, :], len(theta), axis=0)
        targets[:, used] = drawn
        if censored.any() and (self.hyperparameters == "map" or len(used) < len(y)):  # some were not drawn yet
            everything = _data(points, y, censored, form)
            targets = np.stack(
                [
                    imputed(hyperparameters, everything, row, rng)
                    for hyperparameters, row in zip(theta, targets, strict=True)
                ]
            )
        return theta, targets


def _data(points: Points, y: FloatArray, censored: BoolArray, form: FabolasForm) -> FabolasData:
    """As the kernels take it."""
    squares = squared_differences(np.ascontiguousarray(points.x))
    return FabolasData(squares, form.level_features(points.s), y, censored)


def caps_that_bite(observations: int, density: int, posterior: int) -> tuple[str, ...]:
    """See Fitter.caps_at."""
    caps = (("hyper-parameters are sampled", density), ("the posterior rests", posterior))
    return tuple(f"{what} on {cap} of {observations} observations" for what, cap in caps if observations > cap)


def thinned(y: FloatArray, limit: int) -> IntArray:
    """At most `limit` indices: the latest half, and the earlier ones thinned evenly in the order of y."""
    n = len(y)
    if n <= limit:
        return np.arange(n)
    latest = limit - limit // 2
    earlier = np.argsort(y[: n - latest], kind="stable")
    spread = earlier[np.linspace(0, len(earlier) - 1, limit // 2).round().astype(np.int64)]
    return np.concatenate([np.sort(spread), np.arange(n - latest, n)])


@dataclass(frozen=True)
class GaussianProcess:
    """A Surrogate (models.base). targets [H, n] are standardised and differ only where they were imputed.

    y = centre + spread * standardised; a negative spread means that the process models -y.
    """

    points: Points
    targets: FloatArray
    theta: FloatArray
    form: Kernel
    centre: float
    spread: float

    @property
    def orientation(self) -> float:
        return float(np.sign(self.spread))

    @cached_property
    def members(self) -> list[Member]:
        pairs = zip(self.theta, self.targets, strict=True)
        return [self.form.member(theta, self.points, targets) for theta, targets in pairs]

    def predict(self, points: Points) -> Gaussian:
        conditioned = [member.condition(points) for member in self.members]
        means, variances = (np.stack([getattr(c, name) for c in conditioned]) for name in ("mean", "variance"))
        return self._mixed(means, variances)

    def predict_grid(self, x: FloatArray, levels: FloatArray) -> Gaussian:
        result = Gaussian(np.empty((len(x), len(levels))), np.empty((len(x), len(levels))))
        _ = self.members  # computed once, before the threads ask for it

        def block(start: int, stop: int) -> None:
            parts = [member.predict_grid(x[start:stop], levels) for member in self.members]
            mixed = self._mixed(np.stack([p[0] for p in parts]), np.stack([p[1] for p in parts]))
            result.mean[start:stop], result.sd[start:stop] = mixed.mean, mixed.sd

        parallel_blocks(block, len(x), GRID_BLOCK)
        return result

    def extend(self, points: Points, y: FloatArray) -> Self:
        """See Surrogate; hyper-parameters, centre and spread are kept."""
        standard = (y - self.centre) / self.spread
        more = np.repeat(standard[None, :], len(self.theta), axis=0)
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

        means, variances = (
            np.stack([getattr(there, name) for _, there, _ in prepared]) for name in ("mean", "variance")
        )

        def block(start: int, stop: int) -> None:
            rows = np.arange(start, stop)
            some = points.take(rows)
            steps = np.empty((len(prepared), len(at), len(rows)))
            for h, (member, there, tested) in enumerate(prepared):
                cross = member.joint_covariance(at, some, there.whitened, tested.whitened[:, rows])
                steps[h] = cross / np.sqrt(tested.variance[rows] + member.noise)
            mean, variance = mixed_after(steps, means, variances, self.orientation * roots.z, SMALLEST_VARIANCE)
            result.mean[start:stop] = self.centre + self.spread * mean
            result.sd[start:stop] = abs(self.spread) * np.sqrt(variance)

        parallel_blocks(block, len(points), LARGEST_BLOCK)
        return result

    def without_own(self, points: Points) -> Gaussian:
        """The prediction from the other observations at each point; [m]."""
        left_out = []
        for x, s in zip(points.x, points.s, strict=True):
            rows = np.flatnonzero((self.points.x == x).all(axis=1) & (self.points.s == s))
            there = Points(x[None, :], np.array([s]))
            left_out.append([self._left_out(member, rows, there) for member in self.members])
        means, variances = np.array(left_out, dtype=np.float64).reshape(len(points), len(self.members), 2).T
        return self._mixed(means, variances)

    @staticmethod
    def _left_out(member: Member, rows: IntArray, there: Points) -> tuple[float, float]:
        if len(rows):
            return member.left_out(rows)
        posterior = member.condition(there)
        return float(posterior.mean[0]), float(posterior.variance[0])

    @property
    def noise_deviation(self) -> float:
        """Of one observation, on the modelled scale: the geometric mean over the members."""
        variances = np.array([member.noise for member in self.members])
        return abs(self.spread) * math.exp(0.5 * float(np.log(np.maximum(variances, SMALLEST_VARIANCE)).mean()))

    def paths(self, at: Points, samples: int, seed: int) -> FloatArray:
        """Joint draws at these points, `samples` of each member; [H * samples, m]. The same points in the same order
        have the same draws.
        """
        normal = np.random.default_rng(seed).standard_normal((len(self.members), len(at), samples))
        drawn = []
        for member, numbers in zip(self.members, normal, strict=True):
            there = member.condition(at)
            factor = stable_cholesky(member.joint_covariance(at, at, there.whitened, there.whitened))
            drawn.append((there.mean[:, None] + factor @ numbers).T)
        return self.centre + self.spread * np.concatenate(drawn)

    def optimum(self, at: Points, samples: int, seed: int) -> GpOptimum:
        from leantune.models.gp_optimum import GpOptimum

        return GpOptimum(self.members, at, samples=samples, seed=seed, orientation=self.orientation)

    def _mixed(self, means: FloatArray, variances: FloatArray) -> Gaussian:
        """Mixture over the first axis, back on the modelled scale."""
        deviation = np.sqrt(variances.mean(axis=0) + means.var(axis=0))
        return Gaussian(self.centre + self.spread * means.mean(axis=0), abs(self.spread) * deviation)
