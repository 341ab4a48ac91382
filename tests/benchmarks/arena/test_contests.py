"""Which replays make a contest, and what becomes of those that were not made."""

from pathlib import Path

from benchmarks.arena.budgets import BUDGETS, OPEN
from benchmarks.arena.contests import LEAN, Contest, Entrant, Place, play
from leantune.clock import SimulatedClock
from leantune.lab.replay.pool import Done
from tests.benchmarks.arena.made import ENTRANTS, PROBLEM, made_run, played

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
