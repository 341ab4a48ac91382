"""Run by Alembic (see leantune.store.upgrade): migrates the connection that it is given, within its transaction."""

from alembic import context

from leantune.store.schema import REVISION_TABLE, metadata

context.configure(
    connection=context.config.attributes["connection"], target_metadata=metadata, version_table=REVISION_TABLE
)
with context.begin_transaction():
    context.run_migrations()
