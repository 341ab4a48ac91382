"""What is run: every group as promised, and what is asked for instead of it."""

from benchmarks.arena.generated import FAMILIES, Generated
from benchmarks.arena.limited import TimeLimited
from benchmarks.lean import experiments
from benchmarks.lean.experiments import GENERATED, LEAN, MAIN, MAIN_SEEDS, OUTLINES, SEEDS, Effort, groups
from leantune.lab.replay.contenders import contender


def test_every_strategy_but_lean_is_known() -> None:
    specs = {case.settings.strategy for group in groups(Effort()).values() for case in group.cases}
    assert LEAN in specs
    for spec in specs:
        if spec.partition("(")[0] != LEAN:
            contender(spec)


def test_the_main_group_has_fifty_seeds_but_of_the_slow_ones() -> None:
    main = groups(Effort(), ("main",))["main"]
    seeds = {method: sum(case.method == method for case, _ in main.tasks()) for method in MAIN}
    assert seeds == {method: 2 * MAIN_SEEDS.get(method, SEEDS) for method in MAIN}
    assert seeds[LEAN] == seeds["trimtuner-gp"] == 100


def test_the_settings_of_each_group() -> None:
    found = groups(Effort())
    assert list(found) == list(OUTLINES)
    assert {case.settings.noise for case in found["noise"].cases} == {1.0}
    assert {case.settings.parallel for case in found["batches"].cases} == {1, 4}
    assert all(isinstance(case.source, TimeLimited) for case in found["two"].cases)
    assert {case.settings.usd for case in found["nephele"].cases} == {0.3, 3.0}
    assert all("{" not in case.settings.strategy for case in found["nephele"].cases)


def test_generated_problems_are_replayed_once_each() -> None:
    tasks = [*groups(Effort(), ("generated",))["generated"].tasks()]
    assert len(tasks) == len(FAMILIES) * len(GENERATED) * experiments.PROBLEMS
    assert {task.seed for _, task in tasks} == {0}
    assert len({case.source for case, _ in tasks}) == len(FAMILIES) * experiments.PROBLEMS
    few = groups(Effort(seeds=2), ("generated",))["generated"]
    assert {case.source.number for case in few.cases if isinstance(case.source, Generated)} == {0, 1}


def test_exploring_takes_other_strategies_tables_and_seeds() -> None:
    effort = Effort(seeds=3, strategies=("eic", "lean(x=1)"), tables=("rnn",))
    main = groups(effort, ("main",))["main"]
    assert [(case.method, case.table) for case in main.cases] == [("eic", "rnn"), ("lean(x=1)", "rnn")]
    assert len([*main.tasks()]) == 6


def test_another_text_may_go_by_the_name_of_lean() -> None:
    cases = groups(Effort(lean="eic"), ("main",))["main"].cases
    assert {case.settings.strategy for case in cases if case.method == LEAN} == {"eic"}


def test_a_quick_run_is_short() -> None:
    for group in groups(Effort(quick=True)).values():
        assert {task.seed for _, task in group.tasks()} == {0}
        assert all((case.settings.iterations or 0) <= 12 for case in group.cases)
