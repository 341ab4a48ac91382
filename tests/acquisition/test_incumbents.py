"""Who would be recommended, now and after a simulated test."""

from dataclasses import replace

import numpy as np
import pytest

from leantune.acquisition.base import Belief, Conditions, Pairs, RecommendationRule, Requirement
from leantune.acquisition.entropy import InformationGain
from leantune.acquisition.incumbents import (
    alpha_t,
    choose,
    constrained_entropy_search,
    present_incumbent,
    simulated_incumbents,
)
from leantune.arrays import FloatArray
from leantune.models.base import Roots
from tests.acquisition.enumeration import (
    beliefs_at_full,
    best_of,
    dollars_of,
    incumbents_after,
    models_of,
    point_of,
    probability_of,
)
from tests.acquisition.small_world import FITTERS, all_pairs, at_least, conditions_of, fitted_world

GAIN = InformationGain(samples=64)


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
        rule = RecommendationRule((Requirement(belief.limits, probability),))
        among = [0, 2, 3, 5]
        expected = best_of(belief, rule, {c: beliefs_at_full(belief, models_of(belief), c) for c in among})
        assert present_incumbent(belief, rule, np.array(among)) == (expected.configuration, expected.qualified)


@pytest.mark.parametrize("name", FITTERS)
@pytest.mark.parametrize("roots", [1, 2])
def test_simulated_incumbents_agree_with_enumeration(name: str, roots: int) -> None:
    """Limits on three quantities, the objective among them; one requirement with its own probability."""
    belief = fitted_world(FITTERS[name], seed=2)
    dollars, latency = belief.limits
    accurate = at_least(0, -np.log(1.0 - 0.55), 6)
    requirements = (Requirement((dollars,), 0.95), Requirement((latency, accurate), 0.4))
    belief = replace(belief, limits=(dollars, latency, accurate))
    conditions = Conditions(rule=RecommendationRule(requirements))
    pairs = all_pairs(belief)
    found = list(simulated_incumbents(belief, pairs, conditions, Roots.of(roots)))
    assert sum(after.weight for after in found) == pytest.approx(1.0)
    assert len(found) == roots**3
    outcomes = set()
    for b in range(len(pairs)):
        pair = (int(pairs.configuration[b]), int(pairs.level[b]))
        enumerated = incumbents_after(belief, conditions.rule, pair, Roots.of(roots), list(range(6)))
        for after, expected in zip(found, enumerated, strict=True):
            assert after.weight == pytest.approx(expected.weight)
            assert after.merit[b] == pytest.approx(expected.accuracy, rel=1e-6)
            assert after.feasibility[b] == pytest.approx(expected.feasibility, rel=1e-5, abs=1e-9)
            outcomes.add((expected.configuration, expected.qualified))
    assert roots == 1 or len(outcomes) > 1  # the tests matter; one root leaves the means of a process as they are


def test_quantities_without_limits_are_left_alone() -> None:
    belief = fitted_world(FITTERS["gp"])
    free = replace(belief, limits=belief.limits[:1])
    pair = Pairs(np.array([0]), np.array([0]))
    assert len(list(simulated_incumbents(free, pair, conditions_of(free), Roots.of(3)))) == 9


# TrimTuner: alpha_T against plain enumeration of its four steps


def enumerated(
    belief: Belief,
    conditions: Conditions,
    samples: int,
    incumbent_roots: int,
    among: list[int],
    *,
    differenced: bool = True,
) -> FloatArray:
    """Gain / C * E[prod p(q_i(x*, 1) >= 0)], pair by pair."""
    pairs = all_pairs(belief)
    at_full = belief.candidates.at_full(np.arange(len(belief.candidates.x)))
    optimum = belief.objective.model.optimum(at_full, samples, conditions.seed)
    values = []
    for configuration, level in zip(pairs.configuration.tolist(), pairs.level.tolist(), strict=True):
        point = point_of(belief, (configuration, level))
        gain = float(optimum.expected_divergence(point, Roots.of(3))[0]) - differenced * optimum.divergence
        after = incumbents_after(belief, conditions.rule, (configuration, level), Roots.of(incumbent_roots), among)
        feasible = sum(incumbent.weight * incumbent.feasibility for incumbent in after)
        values.append(max(gain, 0.0) / dollars_of(belief, point) * feasible)
    return np.array(values)


