"""Databases are created, upgraded or refused; what is refused is left as it was."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from leantune.errors import IncompatibleStore, StoreError
from leantune.store.connections import Connections, parse_url
from leantune.store.database import Database
from leantune.store.schema import REVISION_TABLE, metadata
from tests.postgres import Postgres

OTHERS_TABLE = "CREATE TABLE alembic_version (version_num VARCHAR(32))"


def sqlite_file(path: Path, *statements: str) -> str:
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    return f"sqlite:///{path}"


def execute(url: str, statement: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute(statement)


def refused(path: Path, url: str) -> str:
    before = path.read_bytes()
    with pytest.raises(IncompatibleStore) as error:
        Database(url)
    assert path.read_bytes() == before
    assert [other.name for other in path.parent.iterdir()] == [path.name], "nothing is left beside it"
    return str(error.value)


def test_a_new_file_logs_ahead_and_stays_so(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'new.db'}"
    Database(url).close()
    Database(url).close()
    with closing(sqlite3.connect(tmp_path / "new.db")) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert tables == {*metadata.tables, REVISION_TABLE}


def test_an_empty_file_is_a_new_database(tmp_path: Path) -> None:
    path = tmp_path / "touched.db"
    path.touch()
    with Database(f"sqlite:///{path}") as database:
        assert database.studies() == []


def test_somebody_reading_does_not_spoil_the_opening(tmp_path: Path) -> None:
    """The switch to write-ahead logging needs the file for itself; until then another reader is waited for."""
    path = tmp_path / "busy.db"
    with Database(sqlite_file(path)) as database:
        assert database.studies() == []
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("PRAGMA journal_mode=DELETE")
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM studies").fetchall()
        connections = Connections(parse_url(f"sqlite:///{path}"))
        assert not connections.switch_to_wal()
        reader.execute("COMMIT")
        assert connections.switch_to_wal()
        connections.close()
    with closing(sqlite3.connect(path)) as later:
        assert later.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_file_that_is_never_free_is_used_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Connections, "switch_to_wal", lambda _: False)
    with Database(f"sqlite:///{tmp_path / 'busy.db'}") as database:
        assert database.studies() == []


def test_another_programs_file(tmp_path: Path) -> None:
    path = tmp_path / "optuna.db"
    said = refused(path, sqlite_file(path, OTHERS_TABLE, "CREATE TABLE studies (id INTEGER)"))
    assert "another program's tables (alembic_version, studies)" in said and "left as it is" in said


def test_our_tables_without_their_revision(tmp_path: Path) -> None:
    path = tmp_path / "half.db"
    Database(f"sqlite:///{path}").close()
    url = sqlite_file(path, f"DROP TABLE {REVISION_TABLE}", "PRAGMA journal_mode=DELETE")
    assert "another program's tables" in refused(path, url)


def test_a_newer_file(tmp_path: Path) -> None:
    path = tmp_path / "newer.db"
    Database(f"sqlite:///{path}").close()
    url = sqlite_file(path, f"UPDATE {REVISION_TABLE} SET version_num = '9999'", "PRAGMA journal_mode=DELETE")
    said = refused(path, url)
    assert "9999" in said and "pip install --upgrade leantune" in said


@pytest.mark.parametrize("content", [b"name: not a database\n" * 100, b"SQLite format 3\x00" + b"\xff" * 5000])
def test_not_a_database(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "job.yaml"
    path.write_bytes(content)
    with pytest.raises(StoreError) as error:
        Database(f"sqlite:///{path}")
    assert "database" in str(error.value) and str(path) in str(error.value)
    assert path.read_bytes() == content


def test_other_tables_in_postgres_are_left_alone(postgres: Postgres) -> None:
    url = postgres.fresh_url()
    execute(url, OTHERS_TABLE)
    with Database(url) as database:
        assert database.studies() == []
    execute(url, "SELECT * FROM alembic_version")


def test_our_names_in_postgres_belong_to_another_program(postgres: Postgres) -> None:
    url = postgres.fresh_url()
    execute(url, "CREATE TABLE trials (id INTEGER)")
    with pytest.raises(IncompatibleStore, match="another program's tables \\(trials\\)"):
        Database(url)
    execute(url, "DROP TABLE trials")
    Database(url).close()
    execute(url, f"UPDATE {REVISION_TABLE} SET version_num = '9999'")
    with pytest.raises(IncompatibleStore, match="upgrade leantune"):
        Database(url)
