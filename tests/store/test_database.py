"""Opening, finding and closing; what studies are is tested in test_study.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from leantune.errors import StoreError, UnknownStudy
from leantune.problem import Budget
from leantune.store.database import Database
from leantune.testing.store_samples import FULL, SMALL, contract_space


def create(database: Database, name: str, time: float = 0.0) -> None:
    database.create(name, contract_space(), {}, "", Budget(), time=time, leantune_version="1")


def test_a_file_is_found_again_by_a_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Database("sqlite:///a%20b#.db") as database:
        create(database, "one")
        assert database.url == "sqlite:///a%20b#.db"
    assert (tmp_path / "a%20b#.db").is_file()
    with Database(f"sqlite:///{tmp_path}/a%20b#.db") as database:
        assert database.find("one") is not None


def test_studies_come_in_order_of_creation() -> None:
    with Database("sqlite://") as database:
        create(database, "late", 2.0)
        create(database, "early", 1.0)
        assert [row.name for row in database.studies()] == ["early", "late"]


def test_memory_is_nobody_elses() -> None:
    with Database("sqlite://") as first, Database("sqlite:///:memory:") as second:
        create(first, "mine")
        assert second.studies() == []


def test_an_unknown_study_of_an_empty_store() -> None:
    with Database("sqlite://") as database, pytest.raises(UnknownStudy, match="There is none yet"):
        database.open("mine", contract_space())


def test_a_study_is_cheap_to_list(tmp_path: Path) -> None:
    """Listing reads no history: a configuration that cannot be read is no obstacle."""
    with Database("sqlite://") as database:
        create(database, "mine")
        study = database.open("mine", contract_space())
        study.propose(SMALL, FULL, time=0.0)
        with database._connections.writing() as connection:
            connection.exec_driver_sql("UPDATE trials SET configuration = 'garbage'")
        assert database.studies()[0].counts == {"queued": 1}


def test_a_failed_opening_leaves_no_connection(tmp_path: Path) -> None:
    path = tmp_path / "no database"
    path.write_text("text " * 100, encoding="utf-8")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        with pytest.raises(StoreError):
            Database(f"sqlite:///{path}")
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_study_whose_row_is_gone() -> None:
    with Database("sqlite://") as database:
        create(database, "mine")
        study = database.open("mine", contract_space())
        with database._connections.writing() as connection:
            connection.exec_driver_sql("DELETE FROM budgets")
            connection.exec_driver_sql("DELETE FROM studies")
        with pytest.raises(UnknownStudy, match="'mine' is gone"):
            study.history()
