"""Targets and losses from made-up results."""

import pytest

from benchmarks.arena.budgets import BUDGETS
from benchmarks.arena.contests import LEAN
from benchmarks.arena.targets import cells, losses, ranks, ratios, targets
from tests.benchmarks.arena.made import played

LEAN_WINS = {LEAN: [0.5, 0.0, 0.0], "eic": [0.9, 0.5, 0.4], "random": [0.9, 0.8, 0.6]}
LEAN_LOSES = {LEAN: [0.9, 0.8, -0.7], "eic": [0.9, 0.5, 0.4], "random": [0.9, 0.8, 0.6]}


def reached(regrets: dict[str, list[float]]) -> dict[str, bool | None]:
    contest = played(regrets)
    return {target.text.partition(":")[0]: target.reached for target in targets(contest, cells(contest))}


def test_where_lean_is_better_everywhere() -> None:
    contest = played(LEAN_WINS)
    found = cells(contest)
    assert len(found) == len(BUDGETS)
    assert losses(found) == []
    verdicts = reached(LEAN_WINS)
    assert verdicts["Regret at the end, every problem and budget"] is True
    assert verdicts["Mean regret against random search"] is True
    assert verdicts["Final recommendations that break a limit"] is True
    assert verdicts["Average rank by regret"] is False, "one problem tells nobody apart"
    ranked = ranks(found)
    assert ranked is not None
    assert list(ranked.average) == [LEAN, "eic", "random"]


def test_where_it_loses() -> None:
    lost = losses(cells(played(LEAN_LOSES)))
    assert {loss.what for loss in lost} == {"regret", "ends that break a limit"}
    assert all(loss.other == "eic" for loss in lost if loss.what == "regret")
    assert lost == sorted(lost, key=lambda loss: -loss.by)
    verdicts = reached(LEAN_LOSES)
    assert verdicts["Regret at the end, every problem and budget"] is False
    assert verdicts["Mean regret against random search"] is False
    assert verdicts["Final recommendations that break a limit"] is False


def test_dollars_over_those_of_the_best_other() -> None:
    ratio, other = ratios(played({LEAN: [5.0, 0.0, 0.0], "eic": [5.0] * 3, "random": [5.0] * 4}))["ranks-well"]
    assert ratio == pytest.approx(2.0 / 6.0), "two tests, against twice three"
    assert other == "eic"
