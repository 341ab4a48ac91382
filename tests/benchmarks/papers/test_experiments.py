"""What is run is what the page says."""

from dataclasses import replace

import pytest

from benchmarks.papers import experiments
from benchmarks.papers.experiments import (
    BUDGETS,
    FILTERS,
    MODELS,
    OUTLINES,
    Case,
    Effort,
    changed_spec,
    groups,
    other_budget,
)
from benchmarks.papers.inventory import Inventory
from leantune.lab.replay.contenders import contender
from leantune.lab.replay.pool import Source
from tests.benchmarks.papers.made import inventory

EVERYTHING = replace(
    inventory(),
    tables={
        (name, problem): inventory().tables["rnn", problem if name in ("cnn", "rnn") else ""]
        for name in ("cnn", "rnn", "lynceus-cnn")
        for problem in ("", "cheapest")
    },
)


def cases(inventory: Inventory, effort: Effort = Effort()) -> list[Case]:  # noqa: B008 - frozen
    return [case for group in groups(inventory, effort).values() for case in group.cases]


def test_every_strategy_can_be_read() -> None:
    specs = {(case.settings.strategy, case.settings.filter) for case in cases(EVERYTHING, Effort(full=True))}
    for spec, filtered in specs:
        if "optuna" not in spec:
            contender(spec, filtered)
    assert len(specs) > 40


def test_seeds_and_iterations_are_those_of_the_issue() -> None:
    found = groups(EVERYTHING, Effort())
    assert {name: group.seeds for name, group in found.items()} == {
        "trimtuner": 20,
        "nephele": 20,
        "optuna": 20,
        "filters": 5,
        "fabulinus": 5,
        "sensitivity": 5,
        "others": 5,
    }
    assert {case.settings.iterations for case in found["trimtuner"].cases} == {44}
    assert {case.settings.iterations for case in found["fabulinus"].cases} == {40}
    full = groups(EVERYTHING, Effort(full=True))["fabulinus"]
    assert {case.settings.iterations for case in full.cases} == {100}
    assert {case.table for case in found["filters"].cases} == {"rnn"}
    assert len(found["filters"].cases) == len(FILTERS) * len(MODELS) - 1


def test_budgets_of_cheapest_anywhere() -> None:
    assert BUDGETS["thesis"]["cnn"] == (5, 10)
    assert BUDGETS["ours"]["rnn"] == (0.05, 0.3)
    found = groups(EVERYTHING, Effort())["nephele"]
    assert {(case.setup, case.table, case.settings.usd) for case in found.cases} == {
        ("thesis", "cnn", 10.0),
        ("thesis", "rnn", 4.0),
        ("ours", "cnn", 3.0),
        ("ours", "rnn", 0.3),
    }
    sources = [case.source for case in found.cases]
    assert all(isinstance(source, Source) and source.problem == "cheapest" for source in sources)
    assert all(case.settings.iterations is None for case in found.cases)
    assert "nephele(horizon=0, initial_usd=0.05)" in {case.settings.strategy for case in found.cases}
    initial, whole = other_budget(EVERYTHING, "lynceus-cnn")
    assert whole == pytest.approx(3 * initial, rel=0.01)


def test_a_quick_run_is_small() -> None:
    found = groups(EVERYTHING, Effort(quick=True))
    assert {group.seeds for group in found.values()} == {1}
    assert all((case.settings.iterations or 99) <= 12 for case in cases(EVERYTHING, Effort(quick=True)))
    assert {case.table for group in found.values() for case in group.cases} == {"rnn", "lynceus-cnn"}
    assert not any("horizon=2" in case.settings.strategy for group in found.values() for case in group.cases)


def test_the_multilayer_table_joins_where_it_is_present() -> None:
    tables = {**EVERYTHING.tables, ("multilayer", ""): EVERYTHING.tables["rnn", ""]}
    found = groups(replace(EVERYTHING, tables=tables), Effort())
    for name in ("trimtuner", "nephele", "fabulinus", "sensitivity"):
        assert "multilayer" in {case.table for case in found[name].cases}


def test_cases_of_a_group_are_told_apart() -> None:
    for group in groups(EVERYTHING, Effort()).values():
        names = [(case.setup, case.table, case.method) for case in group.cases]
        assert len(set(names)) == len(names)
        assert len(list(group.tasks())) == group.seeds * len(names)


def test_without_optuna_its_group_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiments, "find_spec", lambda name: None if name == "torch" else object())
    assert "torch not installed" in experiments.optuna_missing()
    assert groups(EVERYTHING, Effort())["optuna"].cases == ()


def test_groups_can_be_chosen() -> None:
    assert list(groups(EVERYTHING, Effort(), ("filters",))) == ["filters"]
    assert list(groups(EVERYTHING, Effort())) == list(OUTLINES)


def test_options_at_their_default_are_not_another_strategy() -> None:
    assert changed_spec("trimtuner", points=1) == "trimtuner"
    assert changed_spec("trimtuner", points=2, spend="seconds") == "trimtuner(points=2, spend='seconds')"
