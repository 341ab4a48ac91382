"""Summaries of rows made by hand, and of replays."""

import math
from pathlib import Path

import pytest

from leantune.lab.replay.runs import Row, Settings, replay
from leantune.lab.replay.summary import RATIOS, SHARES, summarise, targets
from leantune.lab.replay.truth import Truth
from tests.lab.replay.small import row, run, small, verdict


@pytest.fixture
def truth(tmp_path: Path) -> Truth:
    return Truth.of(small(tmp_path))


@pytest.fixture
def cheapest(tmp_path: Path) -> Truth:
    return Truth.of(small(tmp_path, "cheapest"))


def test_by_hand(truth: Truth) -> None:
    runs = {"mine": [run(False, True, True), run(True, True, True), run(True, True, False)], "other": [run(True)]}
    mine, other = summarise(truth, runs, "paper")
    assert (mine.strategy, mine.seeds, mine.tests, mine.dollars) == ("mine", 3, 3.0, 6.0)
    assert [one.level for one in mine.arrivals] == list(SHARES)
    for one in mine.arrivals:
        assert (one.dollars.value, one.seconds.value, one.tests.value, one.thinking.value) == (4.0, 20.0, 2.0, 1.0)
        assert (one.dollars.finite, one.dollars.count) == (2, 3)
    assert mine.feasible == mine.within_5 == mine.within_1 == pytest.approx(2 / 3)
    assert (mine.dollars_per_test, mine.share_of_data, mine.ask_seconds) == (2.0, 1.0, 0.5)
    assert (other.strategy, other.seeds, other.feasible) == ("other", 1, 1.0)


def test_how_close_the_last_recommendation_is(truth: Truth) -> None:
    ratios = (1.0, 1.005, 1.04, 1.2)
    (found,) = summarise(truth, {"x": [[row(1, verdict(ratio=ratio))] for ratio in ratios]}, "paper")
    assert (found.feasible, found.within_5, found.within_1) == (1.0, 0.75, 0.5)
    assert [one.dollars.finite for one in found.arrivals] == [3, 3, 2]


def test_means_leave_the_start_out_where_they_say_so(truth: Truth) -> None:
    rows = [row(1, verdict(), start=True, fraction="1/2"), row(2, verdict(), fraction="1/10"), row(3, verdict())]
    (found,) = summarise(truth, {"x": [rows]}, "paper")
    assert found.share_of_data == pytest.approx(0.55)
    (only_start,) = summarise(truth, {"x": [rows[:1]]}, "paper")
    assert math.isnan(only_start.share_of_data)


def test_dollars_arrive_at_ratios_over_all_fractions_and_over_full_data(cheapest: Truth) -> None:
    assert [(one.level, one.full) for one in targets(cheapest)] == [(r, full) for full in (False, True) for r in RATIOS]
    rows = [row(1, verdict(ratio=3.0, ratio_full=1.2)), row(2, verdict(ratio=1.4, ratio_full=0.6))]
    (found,) = summarise(cheapest, {"x": [rows]}, "paper")
    tests = {(one.level, one.full): one.tests.value for one in found.arrivals}
    assert tests == {
        (1.1, False): math.inf,
        (1.5, False): 2.0,
        (2.0, False): 2.0,
        (1.1, True): 2.0,
        (1.5, True): 1.0,
        (2.0, True): 1.0,
    }


def test_an_infeasible_bargain_has_not_arrived(cheapest: Truth) -> None:
    (found,) = summarise(cheapest, {"x": [[row(1, verdict(feasible=False, ratio=0.5, ratio_full=0.2))]]}, "paper")
    assert all(math.isinf(one.dollars.value) for one in found.arrivals)


def test_each_rule_judges_its_own_recommendations(truth: Truth) -> None:
    rows = [row(1, verdict(), rule="common")]
    assert summarise(truth, {"x": [rows]}, "common")[0].feasible == 1.0
    assert summarise(truth, {"x": [rows]}, "paper")[0].feasible == 0.0


def test_nobody_arrived(truth: Truth) -> None:
    (found,) = summarise(truth, {"x": [run(False), []]}, "paper")
    dollars = found.arrivals[0].dollars
    assert (dollars.value, dollars.low, dollars.high) == (math.inf,) * 3
    assert (dollars.finite, dollars.count, found.feasible) == (0, 2, 0.0)
    (nobody,) = summarise(truth, {"x": []}, "paper")
    assert math.isnan(nobody.feasible) and math.isnan(nobody.tests)


def test_a_real_comparison(tmp_path: Path) -> None:
    table = small(tmp_path)
    truth = Truth.of(table)
    runs = {name: [replay(table, Settings(name, iterations=12), seed) for seed in (0, 1)] for name in ("eic", "random")}
    eic, random = summarise(truth, runs, "paper")
    assert eic.tests == random.tests == 16, "the whole space"
    assert (random.feasible, random.within_1) == (1.0, 1.0), "who has seen everything knows the best"
    assert math.isfinite(random.arrivals[-1].dollars.value)
    assert eic.dollars == pytest.approx(random.dollars), "the same runs in another order"


def test_regrets_at_the_end_and_at_given_dollars(truth: Truth) -> None:
    """Each test costs 2 dollars: 0.9 is what every recommendation has, and an infeasible one counts 1.5."""
    runs: dict[str, list[list[Row]]] = {"x": [run(False, True), run(True, True, False)], "y": [[]]}
    found, nothing = summarise(truth, runs, "paper", [1.0, 2.0, 5.0])
    good = truth.regret(verdict())
    assert [regret.dollars for regret in found.regrets] == [None, 1.0, 2.0, 5.0]
    assert [regret.mean for regret in found.regrets] == pytest.approx([(1.5 + good) / 2, 1.5, (1.5 + good) / 2, good])
    assert [regret.worst for regret in found.regrets] == pytest.approx([1.5, 1.5, 1.5, good])
    assert [regret.median for regret in nothing.regrets] == [1.5] * 4
    assert found.tested == 0.0
