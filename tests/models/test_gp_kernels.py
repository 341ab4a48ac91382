"""Compiled parts of the Gaussian process against scikit-learn, scipy and numerical integration."""

import numpy as np
import pytest
from scipy.stats import kstest, norm, truncnorm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern

from leantune.arrays import BoolArray, FloatArray
from leantune.models.base import Points
from leantune.models.gp_kernels import (
    FabolasData,
    NormalPriors,
    Schedule,
    _impute_at,
    _log_upper_tail,
    _truncated_normal,
    log_density,
    log_marginal_likelihood,
    matern52,
    sample_hyperparameters,
    squared_differences,
)
from leantune.models.gp_posterior import FabolasForm
from tests.models.dense_gp import DenseGp, likely_theta, scattered


def compiled_arguments(points: Points, form: FabolasForm) -> tuple[FloatArray, FloatArray]:
    return squared_differences(points.x), form.level_features(points.s)


def test_squared_differences_are_packed_by_rows_of_the_lower_triangle() -> None:
    x = np.random.default_rng(0).random((5, 3))
    expected = [[(x[i, a] - x[j, a]) ** 2 for i in range(5) for j in range(i)] for a in range(3)]
    np.testing.assert_allclose(squared_differences(x), expected, rtol=1e-14)


@pytest.mark.parametrize("dimensions", [1, 4])
def test_matern_agrees_with_scikit_learn(dimensions: int) -> None:
    rng = np.random.default_rng(1)
    left, right = rng.random((7, dimensions)), rng.random((5, dimensions))
    scales = np.exp(rng.normal(size=dimensions))
    expected = Matern(length_scale=scales, nu=2.5)(left, right)
    np.testing.assert_allclose(matern52(left, right, 1.0 / scales), expected, rtol=1e-12)


@pytest.mark.parametrize("form", FabolasForm)
def test_marginal_likelihood_on_one_level_agrees_with_scikit_learn(form: FabolasForm) -> None:
    """At s~ = 1 phi^T Sigma phi is a constant: L11^2 for a quality, (L11 + L21)^2 + L22^2 for a cost."""
    points = scattered(2, 20, 3, levels=(1.0,))
    y = np.sin(4.0 * points.x.sum(axis=1))
    theta = likely_theta(3, 3)[0]
    l11, l21, l22 = np.exp(theta[3]), theta[4], np.exp(theta[5])
    amplitude = (l11 + l21) ** 2 + l22**2 if form is FabolasForm.COST else l11**2
    kernel = ConstantKernel(amplitude) * Matern(length_scale=np.exp(theta[:3]), nu=2.5)
    oracle = GaussianProcessRegressor(kernel, alpha=np.exp(theta[6]) + 1e-8, optimizer=None).fit(points.x, y)
    squares, phi = compiled_arguments(points, form)
    assert log_marginal_likelihood(theta, squares, phi, y) == pytest.approx(oracle.log_marginal_likelihood_value_)


@pytest.mark.parametrize("form", FabolasForm)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_marginal_likelihood_on_several_levels_agrees_with_the_dense_one(seed: int, form: FabolasForm) -> None:
    points = scattered(seed, 25, 2)
    y = np.random.default_rng(seed).standard_normal(25)
    theta = likely_theta(seed, 2)[0]
    squares, phi = compiled_arguments(points, form)
    expected = DenseGp(theta, points, y, form).log_marginal_likelihood()
    assert log_marginal_likelihood(theta, squares, phi, y) == pytest.approx(expected, rel=1e-9)


def test_a_covariance_that_is_not_positive_definite_has_no_likelihood() -> None:
    points = scattered(0, 4, 1)
    squares, phi = compiled_arguments(points, FabolasForm.QUALITY)
    theta = np.array([0.0, 300.0, 0.0, 0.0, -800.0])  # an amplitude whose square swallows noise and jitter
    assert log_marginal_likelihood(theta, np.zeros_like(squares), phi, np.zeros(4)) == -np.inf


def test_density_is_likelihood_times_normal_priors() -> None:
    points = scattered(4, 12, 2)
    y = np.random.default_rng(4).standard_normal(12)
    prior = NormalPriors(np.linspace(-1.0, 1.0, 6), np.linspace(0.5, 2.0, 6))
    squares, phi = compiled_arguments(points, FabolasForm.QUALITY)

    def expected(theta: FloatArray) -> float:
        return DenseGp(theta, points, y, FabolasForm.QUALITY).log_marginal_likelihood() + float(
            norm(prior.mean, prior.sd).logpdf(theta).sum()
        )

    one, other = likely_theta(5, 2, members=2)
    difference = log_density(one, squares, phi, y, prior) - log_density(other, squares, phi, y, prior)
    assert difference == pytest.approx(expected(one) - expected(other), rel=1e-9)


@pytest.mark.parametrize("lowest", [-1.5, 0.2, 0.8, 5.0])
def test_truncated_normal_draws_follow_their_distribution(lowest: float) -> None:
    rng = np.random.default_rng(6)
    draws = np.array([_truncated_normal(lowest, rng) for _ in range(4000)])
    assert draws.min() >= lowest
    assert kstest(draws, truncnorm(lowest, np.inf).cdf).pvalue > 0.01


@pytest.mark.parametrize("lowest", [-9.0, 0.0, 3.0, 29.9, 30.1, 80.0])
def test_upper_tail_probabilities_do_not_underflow(lowest: float) -> None:
    assert _log_upper_tail(lowest) == pytest.approx(norm.logsf(lowest), rel=2e-5, abs=1e-18)


