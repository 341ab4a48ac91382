"""A process that knows a study reads only what has changed since."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from leantune.history import TrialState
from leantune.problem import Budget
from leantune.store import encoding, study_state
from leantune.store.database import Database
from leantune.store.encoding import read_json
from leantune.store.rows import Booking
from leantune.store.study import StudyStore
from leantune.store.study_state import StudyState
from leantune.testing.store_samples import FULL, SMALL, contract_space, measured
from leantune.units import Seconds, Usd


@pytest.fixture
def database() -> Iterator[Database]:
    with Database("sqlite://") as database:
        yield database


@pytest.fixture
def study(database: Database) -> StudyStore:
    return database.create("mine", contract_space(), {}, "", Budget(usd=1e6), time=0.0, leantune_version="1")


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """How often the JSON of configurations is read meanwhile, and that of columns (metrics)."""
    calls: Counter[str] = Counter()

    def counting(name: str) -> Callable[[str], object]:
        def count_and_read(text: str) -> object:
            calls[name] += 1
            return read_json(text)

        return count_and_read

    with monkeypatch.context() as patched:
        patched.setattr(study_state, "read_json", counting("configurations"))
        patched.setattr(encoding, "read_json", counting("columns"))
        yield calls


def finish(study: StudyStore) -> None:
    claim = study.claim("w", time=1.0, lease=1.0, fitting=lambda *_: Booking(Usd(1.0), 1.0, Seconds(1.0)))
    assert claim is not None
    study.finish(claim, observations=[measured(0.5)], state=TrialState.DONE, cause="", time=2.0, dollars=Usd(0.5))


def test_only_what_changed_is_read(database: Database, study: StudyStore, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        study.propose({**SMALL, "lr": 0.1 + number / 10}, FULL, time=0.0)
    finish(study)
    other = database.open("mine", contract_space())
    with counted(monkeypatch) as calls:
        assert other.history() == study.history()
        assert calls == {"configurations": 5, "columns": 1}
        other.history()
        assert calls.total() == 6, "nothing has changed"
        finish(study)
        assert other.history() == study.history()
        assert calls == {"configurations": 5, "columns": 2}
        study.propose(SMALL, FULL, time=3.0)
        assert other.history() == study.history()
        assert calls == {"configurations": 6, "columns": 2}


def test_ones_own_changes_are_not_read_at_all(study: StudyStore, monkeypatch: pytest.MonkeyPatch) -> None:
    with counted(monkeypatch) as calls:
        study.propose(SMALL, FULL, time=0.0)
        finish(study)
        assert study.history().trial(0).state is TrialState.DONE
        assert calls.total() == 0


def test_trials_that_did_not_change_are_the_same_objects(database: Database, study: StudyStore) -> None:
    for _ in range(3):
        study.propose(SMALL, FULL, time=0.0)
    other = database.open("mine", contract_space())
    before = other.history()
    finish(study)
    after = other.history()
    assert after.trials[1] is before.trials[1] and after.trials[2] is before.trials[2]
    assert after.trials[0].configuration is before.trials[0].configuration


def test_one_configuration_is_made_once(database: Database, study: StudyStore, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(4):
        study.propose(SMALL, FULL, time=0.0)
    with counted(monkeypatch) as calls:
        database.open("mine", contract_space()).history()
        assert calls["configurations"] == 1


def test_many_changes_are_read_at_once(database: Database, study: StudyStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study_state, "_MANY", 3)
    other = database.open("mine", contract_space())
    for count in (2, 5, 1):
        for _ in range(count):
            study.propose(SMALL, FULL, time=0.0)
        finish(study)
        assert other.history() == study.history()
        assert other.money() == study.money()


def test_an_older_copy_of_the_database_is_read_anew(database: Database, study: StudyStore) -> None:
    study.propose(SMALL, FULL, time=0.0)
    study.propose(SMALL, FULL, time=0.0)
    with database._connections.writing() as connection:
        connection.exec_driver_sql("DELETE FROM moves WHERE number = 1")
        connection.exec_driver_sql("DELETE FROM trials WHERE number = 1")
        connection.exec_driver_sql("UPDATE studies SET changes = 1")
    assert len(study.history()) == 1
    assert study.propose(SMALL, FULL, time=0.0).number == 1


def test_money_is_summed_exactly() -> None:
    ones = StudyState().with_reserved(0, 1, 0.5)
    for number in range(10):
        ones = ones.with_settled(number, 1, 0.1)
    money = ones.money(Budget(usd=2.0))
    assert (money.spent, money.reserved, money.left) == (1.0, 0.0, 1.0)
