"""Verdicts by hand: Accuracy_C, ratios both ways, failures, what counts as an answer; what is true of a table."""

import json
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leantune.executors.replay import Measurement
from leantune.lab.replay.truth import Truth, facts
from leantune.problem import Goal, Problem, maximize, minimize
from leantune.space import Space, choice
from tests.lab.replay.made import CSV, table

HALF, FULL = Fraction(1, 2), Fraction(1)
SPACE = Space(c=choice("a", "b", "c", "d"))
IDS = {str(configuration["c"]): configuration.id for configuration in SPACE.grid()}


def truth(goal: Goal, limits: Sequence[str], rows: Mapping[tuple[str, Fraction], Measurement]) -> Truth:
    shares = sorted({share for _, share in rows})
    measured = {(IDS[name], share): measurement for (name, share), measurement in rows.items()}
    return Truth(Problem(SPACE, goal, limits, shares), measured)


def measured(accuracy: float, cost: float = 1.0, seconds: float = 60.0, **more: float) -> Measurement:
    return Measurement({"accuracy": accuracy, **more}, seconds, cost=cost)


TWO_LIMITS = truth(
    maximize("accuracy"),
    ["cost <= 2 USD", "speed >= 10"],
    {
        ("a", FULL): measured(0.8, cost=2.0, speed=10.0),
        ("b", FULL): measured(0.9, cost=4.0, speed=20.0),
        ("c", FULL): measured(0.9, cost=4.0, speed=5.0),
        ("d", FULL): Measurement({}, 5.0, "out of memory", cost=0.1),
    },
)


@pytest.mark.parametrize(
    ("name", "feasible", "accuracy_c"),
    [
        ("a", True, 0.8),  # limits are met exactly
        ("b", False, 0.9 * 2 / 4),
        ("c", False, 0.9 * 2 / 4 * 5 / 10),
    ],
)
def test_accuracy_c_is_the_accuracy_times_what_is_left_of_each_violated_limit(
    name: str, feasible: bool, accuracy_c: float
) -> None:
    verdict = TWO_LIMITS.judge((IDS[name], FULL))
    assert verdict.feasible is feasible
    assert verdict.accuracy_c == pytest.approx(accuracy_c)
    assert verdict.metrics["time"] == 60.0


@pytest.mark.parametrize("pair", [(IDS["d"], FULL), (IDS["a"], HALF), ("nobody", FULL)])
def test_what_failed_or_was_never_measured_is_worth_nothing(pair: tuple[str, Fraction]) -> None:
    verdict = TWO_LIMITS.judge(pair)
    assert (verdict.metrics, verdict.feasible, verdict.accuracy_c) == ({}, False, 0.0)
    assert math.isinf(verdict.ratio)
    assert not verdict.within(0.01)


@pytest.mark.parametrize(("limit", "value"), [("q >= 0", -1.0), ("q >= -2", -3.0), ("q <= -2", 0.0), ("q <= 0", 3.0)])
def test_a_limit_without_a_ratio_leaves_nothing(limit: str, value: float) -> None:
    judged = truth(maximize("accuracy"), [limit], {("a", FULL): measured(0.9, q=value)}).judge((IDS["a"], FULL))
    assert judged.accuracy_c == 0.0


def test_ratios_of_a_goal_to_maximise_are_of_the_best_over_the_value() -> None:
    assert TWO_LIMITS.best == TWO_LIMITS.best_full == 0.8
    assert TWO_LIMITS.judge((IDS["a"], FULL)).ratio == 1.0
    assert TWO_LIMITS.judge((IDS["b"], FULL)).ratio == pytest.approx(0.8 / 0.9), "infeasible: below 1"


CHEAPEST = truth(
    minimize("cost", at="anywhere"),
    ["accuracy >= 0.85"],
    {
        ("a", HALF): measured(0.9, cost=2.0),
        ("a", FULL): measured(0.95, cost=5.0),
        ("b", HALF): measured(0.8, cost=1.0),
        ("b", FULL): measured(0.9, cost=4.0),
    },
)


def test_ratios_of_dollars_are_cno_over_all_fractions_and_over_full_data() -> None:
    assert (CHEAPEST.best, CHEAPEST.best_full) == (2.0, 4.0)
    verdict = CHEAPEST.judge((IDS["a"], FULL))
    assert (verdict.ratio, verdict.ratio_full, verdict.accuracy_c) == (2.5, 1.25, None)
    assert CHEAPEST.judge((IDS["a"], HALF)).ratio_full == 0.5


def test_at_full_data_smaller_fractions_are_no_answers() -> None:
    full = truth(
        maximize("accuracy"), [], {("a", HALF): measured(0.9), ("a", FULL): measured(0.7), ("b", HALF): measured(0.8)}
    )
    assert full.best == 0.7
    assert list(full.answers()) == [(IDS["a"], FULL)]


def test_nothing_feasible_has_no_best() -> None:
    nothing = truth(maximize("accuracy"), ["cost <= 0.5 USD"], {("a", FULL): measured(0.9)})
    assert math.isnan(nothing.best)
    assert not nothing.judge((IDS["a"], FULL)).within(0.5)


values = st.floats(-100, 100).filter(lambda value: abs(value) > 1e-6)


