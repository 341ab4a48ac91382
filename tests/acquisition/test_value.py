"""The worth of a test by the recommendation after it, against plain enumeration of outcomes and refits."""

from dataclasses import replace
from itertools import product
from math import erf, hypot, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leantune.acquisition.base import Belief, Pairs, Quantity
from leantune.acquisition.value import ByGoal, ValueGain
from leantune.arrays import FloatArray
from leantune.models.base import Fitter, Points, Roots, Surrogate
from leantune.models.gp import GaussianProcess
from leantune.models.gp_posterior import FABOLAS_QUALITY
from leantune.models.scales import Transform
from tests.acquisition.enumeration import Normal, accuracy_of, beliefs_at_full, point_of, probability_of
from tests.acquisition.small_world import (
    FITTERS,
    all_pairs,
    at_least,
    at_most,
    belief_of,
    fitted_world,
    simulated_outcome,
)
from tests.models.on_shares import OnShares

EVERY_FITTER: dict[str, Fitter] = {**FITTERS, "laws": OnShares()}


def utility(belief: Belief, now: Normal) -> float:
    """Expected accuracy; of what is no share the expected rank among the typical, or the rank of the mean."""
    if belief.objective.transform.kind == "share":
        return accuracy_of(now)
    everyone = [
        beliefs_at_full(belief, {0: belief.objective.model}, c)[0].mean for c in range(len(belief.candidates.x))
    ]
    centre, spread = (np.mean(everyone), np.std(everyone)) if belief.weighs_risk else (belief.centre, belief.spread)
    deviation = hypot(float(spread), now.sd) if belief.weighs_risk else float(spread)
    return 0.5 * (1.0 + erf((now.mean - float(centre)) / deviation / sqrt(2.0)))


def best_value(belief: Belief, models: dict[int, Surrogate], among: list[int]) -> float:
    """V: the largest expected value of a recommendation."""
    rows = {c: beliefs_at_full(belief, models, c) for c in among}
    return max(utility(belief, now[0]) * probability_of(belief.limits, now, c) for c, now in rows.items())


def enumerated(belief: Belief, roots: Roots, among: list[int]) -> FloatArray:
    """E[V after] - V now, pair by pair and outcome by outcome."""
    involved = sorted({0, *(limit.quantity for limit in belief.limits)})
    now: dict[int, Surrogate] = {q: belief.quantities[q].model for q in involved}
    pairs, gains = all_pairs(belief), []
    for pair in zip(pairs.configuration.tolist(), pairs.level.tolist(), strict=True):
        point = point_of(belief, pair)
        longer = {
            (q, k): now[q].extend(point, simulated_outcome(now[q], point, float(z)))
            for q, (k, z) in product(involved, enumerate(roots.z))
        }
        after = 0.0
        for choice in product(range(len(roots.z)), repeat=len(involved)):
            models: dict[int, Surrogate] = {q: longer[q, k] for q, k in zip(involved, choice, strict=True)}
            after += float(np.prod(roots.w[list(choice)])) * best_value(belief, models, among)
        gains.append(max(after - best_value(belief, now, among), 0.0))
    return np.array(gains)


@pytest.mark.parametrize("name", EVERY_FITTER)
@pytest.mark.parametrize("roots", [1, 3])
def test_value_gain_agrees_with_enumeration(name: str, roots: int) -> None:
    """Limits on dollars and latency; a test tells accuracy and both of them."""
    belief = replace(fitted_world(EVERY_FITTER[name], seed=1), weighs_risk=True)
    found = ValueGain(roots).values(belief, all_pairs(belief))
    np.testing.assert_allclose(found, enumerated(belief, Roots.of(roots), list(range(6))), rtol=1e-4, atol=1e-8)
    assert roots == 1 or np.count_nonzero(found > 1e-4) >= 3  # one root leaves the means of a process as they are


@pytest.mark.parametrize("weighs_risk", [True, False])
def test_value_gain_with_limits_on_an_objective_that_is_no_share(weighs_risk: bool) -> None:
    """The objective is a latency, at least 12 of it wanted, and dollars are limited."""
    world = fitted_world(FITTERS["gp"], seed=3)
    quantities = (replace(world.quantities[2], name="score"), world.quantities[1])
    limits = (at_most(1, np.log(0.8), 6), at_least(0, 12.0, 6))
    belief = replace(world, quantities=quantities, limits=limits, requirements=(), weighs_risk=weighs_risk)
    belief = replace(belief, centre=15.0, spread=4.0)
    found = ValueGain(3).values(belief, all_pairs(belief))
    np.testing.assert_allclose(found, enumerated(belief, Roots.of(3), list(range(6))), rtol=1e-4, atol=1e-8)
    assert found.max() > 1e-4


