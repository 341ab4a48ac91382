"""Compiled inner loops of the Gaussian process: density of hyper-parameters, slice sampling, p_opt after a simulated
test.

theta [d + 4] = log length-scales (d), log L11, L21, log L22, log noise variance, where Sigma = L L^T is the covariance
of the two coefficients of phi(s). Everything is on standardised targets.

By hand because no library samples hyper-parameters of so small a problem without spending most of its time on overhead:
one density at 48 observations takes some 30 microseconds here, and some milliseconds in torch. All kernels are one file
(numba's cache does not notice changes elsewhere) and release the GIL.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from leantune.arrays import BoolArray, FloatArray, IntArray

SIGMA_PARAMETERS = 3
JITTER = 1e-8
SLICE_WIDTH = 3.0  # of the interval that is shrunk, in the prior's deviations: wide enough to do without stepping out
SHRINK_LIMIT = 40


class NormalPriors(NamedTuple):
    """Independent normal priors on theta: means and deviations, each [p]."""

    mean: FloatArray
    sd: FloatArray


class Schedule(NamedTuple):
    """A sampler's settings: sweeps to forget the start, samples to keep, sweeps from one to the next."""

    burn_in: int
    samples: int
    thinning: int


class FabolasData(NamedTuple):
    """squares: of differences, packed; phi [n, 2]; y [n], a bound where censored [n]."""

    squares: FloatArray
    phi: FloatArray
    y: FloatArray
    censored: BoolArray


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def squared_differences(x: FloatArray) -> FloatArray:
    """(x_ia - x_ja)^2 of the pairs i > j, packed row by row; [d, n (n - 1) / 2]."""
    n, d = x.shape
    packed = np.empty((d, n * (n - 1) // 2))
    for a in range(d):
        position = 0
        for i in range(n):
            for j in range(i):
                difference = x[i, a] - x[j, a]
                packed[a, position] = difference * difference
                position += 1
    return packed


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def matern52(left: FloatArray, right: FloatArray, inverse_scales: FloatArray) -> FloatArray:
    """(1 + sqrt5 r + 5/3 r^2) exp(-sqrt5 r), r the distance in units of the length-scales; left [n, d], right [m, d] ->
    [n, m].
    """
    n, d = left.shape
    m = right.shape[0]
    columns = np.empty((d, m))
    for a in range(d):
        for j in range(m):
            columns[a, j] = right[j, a] * inverse_scales[a]
    result = np.zeros((n, m))
    for i in range(n):
        row = result[i]
        for a in range(d):
            value = left[i, a] * inverse_scales[a]
            column = columns[a]
            for j in range(m):
                difference = value - column[j]
                row[j] += difference * difference
        for j in range(m):
            distance = math.sqrt(5.0 * row[j])
            row[j] = (1.0 + distance + distance * distance / 3.0) * math.exp(-distance)
    return result


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _covariance(
    theta: FloatArray, squares: FloatArray, phi: FloatArray, out: FloatArray, distances: FloatArray
) -> None:
    """Lower triangle of K + noise into `out` [n, n]; `distances` [n (n - 1) / 2] is scratch."""
    d = squares.shape[0]
    n = phi.shape[0]
    distances[:] = 0.0
    for a in range(d):
        weight = math.exp(-2.0 * theta[a])
        row = squares[a]
        for p in range(distances.shape[0]):
            distances[p] += weight * row[p]
    l11, l21, l22 = math.exp(theta[d]), theta[d + 1], math.exp(theta[d + 2])
    noise = math.exp(theta[d + 3])
    position = 0
    for i in range(n):
        first = l11 * phi[i, 0] + l21 * phi[i, 1]
        second = l22 * phi[i, 1]
        for j in range(i):
            r = math.sqrt(5.0 * distances[position])
            out[i, j] = (1.0 + r + r * r / 3.0) * math.exp(-r)  # stored first: a product of all would round otherwise
            out[i, j] *= first * (l11 * phi[j, 0] + l21 * phi[j, 1]) + second * l22 * phi[j, 1]
            position += 1
        out[i, i] = first * first + second * second + noise + JITTER


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _cholesky_in_place(a: FloatArray) -> bool:
    """Lower factor over the lower triangle of a; False when a is not positive definite."""
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            total = a[i, j]
            for k in range(j):
                total -= a[i, k] * a[j, k]
            a[i, j] = total / a[j, j]
        total = a[i, i]
        for k in range(i):
            total -= a[i, k] * a[i, k]
        if not total > 0.0:
            return False
        a[i, i] = math.sqrt(total)
    return True


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def log_marginal_likelihood(theta: FloatArray, squares: FloatArray, phi: FloatArray, y: FloatArray) -> float:
    """Log N(y | 0, K(theta) + noise); -inf where the covariance is not positive definite."""
    n = y.shape[0]
    factor = np.empty((n, n))
    _covariance(theta, squares, phi, factor, np.empty(squares.shape[1]))
    if not _cholesky_in_place(factor):
        return -np.inf
    result: float = -0.5 * n * math.log(2.0 * math.pi)
    whitened = np.empty(n)
    for i in range(n):
        total = y[i]
        for k in range(i):
            total -= factor[i, k] * whitened[k]
        whitened[i] = total / factor[i, i]
        result -= 0.5 * whitened[i] * whitened[i] + math.log(factor[i, i])
    return result


@njit(cache=True, nogil=True)
def log_density(theta: FloatArray, squares: FloatArray, phi: FloatArray, y: FloatArray, prior: NormalPriors) -> float:
    """Log posterior density of theta up to a constant: marginal likelihood and independent normal priors."""
    result = log_marginal_likelihood(theta, squares, phi, y)
    for p in range(theta.shape[0]):
        z = (theta[p] - prior.mean[p]) / prior.sd[p]
        result -= 0.5 * z * z
    return result


@njit(cache=True, nogil=True)
def _truncated_normal(lowest: float, rng: np.random.Generator) -> float:
    """A standard normal draw given that it is at least `lowest` (Robert 1995)."""
    if lowest < 0.3:
        while True:
            draw = rng.standard_normal()
            if draw >= lowest:
                return draw
    rate = 0.5 * (lowest + math.sqrt(lowest * lowest + 4.0))
    while True:
        draw = lowest - math.log(1.0 - rng.random()) / rate
        if rng.random() <= math.exp(-0.5 * (draw - rate) ** 2):
            return draw


@njit(cache=True, nogil=True)
def _log_upper_tail(lowest: float) -> float:
    """Log P(z >= lowest) of a standard normal z; by its asymptote where the probability underflows."""
    if lowest < 30.0:
        return math.log(0.5 * math.erfc(lowest / math.sqrt(2.0)))
    return -0.5 * lowest * lowest - math.log(lowest * math.sqrt(2.0 * math.pi))


@njit(cache=True, nogil=True)
def _walk(
    factor: FloatArray, y: FloatArray, bounds: FloatArray, measured: int, redraw: bool, rng: np.random.Generator
) -> float:
    """Sum of log P(y_i >= bound_i | y_1 .. y_i-1) over the targets after the measured ones.

    redraw: each of these is first replaced by a draw from that very distribution, above its bound.
    """
    n = y.shape[0]
    whitened = np.empty(n)
    total = 0.0
    for i in range(n):
        centre = 0.0
        for j in range(i):
            centre += factor[i, j] * whitened[j]
        if i >= measured:
            lowest = (bounds[i] - centre) / factor[i, i]
            total += _log_upper_tail(lowest)
            if redraw:
                y[i] = centre + factor[i, i] * _truncated_normal(lowest, rng)
        whitened[i] = (y[i] - centre) / factor[i, i]
    return total


@njit(cache=True, nogil=True)
def _redraw_together(
    covariance: FloatArray, y: FloatArray, bounds: FloatArray, censored: BoolArray, rng: np.random.Generator
) -> None:
    """Metropolis step that proposes all censored targets at once, one after the other given the measured ones.

    A proposal does not know the bounds of those that come after it; the ratio of `_walk`'s sums (the weights of Geweke,
    Hajivassiliou and Keane) makes up for that.
    """
    order = np.concatenate((np.flatnonzero(~censored), np.flatnonzero(censored)))
    n = y.shape[0]
    factor = np.empty((n, n))
    for i in range(n):
        for j in range(i + 1):
            factor[i, j] = covariance[order[i], order[j]]
    if not _cholesky_in_place(factor):
        return
    old, limits, measured = y[order], bounds[order], n - int(censored.sum())
    new = old.copy()
    ratio = _walk(factor, new, limits, measured, True, rng) - _walk(factor, old, limits, measured, False, rng)
    if math.log(1.0 - rng.random()) < ratio:
        y[order] = new


@njit(cache=True, nogil=True)
def _impute(
    covariance: FloatArray, y: FloatArray, bounds: FloatArray, censored: BoolArray, rng: np.random.Generator
) -> None:
    """Draw the censored targets anew, above their bounds: all at once, then each given all others.

    covariance: its lower triangle, of targets whose expectation is 0; the upper one is filled in. Gibbs sweeps alone
    would not do: neighbours pin one another, and they would leave the bounds, where they start, only after hundreds of
    sweeps.
    """
    n = y.shape[0]
    for i in range(n):
        for j in range(i):
            covariance[j, i] = covariance[i, j]
    _redraw_together(covariance, y, bounds, censored, rng)
    precision = np.linalg.inv(covariance)
    pull = precision @ y
    for i in range(n):
        if not censored[i]:
            continue
        deviation = 1.0 / math.sqrt(precision[i, i])
        centre = y[i] - pull[i] / precision[i, i]
        new = centre + deviation * _truncated_normal((bounds[i] - centre) / deviation, rng)
        pull += precision[:, i] * (new - y[i])
        y[i] = new


@njit(cache=True, nogil=True)
def _impute_at(
    theta: FloatArray,
    squares: FloatArray,
    phi: FloatArray,
    y: FloatArray,
    bounds: FloatArray,
    censored: BoolArray,
    rng: np.random.Generator,
) -> None:
    covariance = np.empty((y.shape[0], y.shape[0]))
    _covariance(theta, squares, phi, covariance, np.empty(squares.shape[1]))
    _impute(covariance, y, bounds, censored, rng)


@njit(cache=True, nogil=True)
def imputed(theta: FloatArray, data: FabolasData, start: FloatArray, rng: np.random.Generator) -> FloatArray:
    """`start` [n] with its censored targets drawn anew; theta is fixed."""
    y = start.copy()
    _impute_at(theta, data.squares, data.phi, y, data.y, data.censored, rng)
    return y


@njit(cache=True, nogil=True)
def sample_hyperparameters(
    data: FabolasData, prior: NormalPriors, schedule: Schedule, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Coordinate-wise slice sampling (Neal 2003: an interval of fixed width at a random place, shrunk) from the prior's
    mean.

    Censored targets are drawn anew before every sweep, so each kept sample is one imputation. Returns theta
    [samples, d + 4] and the targets that go with each, [samples, n].
    """
    burn_in, samples, thinning = schedule
    any_censored = data.censored.any()
    y = data.y.copy()
    point = prior.mean.copy()
    kept = np.empty((samples, point.shape[0]))
    targets = np.empty((samples, y.shape[0]))
    for sweep in range(1, burn_in + samples * thinning + 1):
        if any_censored:
            _impute_at(point, data.squares, data.phi, y, data.y, data.censored, rng)
        height = log_density(point, data.squares, data.phi, y, prior)
        for p in range(point.shape[0]):
            height = _slice_step(point, p, height, data, y, prior, rng)
        if sweep > burn_in and (sweep - burn_in) % thinning == 0:
            kept[(sweep - burn_in) // thinning - 1] = point
            targets[(sweep - burn_in) // thinning - 1] = y
    return kept, targets


@njit(cache=True, nogil=True)
def _slice_step(
    point: FloatArray,
    p: int,
    height: float,
    data: FabolasData,
    y: FloatArray,
    prior: NormalPriors,
    rng: np.random.Generator,
) -> float:
    """Move coordinate p of `point` in place; the log density at the new place."""
    level = height + math.log(1.0 - rng.random())
    old = point[p]
    low = old - SLICE_WIDTH * prior.sd[p] * rng.random()
    high = low + SLICE_WIDTH * prior.sd[p]
    for _ in range(SHRINK_LIMIT):
        point[p] = low + (high - low) * rng.random()
        height_here = log_density(point, data.squares, data.phi, y, prior)
        if height_here > level:
            return height_here
        if point[p] < old:
            low = point[p]
        else:
            high = point[p]
    point[p] = old
    return height


@njit(cache=True, nogil=True)
def mixed_after(
    steps: FloatArray, means: FloatArray, variances: FloatArray, z: FloatArray, least: float
) -> tuple[FloatArray, FloatArray]:
    """Mean and variance over members at R after each of B tests and K outcomes: the mixture of H normal beliefs.

    steps [H, R, B] = c(R, p) / sqrt(v_p + noise); member h believes means[h] + steps[h, :, b] z_k with variance
    variances[h] - steps[h, :, b]^2, at least `least`; means, variances [H, R]. Returns two arrays [B, K, R].
    """
    members, places, tests = steps.shape
    mean = np.zeros((tests, z.shape[0], places))
    variance = np.zeros((tests, z.shape[0], places))
    for b in range(tests):
        for k in range(z.shape[0]):
            for r in range(places):
                total = squares = spread = 0.0
                for h in range(members):
                    step = steps[h, r, b]
                    value = means[h, r] + step * z[k]
                    total += value
                    squares += value * value
                    spread += max(variances[h, r] - step * step, least)
                centre = total / members
                mean[b, k, r] = centre
                variance[b, k, r] = spread / members + max(squares / members - centre * centre, 0.0)
    return mean, variance


# -- processes that saturate (models.saturation): theta [d + SHAPE_PARAMETERS], the log length-scales first

SHAPE_PARAMETERS = 12
G, LOG_P0, P1, LOG_Q, LOG_BETA, M, BEND, LOG_R, LOGIT_OMEGA, LOG_TAU, LOG_NOISE, LOG_W0 = range(SHAPE_PARAMETERS)


class SaturationLaw(NamedTuple):
    """The constants of the kernel: -log s_min; dollars and seconds, or a quality; variance of the level at all
    data.
    """

    log_range: float
    is_cost: bool
    mu_variance: float


class SaturatingData(NamedTuple):
    """squares: of differences, packed; level [n] of each observation among the levels s~ [k]; y [n], a bound where
    censored [n].
    """

    squares: FloatArray
    level: IntArray
    levels: FloatArray
    y: FloatArray
    censored: BoolArray


class SaturatingTarget(NamedTuple):
    """The data of the density. y [n]: targets, censored ones drawn; factor [n, n]: scratch."""

    data: SaturatingData
    y: FloatArray
    law: SaturationLaw
    prior: NormalPriors
    factor: FloatArray


@njit(cache=True, nogil=True)
def level_tables(
    shape: FloatArray, levels: FloatArray, law: SaturationLaw
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, float]:
    """The terms of the covariance at the levels s~ [k]: trend [k]; A, C, E, each [k, k]; and the noise variance.

    K((x, s), (x', s')) = matern(x, x') A + C + 1[x = x'] E; formulas in models.saturation.
    """
    log_range, is_cost, mu_variance = law
    k = levels.shape[0]
    unit = math.exp(2.0 * shape[G])
    p0, p1, q2 = math.exp(shape[LOG_P0]), shape[P1], math.exp(2.0 * shape[LOG_Q])
    r2, omega = math.exp(2.0 * shape[LOG_R]), 1.0 / (1.0 + math.exp(-shape[LOGIT_OMEGA]))
    beta2, w2 = math.exp(2.0 * shape[LOG_BETA]), math.exp(2.0 * shape[LOG_W0])
    own = math.exp(2.0 * shape[LOG_TAU]) * p0 * p0
    psi, time, span = np.ones(k), np.zeros(k), log_range
    bend = shape[BEND]
    rho = 1.0 / (1.0 + math.exp(-bend))
    if log_range > 0.0:
        if is_cost:
            span = -math.log(rho + (1.0 - rho) * math.exp(-log_range))
        for i in range(k):
            time[i] = log_range * (1.0 - levels[i])
            if is_cost:
                psi[i] = 1.0 + math.log(rho + (1.0 - rho) * math.exp(-time[i])) / span
            elif abs(bend) * log_range < 1e-6:
                psi[i] = 1.0 - time[i] / log_range
            else:
                psi[i] = 1.0 - math.expm1(bend * time[i]) / math.expm1(bend * log_range)
    trend = np.empty(k)
    alike, common, same = np.empty((k, k)), np.empty((k, k)), np.empty((k, k))
    for i in range(k):
        trend[i] = math.exp(shape[G]) * shape[M] * span * (psi[i] - 1.0)
        for j in range(i + 1):
            brown = 1.0 if log_range <= 0.0 else (log_range - max(time[i], time[j])) / log_range
            both = psi[i] * psi[j]
            alike[i, j] = alike[j, i] = unit * (
                (p0 + p1 * psi[i]) * (p0 + p1 * psi[j]) + q2 * both + r2 * omega * brown
            )
            common[i, j] = common[j, i] = mu_variance + unit * (beta2 * span * span * both + w2 * brown)
            same[i, j] = same[j, i] = unit * (r2 * (1.0 - omega) * brown + own)
    return trend, alike, common, same, unit * math.exp(2.0 * shape[LOG_NOISE])


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _matern_of_squares(distances: FloatArray, out: FloatArray) -> None:
    for p in range(distances.shape[0]):
        r = math.sqrt(5.0 * max(distances[p], 0.0))
        out[p] = (1.0 + r + r * r / 3.0) * math.exp(-r)


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _level_covariance(
    matern: FloatArray,
    alike: FloatArray,
    common: FloatArray,
    same: FloatArray,
    noise: float,
    level: IntArray,
    out: FloatArray,
) -> None:
    """Lower triangle of K + noise; matern [n (n - 1) / 2], packed row by row."""
    position = 0
    for i in range(level.shape[0]):
        a, c, e, row = alike[level[i]], common[level[i]], same[level[i]], out[i]
        for j in range(i):
            column, value = level[j], matern[position]
            row[j] = value * a[column] + c[column]
            if value == 1.0:  # only at distance 0
                row[j] += e[column]
            position += 1
        row[i] = a[level[i]] + c[level[i]] + e[level[i]] + noise + JITTER


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _log_normal_density(factor: FloatArray, y: FloatArray) -> float:
    """Log N(y | 0, F F^T), by the lower factor."""
    n = y.shape[0]
    result: float = -0.5 * n * math.log(2.0 * math.pi)
    whitened = np.empty(n)
    for i in range(n):
        total = y[i]
        for k in range(i):
            total -= factor[i, k] * whitened[k]
        whitened[i] = total / factor[i, i]
        result -= 0.5 * whitened[i] * whitened[i] + math.log(factor[i, i])
    return result


@njit(cache=True, nogil=True)
def saturating_density(theta: FloatArray, matern: FloatArray, target: SaturatingTarget) -> float:
    """Log posterior density of theta up to a constant."""
    data, factor = target.data, target.factor
    shape = theta[theta.shape[0] - SHAPE_PARAMETERS :]
    trend, alike, common, same, noise = level_tables(shape, data.levels, target.law)
    _level_covariance(matern, alike, common, same, noise, data.level, factor)
    if not _cholesky_in_place(factor):
        return -np.inf
    result: float = _log_normal_density(factor, target.y - trend[data.level])
    mean, sd = target.prior
    for p in range(theta.shape[0]):
        if sd[p] > 0.0:
            z = (theta[p] - mean[p]) / sd[p]
            result -= 0.5 * z * z
    return result


@njit(cache=True, nogil=True)
def _saturating_step(
    point: FloatArray,
    p: int,
    height: float,
    distances: FloatArray,
    matern: FloatArray,
    target: SaturatingTarget,
    rng: np.random.Generator,
) -> float:
    """Move coordinate p of `point` in place (a length-scale: `distances` and `matern` too); the log density there."""
    threshold, old = height + math.log(1.0 - rng.random()), point[p]
    squares, sd = target.data.squares, target.prior.sd
    low = old - SLICE_WIDTH * sd[p] * rng.random()
    high = low + SLICE_WIDTH * sd[p]
    is_scale = p < squares.shape[0]
    moved, new_matern = distances, matern
    if is_scale:
        moved, new_matern = np.empty_like(distances), np.empty_like(matern)
    for _ in range(SHRINK_LIMIT):
        point[p] = low + (high - low) * rng.random()
        if is_scale:
            moved[:] = distances + (math.exp(-2.0 * point[p]) - math.exp(-2.0 * old)) * squares[p]
            _matern_of_squares(moved, new_matern)
        here = saturating_density(point, new_matern, target)
        if here > threshold:
            if is_scale:
                distances[:], matern[:] = moved, new_matern
            return here
        if point[p] < old:
            low = point[p]
        else:
            high = point[p]
    point[p] = old
    return height


@njit(cache=True, nogil=True)
def sample_saturating(
    data: SaturatingData, law: SaturationLaw, prior: NormalPriors, schedule: Schedule, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Coordinate-wise slice sampling as in `sample_hyperparameters`; a parameter whose deviation is 0 stays.

    Length-scales come first: only they change the Matern function, which all other steps use as it is. Returns theta
    [samples, d + 12], targets [samples, n].
    """
    squares, level, bounds = data.squares, data.level, data.y
    burn_in, samples, thinning = schedule
    d, pairs, n = squares.shape[0], squares.shape[1], bounds.shape[0]
    any_censored, y, point = data.censored.any(), bounds.copy(), prior.mean.copy()
    kept, targets = np.empty((samples, point.shape[0])), np.empty((samples, n))
    factor = np.empty((n, n))
    distances, matern = np.empty(pairs), np.empty(pairs)
    for sweep in range(1, burn_in + samples * thinning + 1):
        distances[:] = 0.0
        for a in range(d):
            distances += math.exp(-2.0 * point[a]) * squares[a]
        _matern_of_squares(distances, matern)
        if any_censored:
            shape = point[d:]
            trend, alike, common, same, noise = level_tables(shape, data.levels, law)
            _level_covariance(matern, alike, common, same, noise, level, factor)
            centred = y - trend[level]
            _impute(factor, centred, bounds - trend[level], data.censored, rng)
            y = centred + trend[level]
        target = SaturatingTarget(data, y, law, prior, factor)
        height = saturating_density(point, matern, target)
        for p in range(point.shape[0]):
            if prior.sd[p] <= 0.0:
                continue
            height = _saturating_step(point, p, height, distances, matern, target, rng)
        if sweep > burn_in and (sweep - burn_in) % thinning == 0:
            kept[(sweep - burn_in) // thinning - 1] = point
            targets[(sweep - burn_in) // thinning - 1] = y
    return kept, targets
