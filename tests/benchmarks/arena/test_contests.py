"""Which replays make a contest, and what becomes of those that were not made."""

from pathlib import Path

from benchmarks.arena.budgets import BUDGETS, OPEN
from benchmarks.arena.contests import (
    BATCHES,
    LEAN,
    OWN_ENTRANTS,
    SIDES,
    STOPPED,
    Contest,
    Entrant,
    Place,
    play,
)
from benchmarks.arena.problems import FAMILIES
from leantune.clock import SimulatedClock
from leantune.lab.replay.pool import Done
from tests.benchmarks.arena.made import ENTRANTS, PROBLEM, beside, made_run, played

SMALL = {name: BUDGETS[name] for name in ("10 tests", OPEN.name)}


def test_lean_plays_under_every_budget_and_the_others_once() -> None:
    tasks = list(Contest((PROBLEM,), ENTRANTS, 3, 2).tasks())
    assert sum(place.method == LEAN for place, _ in tasks) == 3 * len(BUDGETS)
    assert sum(place.method == "eic" for place, _ in tasks) == 2
    assert [task.seed for _, task in tasks] == sorted(task.seed for _, task in tasks), "run 0 of everybody first"
    assert {task.source for place, task in tasks if place.method == "eic"} == set(PROBLEM.sources)


def test_an_entrant_plays_on_its_families_only() -> None:
    assert not list(Contest((PROBLEM,), (Entrant("eic", "eic", families=("papers",)),)).tasks())


def test_runs_under_a_budget_are_cut_where_the_strategy_was_not_told() -> None:
    contest = played({name: [0.5] * 12 for name in (LEAN, "eic", "random")})
    assert contest.under(PROBLEM, "eic", BUDGETS["10 tests"])[1] == made_run(1, [0.5] * 12)[:10]


def test_hours_end_a_contest_and_what_was_finished_counts(tmp_path: Path) -> None:
    contest = Contest((PROBLEM,), (Entrant("random", "random"),), 2, 2, SMALL, 3)
    clock = SimulatedClock()

    def done(_done: Done) -> None:
        clock.sleep(3600.0)

    first = play(contest, tmp_path, processes=0, hours=0.5, done=done, clock=clock)
    assert {number for runs in first.runs.values() for number in runs} == {0}
    heard: list[bool] = []
    whole = play(contest, tmp_path, processes=0, done=lambda one: heard.append(one.fresh))
    assert heard == [False, True], "the first is not run again"
    assert set(whole.runs[Place(PROBLEM.name, "random", OPEN.name)]) == {0, 1}


def test_within_a_run_number_lean_comes_first() -> None:
    others = tuple(reversed(ENTRANTS))
    methods = [place.method for place, task in Contest((PROBLEM,), others, 2, 2).tasks() if task.seed == 1]
    assert methods == [*[LEAN] * len(BUDGETS), BATCHES.name, "random", "eic"]


def test_what_a_strategy_refuses_is_left_out_with_a_reason() -> None:
    refused = Contest((PROBLEM,), (Entrant("nephele", "nephele"), Entrant("eic", "eic")), 1, 1)
    assert {place.method for place, _ in refused.tasks()} == {"eic"}
    ((pair, why),) = refused.refusals().items()
    assert pair == ("nephele", PROBLEM.name)
    assert "does not serve a goal at='full'" in why
    elsewhere = Contest((PROBLEM,), (Entrant("nephele", "nephele", families=("papers",)),), 1, 1)
    assert not elsewhere.refusals(), "it was not entered for it"


def test_who_is_entered_for_the_cheapest() -> None:
    cheapest, *_ = FAMILIES["cheapest"](None)
    single, *_ = FAMILIES["single share"](None)
    entered = {entrant.name for entrant in OWN_ENTRANTS if entrant.meant(cheapest)}
    assert {LEAN, "random", "nephele", "cherrypick"} <= entered
    assert "trimtuner-gp" not in entered
    nephele = next(entrant for entrant in OWN_ENTRANTS if entrant.name == "nephele")
    assert nephele.meant(single)
    assert nephele.told, "a sixth of the budget goes into its start"
    assert not nephele.meant(PROBLEM)


def test_entrants_of_measured_tables_do_not_play_on_generated_ones() -> None:
    assert not Entrant("eic", "eic", real=True).meant(PROBLEM)
    assert not Entrant("eic", "eic", without=("generated",)).meant(PROBLEM)


def test_sides_are_played_on_problems_with_limits() -> None:
    problems = [problem for make in FAMILIES.values() for problem in make(None)]
    four, stopped = ({problem.name for problem in problems if side.plays(problem)} for side in SIDES)
    assert {"trimtuner-cnn", "demo-mnist", "xgboost-1489", "loose", "ranks-well"} <= four
    assert stopped - four == {problem.name for problem in problems if problem.name.startswith("lcbench")} - {
        problem.name for problem in problems if "unlimited" in problem.name
    }
    assert not any("unlimited" in name or "noisy" in name for name in four | stopped)


def test_sides_are_lean_where_no_budget_is_told() -> None:
    assert (BATCHES.settings.parallel, BATCHES.settings.common_at) == (4, None)
    assert (STOPPED.settings.stop, STOPPED.settings.parallel) == (0.01, 1)
    for side in SIDES:
        assert side.settings.strategy == LEAN
        assert not side.settings.budget.limits
        assert side.settings.iterations == OPEN.settings(LEAN, 1.0).iterations
    assert [place.method for place, _ in Contest((PROBLEM,), ENTRANTS, 3, 1).tasks()].count(BATCHES.name) == 1
    told = {name: BUDGETS[name] for name in ("10 tests",)}
    assert all(place.method == LEAN for place, _ in Contest((PROBLEM,), ENTRANTS[:1], 1, 1, told).tasks())


def test_runs_of_a_side_are_cut_as_those_that_they_are_compared_with() -> None:
    contest = beside(played({name: [0.5] for name in (LEAN, "eic", "random")}), BATCHES, {2: made_run(2, [0.5] * 50)})
    assert contest.beside(PROBLEM, BATCHES) == {2: made_run(2, [0.5] * 44)}
    assert contest.beside(PROBLEM, STOPPED) == {}
