"""Connections and transactions. One transaction at a time in this process; one writer at a time in the database.

SQLite: every write transaction begins as a writer (BEGIN IMMEDIATE), so that it waits for its turn at the beginning and
never fails half-way; a commit is on the disk before it returns (synchronous=FULL). PostgreSQL: a change of a study
locks its row first, and reads see one moment of the database (REPEATABLE READ).
"""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import RLock

import sqlalchemy as sa
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry, StaticPool

from leantune.errors import IncompatibleStore, LeanTuneError, MissingExtra, StoreError

PATIENCE = 60.0  # seconds a transaction waits for its turn
_CONNECT = 10  # seconds PostgreSQL has to answer
_RIGHT_URL = "Write sqlite:///leantune.db, or postgresql://user@host/database"
_RIGHT_PATH = "Write sqlite:///relative/path.db, or sqlite:////absolute/path.db"
_SECRETS = ("password", "sslpassword")


def parse_url(text: str) -> sa.URL:
    """The URL with its driver; StoreError (which does not repeat it: it may hold a password) when it is no store's.

    A path is taken as it stands: "%20" in it is no space, and "?" begins no options.
    """
    scheme, separator, rest = str(text).partition("://")
    if separator and scheme in ("sqlite", "sqlite+pysqlite"):
        if rest and not rest.startswith("/"):
            raise StoreError("a SQLite address is a path and nothing else", where="store", hint=_RIGHT_PATH)
        return sa.URL.create("sqlite+pysqlite", database=rest[1:] or None)
    if rest.count("@", rest.find(":") + 1 or len(rest)) > 1:
        hint = "Write %40 for each @ in the password, or leave it out: it is taken from PGPASSWORD or ~/.pgpass"
        raise StoreError("where the password ends in the store's address is not clear", where="store", hint=hint)
    try:
        url = sa.make_url(text)
    except (sa.exc.ArgumentError, ValueError):
        raise StoreError("the store's address is not a URL", where="store", hint=_RIGHT_URL) from None
    if url.drivername in ("postgresql", "postgres", "postgresql+psycopg"):
        return url.set(drivername="postgresql+psycopg")
    raise StoreError(f"a store cannot be {url.drivername!r}", where="store", hint=_RIGHT_URL)


def shown_url(url: sa.URL) -> str:
    """The URL as a person writes it, without its password."""
    if url.get_backend_name() == "sqlite":
        return "sqlite://" if url.database is None else f"sqlite:///{url.database}"
    public = url.difference_update_query([name for name in url.query if name.lower() in _SECRETS]).query
    shown = sa.URL.create("postgresql", url.username, None, url.host, url.port, url.database, public)
    return shown.render_as_string()


