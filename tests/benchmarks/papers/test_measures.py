"""What runs are worth."""

import math

import pytest

from benchmarks.papers.measures import (
    arrivals,
    ask_seconds,
    ends,
    feasible,
    near_best,
    near_full,
    ratio,
    start_dollars,
    step_cost,
    step_share,
    total_dollars,
    total_seconds,
    within,
)
from leantune.lab.replay.runs import PAPER
from tests.benchmarks.papers.made import BEST, advice, row, run

GOOD, POOR = 0.95 * BEST, 0.5 * BEST


def test_steps_do_not_count_the_start() -> None:
    rows = [
        row(1, 1.0, None, start=True, cost=1.0, share="1/2"),
        row(2, 1.1, None, share="1/4"),
        row(3, 1.4, None, cost=0.3),
    ]
    assert step_cost(rows) == pytest.approx(0.2)
    assert step_share(rows) == pytest.approx(0.625)
    assert start_dollars(rows) == 1.0
    assert ask_seconds([rows]) == [0.5, 0.5]
    assert total_dollars(rows) == 1.4
    assert total_seconds(rows, thinking=True) == total_seconds(rows, thinking=False) + 1.5


def test_a_run_of_only_a_start_has_no_steps() -> None:
    assert math.isnan(step_cost(run([GOOD])))


def test_arriving_is_staying() -> None:
    runs = [run([GOOD, POOR, GOOD, GOOD]), run([GOOD, GOOD, -GOOD])]
    assert [one.dollars for one in arrivals(runs, PAPER, within(0.9))] == [pytest.approx(0.3), math.inf]
    assert ends(runs, PAPER, feasible) == 0.5
    assert math.isnan(ends([], PAPER, feasible))


def test_what_is_good_enough() -> None:
    assert within(0.95)(advice(GOOD))
    assert not within(0.96)(advice(GOOD))
    assert not within(0.5)(advice(GOOD, feasible=False))
    cheap = advice(0.9, ratio=2.0, full=1.05)
    assert near_full(1.1)(cheap)
    assert not near_best(1.1)(cheap)


def test_ratios_are_of_medians() -> None:
    found = ratio([2.0, 4.0, 6.0], [1.0, 2.0, 3.0])
    assert (found.value, found.finite, found.count) == (2.0, 3, 3)
    assert found.low <= 2.0 <= found.high


def test_ratios_of_what_never_arrives() -> None:
    never = [math.inf] * 3
    assert ratio(never, [1.0] * 3).value == math.inf
    assert ratio([1.0] * 3, never).value == 0.0
    neither = ratio(never, never)
    assert math.isnan(neither.value)
    assert (neither.low, neither.high) == (0.0, math.inf)
    assert ratio([], []).count == 0
