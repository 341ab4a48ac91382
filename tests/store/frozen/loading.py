"""Databases that people have: SQL that an earlier LeanTune's SQLite file was dumped as, loaded again."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg

from leantune.store.connections import Connections, parse_url
from leantune.store.schema import REVISION_TABLE
from tests.store.frozen.tables_0001 import create_tables

HERE = Path(__file__).parent


def load_sqlite(path: Path, name: str) -> str:
    """The dump as a file; its URL."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((HERE / name).read_text(encoding="utf-8"))
        connection.execute("PRAGMA journal_mode = WAL")
    return f"sqlite:///{path}"


def load_postgres(url: str, name: str) -> str:
    """The rows of the dump in an empty database of schema 0001; its URL."""
    connections = Connections(parse_url(url))
    with connections.writing() as connection:
        create_tables(connection)
    connections.close()
    with psycopg.connect(url) as connection:
        connection.execute("SET session_replication_role = replica")  # the dump's tables are in order of their names
        for statement in _inserts((HERE / name).read_text(encoding="utf-8")):
            connection.execute(statement.encode())
        for table in ("studies", "reports"):
            connection.execute(
                f"SELECT setval('{table}_id_seq', (SELECT coalesce(max(id), 0) + 1 FROM {table}), false)".encode()
            )
    return url


def _inserts(script: str) -> Iterator[str]:
    """The statements that insert rows, but for Alembic's own; a text in one may have several lines."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            if statement.startswith("INSERT INTO") and REVISION_TABLE not in statement:
                yield statement
            statement = ""
