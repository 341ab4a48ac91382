"""Information gain: differenced, clipped, and exactly nothing where nothing is to be learned."""

import numpy as np
import pytest

from leantune.acquisition.base import Conditions, Pairs, Quantity
from leantune.acquisition.entropy import InformationGain
from leantune.models.base import Points, Roots
from leantune.models.gp import GaussianProcess
from leantune.models.gp_posterior import FabolasForm
from leantune.models.scales import Transform
from tests.acquisition.small_world import FITTERS, all_pairs, belief_of, fitted_world

CONDITIONS = Conditions()


@pytest.mark.parametrize("name", FITTERS)
def test_gain_is_the_expected_divergence_less_the_present_one(name: str) -> None:
    belief = fitted_world(FITTERS[name])
    pairs = all_pairs(belief)
    points = belief.candidates.points(pairs)
    optimum = belief.objective.model.optimum(belief.candidates.at_full(np.arange(6)), 100, 0)
    expected = optimum.expected_divergence(points, Roots.of(5))
    undifferenced = InformationGain(roots=5, samples=100, differenced=False).values(belief, pairs, CONDITIONS)
    np.testing.assert_allclose(undifferenced, expected, rtol=1e-12)
    gain = InformationGain(roots=5, samples=100).values(belief, pairs, CONDITIONS)
    np.testing.assert_allclose(gain, np.maximum(expected - optimum.divergence, 0.0), atol=1e-12)
    assert gain.max() > 0.0


@pytest.mark.parametrize("name", FITTERS)
def test_informative_pairs_gain_on_average(name: str) -> None:
    gains = []
    for seed in range(8):
        belief = fitted_world(FITTERS[name], seed=seed)
        optimum = belief.optimum(6, 200, seed)
        gains.append(optimum.expected_divergence(belief.candidates.points(all_pairs(belief)), Roots.of(3)).mean())
        gains[-1] -= optimum.divergence
    assert np.mean(gains) > 0.02


def test_only_representers_are_asked_where_the_optimum_lies() -> None:
    belief, conditions = fitted_world(FITTERS["gp"]), Conditions(representers=2)
    at = belief.candidates.at_full(belief.optimum_at(2))
    expected = belief.objective.model.optimum(at, 50, 0).expected_divergence(at, Roots.of(3))
    pairs = belief.candidates.full_pairs(belief.optimum_at(2))
    assert (InformationGain(samples=50, differenced=False).values(belief, pairs, conditions) == expected).all()
    assert len(belief.optimum_at(2)) == 2


def test_rounding_is_no_gain() -> None:
    """Independent of every other configuration: the gain is zero, not 1e-19, or it would decide ties per dollar."""
    theta = np.array([[-6.0, 0.0, 0.0, -1.0, -4.0]])  # a length-scale of 0.0025
    model = GaussianProcess(
        Points(np.array([[0.0]]), np.ones(1)), np.zeros((1, 1)), theta, FabolasForm.QUALITY, 0.0, 1.0
    )
    x = np.array([[0.1], [0.2], [0.3], [0.9]])
    belief = belief_of(Quantity("score", model, Transform("linear")), x=x)
    assert belief.optimum_at(3).tolist() == [0, 1, 2]
    for roots in (1, 2, 3, 5):
        gain = InformationGain(roots).values(
            belief, Pairs(np.array([3, 0]), np.array([1, 1])), Conditions(representers=3)
        )
        assert gain[0] == 0.0
        assert gain[1] > 0.0 or roots == 1
