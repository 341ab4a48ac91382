"""Tables in Markdown."""

from __future__ import annotations

from benchmarks.papers.targets import Target
from benchmarks.spottune import tables
from benchmarks.spottune.evidence import Chosen, CurveErrors
from benchmarks.spottune.policies import Policy, Rule
from leantune.lab.simulate.speeds import relative_speeds
from tests.benchmarks.spottune.made import GAP, found, results


def rows(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()[2:]]


def test_policies_stand_in_the_order_they_were_run() -> None:
    told = rows(tables.policies_table(found(GAP)))
    assert [row[0] for row in told] == [str(policy) for policy in GAP]
    assert told[1][1] == "$2.00 [2.00, 2.00]"


def test_ratios_are_told_both_ways() -> None:
    costs = {Policy(Rule.OURS, 0.7): [[1.0, 4.0]], Policy(Rule.SPOT_CHEAPEST, 1.0): [[2.0, 40.0]]}
    (row,) = rows(tables.ratios_table(found(costs)))
    assert row[2].startswith("70 %") and row[3].startswith("88.1 %")


def test_the_gap_has_a_row_for_each_setup() -> None:
    (row,) = rows(tables.gap_table(results(GAP)))
    assert row[0] == "volatile" and row[4] == "0.750 [0.750, 0.750]"


def test_theta_tells_hits() -> None:
    made = results({Policy(Rule.OURS, 0.7): [[1.0, 3.0]]}, "theta", "0.7")
    assert rows(tables.theta_table(made)) == [["0.7", "$2.00 [2.00, 2.00]", "1.00 h [1.00, 1.00]", "100 %", "100 %"]]


def test_predictors_come_best_first() -> None:
    keys = ("accuracy", "f1", "brier", "log_loss", "calibration_error", "area")
    scores = {name: {"pooled": dict.fromkeys(keys, value), "seconds": 1.0} for name, value in (("b", 0.2), ("a", 0.1))}
    assert [row[0] for row in rows(tables.scores_table(scores))] == ["a", "b"]


def test_the_loop_is_told_relative_to_one_predictor() -> None:
    made = results({Policy(Rule.OURS): [[2.0]], Policy(Rule.PRINTED): [[3.0]]}, "loop", "tributary")
    assert [row[-2:] for row in rows(tables.loop_table(made, "tributary"))] == [["1", "1x"], ["1", "1x"]]


def test_curves_choices_and_sizes() -> None:
    errors = [CurveErrors("ResNet", "last", (0.1, float("nan")), 1), CurveErrors("CNN", "last", (float("nan"),), 0)]
    assert rows(tables.curves_table(errors)) == [["last", "10 % (1 go on)", "–"]]
    picked = [Chosen("CNN", "last", False, False, 0.05), Chosen("LoR", "last", False, True, 0.0)]
    assert rows(tables.chosen_table(picked)) == [["last", "missed, 5 % worse", "top 3"]]
    made = results({Policy(Rule.OURS): [[2.0]]}, "sizes", "volatile, 1 GB")
    assert rows(tables.sizes_table(made)) == [["volatile, 1 GB", "$2.00 [2.00, 2.00]", "3 %", "10 %", "0 %"]]
    assert rows(tables.largest_table())[0] == ["62.83 MB/s", "120 s", "7.54 GB"]


def test_speeds_say_where_they_come_from() -> None:
    told = rows(tables.speeds_table({"smooth": relative_speeds({"a": 1.0, "b": 4.0}, "a", exponent=0.5)}))
    assert told == [["smooth", "a", "1.00", "by the rule"], ["smooth", "b", "0.500", "by the rule"]]


def test_targets_and_claims_have_their_words() -> None:
    assert "**missed**" in tables.targets_table([Target("t", "w", "o", False)])
    assert tables.claims_table([]).startswith("| claim |")