class Connections:
    """The way to one database. Threads may share it: their transactions take turns."""

    def __init__(self, url: sa.URL) -> None:
        self.shown = shown_url(url)
        self.is_sqlite = url.get_backend_name() == "sqlite"
        self.in_memory = self.is_sqlite and url.database in (None, "", ":memory:")
        self.file = Path(str(url.database)) if self.is_sqlite and not self.in_memory else None
        if self.file is not None:
            _check_path(self.file, self.shown)
        self._engine = _sqlite_engine(url, self.in_memory) if self.is_sqlite else _postgres_engine(url)
        self._reader = self._engine.execution_options(
            **({_READING: True} if self.is_sqlite else {"isolation_level": "REPEATABLE READ"})
        )
        self._turn = RLock()
        self._open: sa.Connection | None = None
        self._process = os.getpid()
        self._closed = False

    @property
    def key(self) -> str:
        """Names the database: a file by its number on its device, a server's by its name there."""
        if self.file is not None:
            status = self.file.stat()
            return f"sqlite {status.st_dev} {status.st_ino}"
        return f"memory {self._process} {id(self)}" if self.in_memory else f"postgresql {self._engine.url.database}"

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A transaction that sees one moment of the database; within another one of this thread, that one."""
        with self._turn:
            if self._open is not None:
                yield self._open
            else:
                with self._transaction(self._reader) as connection:
                    yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """A transaction that is committed at the end, or leaves no trace when an error leaves the block."""
        with self._turn:
            if self._open is not None:
                raise StoreError(
                    "a change within another transaction", where=self.shown, hint="Make it before or afterwards"
                )
            with self._transaction(self._engine) as connection:
                yield connection

    def copy_file(self, target: Path) -> None:
        """A copy of the SQLite file as of the last commit. Within a transaction that writes, nothing is committed
        meanwhile.
        """
        assert self.file is not None
        with closing(sqlite3.connect(self.file)) as source, closing(sqlite3.connect(target)) as copy:
            source.backup(copy)
        shutil.copymode(self.file, target)

    def switch_to_wal(self) -> bool:
        """Turn on SQLite's write-ahead log where it is off; False when others were busy with the file just now."""
        with self._turn, closing(self._engine.raw_connection()) as connection:
            cursor = connection.cursor()
            if cursor.execute("PRAGMA journal_mode").fetchone() == ("wal",):
                return True
            cursor.execute("PRAGMA busy_timeout = 100")
            try:
                cursor.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                if "locked" in str(error):
                    return False
                raise _translated(error, self.shown) from error
            finally:
                cursor.execute(f"PRAGMA busy_timeout = {int(PATIENCE * 1000)}")
            return True

    def close(self) -> None:
        """Give all connections back, once a transaction that is going on has ended; closing twice is fine."""
        with self._turn:
            self._closed = True
            self._engine.dispose()

    @contextmanager
    def _transaction(self, engine: sa.Engine) -> Iterator[sa.Connection]:
        if self._closed:
            raise StoreError("the store is closed", where=self.shown, hint="Open the database again")
        if os.getpid() != self._process:
            hint = "Open the database again in the new process"
            raise StoreError("the store was opened before the process forked", where=self.shown, hint=hint)
        try:
            with engine.begin() as connection:
                self._open = connection
                yield connection
        except (sa.exc.DBAPIError, sqlite3.Error) as error:
            raise _translated(error, self.shown) from error
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            if isinstance(error, LeanTuneError) or not self._is_damaged(error):
                raise
            raise StoreError("the file is damaged", where=self.shown, hint=_DAMAGED) from error
        finally:
            self._open = None

    def _is_damaged(self, error: Exception) -> bool:
        """Whether what was read made no sense because the SQLite file is damaged."""
        if self.file is None or isinstance(error, UnicodeDecodeError) or _is_of_sqlalchemy(error):
            return self.file is not None
        with suppress(sqlite3.Error, UnicodeDecodeError), closing(sqlite3.connect(self.file)) as connection:
            return bool(connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",))
        return True


def _is_of_sqlalchemy(error: Exception) -> bool:
    """Whether SQLAlchemy itself could make no sense of a row."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    return place is not None and str(place.tb_frame.f_globals.get("__name__", "")).startswith("sqlalchemy.")


_READING = "leantune_reading"


def _sqlite_engine(url: sa.URL, in_memory: bool) -> sa.Engine:
    arguments = {"timeout": PATIENCE, "isolation_level": None, "check_same_thread": False}
    engine = sa.create_engine(url, connect_args=arguments, poolclass=StaticPool if in_memory else None)

    @sa.event.listens_for(engine, "connect")
    def set_up(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
        cursor = connection.cursor()
        cursor.execute("PRAGMA foreign_keys = ON")
        cursor.execute("PRAGMA synchronous = FULL")
        cursor.close()

    @sa.event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        reading = connection.get_execution_options().get(_READING, False)
        connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")

    return engine


def _postgres_engine(url: sa.URL) -> sa.Engine:
    try:
        import psycopg  # noqa: F401 - only to say which extra is missing
    except ImportError:
        raise MissingExtra(
            "PostgreSQL needs the library psycopg", where="store", hint="pip install 'leantune[postgres]'"
        ) from None
    arguments = {} if "connect_timeout" in url.query else {"connect_timeout": _CONNECT}
    engine = sa.create_engine(url, connect_args=arguments, pool_pre_ping=True)

    @sa.event.listens_for(engine, "connect")
    def set_up(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
        # A stopped process must not keep the others out for ever: it loses its turn, and its transaction.
        cursor = connection.cursor()
        cursor.execute(f"SET lock_timeout = {int(PATIENCE * 1000)}")
        cursor.execute(f"SET idle_in_transaction_session_timeout = {int(PATIENCE * 1000)}")
        cursor.close()
        connection.commit()

    return engine


def _check_path(path: Path, shown: str) -> None:
    if path.is_dir():
        raise StoreError("the store's file is a folder", where=shown, hint=f"Name a file in it: {shown}/leantune.db")
    if not path.parent.is_dir():
        raise StoreError(
            f"the folder {path.parent} does not exist", where=shown, hint=f"Make it: mkdir -p {path.parent}"
        )
    if path.exists() and not os.access(path, os.R_OK | os.W_OK):
        raise StoreError("the store's file may not be written", where=shown, hint=_WRITABLE)
    if not os.access(path.parent, os.W_OK):
        raise StoreError(f"the folder {path.parent} may not be written", where=shown, hint=_WRITABLE)


_WRITABLE = "SQLite writes the file and others beside it: change the rights, or name another place"
_DAMAGED = "The file is damaged: restore a copy, or try `sqlite3 FILE .recover`"
# A part of a database's message -> the hint.
_ADVICE = {
    "database is locked": f"Another process has held it for {PATIENCE:g} s: is one stopped or stuck?",
    "lock timeout": f"Another process has held the study for {PATIENCE:g} s: is one stopped or stuck?",
    "readonly database": _WRITABLE,
    "unable to open database file": _WRITABLE,
    "disk is full": "Free some space and go on: what was acknowledged is kept",
    "No space left": "Free some space and go on: what was acknowledged is kept",
    "disk I/O error": "Is the disk full or gone? What was acknowledged before is kept",
    "malformed": _DAMAGED,
    "unsupported file format": _DAMAGED,
    "Could not decode": _DAMAGED,
    "no such table": _DAMAGED,
    "no such column": _DAMAGED,
    "does not exist": "Create the database, or correct its name",
    "authentication failed": "Check user and password",
}


def _translated(error: Exception, shown: str) -> StoreError:
    """One clear error for the database's error; without statements and parameters."""
    said = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
    if "file is not a database" in said or "file is encrypted" in said:
        return IncompatibleStore(
            "the file is not a SQLite database", where=shown, hint="Name another file, or move this one away"
        )
    advice = next((advice for sign, advice in _ADVICE.items() if sign in said), "")
    if not advice and getattr(error, "connection_invalidated", False):
        advice = "The connection is gone: go on, and it is made again"
    return StoreError(said or type(error).__name__, where=shown, hint=advice or "Is the database running and sound?")