def test_the_recommendation_is_sought_among_the_most_promising_alone() -> None:
    belief = replace(fitted_world(FITTERS["gp"], seed=1), weighs_risk=True, incumbents=2)
    among = belief.incumbents_among.tolist()
    assert len(among) == 2
    expected = enumerated(belief, Roots.of(2), among)
    np.testing.assert_allclose(ValueGain(2).values(belief, all_pairs(belief)), expected, rtol=1e-4, atol=1e-8)


def test_a_pair_is_worth_the_same_in_any_company() -> None:
    belief = replace(fitted_world(EVERY_FITTER["laws"], seed=1), weighs_risk=True)
    pairs = all_pairs(belief)
    alone = [ValueGain().values(belief, pairs.take(np.array([b])))[0] for b in range(len(pairs))]
    np.testing.assert_allclose(ValueGain().values(belief, pairs), alone, rtol=1e-9)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(sorted(EVERY_FITTER)), st.integers(1, 4), st.booleans())
def test_no_test_is_worth_less_than_nothing(seed: int, name: str, roots: int, weighs_risk: bool) -> None:
    belief = replace(fitted_world(EVERY_FITTER[name], seed=seed), weighs_risk=weighs_risk)
    found = ValueGain(roots).values(belief, all_pairs(belief))
    assert found.shape == (12,)
    assert np.isfinite(found).all()
    assert (found >= 0.0).all()
    assert (found <= 1.0).all()


def isolated(tested: FloatArray, y: FloatArray) -> GaussianProcess:
    """Configurations that say nothing of one another: a length-scale of 0.0025."""
    theta = np.array([[-6.0, 0.0, 0.0, -1.0, -9.0]])
    return GaussianProcess(Points(tested, np.ones(len(tested))), y[None, :], theta, FABOLAS_QUALITY, 0.0, 1.0)


X = np.array([[0.1], [0.2], [0.3], [0.9]])


def test_a_test_that_cannot_change_the_recommendation_is_worth_exactly_nothing() -> None:
    """The first is known to be good, and of the others none can reach it."""
    model = isolated(X[:3], np.array([8.0, 0.5, -0.5]))
    belief = replace(belief_of(Quantity("score", model, Transform("linear")), x=X), weighs_risk=True)
    pairs = Pairs(np.arange(4), np.ones(4, dtype=np.int64))
    for roots in (1, 2, 3, 5):
        assert ValueGain(roots).values(belief, pairs)[1:].tolist() == [0.0, 0.0, 0.0]
    near = isolated(X[:2], np.array([0.3, 0.2]))
    open_race = replace(belief_of(Quantity("score", near, Transform("linear")), x=X), weighs_risk=True)
    gain = ValueGain(3).values(open_race, pairs)
    assert (gain[2:] > 0.01).all()  # untested ones may win
    assert (gain[:2] < 0.01 * gain[2:].min()).all()  # tested ones are known


def test_knowing_that_a_limit_holds_is_worth_something_by_itself() -> None:
    """All scores are known; whether the best one meets the limit is not."""
    scores = isolated(X, np.array([2.0, 1.0, 0.0, -1.0]))
    dollars = isolated(X[1:], np.array([-2.0, -2.0, -2.0]))
    quantities = (Quantity("score", scores, Transform("linear")), Quantity("cost", dollars, Transform("log")))
    belief = replace(belief_of(*quantities, x=X), weighs_risk=True)
    pairs = Pairs(np.arange(4), np.ones(4, dtype=np.int64))
    assert ValueGain(3).values(belief, pairs).max() < 1e-3
    limited = replace(belief, limits=(at_most(1, 0.0, 4),))
    gain = ValueGain(3).values(limited, pairs)
    assert gain[0] > 0.03
    assert gain[1:].max() < 1e-3


class Told:
    """An acquisition that gives back one number."""

    def __init__(self, number: float) -> None:
        self.number = number

    def values(self, belief: Belief, pairs: Pairs) -> FloatArray:
        return np.full(len(pairs), self.number)


def test_the_goal_decides_which_acquisition_is_asked() -> None:
    belief, two = fitted_world(FITTERS["gp"]), Pairs(np.array([0, 1]), np.array([1, 1]))
    either = ByGoal(full=Told(1.0), anywhere=Told(2.0))
    assert either.values(replace(belief, at_full_only=True), two).tolist() == [1.0, 1.0]
    assert either.values(replace(belief, at_full_only=False), two).tolist() == [2.0, 2.0]
