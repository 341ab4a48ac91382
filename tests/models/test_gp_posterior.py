"""Parts of the posterior that are hardly seen through the model: runs of equal rows, levels, singular factors."""

import numpy as np
import pytest

from leantune.models.base import Points
from leantune.models.gp_posterior import FabolasForm, FabolasMember, run_starts, stable_cholesky


def test_runs_of_equal_rows() -> None:
    x = np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 2.0], [0.0, 1.0]])
    assert run_starts(x).tolist() == [0, 2, 3]
    assert run_starts(x[:1]).tolist() == [0]
    assert run_starts(x[:0]).tolist() == []


@pytest.mark.parametrize("form", FabolasForm)
def test_the_covariance_of_a_grid_is_that_of_its_points_one_by_one(form: FabolasForm) -> None:
    rng = np.random.default_rng(0)
    observed = Points(rng.random((5, 3)), rng.random(5))
    theta = np.array([0.1, -0.4, 0.3, 0.2, 0.5, -0.6, -3.0])
    member = FabolasMember(theta, observed, rng.standard_normal(5), form)
    grid = Points(np.repeat(rng.random((4, 3)), 3, axis=0), np.tile([0.0, 0.5, 1.0], 4))
    whole = member.covariance(observed, grid)
    single = [member.covariance(observed, grid.take(np.array([i])))[:, 0] for i in range(len(grid))]
    np.testing.assert_allclose(whole, np.stack(single, axis=1), rtol=1e-13)


def test_levels_of_qualities_and_of_costs() -> None:
    s = np.array([0.0, 0.5, 1.0])
    np.testing.assert_array_equal(FabolasForm.QUALITY.level_features(s), [[1, 1], [1, 0.25], [1, 0]])
    np.testing.assert_array_equal(FabolasForm.COST.level_features(s), [[1, 0], [1, 0.5], [1, 1]])


def test_singular_covariances_get_the_smallest_sufficient_jitter() -> None:
    singular = np.ones((3, 3))
    factor = stable_cholesky(singular)
    np.testing.assert_allclose(factor @ factor.T, singular, atol=1e-6)
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        stable_cholesky(np.array([[1.0, 2.0], [2.0, 1.0]]))


@pytest.mark.parametrize("rows", [[2], [0, 3, 6]])
@pytest.mark.parametrize("form", FabolasForm)
def test_what_is_left_out_is_as_if_it_had_never_been_observed(form: FabolasForm, rows: list[int]) -> None:
    rng = np.random.default_rng(1)
    x, s, targets = rng.random((7, 2)), rng.random(7), rng.standard_normal(7)
    x[rows], s[rows] = x[rows[0]], s[rows[0]]
    theta, kept = np.array([0.1, -0.4, 0.2, 0.5, -0.6, -3.0]), np.setdiff1d(np.arange(7), rows)
    points = Points(x, s)
    rest = FabolasMember(theta, points.take(kept), targets[kept], form).condition(points.take(np.array(rows[:1])))
    mean, variance = FabolasMember(theta, points, targets, form).left_out(np.array(rows))
    assert mean == pytest.approx(rest.mean[0], rel=1e-8)
    assert variance == pytest.approx(rest.variance[0], rel=1e-8)
