"""Fits of the families, compiled: one stage of one curve, a loss to minimise.

    k (n,) local steps, 1 at the stage's first point; y (n,) the metric, smaller is better, |y| <= 1
    w (n,) weights; floor: the lowest asymptote allowed; K > k_n the step asked for
    inverse      y = 1 / (a0 k^2 + a1 k + a2) + a3, a0..a2 >= 0, a3 >= floor   (SpotTune Eq. 4, SLAQ)
    power        y = a + b k^-c, c > 0
    exponential  y = a + b mu^k, 0 < mu < 1                                    (superlinear optimisers: L-BFGS)
    level        y = y_n

All are linear once one number is fixed (a3, c, mu). That number is taken from a grid, the rest is exact least squares:
no start value, no iteration that may fail, equal bits on equal input. k^-c and mu^k are tabled once per curve.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from leantune.arrays import FloatArray

INVERSE, POWER, EXPONENTIAL, LEVEL = 0, 1, 2, 3

GAPS = np.geomspace(1e-3, 1.0, 40)  # lowest value - a3, in units of the curve's range
POWERS = np.geomspace(0.05, 4.0, 32)  # c
LIVES = np.geomspace(0.02, 2.0, 32)  # -1 / (k_n ln mu): how many times the known length until 1/e is left
_BINOMIAL = np.array([[1.0, 3.0, 3.0, 1.0, 0.0], [1.0, 4.0, 6.0, 4.0, 1.0]])  # of the powers 3 and 4
_SINGULAR = 1e-12  # of a determinant of a correlation matrix
_ORIGINS = np.array([0.4, 0.5, 0.6, 0.7, 0.8, 0.9])  # of the known points, from which forecasts are tried
_LEAST_POINTS = 2  # of a forecast
_MEMORY_POINTS, _MEMORY_SHARE = 1.5, 0.04  # of an end level: points, or this share of the steps when that is more
_JUST_BELOW = 1.0 - 1e-9  # so that rounding of steps does not decide which point is asked for
_TINY = 1e-30  # below it nothing is divided by


@njit(cache=True, nogil=True)
def nnls3(gram: FloatArray, moment: FloatArray) -> FloatArray:
    """The x >= 0 (3,) that minimises x'Gx / 2 - m'x: the best feasible of the seven sets of positive entries."""
    scale = np.ones(3)
    for i in range(3):
        if gram[i, i] > 0.0:
            scale[i] = 1.0 / np.sqrt(gram[i, i])
    best = np.zeros(3)
    x = np.empty(3)
    least = 0.0
    for chosen in range(1, 8):
        # The entries left out get an equation of their own, x_i = 0.
        right = np.zeros(3)
        matrix = np.eye(3)
        for i in range(3):
            if chosen >> i & 1:
                right[i] = moment[i] * scale[i]
                for j in range(3):
                    if chosen >> j & 1:
                        matrix[i, j] = gram[i, j] * scale[i] * scale[j]
        if not _solve3(matrix, right, x):
            continue
        objective = -0.5 * np.dot(right, x)
        if x.min() >= 0.0 and objective < least:
            least = objective
            best = x * scale
    return best


@njit(cache=True, nogil=True)
def _solve3(m: FloatArray, right: FloatArray, x: FloatArray) -> bool:
    """Write the solution of m x = right (m symmetric, 3 x 3) into x by Cramer's rule; False where m is singular."""
    c00 = m[1, 1] * m[2, 2] - m[1, 2] * m[1, 2]
    c01 = m[0, 2] * m[1, 2] - m[0, 1] * m[2, 2]
    c02 = m[0, 1] * m[1, 2] - m[0, 2] * m[1, 1]
    c11 = m[0, 0] * m[2, 2] - m[0, 2] * m[0, 2]
    c12 = m[0, 1] * m[0, 2] - m[0, 0] * m[1, 2]
    c22 = m[0, 0] * m[1, 1] - m[0, 1] * m[0, 1]
    determinant = m[0, 0] * c00 + m[0, 1] * c01 + m[0, 2] * c02
    if not determinant > _SINGULAR:
        return False
    x[0] = (c00 * right[0] + c01 * right[1] + c02 * right[2]) / determinant
    x[1] = (c01 * right[0] + c11 * right[1] + c12 * right[2]) / determinant
    x[2] = (c02 * right[0] + c12 * right[1] + c22 * right[2]) / determinant
    return True


@njit(cache=True, nogil=True)
def _moments(u: FloatArray, height: FloatArray, w: FloatArray) -> FloatArray:
    """sum_n w u^p height^q, (5, 5)."""
    sums = np.zeros((5, 5))
    for n in range(len(u)):
        along = w[n]
        for p in range(5):
            term = along
            for q in range(5):
                sums[p, q] += term
                term *= height[n]
            along *= u[n]
    return sums


