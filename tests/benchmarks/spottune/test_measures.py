"""Both ways of averaging, by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from benchmarks.spottune.measures import array, by_family, gap, hit_rate, over_families, ratio, selected, slowness, usd
from benchmarks.spottune.policies import Policy, Rule
from tests.benchmarks.spottune.made import GAP, found

OURS, OTHER = Policy(Rule.OURS), Policy(Rule.SPOT_CHEAPEST, 1.0)


def test_the_two_averages_differ_where_families_do() -> None:
    made = found({OURS: [[1.0, 4.0]], OTHER: [[2.0, 40.0]]})
    one = ratio(made, OURS, OTHER, usd)
    assert one.of_means.value == pytest.approx(5 / 42)
    assert one.mean_of.value == pytest.approx((1 / 2 + 1 / 10) / 2)
    assert one.families == pytest.approx({"f0": 0.5, "f1": 0.1})


def test_the_median_is_over_starts_of_means_over_families() -> None:
    made = found({OURS: [[1.0, 3.0], [10.0, 10.0], [3.0, 5.0]]})
    assert over_families(made, OURS, usd).value == 4.0
    assert by_family(made, OURS, usd)["f1"].value == 5.0
    assert array(made, OURS, usd).shape == (3, 2)


def test_of_the_rate_the_ratio_of_means_multiplies_cost_and_time() -> None:
    made = {
        **found({OURS: [[1.0, 4.0]]}, selected_seconds=3600.0),
        **found({OTHER: [[2.0, 40.0]]}, selected_seconds=7200.0),
    }
    one = ratio(made, OURS, OTHER, slowness)
    assert one.of_means.value == pytest.approx(5 / 42 * 0.5)
    assert one.mean_of.value == pytest.approx((0.5 * 0.5 + 0.1 * 0.5) / 2)
    assert ratio(made, OURS, OTHER, selected).mean_of.value == 0.5


def test_what_was_not_run_is_not_known() -> None:
    made = found({OURS: [[1.0]]})
    assert not ratio(made, OURS, OTHER, usd).known
    assert not gap(made).known
    assert math.isnan(hit_rate(made, OTHER, 3))


def test_the_gap_is_from_no_skill_to_the_oracle() -> None:
    one = gap(found(GAP))
    assert one.known
    assert (one.random.value, one.ours.value, one.oracle.value) == pytest.approx((0.5, 0.2, 0.1))
    assert one.closed.value == pytest.approx(0.75)
    assert one.time.value == 1.0


def test_hits_are_counted() -> None:
    made = found({OURS: [[1.0, 2.0]]})
    missed = {tuning: replace(one, hit_3=tuning.family == "f0", hit_1=False) for tuning, one in made.items()}
    assert hit_rate(missed, OURS, 3) == 0.5
    assert hit_rate(missed, OURS, 1) == 0.0