@pytest.mark.parametrize("name", FITTERS)
@pytest.mark.parametrize("roots", [1, 3])
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("differenced", [True, False])
def test_alpha_t_agrees_with_enumeration(name: str, roots: int, seed: int, differenced: bool) -> None:
    belief = fitted_world(FITTERS[name], seed=seed)
    conditions = conditions_of(belief)
    acquisition = alpha_t(InformationGain(samples=64, differenced=differenced), roots)
    found = acquisition.values(belief, all_pairs(belief), conditions)
    expected = enumerated(belief, conditions, 64, roots, list(range(6)), differenced=differenced)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-9)
    assert (found > 0.0).any() if differenced else (found > 0.0).all()


def test_alpha_t_with_several_requirements_and_probabilities_of_their_own() -> None:
    belief = fitted_world(FITTERS["gp"], seed=3)
    dollars, latency = belief.limits
    accurate = at_least(0, -np.log(1.0 - 0.5), 6)
    requirements = (Requirement((dollars,), 0.7), Requirement((latency,), 0.99), Requirement((accurate,), 0.3))
    belief = replace(belief, limits=(dollars, latency, accurate))
    conditions = replace(conditions_of(belief), rule=RecommendationRule(requirements))
    found = alpha_t(InformationGain(samples=64), 2).values(belief, all_pairs(belief), conditions)
    np.testing.assert_allclose(found, enumerated(belief, conditions, 64, 2, list(range(6))), rtol=1e-5, atol=1e-9)


def test_the_next_incumbent_is_sought_among_the_capped_ones() -> None:
    belief = fitted_world(FITTERS["gp"], seed=1)
    conditions = replace(conditions_of(belief), incumbents=2)
    among = belief.incumbents_among(2).tolist()
    assert len(among) == 2
    found = alpha_t(InformationGain(samples=64)).values(belief, all_pairs(belief), conditions)
    np.testing.assert_allclose(found, enumerated(belief, conditions, 64, 1, among), rtol=1e-5, atol=1e-9)


def test_without_limits_alpha_t_is_gain_per_dollar() -> None:
    belief = replace(fitted_world(FITTERS["gp"]), limits=())
    conditions = conditions_of(belief)
    pairs = all_pairs(belief)
    dollars = np.array([dollars_of(belief, belief.candidates.points(pairs.take(np.array([b])))) for b in range(12)])
    gain = InformationGain(samples=64)
    per_dollar = gain.values(belief, pairs, conditions) / dollars
    np.testing.assert_allclose(alpha_t(gain).values(belief, pairs, conditions), per_dollar, rtol=1e-6)


# Fabulinus: ESc and its ablation against plain enumeration


@pytest.mark.parametrize("name", FITTERS)
@pytest.mark.parametrize("overhead", [0.0, 0.3])
def test_constrained_entropy_search_agrees_with_enumeration(name: str, overhead: float) -> None:
    """Gain / (C + overhead) * E[a(x_inc, 1)] * prod p(q_i(x_inc, 1) >= 0), x_inc after the predicted outcome."""
    belief = fitted_world(FITTERS[name], seed=4)
    pairs, conditions = all_pairs(belief), conditions_of(belief)
    expected = []
    for configuration, level in zip(pairs.configuration.tolist(), pairs.level.tolist(), strict=True):
        (after,) = incumbents_after(belief, conditions.rule, (configuration, level), Roots.of(1), list(range(6)))
        dollars = dollars_of(belief, point_of(belief, (configuration, level)))
        expected.append(after.accuracy * after.feasibility / (dollars + overhead))
    found = constrained_entropy_search(GAIN, overhead=overhead).values(belief, pairs, conditions)
    np.testing.assert_allclose(found, GAIN.values(belief, pairs, conditions) * np.array(expected), rtol=1e-5, atol=1e-9)
    assert found.max() > 0.0


@pytest.mark.parametrize("name", FITTERS)
def test_the_ablation_judges_the_candidates_own_configuration_at_full_data(name: str) -> None:
    belief = fitted_world(FITTERS[name], seed=4)
    pairs, conditions = all_pairs(belief), conditions_of(belief)
    expected = []
    for configuration, level in zip(pairs.configuration.tolist(), pairs.level.tolist(), strict=True):
        dollars = dollars_of(belief, point_of(belief, (configuration, level)))
        beliefs = beliefs_at_full(belief, models_of(belief), configuration)
        expected.append(probability_of(belief.limits, beliefs, configuration) / dollars)
    found = constrained_entropy_search(GAIN, refit=False).values(belief, pairs, conditions)
    np.testing.assert_allclose(
        found, GAIN.values(belief, pairs, conditions) * np.array(expected), rtol=1e-6, atol=1e-12
    )
