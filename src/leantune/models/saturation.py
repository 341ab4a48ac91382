"""A Gaussian process whose curves may level off, with uncertainty about where.

    z(x, s) = mu + e^g [ m R (psi - 1) + beta R psi + w0(s) + (p0 + p1 psi) u(x) + q psi v(x) + r(x, s) + tau p0 o_x ]
              + e^g sigma_n noise

t = -log s, R = -log s_min; u, v ~ GP(Matern-5/2, one length-scale for each feature); beta ~ N(0, sigma_beta^2); o_x an
offset of each configuration. How far a curve has come, psi, is 0 at the least data and 1 at all of it:

    a quality        psi = 1 - (s^-c - 1) / (s_min^-c - 1)            c > 0: it levels off; c = 0: a power law
    dollars, seconds psi = 1 - log(rho + (1 - rho) s) / log(rho + (1 - rho) s_min), R -> -log(rho + (1 - rho) s_min)
                                                                      rho: the part that does not depend on the data

The further common part of all curves, w0, and each curve's own part, r, are Brownian in -log s from the least
data upwards, B(s, s') = (R - max(t, t')) / R:

    cov w0 = sigma_0^2 B,     cov r = sigma_r^2 B [omega k(x, x') + (1 - omega) 1(x = x')]

so that results on little data predict little about much data until larger runs were seen. With one level only,
psi = B = 1. Source: shared/design/MODEL.md, a study on tables that are not those of the benchmarks' reports; priors are
its own, from fits to its tables, widened.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from leantune.arrays import BoolArray, FloatArray, IntArray
from leantune.models.base import UNKNOWN_SCALING, Data, Mixture, Points, Scaling
from leantune.models.gp import GRID_BLOCK, GaussianProcess, caps_that_bite, thinned
from leantune.models.gp_kernels import (
    NormalPriors,
    SaturatingData,
    SaturationLaw,
    Schedule,
    level_tables,
    matern52,
    sample_saturating,
    squared_differences,
)
from leantune.models.gp_posterior import SMALLEST_VARIANCE, Member, matern_by_runs
from leantune.models.threads import parallel_blocks

CURVE_GAPS = (0.1, 0.2, 0.3, 0.5, np.inf)  # on the scale of s~, 0 at the least data and 1 at all of it
Prior = tuple[float, float]  # mean and deviation; a deviation of 0 fixes a parameter


@dataclass(frozen=True)
class SaturationPriors:
    """Of theta, in the order of gp_kernels; mu_sd: of the level at all data, on the modelled scale."""

    log_scale: Prior = (0.4, 1.0)
    g: Prior = (-0.3, 0.45)
    log_p0: Prior = (-0.5, 1.4)
    p1: Prior = (0.0, 0.7)
    log_q: Prior = (-0.4, 0.9)
    log_beta: Prior = (-1.4, 0.5)
    m: Prior = (0.42, 0.15)
    bend: Prior = (0.5, 0.8)  # c, or the logit of rho
    log_r: Prior = (-0.4, 0.7)
    logit_omega: Prior = (1.5, 1.5)
    log_tau: Prior = (-2.6, 1.0)
    log_noise: Prior = (-4.4, 1.4)
    log_w0: Prior = (-2.1, 0.6)
    mu_sd: float = 1.0

    def arrays(self, dimensions: int) -> NormalPriors:
        """Of theta, [d + 12]."""
        shape = [self.g, self.log_p0, self.p1, self.log_q, self.log_beta, self.m]
        shape += [self.bend, self.log_r, self.logit_omega, self.log_tau, self.log_noise, self.log_w0]
        means, deviations = np.array([self.log_scale] * dimensions + shape, dtype=np.float64).T
        return NormalPriors(np.ascontiguousarray(means), np.ascontiguousarray(deviations))


QUALITY = SaturationPriors()
COST = SaturationPriors(
    g=(0.0, 0.0),
    log_p0=(-0.5, 0.7),
    p1=(0.2, 0.5),
    log_q=(-1.0, 0.8),
    log_beta=(-1.8, 0.5),
    m=(0.95, 0.0),
    bend=(-2.0, 1.7),
    log_r=(-1.4, 0.7),
    log_tau=(-2.0, 1.0),
    log_noise=(-3.5, 1.0),
    log_w0=(-2.2, 0.7),
    mu_sd=math.e,
)


# Of a quantity that may change with the data in any way, in units of its own spread.
ANY = replace(QUALITY, g=(0.0, 0.45), m=(0.0, 0.3), log_beta=(-1.4, 0.7))


class SaturatingForm(SaturationLaw):
    """See Kernel."""

    def member(self, theta: FloatArray, points: Points, targets: FloatArray) -> SaturatingMember:
        """The process under one hyper-parameter sample."""
        return SaturatingMember(theta, points, targets, self)


class SaturatingMember(Member):
    """The process under one hyper-parameter sample, conditioned on the observations."""

    def __init__(self, theta: FloatArray, points: Points, targets: FloatArray, form: SaturatingForm) -> None:
        d = points.x.shape[1]
        self.inverse_scales = np.exp(-theta[:d])
        self.shape, self.form = np.ascontiguousarray(theta[d:]), form
        self.noise = self._tables(np.ones(1))[4]
        super().__init__(points, targets)

    def _tables(self, levels: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, float]:
        tables: tuple[FloatArray, FloatArray, FloatArray, FloatArray, float]
        tables = level_tables(self.shape, np.ascontiguousarray(levels), self.form)
        return tables

    def trend(self, s: FloatArray) -> FloatArray:
        levels, which = np.unique(s, return_inverse=True)
        return self._tables(levels)[0][which]

    def covariance(self, left: Points, right: Points) -> FloatArray:
        levels, which = np.unique(np.concatenate([left.s, right.s]), return_inverse=True)
        _, alike, common, same, _ = self._tables(levels)
        at = np.ix_(which[: len(left)], which[len(left) :])
        matern = matern_by_runs(left.x, right.x, self.inverse_scales)
        result = matern * alike[at] + common[at]
        rows, columns = np.nonzero(matern == 1.0)  # only at distance 0
        result[rows, columns] += same[which[rows], which[len(left) + columns]]
        return result

    def prior_variance(self, s: FloatArray) -> FloatArray:
        levels, which = np.unique(s, return_inverse=True)
        _, alike, common, same, _ = self._tables(levels)
        return (alike + common + same).diagonal()[which]

    def predict_grid(self, x: FloatArray, levels: FloatArray) -> tuple[FloatArray, FloatArray]:
        """See Member.

        The whitened covariance with level l is sum_j A[j, l] G_j + c_l over the levels j of the observations: one
        product serves all levels, and variances are quadratic forms in the columns of A.
        """
        together, which = np.unique(np.concatenate([self.points.s, levels]), return_inverse=True)
        trend, alike, common, same, _ = self._tables(together)
        seen, asked = which[: len(self.points)], which[len(self.points) :]
        matern = matern52(self.points.x, x, self.inverse_scales)
        if len(levels) == 1:
            return self._predict_level(x, float(levels[0]), matern)
        groups = [np.flatnonzero(seen == level) for level in np.unique(seen)]
        u = alike[np.ix_(np.unique(seen), asked)]  # [levels of observations, levels asked for]
        parts = [self.inverse_factor[:, rows] @ matern[rows] for rows in groups]
        means = np.stack([self.weights[rows] @ matern[rows] for rows in groups])
        offsets = self.inverse_factor @ common[np.ix_(seen, asked)]  # [n, levels asked for]
        mean = means.T @ u + trend[asked] + self.weights @ common[np.ix_(seen, asked)]
        variance = np.tile((alike + common + same).diagonal()[asked] - np.square(offsets).sum(axis=0), (len(x), 1))
        for j, part in enumerate(parts):
            variance -= 2.0 * (part.T @ offsets) * u[j]
            for i in range(j + 1):
                moment = np.einsum("nx,nx->x", parts[i], part)
                variance -= (1.0 if i == j else 2.0) * moment[:, None] * (u[i] * u[j])
        variance = np.maximum(variance, SMALLEST_VARIANCE)
        self._know_own_offsets(x, levels, matern, mean, variance)
        return mean, variance

    def _predict_level(self, x: FloatArray, level: float, matern: FloatArray) -> tuple[FloatArray, FloatArray]:
        """`predict_grid` at one level, by one product; each [N, 1]."""
        together, which = np.unique(np.append(self.points.s, level), return_inverse=True)
        trend, alike, common, same, _ = self._tables(together)
        seen, asked = which[:-1], which[-1]
        cross = matern * alike[seen, asked][:, None] + common[seen, asked][:, None]
        whitened = self.inverse_factor @ cross
        mean = (trend[asked] + self.weights @ cross)[:, None]
        variance = (alike + common + same)[asked, asked] - np.einsum("nx,nx->x", whitened, whitened)[:, None]
        variance = np.maximum(variance, SMALLEST_VARIANCE)
        self._know_own_offsets(x, np.array([level]), matern, mean, variance)
        return mean, variance

    def _know_own_offsets(
        self, x: FloatArray, levels: FloatArray, matern: FloatArray, mean: FloatArray, variance: FloatArray
    ) -> None:
        """Configurations that were tested know their own offsets too; mean and variance, each [N, k], in place."""
        tested = np.flatnonzero((matern == 1.0).any(axis=0))
        for column, level in enumerate(levels):
            there = self.condition(Points(x[tested], np.full(len(tested), level)))
            mean[tested, column], variance[tested, column] = there.mean, there.variance


@dataclass(frozen=True)
class SaturatingProcess(GaussianProcess):
    """Predictions keep their parts: of the tails, which decide whether a limit holds, they say more than a normal."""

    def predict(self, points: Points) -> Mixture:
        posteriors = [member.condition(points) for member in self.members]
        return self._mixture(
            np.stack([posterior.mean for posterior in posteriors]),
            np.stack([posterior.variance for posterior in posteriors]),
        )

    def predict_grid(self, x: FloatArray, levels: FloatArray) -> Mixture:
        shape = (len(self.theta), len(x), len(levels))
        means, variances = np.empty(shape), np.empty(shape)
        _ = self.members  # computed once, before the threads ask for it

        def block(start: int, stop: int) -> None:
            for h, member in enumerate(self.members):
                means[h, start:stop], variances[h, start:stop] = member.predict_grid(x[start:stop], levels)

        parallel_blocks(block, len(x), GRID_BLOCK)
        return self._mixture(means, variances)

    def _mixture(self, means: FloatArray, variances: FloatArray) -> Mixture:
        return Mixture.of(self.centre + self.spread * means, abs(self.spread) * np.sqrt(variances))


def telling(points: Points, limit: int) -> IntArray:
    """Indices of the observations that say most: all, or, of more than `limit`, those that leave out parts of curves.

    Of each configuration the largest share stays, and smaller ones at least `gap` apart on the scale of s~; the gap
    grows until they fit, or only the largest of each are left. Shares near each other say nearly the same: residuals
    are Brownian in -log s.
    """
    kept = np.arange(len(points))
    if len(kept) <= limit:
        return kept
    which = np.unique(points.x, axis=0, return_inverse=True)[1].reshape(-1)
    curves = [np.flatnonzero(which == number) for number in range(which.max() + 1)]
    curves = [curve[np.argsort(-points.s[curve], kind="stable")] for curve in curves]
    for gap in CURVE_GAPS:
        kept = np.sort(np.concatenate([_apart(points.s, curve, gap) for curve in curves]))
        if len(kept) <= limit:
            break
    return kept


def _apart(s: FloatArray, curve: IntArray, gap: float) -> IntArray:
    """Of a curve from its largest share downwards, those at the same share as one that stays, or `gap` below it."""
    chosen = [int(curve[0])]
    for index in curve[1:].tolist():
        last = s[chosen[-1]]
        if s[index] <= last - gap or s[index] == last:
            chosen.append(index)
    return np.array(chosen, dtype=np.int64)


@dataclass(frozen=True)
class SaturatingFitter:
    """How hyper-parameters are found: slice sampling from the prior's mean; equal data and seed give equal members.

    Above `curve_observations` the curves of configurations are thinned (see `telling`). Above `density_observations`
    the density uses a subset, above `posterior_observations` the posterior does (see GpFitter).
    """

    samples: int = 16
    burn_in: int = 40
    thinning: int = 2
    quality: SaturationPriors = QUALITY
    cost: SaturationPriors = COST
    any: SaturationPriors = ANY
    curve_observations: int = 80
    density_observations: int = 120
    posterior_observations: int = 400

    def caps_at(self, observations: int, pairs: int = 0) -> tuple[str, ...]:
        return caps_that_bite(observations, self.density_observations, self.posterior_observations)

    def fit(
        self, data: Data, *, grows_with_data: bool, seed: int, pairs: int = 0, scaling: Scaling = UNKNOWN_SCALING
    ) -> SaturatingProcess:
        """Fit one quantity; see models.base.Fitter."""
        data = data.take(telling(data.points, self.curve_observations))
        priors = self.cost if grows_with_data else self.quality if scaling.logarithmic else self.any
        form = SaturatingForm(scaling.log_range, grows_with_data, priors.mu_sd**2)
        turned = data.bounds_above and grows_with_data  # the process sees dollars and seconds as they grow
        spread = -1.0 if turned else 1.0
        if not (scaling.logarithmic or grows_with_data):
            spread = float(data.y.std()) or 1.0
        y = data.y / spread - self._trend(priors, form, data.points.s)
        centre = float(y.mean())
        kept = thinned(y, self.posterior_observations)
        points, targets = data.points.take(kept), data.y[kept] / spread - centre
        theta, drawn = self._members(points, targets, data.censored[kept], form, priors, seed)
        return SaturatingProcess(points, drawn, theta, form, spread * centre, spread)

    def _trend(self, priors: SaturationPriors, form: SaturatingForm, s: FloatArray) -> FloatArray:
        """The prior mean of each level."""
        levels, which = np.unique(s, return_inverse=True)
        trend: FloatArray = level_tables(priors.arrays(0).mean, levels, form)[0]
        return trend[which]

    def _members(
        self,
        points: Points,
        y: FloatArray,
        censored: BoolArray,
        form: SaturatingForm,
        priors: SaturationPriors,
        seed: int,
    ) -> tuple[FloatArray, FloatArray]:
        used = thinned(y, self.density_observations)
        levels, which = np.unique(points.s[used], return_inverse=True)
        squares = squared_differences(np.ascontiguousarray(points.x[used]))
        theta, drawn = sample_saturating(
            SaturatingData(squares, np.ascontiguousarray(which, dtype=np.int64), levels, y[used], censored[used]),
            form,
            priors.arrays(points.x.shape[1]),
            Schedule(self.burn_in, self.samples, self.thinning),
            np.random.default_rng(seed),
        )
        targets = np.repeat(y[None, :], len(theta), axis=0)
        targets[:, used] = drawn
        return theta, targets
