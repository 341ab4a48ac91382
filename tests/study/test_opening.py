"""A study is created once, goes on if it is the same, and takes a new budget over."""

from __future__ import annotations

from pathlib import Path

import pytest

from leantune.clock import SimulatedClock
from leantune.errors import StudyChanged
from leantune.problem import Budget
from leantune.store.database import Database
from leantune.store.study import StudyStore
from leantune.study.definition import describe, open_or_create
from tests.toy import toy_problem


def opened(database: Database, budget: Budget, seed: int = 1) -> StudyStore:
    problem = toy_problem(budget=budget)
    return open_or_create(database, "s", problem, describe(problem, "eic", {}, seed), "the file", SimulatedClock(5.0))


def test_created_once_and_found_again(tmp_path: Path) -> None:
    with Database(f"sqlite:///{tmp_path / 'a.db'}") as database:
        first = opened(database, Budget(trials=3))
        first.propose(toy_problem().space.grid()[0], toy_problem().fractions[0], time=6.0)
        again = opened(database, Budget(trials=3))
        assert len(again.history()) == 1
        assert again.job == "the file"
        assert len(again.budgets()) == 1


def test_another_budget_is_taken_over_and_logged(tmp_path: Path) -> None:
    with Database(f"sqlite:///{tmp_path / 'a.db'}") as database:
        opened(database, Budget(trials=3))
        assert opened(database, Budget(trials=4)).budget() == Budget(trials=4)
        assert [change.budget.trials for change in opened(database, Budget(trials=4)).budgets()] == [3, 4]


def test_another_definition_is_refused_with_what_changed(tmp_path: Path) -> None:
    with Database(f"sqlite:///{tmp_path / 'a.db'}") as database:
        opened(database, Budget(trials=3))
        with pytest.raises(StudyChanged, match="seed was 1 and is 2") as refused:
            opened(database, Budget(trials=9), seed=2)
        assert "another name" in refused.value.hint
        assert opened(database, Budget(trials=3)).budget() == Budget(trials=3)
