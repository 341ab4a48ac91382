"""What acquisitions see, by hand and against scipy."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from leantune.acquisition.base import (
    Belief,
    Candidates,
    Conditions,
    ConstrainedAccuracy,
    CostModel,
    Feasibility,
    Limit,
    Pairs,
    PerDollar,
    Quantity,
    RecommendationRule,
    Requirement,
    Times,
    largest,
    product_of_probabilities,
)
from leantune.arrays import FloatArray
from leantune.models.base import Gaussian, Points
from leantune.models.scales import Transform
from leantune.problem import At
from tests.acquisition.small_world import FITTERS, FormulaModel, all_pairs, at_least, at_most, belief_of, fitted_world

X = np.array([[0.1], [0.5], [0.9]])
EVERY = np.arange(3)


def known_world() -> Belief:
    """Accuracy -log(1 - a) = 0.5 + x + s (sd 0.3), dollars log c = x + s - 2 (sd 0.2); three configurations."""
    accuracy = FormulaModel(lambda p: 0.5 + p.x[:, 0] + p.s, lambda p: np.full(len(p), 0.3))
    dollars = FormulaModel(lambda p: p.x[:, 0] + p.s - 2.0, lambda p: np.full(len(p), 0.2))
    quantities = (Quantity("accuracy", accuracy, Transform("share")), Quantity("cost", dollars, Transform("log")))
    return belief_of(*quantities, x=X)


class Constant:
    """An acquisition that is the same everywhere."""

    def __init__(self, value: float) -> None:
        self.value = value

    def values(self, belief: Belief, pairs: Pairs, conditions: Conditions) -> FloatArray:
        return np.full(len(pairs), self.value)


def test_pairs_become_points() -> None:
    candidates = Candidates(X, np.array([0.0, 0.4, 1.0]))
    points = candidates.points(Pairs(np.array([2, 0]), np.array([1, 2])).take(np.array([1, 0])))
    assert points.x[:, 0].tolist() == [0.1, 0.9]
    assert points.s.tolist() == [1.0, 0.4]
    full = candidates.at_full(np.array([1, 2]))
    assert full.s.tolist() == [1.0, 1.0]
    assert candidates.points(candidates.full_pairs(np.array([1, 2]))).x.tolist() == full.x.tolist()


def test_limit_probability_is_that_of_the_normal_within_each_configurations_bounds() -> None:
    limit = Limit(0, np.array([-np.inf, 0.0, 1.0]), np.array([1.0, 2.0, np.inf]))
    belief = Gaussian(np.array([0.5, 0.5, 0.5]), np.array([1.0, 2.0, 0.5]))
    expected = [norm(0.5, 1.0).cdf(1.0), norm(0.5, 2.0).cdf(2.0) - norm(0.5, 2.0).cdf(0.0), norm(0.5, 0.5).sf(1.0)]
    np.testing.assert_allclose(limit.probability(belief, EVERY), expected)
    both = Gaussian(np.full((2, 2), 0.5), np.full((2, 2), 0.5))  # the last axis is the configuration
    np.testing.assert_allclose(limit.probability(both, np.array([2, 2])), norm(0.5, 0.5).sf(1.0))


def test_limits_on_one_variable_are_merged_rather_than_multiplied() -> None:
    """Cost <= 0.10 and time <= 10 min at 0.2 and 2 USD an hour: one bound a configuration, the smaller in dollars."""
    rates = np.array([0.2, 2.0])
    in_dollars = np.minimum(0.10, 600.0 * rates / 3600.0)
    merged = Limit(0, np.full(2, -np.inf), np.log(in_dollars))
    belief = Gaussian(np.log([0.03, 0.15]), np.array([0.4, 0.6]))
    dollars = np.exp(np.random.default_rng(0).normal(belief.mean, belief.sd, (400_000, 2)))
    expected = ((dollars <= 0.10) & (dollars / rates * 3600.0 <= 600.0)).mean(axis=0)
    np.testing.assert_allclose(merged.probability(belief, np.arange(2)), expected, atol=0.003)


def test_probabilities_of_different_quantities_multiply() -> None:
    beliefs = (Gaussian(np.zeros(3), np.ones(3)), Gaussian(np.array([0.0, 1.0, 2.0]), np.full(3, 0.5)))
    limits = (at_least(0, -1.0, 3), at_most(1, 1.5, 3))
    expected = norm.sf(-1.0) * norm(beliefs[1].mean, 0.5).cdf(1.5)
    np.testing.assert_allclose(product_of_probabilities(limits, beliefs, EVERY), expected)
    assert product_of_probabilities((), beliefs, EVERY).tolist() == [1.0, 1.0, 1.0]


@given(st.lists(st.sampled_from([-1.0, 0.0, 0.25, 1.0]), min_size=1, max_size=12), st.integers(1, 12))
def test_largest_prefers_the_smaller_index_among_ties(score: list[float], count: int) -> None:
    ranked = sorted(range(len(score)), key=lambda i: (-score[i], i))
    assert largest(np.array(score), count).tolist() == sorted(ranked[:count])


@pytest.mark.parametrize("name", FITTERS)
def test_beliefs_at_pairs_are_the_models_predictions_by_the_grid_or_not(name: str) -> None:
    belief = fitted_world(FITTERS[name])
    pairs = Pairs(np.array([4, 0, 2]), np.array([0, 1, 1]))
    points = Points(belief.candidates.x[[4, 0, 2]], np.array([0.0, 1.0, 1.0]))
    for source in (belief.at, belief.predict):
        for quantity, gaussian in zip(belief.quantities, source(pairs), strict=True):
            expected = quantity.model.predict(points)
            np.testing.assert_allclose(gaussian.mean, expected.mean, rtol=1e-9)
            np.testing.assert_allclose(gaussian.sd, expected.sd, rtol=1e-6)


def test_expected_dollars() -> None:
    belief = known_world()
    pairs = Pairs(EVERY, np.array([0, 1, 1]))
    expected = np.exp(np.array([0.1, 1.5, 1.9]) - 2.0 + 0.02)
    np.testing.assert_allclose(CostModel(1).dollars(belief.at(pairs), EVERY), expected)
    rates = np.array([1.0, 2.0, 9.0])
    priced = CostModel(1, rates=rates)
    np.testing.assert_allclose(priced.dollars(belief.at(pairs), EVERY), expected * rates / 3600.0)
    assert CostModel().dollars(belief.at(pairs), EVERY).tolist() == [1.0, 1.0, 1.0]


def test_every_requirement_must_be_met_with_its_own_probability() -> None:
    cheap, accurate = at_most(1, 0.0, 3), at_least(0, 1.9, 3)
    belief = replace(known_world(), limits=(cheap, accurate))
    beliefs = belief.at_full(EVERY)
    is_cheap = norm(np.array([-0.9, -0.5, -0.1]), 0.2).cdf(0.0)  # 1.0, 0.994, 0.69
    is_accurate = norm(np.array([1.6, 2.0, 2.4]), 0.3).sf(1.9)  # 0.16, 0.63, 0.95
    np.testing.assert_allclose(belief.feasibility(beliefs, EVERY), is_cheap * is_accurate)

    def qualified(*requirements: Requirement) -> list[bool]:
        return [bool(met) for met in RecommendationRule(requirements).qualifies(beliefs, EVERY)]

    assert qualified() == [True, True, True]
    assert qualified(Requirement((cheap,), 0.99)) == [True, True, False]
    assert qualified(Requirement((accurate,), 0.6)) == [False, True, True]
    assert qualified(Requirement((cheap,), 0.99), Requirement((accurate,), 0.6)) == [False, True, False]
    assert qualified(Requirement((cheap, accurate), 0.65)) == [False, False, True]  # 0.16, 0.626, 0.656


def test_constrained_accuracy_by_hand() -> None:
    """CEA of TrimTuner Eq. 6: E[a] = 1 - exp(-mu + sd^2 / 2) times the probability of the limits at the same pair."""
    belief = replace(known_world(), limits=(at_most(1, -1.0, 3),))
    pairs = Pairs(np.array([0, 2]), np.array([1, 0]))
    expected = [
        (1.0 - np.exp(-1.6 + 0.045)) * norm(-0.9, 0.2).cdf(-1.0),
        (1.0 - np.exp(-1.4 + 0.045)) * norm(-1.1, 0.2).cdf(-1.0),
    ]
    np.testing.assert_allclose(ConstrainedAccuracy().values(belief, pairs, Conditions()), expected)
    np.testing.assert_allclose(Feasibility().values(belief, pairs, Conditions()), norm([-0.9, -1.1], 0.2).cdf(-1.0))


def test_constrained_accuracy_of_an_unbounded_objective_uses_its_rank() -> None:
    model = FormulaModel(lambda p: 10.0 * p.x[:, 0])
    belief = replace(belief_of(Quantity("reward", model, Transform("linear")), x=X), centre=4.0, spread=2.0)
    pairs = Pairs(EVERY, np.ones(3, dtype=np.int64))
    np.testing.assert_allclose(
        ConstrainedAccuracy().values(belief, pairs, Conditions()), norm(4.0, 2.0).cdf([1.0, 5.0, 9.0])
    )


def test_acquisitions_compose() -> None:
    belief, conditions = known_world(), Conditions(CostModel(1))
    pairs = Pairs(np.array([1]), np.array([0]))
    dollars = float(np.exp(-1.5 + 0.02))
    assert Times((Constant(2.0), Constant(3.0), Constant(0.5))).values(belief, pairs, conditions).tolist() == [3.0]
    assert PerDollar(Constant(2.0)).values(belief, pairs, conditions)[0] == pytest.approx(2.0 / dollars)
    dearer = PerDollar(Constant(2.0), overhead=0.7).values(belief, pairs, conditions)
    assert dearer[0] == pytest.approx(2.0 / (dollars + 0.7))


def test_caps_keep_the_most_promising_configurations() -> None:
    belief = replace(known_world(), limits=(at_most(1, -0.55, 3),))
    assert belief.optimum_at(2).tolist() == [1, 2]
    accuracy = 1.0 - np.exp(-np.array([1.6, 2.0, 2.4]) + 0.045)
    feasible = norm(np.array([-0.9, -0.5, -0.1]), 0.2).cdf(-0.55)
    assert belief.incumbents_among(1).tolist() == [int(np.argmax(accuracy * feasible))]


@pytest.mark.parametrize(
    ("told", "best", "worst"),
    [
        ([(3.0, 0.2)], 3.0, 0.0),  # better, and meets the limit
        ([(3.0, 0.4)], 1.0, 0.0),  # better, but too dear
        ([(0.5, 0.2), (-2.0, 0.2)], 1.0, -2.0),  # no better
        ([(1.5, 0.2), (2.0, 0.9)], 1.5, 0.0),
    ],
)
def test_simulated_tests_move_best_and_worst(told: list[tuple[float, float]], best: float, worst: float) -> None:
    belief = replace(known_world(), limits=(at_most(1, 0.3, 3),))
    pairs = Pairs(np.arange(len(told)), np.ones(len(told), dtype=np.int64))
    outcomes = [np.array(column) for column in zip(*told, strict=True)]
    after = belief.extended(pairs, outcomes)
    assert (after.best, after.worst) == (best, worst)
    nothing_yet = replace(belief, best=None).extended(pairs, outcomes)
    met = [accuracy for accuracy, dollars in told if dollars <= 0.3]
    assert nothing_yet.best == (max(met) if met else None)


def test_an_extended_belief_asks_the_refitted_models() -> None:
    belief = fitted_world(FITTERS["gp"])
    pair = Pairs(np.array([3]), np.array([1]))
    before = belief.at(pair)[0].mean
    belief.optimum(6, 16, 0)
    after = belief.extended(pair, [before + 1.0, np.zeros(1), np.zeros(1)])
    for there in (after.at, after.predict):
        assert there(pair)[0].mean[0] > before[0] + 0.2
    assert after.optimum(6, 16, 0) is not belief.optimum(6, 16, 0)
    assert belief.at(pair)[0].mean[0] == before[0]


def test_p_opt_is_sampled_once_for_each_number_of_samples() -> None:
    belief = fitted_world(FITTERS["gp"])
    assert belief.optimum(6, 16, 3) is belief.optimum(6, 16, 3)
    assert belief.optimum(6, 16, 3) is not belief.optimum(6, 32, 3)
    expected = belief.objective.model.optimum(belief.candidates.at_full(np.arange(6)), 16, 3)
    assert (belief.optimum(6, 16, 3).probability == expected.probability).all()


def test_all_pairs_go_configuration_by_configuration() -> None:
    pairs = all_pairs(known_world())
    assert list(zip(pairs.configuration.tolist(), pairs.level.tolist(), strict=True))[:3] == [(0, 0), (0, 1), (1, 0)]


def test_only_results_at_full_data_raise_the_best_where_the_goal_is_there() -> None:
    belief = replace(fitted_world(FITTERS["gp"], seed=0), best=-9.0, best_of_all=-9.0, limits=())
    part, full = (
        Pairs(np.array([0]), np.array([0])),
        Pairs(np.array([0]), np.array([len(belief.candidates.levels) - 1])),
    )
    outcomes = [np.array([5.0]) for _ in belief.quantities]
    anywhere = belief.extended(part, outcomes)
    assert (anywhere.best, anywhere.best_of_all) == (5.0, 5.0)
    there = replace(belief, answers_at=At.FULL)
    assert (there.extended(part, outcomes).best, there.extended(part, outcomes).best_of_all) == (-9.0, -9.0)
    assert there.extended(full, outcomes).best == 5.0
