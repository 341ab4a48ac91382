"""p_opt, path-wise conditioning and information gain of the Gaussian process, against brute force."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

from leantune.arrays import FloatArray
from leantune.models.base import Points, Roots, SingleArray
from leantune.models.gp import GaussianProcess
from leantune.models.gp_posterior import FabolasForm
from leantune.models.paths import SamplePaths
from tests.models.dense_gp import DenseGp, likely_theta, scattered

FULL = Points(np.linspace(0.0, 1.0, 7)[:, None], np.ones(7))


def fitted(members: int = 1, noise: float = -4.0, form: FabolasForm = FabolasForm.QUALITY) -> GaussianProcess:
    points = scattered(0, 4, 1)
    theta = likely_theta(1, 1, members)
    theta[:, 4] = noise
    y = np.sin(4.0 * points.x[:, 0]) - points.s
    return GaussianProcess(points, np.repeat(y[None, :], members, axis=0), theta, form, 0.0, 1.0)


def dense(model: GaussianProcess, member: int = 0) -> DenseGp:
    assert isinstance(model.form, FabolasForm)
    return DenseGp(model.theta[member], model.points, model.targets[member], model.form)


def brute_probability(oracle: DenseGp, at: Points, samples: int, seed: int) -> FloatArray:
    """Share of joint posterior samples in which each point is the largest."""
    mean, covariance = oracle.posterior(at)
    draws = np.random.default_rng(seed).multivariate_normal(mean, covariance, size=samples)
    return np.bincount(draws.argmax(axis=1), minlength=len(at)) / samples


def divergence_of(probability: FloatArray) -> float:
    """KL(p || uniform)."""
    return float(sum(p * np.log(p * len(probability)) for p in probability if p > 0))


@pytest.mark.parametrize("form", FabolasForm)
def test_p_opt_agrees_with_sampling_the_dense_joint_posterior(form: FabolasForm) -> None:
    model = fitted(members=2, form=form)
    expected = np.mean([brute_probability(dense(model, h), FULL, 100_000, h) for h in range(2)], axis=0)
    samples = 20_000
    found = model.optimum(FULL, samples, seed=3).probability
    assert found.sum() == pytest.approx(1.0)
    error = np.sqrt(expected * (1.0 - expected) / samples)
    assert (np.abs(found - expected) <= 4.0 * error + 2e-3).all()
    assert np.count_nonzero(expected > 0.02) >= 3  # the question has no trivial answer


def test_divergence_is_that_of_the_probability() -> None:
    optimum = fitted().optimum(FULL, 500, seed=4)
    assert optimum.divergence == pytest.approx(divergence_of(optimum.probability), rel=1e-9)


def test_divergences_are_averaged_over_members() -> None:
    model = fitted(members=3)
    tests, roots = scattered(2, 4, 1), Roots.of(3)
    now, after = [], []
    for h in range(3):
        alone = GaussianProcess(model.points, model.targets[h : h + 1], model.theta[h : h + 1], model.form, 0.0, 1.0)
        optimum = alone.optimum(FULL, 300, seed=5)
        now.append(optimum.divergence)
        after.append(optimum.expected_divergence(tests, roots))
    together = model.optimum(FULL, 300, seed=5)
    assert together.divergence == pytest.approx(np.mean(now))
    np.testing.assert_allclose(together.expected_divergence(tests, roots), np.mean(after, axis=0))
    assert np.ptp(now) > 0.0


def loosely_fitted(spread: float, form: FabolasForm) -> GaussianProcess:
    """Two observations, much noise, and a difference between the levels that full data cannot explain: every term of
    the conditioning formula has weight.
    """
    theta = np.array([[-1.0, 0.2, 0.3, 0.0, -1.0]])
    points = Points(np.array([[0.0], [0.9]]), np.array([1.0, 0.0]))
    return GaussianProcess(points, np.array([[0.7, -0.4]]), theta, form, 0.0, spread)


@pytest.mark.parametrize("candidate", [Points(np.array([[0.37]]), np.array([0.0])), FULL.take(np.array([2]))])
@pytest.mark.parametrize("spread", [2.0, -2.0])
@pytest.mark.parametrize("form", FabolasForm)
def test_path_wise_conditioning_samples_the_conditioned_posterior(
    candidate: Points, spread: float, form: FabolasForm, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mean and covariance of the moved paths, as handed to the kernel, against the dense posterior given y."""
    model = loosely_fitted(spread, form)
    optimum = model.optimum(FULL, 60_000, seed=6)
    moved: list[SingleArray] = []

    def spy(paths: SamplePaths, directions: SingleArray, amplitudes: SingleArray) -> FloatArray:
        moved.append(paths.values + directions[0][:, None] * amplitudes[0][None, :])
        return np.zeros(len(directions))

    monkeypatch.setattr(SamplePaths, "after", spy)
    roots = Roots.of(3)
    optimum.expected_divergence(candidate, roots)
    oracle, sign = dense(model), np.sign(spread)
    mean, variance = oracle.posterior(candidate)
    for paths, z in zip(moved, roots.z, strict=True):
        y = mean + z * np.sqrt(variance[0] + oracle.noise)
        expected_mean, expected_covariance = oracle.given(candidate, y).posterior(FULL)
        largest = float(expected_covariance.diagonal().max())
        np.testing.assert_allclose(paths.mean(axis=1), sign * expected_mean, atol=0.02 * np.sqrt(largest))
        np.testing.assert_allclose(np.cov(paths), expected_covariance, atol=0.02 * largest)


