"""Addresses, secrets, and what a person is told when the database cannot be reached or written."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from leantune.clock import SimulatedClock
from leantune.errors import LeanTuneError, MissingExtra, StoreError
from leantune.problem import maximize
from leantune.space import Space, integer
from leantune.store.connections import Connections, parse_url, shown_url
from leantune.store.database import Database
from leantune.study import Study
from tests.postgres import Postgres

SECRET = "s3cr3t"


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("sqlite:///a.db", "sqlite:///a.db"),
        ("sqlite:////data/a b%20#.db", "sqlite:////data/a b%20#.db"),
        ("sqlite+pysqlite:///a.db", "sqlite:///a.db"),
        ("sqlite:///what?/a.db?mode=ro#%3F", "sqlite:///what?/a.db?mode=ro#%3F"),
        ("sqlite://", "sqlite://"),
        (f"postgresql://me:{SECRET}@host:5433/db", "postgresql://me@host:5433/db"),
        (f"postgres://me:{SECRET}@host/db", "postgresql://me@host/db"),
        (f"postgresql://me@corp:{SECRET}%40x@host/db", "postgresql://me%40corp@host/db"),
        ("postgresql://host:5432/db", "postgresql://host:5432/db"),
        (f"postgresql://me@host/db?PASSWORD={SECRET}", "postgresql://me@host/db"),
        (
            f"postgresql+psycopg://me@host/db?password={SECRET}&sslmode=require",
            "postgresql://me@host/db?sslmode=require",
        ),
    ],
)
def test_addresses_and_how_they_are_shown(given: str, shown: str) -> None:
    assert shown_url(parse_url(given)) == shown


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "leantune.db",
        f"mysql://me:{SECRET}@host/db",
        f"postgresql+asyncpg://me:{SECRET}@host/db",
        f"postgresql://me:{SECRET}@host:{SECRET}/db",
        f"postgresql://me:first@{SECRET}@host/db",
        f"postgresql://me:first@{SECRET}/{SECRET}@host/db",
        f"postgresql://me:first@host/{SECRET}?{SECRET}@host/db",
        f"sqlite://me:{SECRET}@host/a.db",
        None,
    ],
)
def test_other_addresses_are_refused(wrong: str) -> None:
    with pytest.raises(StoreError) as error:
        parse_url(wrong)
    assert "sqlite:///" in error.value.hint or "Write %40 for each @" in error.value.hint
    assert SECRET not in str(error.value)
    assert error.value.__context__ is None or error.value.__suppress_context__


def test_no_error_tells_the_password(tmp_path: Path) -> None:
    with pytest.raises(StoreError) as error:
        Database(f"postgresql://me:{SECRET}@127.0.0.1:9/db?connect_timeout=2")
    told: BaseException | None = error.value
    assert "me@127.0.0.1:9/db" in str(told)
    while told is not None:
        assert SECRET not in f"{told} {told!r}"
        told = told.__cause__


def test_a_missing_database_of_postgres(postgres: Postgres) -> None:
    url = postgres.fresh_url().replace("/t", "/missing_", 1)
    with pytest.raises(StoreError, match=r"does not exist.*Create the database"):
        Database(url)


def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtra, match=r"leantune\[postgres\]"):
        Database("postgresql://me@host/db")


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="mkdir -p") as error:
        Database(f"sqlite:///{tmp_path}/no/where/a.db")
    assert f"{tmp_path}/no/where" in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is a folder"):
        Database(f"sqlite:///{tmp_path}")


OPEN = """
import sys
from leantune.errors import StoreError
from leantune.store.database import Database
try:
    Database(sys.argv[1])
except StoreError as error:
    print(error)
"""


def told_to_a_stranger(url: str) -> str:
    """What a child of ours is told that is not root: root may write everything."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setuid(65534)
            Database(url)
        except StoreError as error:
            os.write(writing, str(error).encode())
        finally:
            os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading, encoding="utf-8") as pipe:
        return pipe.read()


