"""A real PostgreSQL for tests: one server for the whole session, a database of its own for whoever asks.

Every xdist worker has its own. It does not live in pytest's temporary folder, which each new run of pytest closes to
other users: started by root, the server runs as one. Use it as a fixture, named in the conftest of a folder as in
tests/store/conftest.py:

    def test_mine(postgres: Postgres) -> None:
        Database(postgres.fresh_url())
"""

from __future__ import annotations

import signal
import tempfile
import uuid
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest


class Postgres:
    """A running server, until it is closed."""

    def __init__(self) -> None:
        with warnings.catch_warnings():  # it says where it keeps a lock file
            warnings.simplefilter("ignore")
            from pgserver.postgres_server import get_server

        folder = Path(tempfile.mkdtemp(prefix="leantune-postgres-"))
        self._server = get_server(folder, cleanup_mode="delete")
        self._admin = psycopg.connect(self._server.get_uri(), autocommit=True)
        for name in ("fsync", "full_page_writes"):  # nobody pulls the plug on a test
            self._admin.execute(f"ALTER SYSTEM SET {name} = off")
        self._admin.execute("SELECT pg_reload_conf()")

    def fresh_url(self, copy_of: str = "") -> str:
        """The URL of a new database: empty, or a copy of one that nobody is connected to."""
        name = f"t{uuid.uuid4().hex}"
        template = urlsplit(copy_of).path.strip("/") or "template1"
        self._admin.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        return urlunsplit(urlsplit(self._server.get_uri())._replace(path=f"/{name}"))

    def close(self) -> None:
        """End the server at once, without writing what is deleted next."""
        self._admin.close()
        process: Any = self._server.get_postmaster_info().process  # pgserver's annotation says None
        process.send_signal(signal.SIGQUIT)
        process.wait()
        self._server.cleanup()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """The session's server."""
    server = Postgres()
    yield server
    server.close()
