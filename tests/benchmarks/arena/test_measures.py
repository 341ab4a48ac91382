"""Measures against values computed by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.arena.budgets import BUDGETS, OPEN, open_settings
from benchmarks.arena.contests import LEAN
from benchmarks.arena.measures import (
    Ending,
    better_rule,
    difference,
    dollars_to,
    ending,
    endings,
    pooled,
    regret_after,
    upper_end,
)
from benchmarks.arena.problems import facts
from leantune.lab.replay.calibration import calibrate
from leantune.lab.replay.runs import COMMON, PAPER, replay
from tests.benchmarks.arena.made import PROBLEM, made_run, played


def made(method: str, regrets: list[float], rule: str = PAPER) -> Ending:
    return Ending(method, rule, dict(enumerate(regrets)), 0.0, 1.0, 0.1)


def test_regret_at_the_end_and_what_breaks_a_limit() -> None:
    runs = {0: made_run(0, [0.9, 0.25]), 1: made_run(1, [0.9, -0.2]), 2: []}
    found = ending(PROBLEM, "eic", PAPER, runs)
    assert found.regrets == pytest.approx({0: 0.25, 1: 1.5, 2: 1.5})
    assert found.infeasible == pytest.approx(2 / 3)
    assert found.mean == pytest.approx(3.25 / 3)


def test_others_have_two_rules_and_the_better_counts() -> None:
    everybody = endings(played({LEAN: [0.5], "eic": [0.5], "random": [0.5]}), PROBLEM, OPEN)
    assert [len(everybody[name]) for name in (LEAN, "eic")] == [1, 2]
    assert better_rule([made("eic", [0.4]), made("eic", [0.3], COMMON)]).rule == COMMON
    assert better_rule([made("eic", [0.3]), made("eic", [0.3], COMMON)]).rule == PAPER


def test_the_best_other_is_chosen_on_the_even_runs_and_compared_on_the_odd_ones() -> None:
    everybody = {
        LEAN: [made(LEAN, [0.2, 0.1, 0.2, 0.3, 9.9, 9.9])],
        "eic": [made("eic", [0.1, 0.4, 0.1, 0.4])],  # best on 0 and 2
        "random": [made("random", [0.3, 0.0, 0.3, 0.0])],
    }
    found = difference(everybody)
    assert found is not None
    assert (found.other, found.runs) == ("eic", 2)
    assert found.mean == pytest.approx(((0.1 - 0.4) + (0.3 - 0.4)) / 2)
    assert found.upper == pytest.approx(-0.1), "both drawn runs are the worse one in more than 5 % of the resamples"


def test_without_pairs_there_is_no_difference() -> None:
    assert difference({"eic": [made("eic", [0.1, 0.2])]}) is None
    assert difference({LEAN: [made(LEAN, [0.1, 0.2])], "eic": [made("eic", [0.1])]}) is None


@given(st.lists(st.floats(-2.0, 2.0), min_size=1, max_size=12))
def test_an_upper_end_lies_between_mean_and_largest(values: list[float]) -> None:
    found = upper_end(np.array(values))
    assert found <= max(values) + 1e-9
    assert found >= np.mean(values) - 1e-9 or len(values) > 2


def test_dollars_to_a_share_and_twice_for_those_that_never_arrive() -> None:
    runs = {0: made_run(0, [0.9, 0.0, 0.0], runs=2.0), 1: made_run(1, [0.0, 0.0, -0.1], runs=2.0), 2: []}
    assert dollars_to(PROBLEM, runs, PAPER, 0.99) == pytest.approx({0: 4.0, 1: 12.0})


def test_regret_along_the_dollars() -> None:
    runs = {0: made_run(0, [0.9, 0.5, 0.1]), 1: made_run(1, [0.7, 0.3, 0.1])}
    assert regret_after(PROBLEM, runs, PAPER, 2) == pytest.approx(0.4)
    assert regret_after(PROBLEM, runs, PAPER, 0.5) == pytest.approx(1.5), "nothing is recommended yet"


def test_calibrations_taken_together_are_those_of_all_runs() -> None:
    source = PROBLEM.source(0)
    runs = [replay(source.load(), BUDGETS["10 tests"].settings(LEAN, 1.0), seed) for seed in (0, 1)]
    runs.append(
        replay(source.load(), open_settings("trimtuner-gp", 1.0, (), 6), 0)
    )  # small tests: recommended is what is untested
    problem = facts(source).truth.problem
    (whole,) = calibrate(problem, {LEAN: runs}, PAPER)
    parts = [found for run in runs for found in calibrate(problem, {LEAN: [run]}, PAPER)]
    together = pooled(parts)
    assert whole.cases == together.cases > 0
    for name in ("within_1", "within_2", "square", "capped_square", "log_density", "limits_off"):
        assert getattr(together, name) == pytest.approx(getattr(whole, name)), name
    for ours, theirs in zip(together.deciles, whole.deciles, strict=True):
        assert ours.count == theirs.count
        assert ours.said == pytest.approx(theirs.said, nan_ok=True)
    assert math.isnan(pooled([]).within_1)
