"""The vocabulary of the figures."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leantune.problem import COST, TIME
from leantune.report.data import ResultOutcome
from leantune.report.marks import MARKS, Axis, log_ticks, metric_axis, points, rounded, thinned, trial_axis
from tests.report.studies import long_view

AMOUNTS = st.floats(min_value=1e-9, max_value=1e12)


def test_kinds_differ_in_shape_and_in_colour() -> None:
    assert (
        len({mark["symbol"] for mark in MARKS.values()})
        == len({mark["color"] for mark in MARKS.values()})
        == len(ResultOutcome)
    )


@given(AMOUNTS, st.floats(min_value=1.01, max_value=1e9))
def test_ticks_of_a_log_axis_lie_inside_and_are_few(low: float, ratio: float) -> None:
    ticks = log_ticks(low, low * ratio)
    assert all(low <= tick <= low * ratio for tick in ticks)
    assert len(ticks) <= 7
    assert ticks == sorted(ticks)
    if ratio > 10:
        assert ticks


@given(st.lists(AMOUNTS, min_size=1, max_size=30))
def test_every_value_lies_on_its_axis(values: list[float]) -> None:
    for metric in (COST, TIME, "loss"):
        axis = metric_axis(metric, values)
        assert axis.ends is not None
        assert all(axis.ends[0] <= (axis.of(value) or math.nan) <= axis.ends[1] for value in values)
        low, high = axis.layout()["range"]
        assert low < high


def test_axes_say_their_unit() -> None:
    assert metric_axis(COST, [0.1, 0.2]).layout()["title"]["text"] == "cost of one run (USD)"
    assert metric_axis(TIME, [100.0, 600.0]).layout()["title"]["text"] == "time of one run (min)"
    assert metric_axis(TIME, [100.0, 600.0]).of(600.0) == pytest.approx(10.0)
    assert metric_axis("a<b", [1.0]).layout()["title"]["text"] == "a&lt;b"
    assert metric_axis(COST, [0.1, 0.2]).layout()["tickformat"] == ",.2f"
    assert metric_axis(COST, [0.001, 0.004]).layout()["tickformat"] == ",.4f"


def test_a_log_axis_only_where_most_values_need_it() -> None:
    assert metric_axis("loss", [0.1, 1.0, 10.0, 100.0]).log
    assert not metric_axis("loss", [0.3] * 18 + [0.4, 900.0]).log
    assert not metric_axis("loss", [-1.0, 100.0]).log
    assert Axis("x", log=True).of(0.0) is None
    assert Axis("x").of(math.nan) is None


def test_a_value_alone_has_room() -> None:
    for value in (0.0, 5.0, -3.0):
        axis = metric_axis("loss", [value])
        assert axis.ends is not None
        assert axis.ends[0] < value < axis.ends[1]
    assert metric_axis("loss", []).ends is None


def test_a_rare_kind_still_looks_rare_when_results_are_left_out() -> None:
    results = long_view(120).results
    assert thinned(results, 120) == (results, "")
    few, words = thinned(results, 60)
    assert words == " 60 of 120 results are drawn, evenly chosen."
    assert (few[0], few[-1], len(few)) == (results[0], results[-1], 60)
    failed, all_failed = (sum(r.outcome is ResultOutcome.FAILED for r in some) for some in (few, results))
    assert failed <= 0.5 * all_failed + 3


def test_points_leave_out_what_is_not_known() -> None:
    results = long_view(120).results
    trace = points(results, ResultOutcome.PART, lambda r: 1.0, lambda r: None if r.index % 2 else 0.123456789)
    assert len(trace["x"]) == len(trace["y"]) == len(trace["customdata"]) > 0
    assert all(index % 2 == 0 for index in trace["customdata"])
    assert set(trace["y"]) == {0.123457}
    assert rounded(math.inf) is None


def test_trials_are_whole_numbers() -> None:
    assert trial_axis(3)["dtick"] == 1
    assert "dtick" not in trial_axis(100)