@given(values, values, st.booleans(), st.sampled_from([0.5, 0.9, 0.99]))
def test_a_ratio_is_at_least_one_and_one_for_the_best_whatever_the_signs(
    one: float, other: float, up: bool, share: float
) -> None:
    goal = maximize("m") if up else minimize("m")
    known = truth(goal, [], {("a", FULL): Measurement({"m": one}, 1.0), ("b", FULL): Measurement({"m": other}, 1.0)})
    best, worse = sorted([("a", one), ("b", other)], key=lambda pair: pair[1], reverse=up)
    assert known.judge((IDS[best[0]], FULL)).ratio == 1.0
    verdict = known.judge((IDS[worse[0]], FULL))
    assert verdict.ratio >= 1.0
    if best[1] > 0 and worse[1] > 0:
        good = worse[1] >= share * best[1] if up else worse[1] <= best[1] / share
        near = abs(worse[1] - (share * best[1] if up else best[1] / share)) < 1e-9 * abs(worse[1])
        assert near or verdict.within(share) is good
    if best[1] * worse[1] < 0:
        assert math.isinf(verdict.ratio)


def test_zero_is_the_best_of_errors() -> None:
    errors = truth(
        minimize("m"), [], {("a", FULL): Measurement({"m": 0.0}, 1.0), ("b", FULL): Measurement({"m": 1.0}, 1)}
    )
    assert [errors.judge((IDS[name], FULL)).ratio for name in "ab"] == [1.0, math.inf]


def test_regret_is_in_units_of_best_less_median() -> None:
    rows = {(name, FULL): measured(value) for name, value in zip("abcd", (0.5, 0.7, 0.8, 0.9), strict=True)}
    found = truth(maximize("accuracy"), ["cost <= 2 USD"], rows)
    assert [found.regret(found.judge((IDS[name], FULL))) for name in "abcd"] == pytest.approx(
        [0.4 / 0.15, 0.2 / 0.15, 0.1 / 0.15, 0.0]
    )
    assert found.regret(None) == 1.5
    assert TWO_LIMITS.regret(TWO_LIMITS.judge((IDS["b"], FULL))) == 1.5, "it breaks a limit"
    assert TWO_LIMITS.regret(TWO_LIMITS.judge((IDS["a"], FULL))) == 0.0, "the only one that breaks none"
    nothing = truth(maximize("accuracy"), ["cost <= 0.5 USD"], rows)
    assert math.isnan(nothing.regret(None))


@given(st.lists(st.floats(0.001, 1e3), min_size=4, max_size=4))
def test_regret_is_the_same_in_any_unit_and_direction(values: list[float]) -> None:
    def regrets(goal: Goal, scale: float) -> list[float]:
        rows = {(name, FULL): measured(value * scale) for name, value in zip("abcd", values, strict=True)}
        found = truth(goal, [], rows)
        return [found.regret(found.judge((IDS[name], FULL))) for name in "abcd"]

    up = regrets(maximize("accuracy"), 1.0)
    assert min(up) == 0.0
    assert regrets(maximize("accuracy"), 4.0) == pytest.approx(up)
    assert regrets(minimize("accuracy"), -1.0) == pytest.approx(up)


def test_facts_at_full_data(tmp_path: Path) -> None:
    found = facts(table(tmp_path, subject_to="subject_to: [time <= 30 s]"))
    assert found == {
        "table": "runs",
        "problem": "",
        "rows": 4,
        "configurations": 2,
        "feasible": 1,
        "near_optimal": 1,
        "best": 0.6,
        "best_cost": 20 / 3600 * 2 * 0.023,
        "best_configuration": {"lr": 0.1, "cluster": {"type": "t2.small", "nodes": 2}},
        "best_fraction": "1",
        "feasible_by_fraction": {"1": 1},
        "remarks": ["2 of 4 combinations of the parameters are not in the table and are never proposed"],
    }
    assert json.loads(json.dumps(found)) == found


def test_facts_anywhere(tmp_path: Path) -> None:
    problems = "problems: {cheap: {minimize: time, at: anywhere, subject_to: [accuracy >= 0.6]}}"
    found = facts(table(tmp_path, problem="cheap", problems=problems))
    assert (found["feasible"], found["best"], found["best_fraction"]) == (3, 20.0, "1")
    assert found["feasible_by_fraction"] == {"1/2": 1, "1": 2}


@pytest.mark.parametrize(("goal", "near"), [("maximize: accuracy", 2), ("minimize: accuracy", 2)])
def test_nearly_optimal_is_within_five_percent(tmp_path: Path, goal: str, near: int) -> None:
    for values in (("0.95", "1.0"), ("-1.0", "-0.95")):
        csv = CSV.replace("20,0.6", f"20,{values[0]}").replace("40,0.8", f"40,{values[1]}")
        assert facts(table(tmp_path, csv, maximize=goal))["near_optimal"] == near
    csv = CSV.replace("20,0.6", "20,0.94").replace("40,0.8", "40,1.0")
    assert facts(table(tmp_path, csv, maximize=goal))["near_optimal"] == 1


def test_failed_runs_are_not_feasible(tmp_path: Path) -> None:
    assert facts(table(tmp_path, CSV.replace("40,0.8", "40,")))["feasible"] == 1


def test_nothing_is_feasible(tmp_path: Path) -> None:
    found = facts(table(tmp_path, subject_to="subject_to: [accuracy >= 0.9]"))
    assert (found["feasible"], found["near_optimal"], found["best"], found["best_cost"]) == (0, 0, None, None)
    assert (found["best_configuration"], found["best_fraction"]) == (None, None)
    assert found["feasible_by_fraction"] == {"1": 0}
