"""Targets and losses from made-up results."""

from dataclasses import replace

import pytest

from benchmarks.arena.budgets import BUDGETS, OPEN
from benchmarks.arena.contests import LEAN, Place, Played
from benchmarks.arena.measures import Ending, family_calibration
from benchmarks.arena.problems import FAMILIES, ArenaProblem
from benchmarks.arena.targets import Cell, cells, losses, ranks, ratios, real_ranks, targets
from leantune.lab.replay.runs import PAPER, replay
from tests.benchmarks.arena.made import PROBLEM, made_run, played

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


def test_ends_count_under_told_budgets_only() -> None:
    good, bad = ({number: made_run(number, [0.9, last]) for number in range(4)} for last in (0.0, -0.1))
    contest = played(LEAN_WINS)
    places = {name: Place(PROBLEM.name, LEAN, name) for name in BUDGETS}
    for broken, expected in ((OPEN.name, True), ("10 tests", False)):
        runs = {**contest.runs, **{place: bad if name == broken else good for name, place in places.items()}}
        made = Played(contest.contest, runs)
        (target,) = (one for one in targets(made, cells(made)) if "break a limit" in one.text)
        assert target.reached is expected
        assert target.ours.endswith(f" of {4 * (len(BUDGETS) - 1)}")


def test_calibration_is_of_runs_without_a_budget() -> None:
    source = PROBLEM.source(0)
    told = replay(source.load(), BUDGETS["10 tests"].settings(LEAN, 1.0), 0)
    free = replay(source.load(), replace(OPEN.settings(LEAN, 1.0), iterations=8), 0)
    contest = played(LEAN_WINS).contest
    place = Place(PROBLEM.name, LEAN, "10 tests")
    alone = family_calibration(Played(contest, {Place(PROBLEM.name, LEAN, OPEN.name): {0: free}}), [PROBLEM])
    both = Played(contest, {place: {0: told}, Place(PROBLEM.name, LEAN, OPEN.name): {0: free}})
    assert alone.cases == family_calibration(both, [PROBLEM]).cases > 0
    assert family_calibration(Played(contest, {place: {0: told}}), [PROBLEM]).cases == 0


def ranked_cell(problem: ArenaProblem, *methods: str, budget: str = "10 tests") -> Cell:
    made = {name: (Ending(name, PAPER, {0: 0.1 * index}, 0.0, 1.0, 0.1),) for index, name in enumerate(methods)}
    return Cell(problem, BUDGETS[budget], made)


def test_slow_methods_are_ranked_on_measured_tables_and_the_cheapest_leaves_nobody_out() -> None:
    demo, cheapest = (next(iter(FAMILIES[name](None))) for name in ("demo", "cheapest"))
    found = [
        ranked_cell(demo, LEAN, "eic", "slow"),
        ranked_cell(PROBLEM, LEAN, "eic"),
        ranked_cell(cheapest, "nephele", LEAN),
        ranked_cell(PROBLEM, "eic", LEAN, budget=OPEN.name),  # where no budget is told dollars are compared
    ]
    everywhere, measured = ranks(found), real_ranks(found)
    assert everywhere is not None
    assert measured is not None
    assert (list(everywhere.average), everywhere.problems) == ([LEAN, "eic"], 2)
    assert (list(measured.average), measured.problems) == ([LEAN, "eic", "slow"], 1)
