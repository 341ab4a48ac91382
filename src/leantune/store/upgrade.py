"""Brings a database to today's schema, or refuses it and changes nothing."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa

from leantune.errors import IncompatibleStore, StoreError
from leantune.store.connections import Connections
from leantune.store.schema import REVISION_TABLE, REVISIONS, metadata, revisions

_LOCK = 0x1EA47043  # any number, the same in every process: one of them upgrades a PostgreSQL database at a time
_ATTEMPTS = 20
_COPIES = 100  # of one file; more are refused


def upgrade(connections: Connections) -> None:
    """Create or upgrade the schema, in one transaction; processes that come at once wait for each other."""
    if connections.in_memory:
        with connections.writing() as connection:
            _create(connection)
        return
    with connections.reading() as connection:
        current = _revision(connection, connections) == REVISIONS[-1]
    if not current:
        with connections.writing() as connection:
            if not connections.is_sqlite:
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
            revision = _revision(connection, connections)
            if revision is None:
                _create(connection)
            elif revision != REVISIONS[-1]:
                with _copy_kept(connections, revision):
                    _migrate(connection)
    if connections.is_sqlite:
        _use_wal(connections)


def _revision(connection: sa.Connection, connections: Connections) -> str | None:
    """The schema's revision, None for a new database; IncompatibleStore when it is none of ours."""
    tables = set(sa.inspect(connection).get_table_names())
    if REVISION_TABLE not in tables:
        # A file is one program's; in PostgreSQL, other programs' tables may live beside ours.
        foreign = sorted(tables if connections.is_sqlite else tables & set(metadata.tables))
        if foreign:
            raise IncompatibleStore(
                f"it holds another program's tables ({', '.join(foreign[:3])})",
                where=connections.shown,
                hint="Name another database; this one was left as it is",
            )
        return None
    numbers = connection.execute(sa.text(f"SELECT version_num FROM {REVISION_TABLE}")).scalars().all()
    if len(numbers) != 1 or numbers[0] not in REVISIONS:
        raise IncompatibleStore(
            f"its schema is {', '.join(numbers) or 'empty'}, and this LeanTune knows {', '.join(REVISIONS)}",
            where=connections.shown,
            hint="A newer LeanTune made it: pip install --upgrade leantune; the database was left as it is",
        )
    return str(numbers[0])


@contextmanager
def _copy_kept(connections: Connections, revision: str) -> Iterator[None]:
    """A SQLite file is copied before it is changed: studies.db of schema 0001 is kept as studies.db.0001 beside it.

    A copy that is there already is left alone, and the new one numbered. It is deleted when the change fails.
    """
    if connections.file is None:
        yield
        return
    copy = _free_name(connections.file, revision)
    unfinished = copy.with_name(f"{copy.name}.unfinished")
    try:
        unfinished.unlink(missing_ok=True)
        connections.copy_file(unfinished)
        unfinished.rename(copy)
    except OSError as error:
        raise StoreError(
            f"no copy could be made before the upgrade: {error.strerror}",
            where=connections.shown,
            hint=f"Make room for {copy.name} beside it; the database was left as it is",
        ) from error
    finally:
        unfinished.unlink(missing_ok=True)
    try:
        yield
    except BaseException:
        copy.unlink(missing_ok=True)
        raise


def _free_name(file: Path, revision: str) -> Path:
    names = (f"{file.name}.{revision}", *(f"{file.name}.{revision}.{number}" for number in range(2, _COPIES)))
    free = next((file.with_name(name) for name in names if not file.with_name(name).exists()), None)
    if free is None:
        raise StoreError(f"there are {len(names)} copies of it", where=str(file), hint=f"Delete some: {names[0]}*")
    return free


def _create(connection: sa.Connection) -> None:
    metadata.create_all(connection, checkfirst=False)
    revisions.create(connection)
    connection.execute(sa.insert(revisions), {"version_num": REVISIONS[-1]})


def _migrate(connection: sa.Connection) -> None:
    """Run the migrations that are missing, within the connection's transaction."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "leantune.store:migrations")
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _use_wal(connections: Connections) -> None:
    """Turn on write-ahead logging, once for the file's life: readers and the writer then do not wait for each other.

    The switch needs the file for itself and may be refused at once; beginning a transaction waits, so that is how to
    wait for our turn. Where it does not come, or the file system cannot do it, the store works with less at once until
    it is opened again.
    """
    for _ in range(_ATTEMPTS):
        if connections.switch_to_wal():
            return
        with connections.writing():
            pass


def check_revision(revision: str | None, where: str) -> None:
    """Refuse to go on with a database that a newer LeanTune has upgraded meanwhile."""
    if revision != REVISIONS[-1]:
        raise IncompatibleStore(
            f"a newer LeanTune upgraded this database to schema {revision or 'unknown'} while this process was at work",
            where=where,
            hint="Nothing is lost: start it again with that version (pip install --upgrade leantune)",
        )