def test_a_test_independent_of_the_optimum_gains_exactly_nothing() -> None:
    """Far away under a short length-scale; the random numbers are shared, so there is no noise either."""
    points = Points(np.array([[0.0], [1.0]]), np.ones(2))
    theta = np.array([[-6.0, 0.0, 0.0, -1.0, -4.0]])  # a length-scale of 0.0025
    model = GaussianProcess(points, np.zeros((1, 2)), theta, FabolasForm.QUALITY, 0.0, 1.0)
    at = Points(np.array([[0.1], [0.2], [0.3]]), np.ones(3))
    optimum = model.optimum(at, 200, seed=7)
    far, near = Points(np.array([[0.8]]), np.ones(1)), at.take(np.array([1]))
    assert optimum.expected_divergence(far, Roots.of(3))[0] == pytest.approx(optimum.divergence, abs=1e-15)
    assert optimum.expected_divergence(near, Roots.of(3))[0] > optimum.divergence + 0.05


def test_informative_tests_gain_on_average() -> None:
    gains: list[float] = []
    for seed in range(20):
        points, theta = scattered(seed, 4, 2), likely_theta(seed, 2, members=2)
        y = np.random.default_rng(seed).standard_normal(4)
        model = GaussianProcess(points, np.repeat(y[None, :], 2, axis=0), theta, FabolasForm.QUALITY, 0.0, 1.0)
        at = scattered(100 + seed, 10, 2, levels=(1.0,))
        optimum = model.optimum(at, 200, seed)
        gains.extend(optimum.expected_divergence(at, Roots.of(3)) - optimum.divergence)
    assert np.mean(gains) > 5.0 * np.std(gains) / np.sqrt(len(gains))


def brute_gain(oracle: DenseGp, candidate: Points, at: Points, seed: int) -> float:
    """Outcomes drawn at random, the posterior recomputed for each, p_opt sampled anew with many samples."""
    rng = np.random.default_rng(seed)
    mean, variance = oracle.posterior(candidate)
    outcomes = mean + np.sqrt(variance[0] + oracle.noise) * rng.standard_normal(60)
    after = [
        divergence_of(brute_probability(oracle.given(candidate, np.array([y])), at, 4000, int(rng.integers(2**31))))
        for y in outcomes
    ]
    return float(np.mean(after)) - divergence_of(brute_probability(oracle, at, 40_000, seed))


def test_gain_ranks_candidates_as_brute_force_does() -> None:
    model = fitted(noise=-3.0)
    candidates = Points(np.tile(np.linspace(0.05, 0.95, 6), 3)[:, None], np.repeat([0.0, 0.4, 1.0], 6))
    optimum = model.optimum(FULL, 400, seed=8)
    gains = optimum.expected_divergence(candidates, Roots.of(5)) - optimum.divergence
    reference = [brute_gain(dense(model), candidates.take(np.array([b])), FULL, b) for b in range(len(candidates))]
    correlation: Any = spearmanr(gains, reference).statistic
    assert correlation >= 0.8
    np.testing.assert_allclose(gains, reference, atol=0.12)
