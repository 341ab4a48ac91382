"""Trials and notes have kinds, moves have seconds, runs have stays on machines; workers of 0001 are refused."""

import json

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_REFUSAL = "a newer LeanTune upgraded this database: start this program again with it (pip install --upgrade leantune)"
# Columns that 0001 writes -> those that today's code writes beside them, with the same value.
_GUARDED = (("studies", "version", "changes"), ("workers", "seen", "heard"))


def upgrade() -> None:
    """Add what is new, translate notes, guard against workers of 0001 that are still at work."""
    _new_columns()
    _stays()
    op.create_index("ix_reports_study_id_id", "reports", ["study_id", "id"])
    _translate_notes(op.get_bind())
    _refuse_older_workers(op.get_bind())


def _new_columns() -> None:
    op.add_column("studies", sa.Column("changes", sa.Integer, nullable=False, server_default=sa.text("-1")))
    op.execute("UPDATE studies SET changes = version")
    op.add_column("workers", sa.Column("heard", sa.Double, nullable=False, server_default=sa.text("-1")))
    op.execute("UPDATE workers SET heard = seen")
    op.add_column("trials", sa.Column("kind", sa.Text, nullable=False, server_default="search"))
    op.add_column("moves", sa.Column("seconds", sa.Double))


def _stays() -> None:
    op.create_table(
        "stays",
        sa.Column("study_id", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("number", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("attempt", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("machine", sa.Text, nullable=False),
        sa.Column("market", sa.Text, nullable=False),
        sa.Column("on_demand", sa.Boolean, nullable=False),
        sa.Column("max_price", sa.Double),
        sa.Column("usd_per_hour", sa.Double, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("launched", sa.Double, nullable=False),
        sa.Column("quotes", sa.Text, nullable=False),
        sa.Column("step_from", sa.Double, nullable=False),
        sa.Column("ready", sa.Double),
        sa.Column("left", sa.Double),
        sa.Column("ended", sa.Double),
        sa.Column("kept", sa.Double, nullable=False),
        sa.Column("reached", sa.Double, nullable=False),
        sa.Column("saving_seconds", sa.Double, nullable=False),
        sa.Column("gross_usd", sa.Double),
        sa.Column("refund_usd", sa.Double),
        sa.Column("revoked", sa.Boolean, nullable=False),
        sa.Column("why", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("study_id", "number", "attempt", "machine", name="pk_stays"),
        sa.ForeignKeyConstraint(["study_id", "number"], ["trials.study_id", "trials.number"], name="fk_stays_trials"),
    )


# Notes of 0001 were lines of one text, and their kind was how they began.
_SAID_BEFORE = (("fallback: ", "fallback"), ("cap: ", "cap"))
_BEGINNINGS = (
    ("start", "start"),
    ("largest acquisition", "models"),
    ("random", "random"),
    ("the space cannot be enumerated", "pool"),
    ("the program gives no snapshots", "extra runs"),
)
_KINDS = (("verification", "verification"), ("enqueued", "enqueued"))


def _translate_notes(connection: sa.Connection) -> None:
    rows = connection.execute(sa.text("SELECT study_id, number, note FROM trials")).all()
    translated = [
        {"study": study, "trial": number, "notes": _notes(note), "kind": _beginning(note, _KINDS, "search")}
        for study, number, note in rows
    ]
    if translated:
        connection.execute(
            sa.text("UPDATE trials SET note = :notes, kind = :kind WHERE study_id = :study AND number = :trial"),
            translated,
        )


def _notes(text: str) -> str:
    """JSON: [[kind, text], ...], the text without the beginning that the kind stands for."""
    return json.dumps([_note(line) for line in text.split("\n")] if text else [], ensure_ascii=False)


def _note(line: str) -> tuple[str, str]:
    for before, kind in _SAID_BEFORE:
        if line.startswith(before):
            return kind, line.removeprefix(before)
    return _beginning(line, _BEGINNINGS, "plain"), line


def _beginning(text: str, kinds: tuple[tuple[str, str], ...], otherwise: str) -> str:
    return next((kind for beginning, kind in kinds if text.startswith(beginning)), otherwise)


def _refuse_older_workers(connection: sa.Connection) -> None:
    """A worker of 0001 that is still at work writes `version` with every change, and `seen` with every heartbeat, and
    knows nothing of the columns beside them: its transaction fails with one sentence, and changes nothing.
    """
    if connection.dialect.name == "sqlite":
        for table, old, new in _GUARDED:
            for number, event in enumerate(("INSERT", f"UPDATE OF {old}")):
                connection.exec_driver_sql(
                    f"CREATE TRIGGER refuse_0001_{table}_{number} BEFORE {event} ON {table} "
                    f"WHEN NEW.{old} <> NEW.{new} BEGIN SELECT RAISE(ABORT, '{_REFUSAL}'); END"
                )
        return
    connection.exec_driver_sql(
        "CREATE FUNCTION leantune_refuse_0001() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{_REFUSAL}'; END $$"
    )
    for table, old, new in _GUARDED:
        connection.exec_driver_sql(
            f"CREATE TRIGGER refuse_0001_{table} BEFORE INSERT OR UPDATE OF {old} ON {table} FOR EACH ROW "
            f"WHEN (NEW.{old} <> NEW.{new}) EXECUTE FUNCTION leantune_refuse_0001()"
        )
