"""Who continues."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leantune.curves.base import Outlook, Prediction
from leantune.curves.selection import best_probabilities, choose
from leantune.errors import InvalidInput

OPEN = Prediction(0.9, math.inf, Outlook.NOT_PREDICTABLE)
LOST = Prediction(math.nan, math.nan, Outlook.DIVERGED)
seeds = st.integers(0, 2**32 - 1)


@given(seeds)
def test_probabilities_are_those_of_counting_samples(seed: int) -> None:
    random = np.random.default_rng(seed)
    means, sds = random.normal(size=6), random.uniform(0.1, 2.0, 6)
    drawn = means + sds * random.normal(size=(20_000, 6))
    counted = np.bincount(drawn.argmin(axis=1), minlength=6) / len(drawn)
    found = best_probabilities(means, sds)
    assert found.sum() == pytest.approx(1.0)
    assert found == pytest.approx(counted, abs=0.025)


def test_two_runs_have_the_closed_form() -> None:
    found = best_probabilities(np.array([0.0, 1.0]), np.array([0.6, 0.8]))
    assert found[0] == pytest.approx(0.5 * (1 + math.erf(1.0 / math.sqrt(2.0))), abs=0.005)


def test_certain_runs_are_ranked_by_their_means_and_ties_shared() -> None:
    assert list(best_probabilities(np.array([2.0, 1.0, 3.0]), np.zeros(3))) == [0.0, 1.0, 0.0]
    assert list(best_probabilities(np.array([1.0, 1.0]), np.zeros(2))) == [0.5, 0.5]
    told = choose([Prediction(value, 0.0) for value in (3.0, 1.0, 2.0)], 2)
    assert told.chosen == (1, 2)
    assert [one.index for one in told.ranking] == [1, 2, 0]


def test_many_equal_runs_share_too() -> None:
    assert best_probabilities(np.ones(200), np.zeros(200)) == pytest.approx(np.full(200, 1 / 200))
    assert best_probabilities(np.ones(200), np.full(200, 0.3)) == pytest.approx(np.full(200, 1 / 200))


def test_of_two_alike_in_mean_the_uncertain_one_may_be_best() -> None:
    runs = [Prediction(0.10, 0.001), Prediction(0.20, 0.001), Prediction(0.20, 0.2)]
    assert choose(runs, 2).chosen == (0, 2)


def test_larger_is_better_where_it_is_said() -> None:
    runs = [Prediction(0.7, 0.01), Prediction(0.9, 0.01), Prediction(0.8, 0.01)]
    assert choose(runs, 1, maximize=True).chosen == (1,)
    assert choose(runs, 1).chosen == (0,)


def test_not_predictable_runs_go_on_in_addition_and_diverged_ones_never() -> None:
    told = choose([LOST, OPEN, Prediction(0.5, 0.1), Prediction(0.4, 0.1), OPEN], 1)
    assert told.chosen == (3, 1, 4)
    assert [one.index for one in told.ranking] == [3, 2, 1, 4, 0]
    assert math.isnan(told.ranking[2].probability)
    assert (told.ranking[-1].probability, told.ranking[-1].outlook) == (0.0, Outlook.DIVERGED)


def test_diverged_runs_are_not_taken_to_make_up_the_number() -> None:
    assert choose([LOST, Prediction(0.5, 0.1), LOST], 3).chosen == (1,)
    assert choose([LOST, LOST, LOST], 2).chosen == (0, 1)


def test_choosing_none_or_of_none_is_refused() -> None:
    with pytest.raises(InvalidInput):
        choose([], 1)
    with pytest.raises(InvalidInput):
        choose([LOST], 0)
