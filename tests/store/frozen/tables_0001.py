"""The tables of the first schema, as LeanTune 0.1.0 made them: studies, budgets, trials, moves, observations, ledger,
reports, workers.
"""

import sqlalchemy as sa
from alembic.migration import MigrationContext
from alembic.operations import Operations

from leantune.store.schema import REVISION_TABLE, revisions


def create_tables(connection: sa.Connection) -> None:
    """Make an empty database one of schema 0001."""
    op = Operations(MigrationContext.configure(connection, opts={"version_table": REVISION_TABLE}))
    _studies(op)
    _trials(op)
    _what_trials_did(op)
    _ledger(op)
    revisions.create(connection)
    connection.execute(sa.insert(revisions), {"version_num": "0001"})


def _studies(op: Operations) -> None:
    op.create_table(
        "studies",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("created", sa.Double, nullable=False),
        sa.Column("leantune_version", sa.Text, nullable=False),
        sa.Column("definition", sa.Text, nullable=False),
        sa.Column("job", sa.Text, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("budget_usd", sa.Double),
        sa.Column("budget_trials", sa.Integer),
        sa.Column("budget_hours", sa.Double),
        sa.Column("proposing_worker", sa.Text),
        sa.Column("proposing_until", sa.Double),
        sa.PrimaryKeyConstraint("id", name="pk_studies"),
        sa.UniqueConstraint("name", name="uq_studies_name"),
    )
    op.create_table(
        "budgets",
        sa.Column("study_id", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("position", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("time", sa.Double, nullable=False),
        sa.Column("usd", sa.Double),
        sa.Column("trials", sa.Integer),
        sa.Column("hours", sa.Double),
        sa.Column("cause", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("study_id", "position", name="pk_budgets"),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name="fk_budgets_studies"),
    )
    op.create_table(
        "workers",
        sa.Column("study_id", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("pid", sa.Integer, nullable=False),
        sa.Column("process_started", sa.Double, nullable=False),
        sa.Column("slots", sa.Integer, nullable=False),
        sa.Column("joined", sa.Double, nullable=False),
        sa.Column("seen", sa.Double, nullable=False),
        sa.PrimaryKeyConstraint("study_id", "id", name="pk_workers"),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name="fk_workers_studies"),
    )


def _trials(op: Operations) -> None:
    op.create_table(
        "trials",
        sa.Column("study_id", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("number", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("configuration", sa.Text, nullable=False),
        sa.Column("fraction", sa.Text, nullable=False),
        sa.Column("snapshots", sa.Text, nullable=False),
        sa.Column("note", sa.Text, nullable=False),
        sa.Column("expected", sa.Text, nullable=False),
        sa.Column("time_limit", sa.Double),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("resumed_dollars", sa.Double, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("worker", sa.Text),
        sa.Column("started", sa.Double),
        sa.Column("lease_until", sa.Double),
        sa.Column("changed", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("study_id", "number", name="pk_trials"),
        sa.ForeignKeyConstraint(["study_id"], ["studies.id"], name="fk_trials_studies"),
    )
    op.create_index("ix_trials_study_id_state_number", "trials", ["study_id", "state", "number"])
    op.create_index("ix_trials_study_id_changed", "trials", ["study_id", "changed"])


def _of_trial(table: str, third: str) -> list[sa.Column[int] | sa.Constraint]:
    return [
        sa.Column("study_id", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("number", sa.Integer, nullable=False, autoincrement=False),
        sa.Column(third, sa.Integer, nullable=False, autoincrement=False),
        sa.PrimaryKeyConstraint("study_id", "number", third, name=f"pk_{table}"),
        sa.ForeignKeyConstraint(
            ["study_id", "number"], ["trials.study_id", "trials.number"], name=f"fk_{table}_trials"
        ),
    ]


def _what_trials_did(op: Operations) -> None:
    op.create_table(
        "moves",
        *_of_trial("moves", "position"),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("time", sa.Double, nullable=False),
        sa.Column("cause", sa.Text, nullable=False),
        sa.Column("dollars", sa.Double, nullable=False),
    )
    op.create_table(
        "observations",
        *_of_trial("observations", "position"),
        sa.Column("fraction", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("metrics", sa.Text, nullable=False),
        sa.Column("seconds", sa.Double),
        sa.Column("cost", sa.Double),
        sa.Column("cause", sa.Text, nullable=False),
    )
    op.create_table(
        "reports",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("study_id", sa.Integer, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("seconds", sa.Double, nullable=False),
        sa.Column("metrics", sa.Text, nullable=False),
        sa.Column("step", sa.Double),
        sa.Column("fraction", sa.Text),
        sa.PrimaryKeyConstraint("id", name="pk_reports"),
        sa.ForeignKeyConstraint(["study_id", "number"], ["trials.study_id", "trials.number"], name="fk_reports_trials"),
    )
    op.create_index("ix_reports_study_id_number", "reports", ["study_id", "number"])


def _ledger(op: Operations) -> None:
    op.create_table(
        "ledger",
        *_of_trial("ledger", "attempt"),
        sa.Column("worker", sa.Text, nullable=False),
        sa.Column("rate", sa.Double),
        sa.Column("time_limit", sa.Double),
        sa.Column("reserved", sa.Double, nullable=False),
        sa.Column("opened", sa.Double, nullable=False),
        sa.Column("settled", sa.Double),
        sa.Column("settled_at", sa.Double),
        sa.Column("changed", sa.Integer, nullable=False),
    )
    op.create_index("ix_ledger_study_id_changed", "ledger", ["study_id", "changed"])
