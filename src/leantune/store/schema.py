"""The tables of a store, as today's code reads and writes them; `migrations` leads every older database here.

Times are seconds since 1970, money is USD, shares of the data are exact rationals as text ("1/60"), mappings are JSON.
A study counts its `changes`: the count grows with every change of its trials or its ledger, and each changed row
remembers it in `changed`. A reader that knows the study up to change n needs only the rows with changed > n.

What is a row in Python too (`Move`, `StayRow`) has its columns from there: `*_fields(Move)` are its fields, in their
order. A new field needs a migration. Columns convert their values themselves: what is inserted and selected are shares,
states and mappings.

LeanTune 0.1 (schema 0001) knew only `studies.version` and `workers.seen`. Today's code writes `changes` and `heard`
beside them, always with the same values; triggers refuse writes of the old ones alone (migrations 0002).
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from fractions import Fraction
from types import NoneType
from typing import Any, get_args, get_type_hints

import sqlalchemy as sa

from leantune.history import Move, Observation, ObservationKind, TrialKind, TrialState
from leantune.problem import Budget
from leantune.store import encoding
from leantune.store.rows import LedgerRow, ReportRow, StayRow, WorkerRow
from leantune.units import Seconds, Usd

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


class _Encoded(sa.types.TypeDecorator[Any]):
    """A column of text whose values are written and read by these functions."""

    impl = sa.Text
    cache_ok = True

    def __init__(self, write: Callable[[Any], str | None], read: Callable[[str], Any]) -> None:
        super().__init__()
        self.write, self.read = write, read

    def bind_processor(self, _dialect: sa.Dialect) -> Callable[[Any], str | None]:
        """How values are written, called for each without anything around it."""
        return self.write

    def result_processor(self, _dialect: sa.Dialect, _coltype: object) -> Callable[[Any], Any]:
        """How they are read."""
        return self.read


def _enum(kinds: type[StrEnum]) -> _Encoded:
    return _Encoded(lambda member: member.value, {kind.value: kind for kind in kinds}.__getitem__)


_STATE = _enum(TrialState)
_SHARE = _Encoded(encoding.share_text, encoding.read_share)
# How a field of a row is kept.
_KEPT_AS: Mapping[object, Any] = {
    bool: sa.Boolean,
    int: sa.Integer,
    float: sa.Double,
    Seconds: sa.Double,
    Usd: sa.Double,
    str: sa.Text,
    Fraction: _SHARE,
    TrialState: _STATE,
    ObservationKind: _enum(ObservationKind),
    Mapping[str, float]: _Encoded(encoding.metrics_text, encoding.read_metrics),
}


def _fields(row: type, *, besides: str = "") -> list[sa.Column[Any]]:
    """A column for each field of a row but some ("number attempt"); NULL where it may be None."""
    columns: list[sa.Column[Any]] = []
    for name, hint in get_type_hints(row).items():
        if name not in besides.split():
            nullable = NoneType in get_args(hint)
            kept_as = _KEPT_AS[get_args(hint)[0] if nullable else hint]
            columns.append(sa.Column(name, kept_as, nullable=nullable))
    return columns


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
    sa.Column("proposing_worker", sa.Text),  # which worker computes the next proposal, and until when no other does
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
    *_fields(Budget),
    sa.Column("cause", sa.Text, nullable=False),
)

# One row per trial. worker, started and lease_until are those of the run that is going on; attempt counts its runs.
trials = sa.Table(
    "trials",
    metadata,
    _of_study(),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("configuration", sa.Text, nullable=False),
    sa.Column("fraction", _SHARE, nullable=False),
    sa.Column("snapshots", _Encoded(encoding.shares_text, encoding.read_shares), nullable=False),
    sa.Column("note", _Encoded(encoding.notes_text, encoding.read_notes), nullable=False),
    sa.Column("expected", _Encoded(encoding.expected_text, encoding.read_expected), nullable=False),
    sa.Column("time_limit", sa.Double),
    sa.Column("state", _STATE, nullable=False),
    sa.Column("resumed_dollars", sa.Double, nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False),
    sa.Column("worker", sa.Text),
    sa.Column("started", sa.Double),
    sa.Column("lease_until", sa.Double),
    sa.Column("changed", sa.Integer, nullable=False),
    sa.Column("kind", _enum(TrialKind), nullable=False, server_default=TrialKind.SEARCH.value),
    sa.Index(None, "study_id", "state", "number"),
    sa.Index(None, "study_id", "changed"),
)

# Every change of state; rows are only ever added.
moves = sa.Table(
    "moves",
    metadata,
    *_of_trial(),
    sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
    *_fields(Move),
)

# What a finished trial showed, by rising share; rows are only added, but for those of a failed trial that is run again:
# its moves keep when and why it failed and what that cost.
observations = sa.Table(
    "observations",
    metadata,
    *_of_trial(),
    sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
    *_fields(Observation),
)

# The money: one row per run, open (settled is NULL) while it runs.
ledger = sa.Table(
    "ledger",
    metadata,
    *_of_trial(),
    sa.Column("attempt", sa.Integer, primary_key=True, autoincrement=False),
    *_fields(LedgerRow, besides="number attempt"),
    sa.Column("changed", sa.Integer, nullable=False),
    sa.Index(None, "study_id", "changed"),
)

# What running trials said about themselves, in the order of arrival.
reports = sa.Table(
    "reports",
    metadata,
    sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), primary_key=True),
    sa.Column("study_id", sa.Integer, nullable=False),
    *_fields(ReportRow, besides="id"),
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
    *_fields(StayRow, besides="number attempt machine"),
)

# The processes that work on the study now.
workers = sa.Table(
    "workers",
    metadata,
    _of_study(),
    sa.Column("id", sa.Text, primary_key=True),
    *_fields(WorkerRow, besides="id"),
    sa.Column("heard", sa.Double, nullable=False, server_default=sa.text("-1")),
)

# Alembic's own table, as it makes it.
revisions = sa.Table(REVISION_TABLE, sa.MetaData(), sa.Column("version_num", sa.String(32), primary_key=True))
