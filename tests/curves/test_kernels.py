"""The fits against scipy, and against the parameters that made a curve."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import curve_fit, nnls

from leantune.arrays import FloatArray
from leantune.curves import kernels

K = np.arange(1.0, 121.0)
ONES = np.ones(len(K))
seeds = st.integers(0, 2**32 - 1)


@given(seeds)
def test_non_negative_least_squares_is_scipys(seed: int) -> None:
    random = np.random.default_rng(seed)
    matrix, right = random.normal(size=(12, 3)), random.normal(size=12)
    expected, _ = nnls(matrix, right)
    found = kernels.nnls3(matrix.T @ matrix, matrix.T @ right)
    assert found == pytest.approx(expected, abs=1e-9)


def test_least_squares_of_dependent_columns_leaves_one_out() -> None:
    matrix = np.array([[1.0, 1.0, 0.0], [2.0, 2.0, 0.0], [3.0, 3.0, 0.0]])
    right = np.array([2.0, 4.0, 6.0])
    found = kernels.nnls3(matrix.T @ matrix, matrix.T @ right)
    assert matrix @ found == pytest.approx(right)
    assert (found >= 0).all()


@given(seeds)
def test_the_inverse_is_fitted_as_scipy_does_at_the_same_asymptote(seed: int) -> None:
    """At the asymptote it chose, the other three are scipy's non-negative solution of the weighted problem."""
    random = np.random.default_rng(seed)
    y = inverse(K, *random.uniform((0.0, 0.001, 0.5, 0.0), (1e-3, 0.2, 2.0, 0.5))) + random.normal(0, 0.003, len(K))
    w = (K / K[-1]) ** 2
    alpha, squares = kernels.fit_inverse(K, y, w, min(0.0, float(y.min()) - 1.0))
    above = y - alpha[3]
    rows = (np.sqrt(w) * above**2)[:, None] * np.stack([(K / 120) ** 2, K / 120, ONES], axis=1)
    expected, _ = nnls(rows, np.sqrt(w) * above)
    assert alpha[:3] * (120.0**2, 120.0, 1.0) == pytest.approx(expected, rel=1e-5, abs=1e-6)
    assert squares == pytest.approx(float(w @ (y - inverse(K, *alpha)) ** 2), rel=1e-6)


def inverse(k: FloatArray, a0: float, a1: float, a2: float, a3: float) -> FloatArray:
    return np.asarray(1.0 / (a0 * k**2 + a1 * k + a2) + a3)


@pytest.mark.parametrize("truth", [(0.0, 0.05, 1.0, 0.3), (0.001, 0.0, 0.8, 0.2), (0.0005, 0.02, 1.5, 0.0)])
def test_eq4_finds_the_curve_that_was_drawn(truth: tuple[float, float, float, float]) -> None:
    y = inverse(K, *truth)
    alpha, _ = kernels.fit_inverse(K, y, ONES, 0.0)
    assert (alpha >= 0).all()
    assert alpha[3] == pytest.approx(truth[3], abs=0.01)  # as fine as the grid is
    assert kernels.inverse_at(alpha, 200.0) == pytest.approx(float(inverse(np.array([200.0]), *truth)[0]), abs=0.005)


def test_eq4_is_as_good_as_curve_fit_on_noise() -> None:
    random = np.random.default_rng(3)
    y = inverse(K, 2e-4, 0.03, 1.0, 0.25) + random.normal(0.0, 0.004, len(K))
    _, squares = kernels.fit_inverse(K, y, ONES, 0.0)
    best, _ = curve_fit(inverse, K, y, p0=(1e-4, 0.01, 1.0, 0.1), bounds=(0.0, np.inf))
    assert squares <= 1.02 * float(((y - inverse(K, *best)) ** 2).sum())


def test_the_asymptote_keeps_above_the_floor() -> None:
    y = np.linspace(1.0, 0.4, len(K))
    assert kernels.fit_inverse(K, y, ONES, 0.35)[0][3] >= 0.35
    table = kernels.basis_table(kernels.POWER, K, K[-1])
    assert kernels.fit_basis(table, y, ONES, 0.35)[0] >= 0.35


@pytest.mark.parametrize("power", [0.3, 0.8, 2.0])
def test_a_power_law_is_found_again(power: float) -> None:
    table = kernels.basis_table(kernels.POWER, K, K[-1])
    a, b, row = kernels.fit_basis(table, 0.2 + 0.7 * K**-power, ONES, 0.0)
    assert [a, b] == pytest.approx([0.2, 0.7], abs=0.02)
    assert kernels.POWERS[row] == pytest.approx(power, rel=0.08)


@pytest.mark.parametrize("mu", [0.7, 0.9, 0.98])
def test_an_exponential_is_found_again(mu: float) -> None:
    table = kernels.basis_table(kernels.EXPONENTIAL, K, K[-1])
    a, b, row = kernels.fit_basis(table, 0.1 + 0.5 * mu ** (K - 1.0), ONES, 0.0)
    assert [a, b] == pytest.approx([0.1, 0.5], abs=0.02)
    assert np.exp(-1.0 / (kernels.LIVES[row] * K[-1])) == pytest.approx(mu, rel=0.03)


@given(seeds)
def test_the_basis_is_fitted_as_polyfit_does(seed: int) -> None:
    """Of the row chosen, the line is weighted least squares; no other row fits better."""
    random = np.random.default_rng(seed)
    y, w = random.normal(size=len(K)), random.uniform(0.1, 1.0, len(K))
    table = kernels.basis_table(kernels.EXPONENTIAL, K, K[-1])
    a, b, row = kernels.fit_basis(table, y, w, -np.inf)
    fits = [np.polyfit(f, y, 1, w=np.sqrt(w)) for f in table]
    squares = [float(w @ (y - np.polyval(fit, f)) ** 2) for fit, f in zip(fits, table, strict=True)]
    assert float(w @ (y - a - b * table[row]) ** 2) == pytest.approx(min(squares), rel=1e-6)


def test_scatter_is_the_noise_and_not_the_trend() -> None:
    random = np.random.default_rng(1)
    line = np.linspace(5.0, 1.0, 3_000)
    assert kernels.scatter(line) == pytest.approx(0.0, abs=1e-12)
    assert kernels.scatter(line + random.normal(0.0, 0.1, len(line))) == pytest.approx(0.1, rel=0.08)


def test_a_member_that_was_right_before_weighs_more() -> None:
    members = np.array([[kernels.POWER, 0.0, 0.0], [kernels.LEVEL, 0.0, 0.0]])
    mean, sd, weights = kernels.predict_stack(members, K, 0.2 + 0.7 * K**-0.5, 200.0, 0.0)
    assert weights.sum() == pytest.approx(1.0)
    assert weights[0] > 0.8
    assert mean == pytest.approx(0.2 + 0.7 * 200.0**-0.5, abs=0.01)
    assert 0.0 < sd < 0.02
