"""Look-ahead against a plain recursion over outcomes (Nephele Alg. 3)."""

from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pytest
from scipy.stats import norm

from leantune.acquisition.base import Belief, Conditions, CostModel, Feasibility, Pairs, PerDollar, Quantity, Times
from leantune.acquisition.improvement import Improvement
from leantune.acquisition.lookahead import LookAhead, _Stage, feasible_and_affordable
from leantune.arrays import FloatArray
from leantune.models.base import Data, Fitter, Points, Roots, Surrogate
from leantune.models.scales import Transform
from tests.acquisition.small_world import FITTERS, all_pairs, at_least, belief_of

ENOUGH = 0.52
LEAST_ACCURACY = -np.log(1.0 - ENOUGH)  # on the scale of the share


def cheapest_anywhere(fitter: Fitter, levels: FloatArray) -> Belief:
    """Nephele's problem: minimise dollars (quantity 0, log, sign turned) where accuracy (quantity 1) suffices."""
    rng = np.random.default_rng(7)
    x = np.array([[0.15, 0.3], [0.4, 0.8], [0.6, 0.2], [0.9, 0.6]])
    tested = Points(np.column_stack([[0.05, 0.3, 0.5, 0.7, 0.95, 0.25], rng.random(6)]), np.resize(levels, 6))
    dollars = np.exp(-1.5 + tested.x[:, 0] + tested.s + 0.1 * rng.standard_normal(6))
    accuracy = 0.3 + 0.3 * tested.x[:, 0] + 0.15 * tested.s + 0.02 * rng.standard_normal(6)
    spent, share = Transform("log", descending=True), Transform("share")
    y = spent.forward(dollars)
    quantities = (
        Quantity("cost", fitter.fit(Data.measured(tested, y), grows_with_data=True, seed=1), spent),
        Quantity(
            "accuracy",
            fitter.fit(Data.measured(tested, share.forward(accuracy)), grows_with_data=False, seed=2),
            share,
        ),
    )
    met = accuracy >= ENOUGH
    assert met.any()
    assert not met.all()
    return replace(
        belief_of(*quantities, x=x, levels=levels),
        limits=(at_least(1, LEAST_ACCURACY, 4),),
        best=float(y[met].max()),
        worst=float(y.min()),
    )


CONDITIONS = Conditions(CostModel(0, Transform("log", descending=True)))


@dataclass(frozen=True)
class State:
    """What the recursion knows: two models, the least dollars that sufficed (as y), the budget, the untested points."""

    dollars: Surrogate
    accuracy: Surrogate
    best: float
    left: float
    untested: tuple[int, ...]


@dataclass(frozen=True)
class Recursion:
    """Algorithm 3, line by line."""

    points: Points
    roots: Roots
    discount: float

    def one(self, index: int) -> Points:
        return self.points.take(np.array([index]))

    def step(self, state: State, index: int) -> tuple[float, float]:
        """Line 8: EIc and expected dollars."""
        dollars, accuracy = state.dollars.predict(self.one(index)), state.accuracy.predict(self.one(index))
        mean, sd = float(dollars.mean[0]), float(dollars.sd[0])
        z = (mean - state.best) / sd
        improvement = (mean - state.best) * norm.cdf(z) + sd * norm.pdf(z)
        feasible = norm.sf((LEAST_ACCURACY - accuracy.mean[0]) / accuracy.sd[0])
        return float(improvement * feasible), float(np.exp(-mean + sd**2 / 2))

    def allowed(self, state: State, index: int) -> bool:
        """Line 25: predicted feasible and affordable."""
        accurate = float(state.accuracy.predict(self.one(index)).mean[0]) >= LEAST_ACCURACY
        return accurate and self.step(state, index)[1] <= state.left

    def explore(self, state: State, index: int, horizon: int) -> tuple[float, float]:
        """Lines 7 to 23."""
        reward, cost = self.step(state, index)
        if horizon == 0:
            return reward, cost
        here = self.one(index)
        dollars, accuracy = state.dollars.predict(here), state.accuracy.predict(here)
        for i, j in product(range(len(self.roots.z)), repeat=2):
            y, a = dollars.mean + self.roots.z[i] * dollars.sd, accuracy.mean + self.roots.z[j] * accuracy.sd
            after = State(
                state.dollars.extend(here, y),
                state.accuracy.extend(here, a),
                max(state.best, float(y[0])) if a[0] >= LEAST_ACCURACY else state.best,
                state.left - float(np.exp(-y[0])),
                tuple(other for other in state.untested if other != index),
            )
            options = [other for other in after.untested if self.allowed(after, other)]
            if not options:
                continue
            following = max(options, key=lambda other: self.step(after, other)[0])
            more = self.explore(after, following, horizon - 1)
            weight = self.discount * float(self.roots.w[i] * self.roots.w[j])
            reward, cost = reward + weight * more[0], cost + weight * more[1]
        return reward, cost


def enumerated(belief: Belief, horizon: int, discount: float = 0.9, dollars_left: float = np.inf) -> FloatArray:
    pairs = all_pairs(belief)
    recursion = Recursion(belief.candidates.points(pairs), Roots.of(2), discount)
    dollars, accuracy = (quantity.model for quantity in belief.quantities)
    assert belief.best is not None
    state = State(dollars, accuracy, belief.best, dollars_left, tuple(range(len(pairs))))
    explored = [recursion.explore(state, index, horizon) for index in range(len(pairs))]
    return np.array([reward / cost for reward, cost in explored])


