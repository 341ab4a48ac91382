"""Parts of the posterior that are hardly seen through the model: runs of equal rows, levels, singular factors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leantune.arrays import FloatArray
from leantune.models.base import Points
from leantune.models.gp_posterior import (
    FABOLAS_COST,
    FABOLAS_QUALITY,
    Basis,
    Form,
    PowerMember,
    run_starts,
    stable_cholesky,
)


def test_runs_of_equal_rows() -> None:
    x = np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 2.0], [0.0, 1.0]])
    assert run_starts(x).tolist() == [0, 2, 3]
    assert run_starts(x[:1]).tolist() == [0]
    assert run_starts(x[:0]).tolist() == []


POWER = Form(Basis.POWER, roughness=0.8, log_range=3.0)
THETA = np.array([0.1, -0.4, 0.3, 0.2, 0.5, -0.6, -3.0])


@pytest.mark.parametrize(("form", "theta"), [(FABOLAS_QUALITY, THETA), (POWER, np.append(THETA, -0.8))])
def test_the_covariance_of_a_grid_is_that_of_its_points_one_by_one(form: Form, theta: FloatArray) -> None:
    rng = np.random.default_rng(0)
    observed = Points(rng.random((5, 3)), rng.random(5))
    member = PowerMember(theta, observed, rng.standard_normal(5), form)
    grid = Points(np.repeat(rng.random((4, 3)), 3, axis=0), np.tile([0.0, 0.5, 1.0], 4))
    whole = member.covariance(observed, grid)
    single = [member.covariance(observed, grid.take(np.array([i])))[:, 0] for i in range(len(grid))]
    np.testing.assert_allclose(whole, np.stack(single, axis=1), rtol=1e-13)


def test_levels_of_qualities_and_of_costs() -> None:
    s = np.array([0.0, 0.5, 1.0])
    np.testing.assert_array_equal(FABOLAS_QUALITY.level_features(s), [[1, 1], [1, 0.25], [1, 0]])
    np.testing.assert_array_equal(FABOLAS_COST.level_features(s), [[1, 0], [1, 0.5], [1, 1]])


def test_powers_of_the_share_are_lines_in_its_logarithm() -> None:
    shares = np.array([1 / 64, 1 / 8, 1.0])
    form = Form(Basis.POWER, log_range=np.log(64.0))
    level = 1.0 + np.log(shares) / np.log(64.0)  # s~, as problems encode the shares
    np.testing.assert_allclose(form.slope_feature(level), -np.log(shares), atol=1e-15)
    assert form.level_features(level)[:, 0].tolist() == [1.0, 1.0, 1.0]
    single = Form(Basis.POWER, log_range=0.0)
    assert single.slope_feature(np.ones(1)).tolist() == [0.0]


@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_a_configuration_knows_its_own_irregularity_and_nobody_elses(seed: int, dimensions: int) -> None:
    """Equal pairs are found however the features round, whatever the length-scales; others never are."""
    rng = np.random.default_rng(seed)
    x = rng.random((6, dimensions))
    theta = np.concatenate([rng.normal(0.5, 1.0, dimensions), [0.1, 0.0, -1.0, -2.0]])
    points = Points(np.repeat(x, 2, axis=0), np.tile([0.25, 1.0], 6))
    rough, smooth = (PowerMember(theta, points, np.zeros(12), Form(Basis.POWER, share, 2.0)) for share in (0.75, 0.0))
    again = Points(points.x.copy()[::-1], points.s[::-1])
    difference = rough.covariance(points, again) - smooth.covariance(points, again)
    np.testing.assert_allclose(difference, 0.75 * np.exp(-2.0) * np.eye(12)[::-1], atol=1e-12)
    assert rough.noise == pytest.approx(0.25 * np.exp(-2.0) + 1e-8)
    np.testing.assert_allclose(rough.prior_variance(points.s), rough.covariance(points, points).diagonal(), rtol=1e-12)


def test_singular_covariances_get_the_smallest_sufficient_jitter() -> None:
    singular = np.ones((3, 3))
    factor = stable_cholesky(singular)
    np.testing.assert_allclose(factor @ factor.T, singular, atol=1e-6)
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        stable_cholesky(np.array([[1.0, 2.0], [2.0, 1.0]]))
