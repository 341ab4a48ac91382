"""Databases are created, upgraded or refused; what is refused is left as it was."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from leantune.errors import IncompatibleStore, StoreError
from leantune.problem import Budget
from leantune.store import upgrade
from leantune.store.connections import Connections, parse_url
from leantune.store.database import Database
from leantune.store.rows import ReportRow, WorkerRow
from leantune.store.schema import REVISION_TABLE, REVISIONS, metadata
from leantune.store.study import StudyStore
from leantune.testing.store_samples import FULL, SMALL, always, contract_space, measured
from tests.postgres import Postgres
from tests.store.frozen.loading import load_sqlite

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


# A copy is kept of what is upgraded.


def beside(path: Path) -> list[str]:
    return sorted(other.name for other in path.parent.iterdir() if not other.name.endswith(("-wal", "-shm")))


def revision_of(path: Path) -> str:
    with closing(sqlite3.connect(path)) as connection:
        return str(connection.execute(f"SELECT version_num FROM {REVISION_TABLE}").fetchone()[0])


def test_a_file_is_copied_before_it_is_upgraded(tmp_path: Path) -> None:
    path = tmp_path / "studies.db"
    url = load_sqlite(path, "schema_0001.sql")
    path.chmod(0o640)
    writer = sqlite3.connect(path)  # another program has the file open, and changes that are only in its log
    writer.execute("UPDATE studies SET job = 'changed' WHERE name = 'empty'")
    writer.commit()
    Database(url).close()
    writer.close()
    assert beside(path) == ["studies.db", "studies.db.0001"]
    copy = tmp_path / "studies.db.0001"
    assert (revision_of(path), revision_of(copy)) == (REVISIONS[-1], "0001")
    assert copy.stat().st_mode & 0o777 == 0o640
    with closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("SELECT job FROM studies WHERE name = 'empty'").fetchone() == ("changed",)
        assert connection.execute("SELECT count(*) FROM moves").fetchone() > (0,)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    Database(url).close()
    assert beside(path) == ["studies.db", "studies.db.0001"], "nothing is copied again"


def test_a_copy_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "studies.db"
    (tmp_path / "studies.db.0001").write_text("mine")
    (tmp_path / "studies.db.0001.2.unfinished").write_text("of a process that was killed")
    Database(load_sqlite(path, "schema_0001.sql")).close()
    assert (tmp_path / "studies.db.0001").read_text() == "mine"
    assert revision_of(tmp_path / "studies.db.0001.2") == "0001"
    assert beside(path) == ["studies.db", "studies.db.0001", "studies.db.0001.2"]


def test_many_who_come_at_once_upgrade_once(tmp_path: Path) -> None:
    path = tmp_path / "studies.db"
    url = load_sqlite(path, "schema_0001.sql")
    ready = threading.Barrier(6)

    def come(_: int) -> int:
        ready.wait()
        with Database(url) as database:
            return len(database.studies())

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(come, range(6))) == [2] * 6
    assert beside(path) == ["studies.db", "studies.db.0001"]


def test_an_upgrade_that_fails_leaves_everything_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "studies.db"
    url = load_sqlite(path, "schema_0001.sql")

    def breaks(_: object) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr(upgrade, "_migrate", breaks)
        with pytest.raises(ZeroDivisionError):
            Database(url)
    assert beside(path) == ["studies.db"]
    assert revision_of(path) == "0001"
    Database(url).close()
    assert revision_of(path) == REVISIONS[-1]


def test_without_room_for_a_copy_nothing_is_upgraded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "studies.db"
    url = load_sqlite(path, "schema_0001.sql")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "rename", full)
    with pytest.raises(StoreError, match="no copy could be made before the upgrade: No space left"):
        Database(url)
    assert (beside(path), revision_of(path)) == (["studies.db"], "0001")


# A database that a newer LeanTune upgrades while this one is at work.

WRITES: Mapping[str, Callable[[Database, StudyStore], object]] = {
    "create": lambda database, _: database.create(
        "new", contract_space(), {}, "", Budget(), time=0.0, leantune_version="1"
    ),
    "propose": lambda _, study: study.propose(SMALL, FULL, time=0.0),
    "claim": lambda _, study: study.claim("w", time=0.0, lease=1.0, fitting=always()),
    "renew": lambda _, study: study.renew("w", [0], time=0.0, lease=1.0),
    "add_reports": lambda _, study: study.add_reports([ReportRow(0, 1, 0.0, {})]),
    "record": lambda _, study: study.record(0, [measured(0.5)], time=0.0),
    "retry": lambda _, study: study.retry([], time=0.0, cause=""),
    "judge": lambda _, study: study.judge([], time=0.0),
    "set_budget": lambda _, study: study.set_budget(Budget(), time=0.0, cause=""),
    "redefine": lambda _, study: study.redefine({}, ""),
    "may_propose": lambda _, study: study.may_propose("w", time=0.0, for_seconds=1.0),
    "release_proposing": lambda _, study: study.release_proposing("w"),
    "join": lambda _, study: study.join(WorkerRow("w", "host", 1, 0.0, 1, 0.0, 0.0)),
    "seen": lambda _, study: study.seen("w", 0.0),
    "leave": lambda _, study: study.leave("w"),
    "history": lambda _, study: study.history(),
}


@pytest.fixture(params=["sqlite", "postgres"], scope="module")
def overtaken(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """A database with a study, open while somebody else brings it to another schema."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path_factory.mktemp('overtaken') / 'studies.db'}"
    else:
        url = request.getfixturevalue("postgres").fresh_url()
    with Database(url) as database:
        study = database.create("mine", contract_space(), {}, "", Budget(), time=0.0, leantune_version="1")
        study.propose(SMALL, FULL, time=0.0)
        newer = f"UPDATE {REVISION_TABLE} SET version_num = '0099'"
        if request.param == "sqlite":
            sqlite_file(Path(url.removeprefix("sqlite:///")), newer)
        else:
            execute(url, newer)
        yield database


@pytest.mark.parametrize("name", WRITES)
def test_nothing_is_written_into_a_newer_schema(overtaken: Database, name: str) -> None:
    study = overtaken.open("mine", contract_space())
    with pytest.raises(IncompatibleStore, match="a newer LeanTune upgraded this database to schema 0099") as caught:
        WRITES[name](overtaken, study)
    assert "pip install --upgrade leantune" in caught.value.hint


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
