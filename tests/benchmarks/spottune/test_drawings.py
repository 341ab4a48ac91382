"""Which figures there are, and what their panels hold."""

from __future__ import annotations

from benchmarks.spottune.claims import Evidence
from benchmarks.spottune.drawings import drawings
from benchmarks.spottune.evidence import CurveErrors
from benchmarks.spottune.figures import Bars, Lines
from benchmarks.spottune.policies import Policy, Rule
from benchmarks.spottune.results import Results
from leantune.lab.simulate.speeds import relative_speeds
from tests.benchmarks.spottune.made import GAP, results

SPEEDS = {"volatile": relative_speeds({"small": 2.0, "large": 8.0}, "small")}
KEYS = ("accuracy", "f1", "brier", "calibration_error", "area")


def test_without_runs_only_speeds_are_drawn() -> None:
    (only,) = drawings(Results(), Evidence(variations={"LoR": 0.05}), SPEEDS)
    assert only.name == "fig6"
    types, variations = only.panels
    assert isinstance(types, Bars) and list(types.places) == ["small", "large"]
    assert isinstance(variations, Bars) and variations.paper == 0.1


def test_the_volatile_group_has_figures_7_and_9_and_the_gap() -> None:
    costs = {**GAP, Policy(Rule.SPOT_CHEAPEST, 1.0): [[4.0, 4.0], [4.0, 4.0]]}
    made = {one.name: one for one in drawings(results(costs), Evidence(), SPEEDS)}
    assert set(made) == {"fig6", "fig7-volatile", "fig9", "gap"}
    cost, _, rate = made["fig7-volatile"].panels
    assert isinstance(cost, Bars) and isinstance(rate, Bars)
    assert [one.value for one in cost.series["ours, theta 0.7"]] == [2.0, 2.0]
    assert [one.value for one in rate.series["ours, theta 0.7"]] == [1.0, 1.0]
    assert [one.value for one in rate.series["single spot, cheapest, theta 1"]] == [0.5, 0.5]


def test_predictors_come_best_first_and_errors_sorted() -> None:
    scores = {kind: {"pooled": dict.fromkeys(KEYS, value)} for kind, value in (("b", 0.2), ("a", 0.1))}
    curves = [CurveErrors("ResNet", "last", (0.3, float("nan"), 0.1), 1)]
    made = {one.name: one for one in drawings(Results(), Evidence(scores, curves), SPEEDS)}
    first, lines = made["fig10"].panels[0], made["fig11"].panels[0]
    assert isinstance(first, Bars) and list(first.places) == ["a", "b"]
    assert isinstance(lines, Lines) and [one.value for one in lines.series["last"]] == [0.1, 0.3]


def test_theta_has_a_line_for_each_family_and_the_hits() -> None:
    made = results({Policy(Rule.OURS, 0.7): [[1.0, 2.0]]}, "theta", "0.7")
    figure = {one.name: one for one in drawings(made, Evidence(), SPEEDS)}["fig8"]
    cost, _, hits = figure.panels
    assert isinstance(cost, Lines) and set(cost.series) == {"f0", "f1"}
    assert isinstance(hits, Lines) and hits.series["top 3"][0].value == 1.0
