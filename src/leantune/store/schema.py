"""The tables of a store, as today's code reads and writes them; `migrations` leads every older database here.

Times are seconds since 1970, money is USD, shares of the data are exact rationals as text ("1/60"), mappings are JSON.
A study counts its `changes`: the count grows with every change of its trials or its ledger, and each changed row
remembers it in `changed`. Whoever knows the study up to change n needs only the rows with changed > n.

LeanTune 0.1 (schema 0001) knew only `studies.version` and `workers.seen`. Today's code writes `changes` and `heard`
beside them, always with the same values; triggers refuse whoever writes the old ones alone (migrations 0002).
"""

import sqlalchemy as sa

# Every revision a database may have, oldest first; one module in migrations/versions for each.
REVISIONS = ("0001", "0002")
REVISION_TABLE = "leantune_schema"

metadata = sa.MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(referred_table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)


def _of_study() -> sa.Column[int]:
    return sa.Column("study_id", sa.Integer, sa.ForeignKey("studies.id"), primary_key=True, autoincrement=False)


def _of_trial() -> tuple[sa.Column[int], sa.Column[int], sa.ForeignKeyConstraint]:
    return (
        sa.Column("study_id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.ForeignKeyConstraint(["study_id", "number"], ["trials.study_id", "trials.number"]),
    )


# One row per study. Its lock is the lock of everything that belongs to the study.
studies = sa.Table(
    "studies",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("created", sa.Double, nullable=False),
    sa.Column("leantune_version", sa.Text, nullable=False),
    sa.Column("definition", sa.Text, nullable=False),
    sa.Column("job", sa.Text, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("budget_usd", sa.Double),
    sa.Column("budget_trials", sa.Integer),
    sa.Column("budget_hours", sa.Double),
    sa.Column("proposing_worker", sa.Text),  # who computes the next proposal, and until when nobody else does
    sa.Column("proposing_until", sa.Double),
    sa.Column("changes", sa.Integer, nullable=False, server_default=sa.text("-1")),
)

# Every budget the study has had; the last one is also in `studies`.
budgets = sa.Table(
    "budgets",
    metadata,
    _of_study(),
    sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("time", sa.Double, nullable=False),
    sa.Column("usd", sa.Double),
    sa.Column("trials", sa.Integer),
    sa.Column("hours", sa.Double),
    sa.Column("cause", sa.Text, nullable=False),
)

# One row per trial. worker, started and lease_until are those of the run that is going on; attempt counts its runs.
trials = sa.Table(
    "trials",
    metadata,
    _of_study(),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("configuration", sa.Text, nullable=False),
    sa.Column("fraction", sa.Text, nullable=False),
    sa.Column("snapshots", sa.Text, nullable=False),
    sa.Column("note", sa.Text, nullable=False),  # JSON: [[kind, text], ...]
    sa.Column("expected", sa.Text, nullable=False),
    sa.Column("time_limit", sa.Double),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("resumed_dollars", sa.Double, nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("worker", sa.Text),
    sa.Column("started", sa.Double),
    sa.Column("lease_until", sa.Double),
    sa.Column("changed", sa.Integer, nullable=False),
    sa.Column("kind", sa.Text, nullable=False, server_default="search"),
    sa.Index(None, "study_id", "state", "number"),
    sa.Index(None, "study_id", "changed"),
)

# Every change of state; rows are only ever added.
moves = sa.Table(
    "moves",
    metadata,
    *_of_trial(),
    sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("time", sa.Double, nullable=False),
    sa.Column("cause", sa.Text, nullable=False),
    sa.Column("dollars", sa.Double, nullable=False),
    sa.Column("seconds", sa.Double),
)

# What a finished trial showed, by rising share; rows are only ever added.
observations = sa.Table(
    "observations",
    metadata,
    *_of_trial(),
    sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("fraction", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("metrics", sa.Text, nullable=False),
    sa.Column("seconds", sa.Double),
    sa.Column("cost", sa.Double),
    sa.Column("cause", sa.Text, nullable=False),
)

# The money: one row per run, open (settled is NULL) while it runs.
ledger = sa.Table(
    "ledger",
    metadata,
    *_of_trial(),
    sa.Column("attempt", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("worker", sa.Text, nullable=False),
    sa.Column("rate", sa.Double),
    sa.Column("time_limit", sa.Double),
    sa.Column("reserved", sa.Double, nullable=False),
    sa.Column("opened", sa.Double, nullable=False),
    sa.Column("settled", sa.Double),
    sa.Column("settled_at", sa.Double),
    sa.Column("changed", sa.Integer, nullable=False),
    sa.Index(None, "study_id", "changed"),
)

# What running trials said about themselves, in the order of arrival.
reports = sa.Table(
    "reports",
    metadata,
    sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), primary_key=True),
    sa.Column("study_id", sa.Integer, nullable=False),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("seconds", sa.Double, nullable=False),
    sa.Column("metrics", sa.Text, nullable=False),
    sa.Column("step", sa.Double),
    sa.Column("fraction", sa.Text),
    sa.ForeignKeyConstraint(["study_id", "number"], ["trials.study_id", "trials.number"]),
    sa.Index(None, "study_id", "number"),
    sa.Index(None, "study_id", "id"),
)

# The machines that runs were on: one row per machine that was launched for a run.
stays = sa.Table(
    "stays",
    metadata,
    *_of_trial(),
    sa.Column("attempt", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("machine", sa.Text, primary_key=True),
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
)

# The processes that work on the study now.
workers = sa.Table(
    "workers",
    metadata,
    _of_study(),
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("host", sa.Text, nullable=False),
    sa.Column("pid", sa.Integer, nullable=False),
    sa.Column("process_started", sa.Double, nullable=False),
    sa.Column("slots", sa.Integer, nullable=False),
    sa.Column("joined", sa.Double, nullable=False),
    sa.Column("seen", sa.Double, nullable=False),
    sa.Column("heard", sa.Double, nullable=False, server_default=sa.text("-1")),
)

# Alembic's own table, as it makes it.
revisions = sa.Table(REVISION_TABLE, sa.MetaData(), sa.Column("version_num", sa.String(32), primary_key=True))
