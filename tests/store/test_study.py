"""Studies in SQLite files, in memory and in PostgreSQL keep the same promises."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from leantune.problem import Budget
from leantune.store.database import Database
from leantune.testing.database_contract import DatabaseContract
from leantune.testing.store_samples import contract_space
from tests.postgres import Postgres


@pytest.fixture(scope="module")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with all tables and no study: copying it is quicker than migrating each test's own."""
    path = tmp_path_factory.mktemp("migrated") / "studies.db"
    Database(f"sqlite:///{path}").close()
    return path


@pytest.fixture(scope="module")
def migrated_url(postgres: Postgres) -> str:
    """The same in PostgreSQL."""
    url = postgres.fresh_url()
    Database(url).close()
    return url


class TestSqliteFile(DatabaseContract):
    @pytest.fixture(autouse=True)
    def _copy(self, tmp_path: Path, migrated_file: Path) -> None:
        self.path = shutil.copy(migrated_file, tmp_path / "studies.db")

    def opened(self) -> Database:
        return Database(f"sqlite:///{self.path}")


def test_a_file_is_named_alike_by_all_its_paths_and_its_copy_is_another(tmp_path: Path, migrated_file: Path) -> None:
    shutil.copy(migrated_file, tmp_path / "studies.db")
    (tmp_path / "link.db").symlink_to("studies.db")
    with Database(f"sqlite:///{tmp_path}/studies.db") as database:
        database.create("mine", contract_space(), {}, "", Budget(trials=1), time=5.0, leantune_version="1.2.3")
        database.create("other", contract_space(), {}, "", Budget(trials=1), time=5.0, leantune_version="1.2.3")
    shutil.copy(tmp_path / "studies.db", tmp_path / "copy.db")
    keys = {}
    for name in ("studies", "link", "copy"):
        with Database(f"sqlite:///{tmp_path}/{name}.db") as database:
            keys[name] = database.open("mine", contract_space()).key
    assert keys["studies"] == keys["link"] != keys["copy"]


class TestSqliteInMemory(DatabaseContract):
    shared = False

    def opened(self) -> Database:
        return Database("sqlite://")


class TestPostgres(DatabaseContract):
    @pytest.fixture(autouse=True)
    def _copy(self, postgres: Postgres, migrated_url: str) -> None:
        self.copy = postgres.fresh_url(copy_of=migrated_url)

    def opened(self) -> Database:
        return Database(self.copy)
