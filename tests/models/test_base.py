"""Points, data, quadrature."""

import numpy as np
import pytest

from leantune.models.base import Data, Points, Roots


def test_points_refuse_mismatched_shapes() -> None:
    with pytest.raises(ValueError, match=r"x \[n, d\] and s \[n\]"):
        Points(np.zeros((3, 2)), np.zeros(2))
    with pytest.raises(ValueError, match=r"x \[n, d\]"):
        Points(np.zeros(3), np.zeros(3))


def test_points_are_taken_and_joined_row_by_row() -> None:
    points = Points(np.arange(6.0).reshape(3, 2), np.array([0.0, 0.5, 1.0]))
    swapped = points.take(np.array([2, 0]))
    joined = swapped.followed_by(points.take(np.array([1])))
    assert len(joined) == 3
    assert joined.x.tolist() == [[4.0, 5.0], [0.0, 1.0], [2.0, 3.0]]
    assert joined.s.tolist() == [1.0, 0.0, 0.5]


def test_measured_data_are_not_censored() -> None:
    data = Data.measured(Points(np.zeros((2, 1)), np.ones(2)), np.array([1.0, 2.0]))
    assert len(data) == 2
    assert data.censored.dtype == np.bool_
    assert not data.censored.any()
    assert not data.bounds_above


def test_one_root_is_the_mean_itself() -> None:
    roots = Roots.of(1)
    assert roots.z.tolist() == [0.0]
    assert roots.w.tolist() == [1.0]


@pytest.mark.parametrize("count", [1, 2, 3, 5, 9])
def test_roots_integrate_polynomials_under_the_standard_normal(count: int) -> None:
    """K roots are exact up to degree 2 K - 1: E[z^p] = (p - 1)!! for even p, 0 for odd."""
    roots = Roots.of(count)
    moment = 1.0
    for power in range(2 * count):
        expected = 0.0
        if power % 2 == 0:
            moment *= max(power - 1, 1)
            expected = moment
        # odd moments cancel between large terms: compare on the scale of the terms
        scale = max(1.0, float(roots.w @ np.abs(roots.z) ** power))
        assert float(roots.w @ roots.z**power) == pytest.approx(expected, rel=1e-10, abs=1e-10 * scale)
    assert float(roots.w @ roots.z ** (2 * count)) != pytest.approx(moment * (2 * count - 1), rel=1e-6)