@njit(cache=True, nogil=True)
def _normal_equations(moments: FloatArray, gap: float) -> tuple[FloatArray, FloatArray]:
    """(3, 3) and (3,) of the fit of (u^2, u, 1) to 1 / above with weights w above^4, above = height + gap.

    sum w u^p above^r = sum_q binomial(r, q) gap^(r - q) moments[p, q]: every term is positive, nothing cancels.
    """
    sums = np.zeros((2, 5))  # r = 3, 4
    for p in range(5):
        for r in range(3, 5):
            for q in range(r + 1):
                sums[r - 3, p] += _BINOMIAL[r - 3, q] * gap ** (r - q) * moments[p, q]
    gram = np.empty((3, 3))
    for i in range(3):
        for j in range(3):
            gram[i, j] = sums[1, 4 - i - j]
    return gram, sums[0, 2::-1].copy()


@njit(cache=True, nogil=True)
def fit_inverse(k: FloatArray, y: FloatArray, w: FloatArray, floor: float) -> tuple[FloatArray, float]:
    """Eq. 4's (a0, a1, a2, a3) and the weighted sum of squared residuals.

    For each a3 below the lowest value: least squares on 1/(y - a3), weighted by (y - a3)^4 so that squared residuals
    count in the metric's own units; the a3 with the smallest sum of squares in those units is taken.
    """
    low = y.min()
    spread = y.max() - low
    best = np.array([0.0, 0.0, 0.0, low])
    if spread <= 0.0:
        return best, 0.0
    least = np.inf
    u = k / k[-1]
    height = (y - low) / spread
    moments = _moments(u, height, w)
    widest = max(min(GAPS[-1], (low - floor) / spread), 0.0)
    for tried in GAPS:
        gap = min(tried, widest)
        gram, moment = _normal_equations(moments, gap)
        alpha = nnls3(gram, moment)
        total = 0.0
        for i in range(len(k)):
            fitted = 1.0 / max((alpha[0] * u[i] + alpha[1]) * u[i] + alpha[2], _TINY)
            total += w[i] * (height[i] + gap - fitted) ** 2
        if total < least:
            least = total
            best[0] = alpha[0] / (k[-1] * k[-1] * spread)
            best[1] = alpha[1] / (k[-1] * spread)
            best[2] = alpha[2] / spread
            best[3] = low - gap * spread
        if tried >= widest:
            break
    return best, least * spread * spread


@njit(cache=True, nogil=True)
def inverse_at(alpha: FloatArray, k: float) -> float:
    """Eq. 4 at k; the asymptote alone where a0 = a1 = a2 = 0."""
    curve = (alpha[0] * k + alpha[1]) * k + alpha[2]
    return float(alpha[3] + 1.0 / curve if curve > 0.0 else alpha[3])


@njit(cache=True, nogil=True)
def basis_table(family: int, k: FloatArray, length: float) -> FloatArray:
    """k^-c of each c of POWERS, or mu^(k - 1) with mu = exp(-1 / (life length)) of each life of LIVES: (shapes, n)."""
    shapes = POWERS if family == POWER else LIVES
    table = np.empty((len(shapes), len(k)))
    for row in range(len(shapes)):
        for i in range(len(k)):
            exponent = shapes[row] * np.log(k[i]) if family == POWER else (k[i] - 1.0) / (shapes[row] * length)
            table[row, i] = np.exp(-exponent)
    return table


@njit(cache=True, nogil=True)
def fit_basis(table: FloatArray, y: FloatArray, w: FloatArray, floor: float) -> tuple[float, float, int]:
    """(a, b, row) of y = a + b table[row] with the least weighted squares, over the first len(y) columns; a >= floor.

    b may be negative: a metric that gets worse and settles.
    """
    n = len(y)
    best_a, best_b, best_row, least = y[-1], 0.0, 0, np.inf
    mass = w[:n].sum()
    middle_y = np.dot(w[:n], y) / mass
    for row in range(len(table)):
        f = table[row, :n]
        middle_f = np.dot(w[:n], f) / mass
        cross = square = 0.0
        for i in range(n):
            cross += w[i] * (f[i] - middle_f) * (y[i] - middle_y)
            square += w[i] * (f[i] - middle_f) ** 2
        b = cross / square if square > 0.0 else 0.0
        a = middle_y - b * middle_f
        if a < floor:  # the best on the bound
            a = floor
            b = np.dot(w[:n] * f, y - floor) / max(np.dot(w[:n] * f, f), _TINY)
        total = 0.0
        for i in range(n):
            total += w[i] * (y[i] - a - b * f[i]) ** 2
        if total < least:
            best_a, best_b, best_row, least = a, b, row, total
    return best_a, best_b, best_row


@njit(cache=True, nogil=True)
def _residual_now(k: FloatArray, residuals: FloatArray) -> float:
    """The residuals' level at the end: an average that forgets exponentially."""
    total = mass = 0.0
    memory = max(_MEMORY_POINTS, _MEMORY_SHARE * k[-1])
    for i in range(len(k)):
        weight = np.exp((k[i] - k[-1]) / memory)
        total += weight * residuals[i]
        mass += weight
    return float(total / mass)