ONE_LEVEL, TWO_LEVELS = np.array([1.0]), np.array([0.0, 1.0])


@pytest.mark.parametrize("name", FITTERS)
def test_without_horizon_it_is_constrained_improvement_per_dollar(name: str) -> None:
    belief = cheapest_anywhere(FITTERS[name], TWO_LEVELS)
    found = LookAhead(horizon=0).values(belief, all_pairs(belief), CONDITIONS)
    composed = PerDollar(Times((Improvement(), Feasibility()))).values(belief, all_pairs(belief), CONDITIONS)
    np.testing.assert_allclose(found, composed, rtol=1e-12)
    np.testing.assert_allclose(found, enumerated(belief, 0), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("name", FITTERS)
@pytest.mark.parametrize(("horizon", "levels"), [(1, ONE_LEVEL), (1, TWO_LEVELS), (2, ONE_LEVEL)])
@pytest.mark.parametrize("dollars_left", [np.inf, 1.2])
def test_look_ahead_agrees_with_the_recursion(name: str, horizon: int, levels: FloatArray, dollars_left: float) -> None:
    belief = cheapest_anywhere(FITTERS[name], levels)
    conditions = replace(CONDITIONS, dollars_left=dollars_left)
    found = LookAhead(horizon=horizon, roots=2).values(belief, all_pairs(belief), conditions)
    np.testing.assert_allclose(found, enumerated(belief, horizon, dollars_left=dollars_left), rtol=1e-5, atol=1e-10)


def test_the_horizon_the_budget_and_the_discount_matter() -> None:
    belief = cheapest_anywhere(FITTERS["gp"], TWO_LEVELS)
    pairs = all_pairs(belief)
    values = [
        LookAhead(horizon=1, roots=2).values(belief, pairs, CONDITIONS),
        LookAhead(horizon=0, roots=2).values(belief, pairs, CONDITIONS),
        LookAhead(horizon=2, roots=2).values(belief, pairs, CONDITIONS),
        LookAhead(horizon=1, roots=2, discount=0.5).values(belief, pairs, CONDITIONS),
        LookAhead(horizon=1, roots=2).values(belief, pairs, replace(CONDITIONS, dollars_left=1.2)),
    ]
    assert all(np.abs(values[0] - other).max() > 0.01 * values[0].max() for other in values[1:])
    np.testing.assert_allclose(values[3], enumerated(belief, 1, discount=0.5), rtol=1e-5, atol=1e-10)
    assert (LookAhead(horizon=1, discount=0.0).values(belief, pairs, CONDITIONS) == values[1]).all()


def test_a_path_that_cannot_be_paid_is_no_path() -> None:
    """Whatever is left after the first test does not pay for a second one: the value is that of the first alone."""
    belief = cheapest_anywhere(FITTERS["gp"], TWO_LEVELS)
    poor = replace(CONDITIONS, dollars_left=1e-6)
    pairs = all_pairs(belief)
    first = LookAhead(horizon=0).values(belief, pairs, poor)
    assert (LookAhead(horizon=2).values(belief, pairs, poor) == first).all()


def test_paths_go_on_among_the_most_promising_pairs_only() -> None:
    belief = cheapest_anywhere(FITTERS["gp"], TWO_LEVELS)
    pairs = all_pairs(belief)
    limited = LookAhead(horizon=1, roots=2, step_pairs=2)
    reward = Improvement().values(belief, pairs, CONDITIONS) * Feasibility().values(belief, pairs, CONDITIONS)
    promising = np.sort(np.argsort(-reward)[:2])
    among = limited._pool(_Stage.present(belief, CONDITIONS), pairs)
    assert among.configuration.tolist() == pairs.configuration[promising].tolist()
    assert among.level.tolist() == pairs.level[promising].tolist()
    assert (
        limited.values(belief, pairs, CONDITIONS) != LookAhead(horizon=1, roots=2).values(belief, pairs, CONDITIONS)
    ).any()


def test_feasible_means_within_every_limit_at_the_mean_and_affordable() -> None:
    belief = cheapest_anywhere(FITTERS["gp"], TWO_LEVELS)
    pairs = all_pairs(belief)
    points = belief.candidates.points(pairs)
    dollars, accuracy = (quantity.model.predict(points) for quantity in belief.quantities)
    expected = (np.exp(-dollars.mean + dollars.sd**2 / 2) <= 1.0) & (accuracy.mean >= LEAST_ACCURACY)
    conditions = replace(CONDITIONS, dollars_left=1.0)
    assert feasible_and_affordable(belief, pairs, conditions).tolist() == expected.tolist()
    assert expected.any()
    assert not expected.all()
    nowhere = Pairs(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
    assert len(feasible_and_affordable(belief, nowhere, conditions)) == 0


def test_paths_go_on_among_all_open_pairs() -> None:
    """One candidate alone has nowhere to go; with the open pairs of the study it has the future it has in company."""
    belief = cheapest_anywhere(FITTERS["gp"], np.array([1.0]))
    pairs = all_pairs(belief)
    company = LookAhead(horizon=1, roots=2).values(belief, pairs, CONDITIONS)
    alone = pairs.take(np.array([1]))
    greedy = LookAhead(horizon=0).values(belief, alone, CONDITIONS)[0]
    assert LookAhead(horizon=1, roots=2).values(belief, alone, CONDITIONS)[0] == greedy
    opened = replace(CONDITIONS, open_pairs=pairs)
    assert LookAhead(horizon=1, roots=2).values(belief, alone, opened)[0] == pytest.approx(company[1], rel=1e-12)
