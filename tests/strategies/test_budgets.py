"""What tests take, whether they fit into what is left of a budget, and their price; by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leantune.acquisition.base import Belief, Candidates, CostModel, Pairs
from leantune.problem import COST, TIME
from leantune.strategies.budgets import HIGH, LIKELY, TRIALS, Resources, Takes
from tests.acquisition.small_world import FITTERS, all_pairs, fitted_world


def priced(belief: Belief) -> tuple[Belief, Pairs]:
    """Dollars are modelled as they are, at one dollar per hour."""
    candidates = Candidates(belief.candidates.x, belief.candidates.levels, np.ones(6))
    return replace(belief, candidates=candidates), all_pairs(belief)


def test_a_test_takes_the_median_of_its_dollars_and_seconds_by_its_price() -> None:
    belief, pairs = priced(fitted_world(FITTERS["gp"]))
    takes = Takes.of(belief, CostModel(), pairs)
    now = belief.quantities[1].model.predict(belief.candidates.points(pairs))
    usd, seconds = takes.amounts[COST], takes.amounts[TIME]
    np.testing.assert_allclose(usd[LIKELY], np.exp(now.mean))
    np.testing.assert_allclose(usd[HIGH], np.exp(now.mean + 0.5 * now.sd))
    np.testing.assert_allclose(seconds[LIKELY], usd[LIKELY] * 3600)
    assert (takes.fit(Resources(usd=1e9))).all()
    assert not takes.fit(Resources(usd=1e-9)).any()
    middle = float(np.median(usd[HIGH]))
    assert takes.fit(Resources(usd=middle)).sum() == np.sum(usd[HIGH] <= middle)


def test_a_run_that_is_ended_takes_no_more_than_until_then() -> None:
    belief, pairs = priced(fitted_world(FITTERS["gp"]))
    free, most = Takes.of(belief, CostModel(), pairs), np.full(len(pairs), 100.0)
    ended = free.ended_after(most, np.ones(len(pairs)))
    np.testing.assert_allclose(ended.amounts[TIME][LIKELY], np.minimum(free.amounts[TIME][LIKELY], 100.0))
    np.testing.assert_allclose(ended.amounts[COST][HIGH], ended.amounts[TIME][HIGH] / 3600)
    assert ended.fit(Resources(seconds=100.0)).all()


def taking(usd: list[float], seconds: list[float]) -> Takes:
    return Takes(len(usd), {COST: np.array([usd] * 3), TIME: np.array([seconds] * 3)})


def test_prices_are_shares_of_what_is_left() -> None:
    takes = taking([1.0, 4.0], [10.0, 20.0])
    only_money = takes.price(Resources(usd=10.0, usual_usd=2.0))
    np.testing.assert_allclose(only_money, [0.16, 0.46])
    no_budget = takes.price(Resources(usual_usd=2.0))
    np.testing.assert_allclose(no_budget, [1.6, 4.6])
    only_trials = takes.price(Resources(trials=5, usual_usd=2.0))
    np.testing.assert_allclose(only_trials, [0.2, 0.2])
    # Money for 5 tests and trials for 10: money is what runs out.
    both = takes.price(Resources(usd=10.0, trials=10, usual_usd=2.0))
    np.testing.assert_allclose(both, only_money + 0.5 / 10)
    nothing_known = Takes(2, {}).price(Resources(usd=10.0))
    np.testing.assert_allclose(nothing_known, [1.0, 1.0])


@given(
    usd=st.none() | st.floats(0.01, 100), seconds=st.none() | st.floats(1, 1e5), trials=st.none() | st.integers(1, 99)
)
def test_prices_are_positive_and_the_scarcest_resource_counts_in_full(
    usd: float | None, seconds: float | None, trials: int | None
) -> None:
    left = Resources(usd, seconds, trials, usual_usd=0.5, usual_seconds=30.0)
    takes = taking([0.1, 0.9], [3.0, 60.0])
    assert (takes.price(left) > 0).all()
    given_ones = [name for name, rest in ((COST, usd), (TIME, seconds), (TRIALS, trials)) if rest is not None]
    if given_ones:
        assert max(left.urgency[name] for name in given_ones) == pytest.approx(1.0)
        assert all(0.0 <= left.urgency[name] <= 1.0 + 1e-12 for name in given_ones)
