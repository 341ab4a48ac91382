"""Expected improvement against quadrature, and its compositions by hand."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from leantune.acquisition.base import Belief, Conditions, CostModel, Feasibility, Pairs, PerDollar, Quantity, Times
from leantune.acquisition.improvement import Improvement, expected_improvement
from leantune.arrays import FloatArray
from leantune.models.base import Points
from leantune.models.scales import Transform
from tests.acquisition.small_world import FITTERS, FormulaModel, all_pairs, at_most, belief_of, fitted_world

PAIRS = Pairs(np.array([0, 1, 2]), np.array([1, 1, 0]))
MEANS, DEVIATIONS = np.array([1.2, 1.6, 1.0]), np.array([0.2, 0.6, 0.5])
LOG_DOLLARS = np.array([1.1, 1.5, 0.9])


def by_quadrature(mean: float, sd: float, best: float) -> float:
    """E[max(0, y - best)]."""
    density = norm(mean, sd)
    top = max(best, mean) + 12.0 * sd
    return float(quad(lambda y: (y - best) * density.pdf(y), best, top, points=[max(best, mean)], epsabs=1e-14)[0])


@pytest.mark.parametrize("mean", [-1.0, 0.3, 2.0])
@pytest.mark.parametrize("sd", [0.05, 0.7, 3.0])
@pytest.mark.parametrize("best", [-0.5, 0.3, 1.0])
def test_expected_improvement_agrees_with_quadrature(mean: float, sd: float, best: float) -> None:
    found = expected_improvement(np.array([mean]), np.array([sd]), best)[0]
    assert found == pytest.approx(by_quadrature(mean, sd, best), rel=1e-6, abs=1e-12)


def test_expected_improvement_is_never_negative() -> None:
    far = expected_improvement(np.linspace(-60.0, 0.0, 400), np.full(400, 0.7), 0.1)
    assert (far >= 0.0).all()
    assert far[0] == 0.0


CONDITIONS = Conditions(CostModel(1))


def world() -> Belief:
    """Three configurations with the means and deviations above, whatever the level; dollars with a deviation of 0.3."""

    def lookup(values: FloatArray, points: Points) -> FloatArray:
        return values[np.searchsorted([0.1, 0.5, 0.9], points.x[:, 0])]

    objective = FormulaModel(lambda p: lookup(MEANS, p), lambda p: lookup(DEVIATIONS, p))
    dollars = FormulaModel(lambda p: lookup(LOG_DOLLARS, p), lambda p: np.full(len(p), 0.3))
    quantities = (Quantity("score", objective, Transform("linear")), Quantity("cost", dollars, Transform("log")))
    belief = belief_of(*quantities, x=np.array([[0.1], [0.5], [0.9]]))
    return replace(belief, best=1.3, limits=(at_most(1, 1.2, 3),))


def test_constrained_improvement_and_improvement_per_dollar_by_hand() -> None:
    belief = world()
    improvement = np.array([by_quadrature(m, d, 1.3) for m, d in zip(MEANS, DEVIATIONS, strict=True)])
    feasible = norm(LOG_DOLLARS, 0.3).cdf(1.2)
    dollars = np.exp(LOG_DOLLARS + 0.045)
    constrained = Times((Improvement(), Feasibility()))
    np.testing.assert_allclose(Improvement().values(belief, PAIRS, CONDITIONS), improvement, rtol=1e-7)
    np.testing.assert_allclose(constrained.values(belief, PAIRS, CONDITIONS), improvement * feasible, rtol=1e-7)
    np.testing.assert_allclose(
        PerDollar(constrained).values(belief, PAIRS, CONDITIONS), improvement * feasible / dollars, rtol=1e-7
    )


def test_while_nothing_feasible_is_known_everything_improves_on_a_pessimistic_reference() -> None:
    """Lynceus' rule, larger is better here: y* = worst observed - 3 x the largest predicted deviation."""
    belief = replace(world(), best=None, worst=0.4)
    reference = 0.4 - 3.0 * 0.6
    expected = [by_quadrature(m, d, reference) for m, d in zip(MEANS, DEVIATIONS, strict=True)]
    np.testing.assert_allclose(Improvement().values(belief, PAIRS, CONDITIONS), expected, rtol=1e-7)


def test_no_pairs_no_values() -> None:
    nothing = Pairs(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
    assert Improvement().values(replace(world(), best=None), nothing, CONDITIONS).shape == (0,)


def test_limits_decide_which_result_is_to_be_beaten() -> None:
    belief = replace(fitted_world(FITTERS["gp"], seed=0), best=0.2, best_of_all=0.9)
    pairs = all_pairs(belief)
    gaussian = belief.at(pairs)[0]
    np.testing.assert_allclose(
        Improvement(feasible_only=False).values(belief, pairs, CONDITIONS),
        expected_improvement(gaussian.mean, gaussian.sd, 0.9),
    )
    np.testing.assert_allclose(
        Improvement().values(belief, pairs, CONDITIONS), expected_improvement(gaussian.mean, gaussian.sd, 0.2)
    )


def test_values_do_not_depend_on_the_company() -> None:
    """While nothing feasible is known, the reference comes from the whole grid, not from the pairs asked about."""
    belief = replace(fitted_world(FITTERS["gp"], seed=0), best=None)
    pairs = all_pairs(belief)
    together = Improvement().values(belief, pairs, CONDITIONS)
    alone = [Improvement().values(belief, pairs.take(np.array([i])), CONDITIONS)[0] for i in range(len(pairs))]
    np.testing.assert_allclose(together, alone, rtol=1e-12)