def test_imputation_samples_the_truncated_normal() -> None:
    """Two correlated censored targets and a measured one, against rejection sampling of the dense conditional."""
    points = Points(np.array([[0.0], [0.15], [0.4]]), np.ones(3))
    theta = np.array([-0.5, 0.0, 0.0, -1.0, -2.0])
    bounds, censored = np.array([0.2, 0.3, -0.8]), np.array([True, True, False])
    covariance = DenseGp(theta, points, bounds, FabolasForm.QUALITY).observed_covariance
    gain = covariance[:2, 2] / covariance[2, 2]
    rng = np.random.default_rng(7)
    conditional = covariance[:2, :2] - np.outer(gain, covariance[2, :2])
    expected = rng.multivariate_normal(gain * bounds[2], conditional, size=400_000)
    expected = expected[(expected >= bounds[:2]).all(axis=1)]
    squares, phi = compiled_arguments(points, FabolasForm.QUALITY)
    y = bounds.copy()
    chain = np.empty((20_000, 3))
    for sweep in range(len(chain)):
        _impute_at(theta, squares, phi, y, bounds, censored, rng)
        chain[sweep] = y
    assert (chain[:, 2] == bounds[2]).all()
    assert (chain[:, :2] >= bounds[:2]).all()
    np.testing.assert_allclose(chain[100:, :2].mean(axis=0), expected.mean(axis=0), rtol=0.02)
    np.testing.assert_allclose(np.cov(chain[100:, :2].T), np.cov(expected.T), rtol=0.12, atol=0.002)


def chain_of(
    points: Points, y: FloatArray, prior: NormalPriors, sweeps: int, censored: BoolArray | None = None
) -> tuple[FloatArray, FloatArray]:
    marks = np.zeros(len(y), dtype=np.bool_) if censored is None else censored
    data = FabolasData(*compiled_arguments(points, FabolasForm.QUALITY), y, marks)
    theta, targets = sample_hyperparameters(data, prior, Schedule(100, sweeps, 1), np.random.default_rng(8))
    return theta, targets


def test_without_data_the_slice_sampler_draws_from_the_prior() -> None:
    prior = NormalPriors(np.array([0.5, -1.0, 0.0, 2.0, -7.0]), np.array([1.0, 0.7, 0.3, 2.0, 2.0]))
    theta, _ = chain_of(Points(np.empty((0, 1)), np.empty(0)), np.empty(0), prior, 12_000)
    standard = (theta - prior[0]) / prior[1]
    np.testing.assert_allclose(standard.mean(axis=0), 0.0, atol=0.05)  # some five standard errors
    np.testing.assert_allclose(standard.std(axis=0), 1.0, atol=0.05)
    np.testing.assert_allclose(np.corrcoef(standard.T), np.eye(5), atol=0.06)
    assert all(kstest(column, norm.cdf).pvalue > 0.001 for column in standard[::6].T)


def test_the_slice_sampler_agrees_with_numerical_integration() -> None:
    """Two free hyper-parameters (length-scale and noise), the others pinned by their priors."""
    points = scattered(9, 10, 1, levels=(1.0,))
    y = np.sin(5.0 * points.x[:, 0]) + 0.2 * np.random.default_rng(9).standard_normal(10)
    mean, sd = np.array([-0.5, 0.0, 0.0, 0.0, -3.0]), np.array([1.0, 1e-7, 1e-7, 1e-7, 1.5])
    scales, noises = np.linspace(-4.0, 3.5, 90), np.linspace(-10.0, 3.0, 90)
    density = norm(mean[0], sd[0]).logpdf(scales)[:, None] + norm(mean[4], sd[4]).logpdf(noises)[None, :]
    for i, scale in enumerate(scales):
        values, vectors = np.linalg.eigh(Matern(length_scale=np.exp(scale), nu=2.5)(points.x))
        spectrum = values[:, None] + np.exp(noises)[None, :] + 1e-8
        density[i] -= 0.5 * (np.square(vectors.T @ y)[:, None] / spectrum + np.log(spectrum)).sum(axis=0)
    weights = np.exp(density - density.max())
    weights /= weights.sum()
    of_scale, of_noise = weights.sum(axis=1), weights.sum(axis=0)
    theta, _ = chain_of(points, y, NormalPriors(mean, sd), 12_000)
    for column, grid, marginal in ((0, scales, of_scale), (4, noises, of_noise)):
        expected = float(marginal @ grid)
        spread = float(np.sqrt(marginal @ (grid - expected) ** 2))
        assert theta[:, column].mean() == pytest.approx(expected, abs=0.08 * spread)
        assert theta[:, column].std() == pytest.approx(spread, rel=0.08)


def test_each_kept_sample_has_its_own_imputation() -> None:
    points = scattered(10, 12, 1)
    y = points.x[:, 0].copy()
    censored = np.arange(12) % 3 == 0
    prior = NormalPriors(np.array([0.0, 0.0, 0.0, -0.5, -4.0]), np.ones(5))
    _, targets = chain_of(points, y, prior, 50, censored)
    assert (targets[:, ~censored] == y[~censored]).all()
    assert (targets[:, censored] >= y[censored]).all()
    assert (np.ptp(targets[:, censored], axis=0) > 0.0).all()
