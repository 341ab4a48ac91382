"""A change writes what is new about one trial, in few statements, however long the study is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import sqlalchemy as sa

from leantune.history import TrialState
from leantune.problem import Budget
from leantune.store.database import Database
from leantune.store.rows import Booking
from leantune.store.study import StudyStore
from leantune.testing.store_samples import FULL, SMALL, contract_space, measured
from leantune.units import Seconds, Usd


@pytest.fixture
def database() -> Iterator[Database]:
    with Database("sqlite://") as database:
        yield database


@contextmanager
def statements(database: Database) -> Iterator[list[str]]:
    """The first words of what is sent to the database meanwhile."""
    sent: list[str] = []
    engine = database._connections._engine

    def note(_: object, __: object, statement: str, *___: object) -> None:
        words = statement.split()
        sent.append(" ".join(words[:3] if words[0] == "INSERT" else words[:2] if words[0] != "SELECT" else words[:1]))

    sa.event.listen(engine, "before_cursor_execute", note)
    yield sent
    sa.event.remove(engine, "before_cursor_execute", note)


def run_one(study: StudyStore) -> None:
    claim = study.claim("w", time=1.0, lease=1.0, fitting=lambda *_: Booking(Usd(0.5), 1.0, Seconds(1.0)))
    assert claim is not None
    study.finish(claim, observations=[measured(0.5)], state=TrialState.DONE, cause="", time=2.0, dollars=Usd(0.5))


@pytest.mark.parametrize("length", [0, 40])
def test_statements_of_a_trial(database: Database, length: int) -> None:
    study = database.create("mine", contract_space(), {}, "", Budget(usd=99.0), time=0.0, leantune_version="1")
    for _ in range(length):
        study.propose(SMALL, FULL, time=0.0)
        run_one(study)
    with statements(database) as sent:
        study.propose(SMALL, FULL, time=0.0)
        assert sent == ["BEGIN IMMEDIATE", "SELECT", "INSERT INTO trials", "INSERT INTO moves", "UPDATE studies"]
        sent.clear()
        run_one(study)
        looked = ["BEGIN", "SELECT"]
        claimed = ["BEGIN IMMEDIATE", "SELECT", "SELECT", "UPDATE trials", "INSERT INTO moves", "INSERT INTO ledger"]
        ended = ["UPDATE ledger", "UPDATE trials", "INSERT INTO moves", "INSERT INTO observations", "UPDATE studies"]
        assert sent == [*claimed, "UPDATE studies", "BEGIN IMMEDIATE", "SELECT", "SELECT", *ended]
        sent.clear()
        study.history()
        assert sent == looked
        sent.clear()
        study.look()
        assert study.renew("w", [], time=3.0, lease=1.0) == frozenset()
        assert sent == looked, "nobody waits and nothing is written when there is nothing to do"


def test_no_row_is_written_twice(database: Database) -> None:
    study = database.create("mine", contract_space(), {}, "", Budget(usd=99.0), time=0.0, leantune_version="1")
    for _ in range(3):
        study.propose(SMALL, FULL, time=0.0)
        run_one(study)
    with database._connections.reading() as connection:
        moves = connection.exec_driver_sql("SELECT number, position, state FROM moves ORDER BY rowid").all()
        versions = connection.exec_driver_sql("SELECT changed FROM trials ORDER BY number").scalars().all()
    states = ["proposed", "queued", "running", "done"]
    assert [tuple(row) for row in moves] == [(n, i, state) for n in range(3) for i, state in enumerate(states)]
    assert versions == [3, 6, 9]
