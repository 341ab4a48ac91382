"""Who would be recommended, now and after a simulated test."""

from dataclasses import replace

import numpy as np
import pytest

from leantune.acquisition.base import Pairs, Requirement
from leantune.acquisition.incumbents import choose, present_incumbent, simulated_incumbents
from leantune.models.base import Roots
from tests.acquisition.enumeration import (
    beliefs_at_full,
    best_of,
    incumbents_after,
    models_of,
)
from tests.acquisition.small_world import FITTERS, all_pairs, at_least, fitted_world


def test_the_best_of_the_qualified_or_the_largest_product() -> None:
    merit = np.array([[0.9, 0.5, 0.7], [0.9, 0.5, 0.7]])
    feasibility = np.array([[0.1, 1.0, 0.95], [0.1, 0.8, 0.5]])
    qualified = np.array([[False, True, True], [False, False, False]])
    chosen, any_qualified = choose(merit, feasibility, qualified)
    assert chosen.tolist() == [2, 1]
    assert any_qualified.tolist() == [True, False]


def test_a_worthless_but_qualified_configuration_beats_an_unqualified_one() -> None:
    chosen, _ = choose(np.array([0.0, 0.9]), np.array([1.0, 0.5]), np.array([True, False]))
    assert int(chosen) == 0


@pytest.mark.parametrize("name", FITTERS)
@pytest.mark.parametrize("probability", [0.2, 0.9, 0.999999])
def test_present_incumbent_agrees_with_enumeration(name: str, probability: float) -> None:
    for seed in range(6):
        belief = fitted_world(FITTERS[name], seed=seed)
        belief = replace(belief, requirements=(Requirement(belief.limits, probability),))
        among = [0, 2, 3, 5]
        expected = best_of(belief, {c: beliefs_at_full(belief, models_of(belief), c) for c in among})
        assert present_incumbent(belief, np.array(among)) == (expected.configuration, expected.qualified)


@pytest.mark.parametrize("name", FITTERS)
@pytest.mark.parametrize("roots", [1, 2])
def test_simulated_incumbents_agree_with_enumeration(name: str, roots: int) -> None:
    """Limits on three quantities, the objective among them; one requirement with its own probability."""
    belief = fitted_world(FITTERS[name], seed=2)
    dollars, latency = belief.limits
    accurate = at_least(0, -np.log(1.0 - 0.55), 6)
    requirements = (Requirement((dollars,), 0.95), Requirement((latency, accurate), 0.4))
    belief = replace(belief, limits=(dollars, latency, accurate), requirements=requirements)
    pairs = all_pairs(belief)
    found = list(simulated_incumbents(belief, pairs, Roots.of(roots)))
    assert sum(after.weight for after in found) == pytest.approx(1.0)
    assert len(found) == roots**3
    outcomes = set()
    for b in range(len(pairs)):
        pair = (int(pairs.configuration[b]), int(pairs.level[b]))
        for after, expected in zip(found, incumbents_after(belief, pair, Roots.of(roots), list(range(6))), strict=True):
            assert after.weight == pytest.approx(expected.weight)
            assert after.merit[b] == pytest.approx(expected.accuracy, rel=1e-6)
            assert after.feasibility[b] == pytest.approx(expected.feasibility, rel=1e-5, abs=1e-9)
            outcomes.add((expected.configuration, expected.qualified))
    assert roots == 1 or len(outcomes) > 1  # the tests matter; one root leaves the means of a process as they are


def test_quantities_without_limits_are_left_alone() -> None:
    belief = fitted_world(FITTERS["gp"])
    free = replace(belief, limits=belief.limits[:1], requirements=(Requirement(belief.limits[:1], 0.9),))
    assert len(list(simulated_incumbents(free, Pairs(np.array([0]), np.array([0])), Roots.of(3)))) == 9
