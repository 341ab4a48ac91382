"""Arrival is the first row from which on all is good; medians and intervals live with infinities."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leantune.lab.replay.arrivals import Arrival, arrival, median
from leantune.lab.replay.runs import Advice
from tests.lab.replay.small import row, run, verdict


def feasible(advice: Advice) -> bool:
    return advice.verdict.feasible


@given(st.lists(st.booleans(), min_size=1, max_size=12))
def test_arrival_is_the_first_test_from_which_on_all_are_good(goods: list[bool]) -> None:
    found = arrival(run(*goods), "paper", feasible)
    first = next((index for index in range(len(goods)) if all(goods[index:])), None)
    if first is None:
        assert found == Arrival(math.inf, math.inf, math.inf, math.inf)
    else:
        tests = first + 1
        assert found == Arrival(2.0 * tests, 10.0 * tests, tests, 0.5 * tests)


def test_without_a_recommendation_nobody_arrives() -> None:
    assert arrival([], "paper", feasible) == Arrival()
    assert arrival(run(True, True), "common", feasible) == Arrival()
    assert arrival([row(1, verdict()), row(2, None), row(3, verdict())], "paper", feasible).tests == 3


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=25), st.integers(0, 3))
def test_the_median_is_numpys_and_lies_in_its_interval(values: list[float], seed: int) -> None:
    found = median(values, seed=seed)
    assert found.value == pytest.approx(float(np.median(values)))
    assert found.low <= found.value <= found.high
    assert min(values) <= found.low
    assert found.high <= max(values)
    assert (found.finite, found.count, found.share) == (len(values), len(values), 1.0)
    assert median(values, seed=seed) == found


def test_the_interval_is_that_of_the_bootstrap() -> None:
    scipy = pytest.importorskip("scipy.stats")
    values = np.random.default_rng(3).lognormal(size=40)
    told = scipy.bootstrap((values,), np.median, n_resamples=20_000, method="percentile", rng=1).confidence_interval
    found = median(values.tolist())
    assert found.low == pytest.approx(told.low, rel=0.1)
    assert found.high == pytest.approx(told.high, rel=0.1)


@pytest.mark.parametrize(
    ("values", "middle", "finite"),
    [
        ([1.0, 2.0, math.inf], 2.0, 2),
        ([1.0, math.inf, math.inf], math.inf, 1),
        ([1.0, 3.0, math.inf, math.inf], math.inf, 2),  # the mean of 3 and infinity
        ([1.0, 3.0, 5.0, math.inf], 4.0, 3),
        ([math.inf, math.inf], math.inf, 0),
    ],
)
def test_runs_that_never_arrive_count_as_infinite(values: list[float], middle: float, finite: int) -> None:
    found = median(values)
    assert (found.value, found.finite) == (middle, finite)
    assert not math.isnan(found.low)
    assert not math.isnan(found.high)
    assert found.low <= found.value <= found.high


def test_of_nothing_there_is_no_median() -> None:
    found = median([])
    assert math.isnan(found.value)
    assert (found.finite, found.count) == (0, 0)
    assert math.isnan(found.share)