@njit(cache=True, nogil=True)
def forecast(
    member: FloatArray, path: FloatArray, y: FloatArray, place: int, tables: tuple[FloatArray, FloatArray], floor: float
) -> float:
    """The value at path[place] by one member (family, recency, anchored), fitted to y at the first len(y) of the path.

    Points are weighted k^recency. An anchored fit is shifted by its residuals' level at the end.
    """
    family = int(member[0])
    n = len(y)
    k = path[:n]
    w = (k / k[-1]) ** member[1]
    fitted = np.full(len(path), y[-1])
    if family == INVERSE:
        alpha, _ = fit_inverse(k, y, w, floor)
        for i in range(len(path)):
            fitted[i] = inverse_at(alpha, path[i])
    elif family != LEVEL:
        table = tables[0] if family == POWER else tables[1]
        a, b, row = fit_basis(table, y, w, floor)
        fitted[:] = a + b * table[row]
    shift = _residual_now(k, y - fitted[:n]) if member[2] > 0.0 else 0.0
    return float(max(fitted[place] + shift, floor))


@njit(cache=True, nogil=True)
def rolling_errors(
    members: FloatArray, path: FloatArray, y: FloatArray, tables: tuple[FloatArray, FloatArray], floor: float
) -> tuple[FloatArray, FloatArray]:
    """Errors (o, m) that the members would have made from o earlier origins, and how much further it is now (o,).

    From each origin the same ratio K / k_n ahead is asked for as now, as far as it is known. further = ratio of the
    logarithms of the two distances, at least 1. Fewer rows where the stage is too short for an origin.
    """
    n = len(y)
    ratio = path[n] / path[n - 1]
    errors = np.empty((len(_ORIGINS), len(members)))
    further = np.empty(len(_ORIGINS))
    count = 0
    for origin in _ORIGINS:
        m = int(np.ceil(origin * n))
        if m < _LEAST_POINTS or m >= n:
            continue
        place = max(min(int(np.searchsorted(path[:n], path[m - 1] * ratio * _JUST_BELOW)), n - 1), m)
        for j in range(len(members)):
            errors[count, j] = forecast(members[j], path, y[:m], place, tables, floor) - y[place]
        further[count] = max(1.0, np.log(ratio) / np.log(path[place] / path[m - 1]))
        count += 1
    return errors[:count], further[:count]


@njit(cache=True, nogil=True)
def predict_stack(
    members: FloatArray, k: FloatArray, y: FloatArray, target: float, floor: float
) -> tuple[float, float, FloatArray]:
    """(mean, sd, weights (m,)) at the target step of the members (m, 3), weighted by how well they did earlier.

        weight_j ~ 1 / sqrt(mean_o e_oj^2 + s^2 / 4);  mean = sum_j weight_j f_j
        sd^2 = (mean_o (sum_j weight_j e_oj)^2 further_o  +  sum_j weight_j (f_j - mean)^2  +  s^2 / 4) * v / (v - 2)

    e: rolling_errors; f: forecasts from all points; s: how much neighbouring values scatter. s^2 / 4 keeps a member
    that was right by chance from taking all, and the sd from zero. v = n - 1: the variance of Student's t, as few
    points say little of their own scatter; n >= 4.
    """
    path = np.append(k, target)
    needed = members[:, 0]
    tables = (
        basis_table(POWER, path if (needed == POWER).any() else path[:0], k[-1]),
        basis_table(EXPONENTIAL, path if (needed == EXPONENTIAL).any() else path[:0], k[-1]),
    )
    errors, further = rolling_errors(members, path, y, tables, floor)
    noise = scatter(y) ** 2 / 4.0
    rows, count = errors.shape
    weights = np.ones(count)
    forecasts = np.empty(count)
    for j in range(count):
        forecasts[j] = forecast(members[j], path, y, len(y), tables, floor)
        square = noise
        for o in range(rows):
            square += errors[o, j] ** 2 / rows
        weights[j] = 1.0 / np.sqrt(max(square, _TINY))
    weights /= weights.sum()
    mean = np.dot(weights, forecasts)
    variance = noise + np.dot(weights, (forecasts - mean) ** 2)
    for o in range(rows):
        variance += np.dot(weights, errors[o]) ** 2 * further[o] / rows
    freedom = len(y) - 1.0
    return mean, np.sqrt(variance * freedom / (freedom - 2.0)), weights


@njit(cache=True, nogil=True)
def scatter(y: FloatArray) -> float:
    """The standard deviation of one value around a smooth curve, over the last third (at least five points).

    From second differences, whose variance is 6 s^2; of two points, from their difference (2 s^2).
    """
    recent = y[-max(5, len(y) // 3) :]
    if len(recent) < 3:
        return float(abs(recent[-1] - recent[0]) / np.sqrt(2.0))
    total = 0.0
    for i in range(2, len(recent)):
        total += (recent[i] - 2.0 * recent[i - 1] + recent[i - 2]) ** 2
    return float(np.sqrt(total / (6.0 * (len(recent) - 2))))
