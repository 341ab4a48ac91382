"""Transforms against sampling: what a normal belief about y says of the metric."""

from typing import get_args

import numpy as np
import pytest
from scipy.stats import norm

from leantune.arrays import FloatArray
from leantune.models.base import Gaussian
from leantune.models.scales import SHARE_FLOOR, Kind, Transform

EVERY = [Transform(kind, descending) for kind in get_args(Kind) for descending in (False, True)]


def back(transform: Transform, y: FloatArray) -> FloatArray:
    """The metric of a modelled y, by the table of the module's docstring."""
    if transform.kind == "linear":
        return -y if transform.descending else y
    if transform.kind == "log":
        return np.exp(-y if transform.descending else y)
    if transform.kind == "logit":
        return 1.0 / (1.0 + np.exp(y if transform.descending else -y))
    return np.exp(-y) if transform.descending else 1.0 - np.exp(-y)


@pytest.mark.parametrize("transform", EVERY, ids=str)
def test_forward_is_undone_by_the_way_back(transform: Transform) -> None:
    values = np.array([0.05, 0.3, 0.9])
    np.testing.assert_allclose(back(transform, transform.forward(values)), values, rtol=1e-12)


@pytest.mark.parametrize("transform", EVERY, ids=str)
def test_larger_is_better_after_forward(transform: Transform) -> None:
    y = transform.forward(np.array([0.05, 0.3, 0.9]))
    assert (np.diff(-y if transform.descending else y) > 0).all()


def test_shares_are_floored() -> None:
    assert Transform("share").forward(np.array([1.0]))[0] == pytest.approx(-np.log(SHARE_FLOOR))
    assert Transform("share", descending=True).forward(np.array([0.0]))[0] == pytest.approx(-np.log(SHARE_FLOOR))


@pytest.mark.parametrize("transform", EVERY, ids=str)
@pytest.mark.parametrize(("mean", "sd"), [(1.2, 0.1), (0.8, 0.5)])
def test_expectation_and_deviation_agree_with_sampling(transform: Transform, mean: float, sd: float) -> None:
    """The belief must keep shares within [0, 1] for the closed form to be exact: it does nearly, here."""
    metric = back(transform, np.random.default_rng(0).normal(mean, sd, 400_000))
    belief = Gaussian(np.array([mean]), np.array([sd]))
    assert transform.expectation(belief)[0] == pytest.approx(metric.mean(), rel=0.005)
    # first order in sd: 13 % short at sd = 0.5
    assert transform.deviation(belief)[0] == pytest.approx(metric.std(), rel=0.01 if sd < 0.2 else 0.15)


def test_expected_shares_stay_shares() -> None:
    hopeless = Gaussian(np.array([-1.0, 0.1, 8.0]), np.array([0.1, 3.0, 0.1]))
    ascending, descending = (Transform("share", turned).expectation(hopeless) for turned in (False, True))
    np.testing.assert_allclose(ascending[:2], 0.0)
    np.testing.assert_allclose(descending[:2], 1.0)
    assert ascending[2] == pytest.approx(1.0 - np.exp(-8.0 + 0.005))


def test_an_uncertain_log_does_not_overflow() -> None:
    wild = Gaussian(np.array([1.0]), np.array([1e3]))
    assert np.isfinite(Transform("log").expectation(wild)).all()
    assert np.isfinite(Transform("log", descending=True).expectation(wild)).all()


def test_merit_of_a_share_is_its_expected_goodness() -> None:
    belief = Gaussian(np.array([1.0]), np.array([0.2]))
    rest = np.exp(-1.0 + 0.02)
    assert Transform("share").merit(belief, 9.0, 9.0)[0] == pytest.approx(1.0 - rest)
    assert Transform("share", descending=True).merit(belief, 9.0, 9.0)[0] == pytest.approx(1.0 - rest)


@pytest.mark.parametrize("kind", ["linear", "log"])
@pytest.mark.parametrize("descending", [False, True])
def test_merit_of_others_is_a_rank_among_the_observations(kind: Kind, descending: bool) -> None:
    """Y is oriented already: a belief above the centre of the observations is good whichever way the goal points."""
    belief = Gaussian(np.array([2.0, 5.0]), np.array([0.7, 0.1]))
    expected = norm(loc=3.0, scale=2.0).cdf(belief.mean)
    np.testing.assert_allclose(Transform(kind, descending).merit(belief, 3.0, 2.0), expected)
