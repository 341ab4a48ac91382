"""What lies within a budget is what a strategy does under it, where it does not look at it."""

import pytest

from benchmarks.arena.budgets import BUDGETS, OPEN, ArenaBudget, open_settings
from benchmarks.arena.contests import OWN_ENTRANTS
from benchmarks.arena.generated import Generated
from benchmarks.arena.problems import facts
from leantune.lab.replay.runs import replay
from tests.benchmarks.arena.made import made_run

SOURCE = Generated("ranks-well", 0)


def test_parts_by_tests_and_by_dollars() -> None:
    run, unit = made_run(0, [0.5] * 6, runs=2.0), facts(SOURCE).unit
    assert ArenaBudget("", trials=4).part(run, unit) == run[:4]
    assert ArenaBudget("", runs=10).part(run, unit) == run[:5], "the fifth test costs all that is left"
    assert ArenaBudget("", runs=9.9).part(run, unit) == run[:4]
    assert ArenaBudget("", trials=2, runs=10).part(run, unit) == run[:2]
    assert ArenaBudget("", runs=1.0).part(run, unit) == []


def test_budgets_reach_the_strategy_but_for_the_open_one() -> None:
    assert OPEN.settings("lean", 0.5).budget.limits == {}
    both = BUDGETS["20 tests and $10 runs"].settings("lean", 0.5)
    assert (both.trials, both.usd, both.iterations) == (20, 5.0, None)


TESTS, DOLLARS = ArenaBudget("", trials=7), ArenaBudget("", runs=4)
OBLIVIOUS = [entrant.spec for entrant in OWN_ENTRANTS if not entrant.told]


@pytest.mark.parametrize(
    ("spec", "budget"),
    # trimtuner-gp makes hundreds of small tests for the dollars of four full runs
    [*((spec, TESTS) for spec in OBLIVIOUS), *((spec, DOLLARS) for spec in OBLIVIOUS if spec != "trimtuner-gp")],
)
def test_one_replay_serves_all_budgets_of_strategies_that_do_not_look_at_them(spec: str, budget: ArenaBudget) -> None:
    table, unit = SOURCE.load(), facts(SOURCE).unit
    told = replay(table, budget.settings(spec, unit), 3)
    within = budget.part(replay(table, open_settings(spec, unit, (budget,), 12), 3), unit)
    assert [(row.configuration, row.fraction, row.dollars) for row in told] == [
        (row.configuration, row.fraction, row.dollars) for row in within
    ]
    assert told[-1].advice == within[-1].advice