@pytest.mark.parametrize("what", ["file", "folder"])
def test_what_may_not_be_written(what: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.db"
        Database(f"sqlite:///{path}").close()
        path.chmod(0o444 if what == "file" else 0o666)
        Path(folder).chmod(0o777 if what == "file" else 0o555)
        told = told_to_a_stranger(f"sqlite:///{path}")
        Path(folder).chmod(0o777)
    subject = "the store's file" if what == "file" else f"the folder {folder}"
    assert told.startswith(f"{subject} may not be written") and "change the rights" in told


def test_a_write_that_the_system_refuses(tmp_path: Path) -> None:
    """Whatever was checked before: a process that may not make files larger is told so, and nothing is half done."""
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n{OPEN}"
    url = f"sqlite:///{tmp_path / 'a.db'}"
    command = [sys.executable, "-c", "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n" + limited, url]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout.startswith(("disk I/O error", "database or disk is full")), run
    assert "acknowledged" in run.stdout
    Database(url).close()


def test_a_locked_file_is_waited_for_and_then_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leantune.store.connections.PATIENCE", 0.05)
    path = tmp_path / "a.db"
    with Database(f"sqlite:///{path}") as database, closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert database.studies() == [], "reading is possible meanwhile"
        with pytest.raises(StoreError, match=r"database is locked.*is one stopped"), database._connections.writing():
            pass
        other.execute("COMMIT")
        with database._connections.writing():
            pass


def test_a_stopped_process_loses_its_turn_in_postgres(postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leantune.store.connections.PATIENCE", 0.2)
    url = postgres.fresh_url()
    with Database(url) as database, psycopg.connect(url) as stuck:
        stuck.execute("LOCK TABLE studies")
        with pytest.raises(StoreError, match=r"lock timeout.*is one stopped"):
            database.studies()
        stuck.rollback()
        assert database.studies() == []
        with pytest.raises(StoreError, match="idle-in-transaction"), database._connections.writing() as connection:
            own = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()
            while stuck.execute("SELECT 1 FROM pg_stat_activity WHERE pid = %s", (own,)).fetchall():
                stuck.execute("SELECT pg_sleep(0.02)")
                stuck.rollback()  # so that it looks again
            connection.exec_driver_sql("SELECT 1")
        assert database.studies() == [], "the connection is made again"


def test_a_lost_connection_is_made_again(postgres: Postgres) -> None:
    url = postgres.fresh_url()
    end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> {}"
    with Database(url) as database, psycopg.connect(url, autocommit=True) as other:
        ends = end.format("pg_backend_pid()")
        other.execute(ends)
        assert database.studies() == [], "one that went while nobody used it is not even noticed"
        with pytest.raises(StoreError, match="made again"), database._connections.reading() as connection:
            other.execute(ends)
            connection.exec_driver_sql("SELECT 1")
        assert database.studies() == []


def test_a_forked_child_may_not_use_it(tmp_path: Path) -> None:
    with Database(f"sqlite:///{tmp_path / 'a.db'}") as database:
        child = os.fork()
        if child == 0:
            try:
                database.studies()
            except StoreError as error:
                os._exit(7 if "forked" in str(error) else 1)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_durability(tmp_path: Path, postgres: Postgres) -> None:
    """What is acknowledged is on the disk, and rows that belong together cannot be torn apart."""
    connections = Connections(parse_url(f"sqlite:///{tmp_path / 'a.db'}"))
    with connections.reading() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar_one() == 2
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar_one() == 1
    connections.close()
    connections = Connections(parse_url(postgres.fresh_url()))
    with connections.reading() as connection:
        assert connection.exec_driver_sql("SHOW synchronous_commit").scalar_one() == "on"
        assert connection.exec_driver_sql("SHOW transaction_isolation").scalar_one() == "repeatable read"
        assert connection.exec_driver_sql("SHOW lock_timeout").scalar_one() == "1min"
    with connections.writing() as connection:
        assert connection.exec_driver_sql("SHOW transaction_isolation").scalar_one() == "read committed"
    connections.close()


@pytest.mark.parametrize(
    "name", ["a?b.db", "?", "a.db?mode=ro", "100%.db", "a#b.db", "file:x.db", "a b'\"c.db", "ü.db"]
)
def test_a_file_of_any_name_works(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "which?"
    folder.mkdir()
    url = f"sqlite:///{folder}/{name}"
    for _ in range(2):
        database = Database(url)
        assert database.url == url
        database.close()
        assert Database.exists(url)
    assert {entry.name.removesuffix("-wal").removesuffix("-shm") for entry in folder.iterdir()} == {name}


def _harmed(raw: bytes, seed: int) -> bytes:
    """Cut off, overwritten in the header or anywhere, with empty pages, garbage alone, or with pages exchanged."""
    choose, data, page = random.Random(seed), bytearray(raw), 4096
    anywhere = choose.randrange(len(data))
    if seed % 6 == 0:
        return raw[:anywhere]
    if seed % 6 == 1:
        return choose.randbytes(choose.randrange(1, 5000))
    if seed % 6 == 2:
        data[anywhere : anywhere + page] = bytes(min(page, len(data) - anywhere))
    elif seed % 6 == 3:
        first, second = (page * choose.randrange(len(data) // page) for _ in range(2))
        data[first : first + page], data[second : second + page] = (
            raw[second : second + page],
            raw[first : first + page],
        )
    else:
        for _ in range(choose.choice((1, 20, 500))):
            data[choose.randrange(100 if seed % 6 == 4 else len(data))] = choose.randrange(256)
    return bytes(data)


def test_a_damaged_file_is_one_error_that_says_what_to_do(tmp_path: Path) -> None:
    def used(file: Path) -> None:
        space = Space(n=integer(0, 9))
        with Study(space, maximize("a"), strategy="random", store=f"sqlite:///{file}", clock=SimulatedClock()) as study:
            study.tell(study.ask(), {"a": 0.5}, seconds=1.0)
            study.store.reports(), study.store.ledger(), study.recommendation()

    good, harmed = tmp_path / "good.db", tmp_path / "harmed.db"
    used(good)
    raw, advised = good.read_bytes(), 0
    for seed in range(90):
        for leftover in tmp_path.glob("harmed.db*"):
            leftover.unlink()
        harmed.write_bytes(_harmed(raw, seed))
        try:
            used(harmed)
        except StoreError as error:
            assert error.hint
            advised += "restore a copy" in error.hint or "move this one away" in error.hint
        except LeanTuneError as error:  # a byte of a text was changed, and the file itself is sound
            assert str(error)
    assert advised > 45
