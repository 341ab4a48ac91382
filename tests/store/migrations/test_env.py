"""New databases, and those that the migrations lead to, have the schema that the code uses, on both servers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from leantune.store.connections import Connections, parse_url
from leantune.store.schema import REVISION_TABLE, REVISIONS, metadata
from leantune.store.upgrade import upgrade
from tests.postgres import Postgres
from tests.store.frozen.loading import load_postgres, load_sqlite


@pytest.fixture(params=["sqlite", "postgres"])
def new(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'new.db'}"
    server: Postgres = request.getfixturevalue("postgres")
    return server.fresh_url()


@pytest.fixture(params=["new", "0001"])
def migrated(request: pytest.FixtureRequest, new: str, tmp_path: Path) -> Iterator[Connections]:
    url = new
    if request.param == "0001":
        sqlite = new.startswith("sqlite")
        url = load_sqlite(tmp_path / "old.db", "schema_0001.sql") if sqlite else load_postgres(new, "schema_0001.sql")
    connections = Connections(parse_url(url))
    upgrade(connections)
    yield connections
    connections.close()


def test_migrated_is_what_the_code_expects(migrated: Connections) -> None:
    with migrated.reading() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": REVISION_TABLE, "compare_type": True})
        assert compare_metadata(context, metadata) == []
        assert context.get_current_revision() == REVISIONS[-1]


def test_the_comparison_can_fail(migrated: Connections) -> None:
    with migrated.writing() as connection:
        connection.execute(sa.text("DROP INDEX ix_trials_study_id_changed"))
        context = MigrationContext.configure(connection, opts={"version_table": REVISION_TABLE})
        assert len(compare_metadata(context, metadata)) == 1


def test_keys_are_what_the_code_expects(migrated: Connections) -> None:
    """Primary keys and their names: what Alembic does not compare."""
    with migrated.reading() as connection:
        inspector = sa.inspect(connection)
        for name, table in metadata.tables.items():
            found = inspector.get_pk_constraint(name)
            assert found["constrained_columns"] == [column.name for column in table.primary_key.columns], name
            assert found["name"] == f"pk_{name}"


def test_every_revision_is_known_and_in_order() -> None:
    config = Config()
    config.set_main_option("script_location", "leantune.store:migrations")
    scripts = ScriptDirectory.from_config(config)
    assert tuple(reversed([script.revision for script in scripts.walk_revisions()])) == REVISIONS
    frozen = sorted((Path(__file__).parent.parent / "frozen").glob("schema_*.sql"))
    assert [path.name for path in frozen] == [f"schema_{number}.sql" for number in REVISIONS]
