"""The statements of a study, made once: values are bound by name. `study` is the study's id in all of them.

An update sets the columns that it is given values of, under their own names.
"""

from typing import Any, get_type_hints

import sqlalchemy as sa

from leantune.history import Move, Observation, TrialState
from leantune.problem import Budget
from leantune.store.rows import LedgerRow, ReportRow, StayRow, WorkerRow
from leantune.store.schema import (
    budgets,
    ledger,
    moves,
    observations,
    reports,
    revisions,
    stays,
    studies,
    trials,
    workers,
)


def columns(table: sa.Table, names: str) -> list[sa.Column[Any]]:
    """Columns by name: "number attempt"."""
    return [table.c[name] for name in names.split()]


def row(table: sa.Table, kind: type) -> list[sa.Column[Any]]:
    """The columns of a row, in the order of its fields: `kind(*selected)` is the row."""
    return [table.c[name] for name in get_type_hints(kind)]


_STUDY = sa.bindparam("study", type_=sa.Integer)
_NUMBER = sa.bindparam("trial", type_=sa.Integer)
_WORKER = sa.bindparam("who", type_=sa.Text)

# The revision of the schema: an older program must not write what it does not know.
REVISION = sa.select(revisions.c.version_num)
# The study's row: its count of changes and its budget. LOCK waits until no other process changes the study.
HEAD = sa.select(
    REVISION.scalar_subquery(),
    *columns(studies, "changes budget_usd budget_trials budget_hours proposing_worker"),
).where(studies.c.id == _STUDY)
LOCK = HEAD.with_for_update(of=studies)
UPDATE_STUDY = sa.update(studies).where(studies.c.id == _STUDY)

COUNT_BUDGETS = sa.select(sa.func.count()).where(budgets.c.study_id == _STUDY)
INSERT_BUDGET = sa.insert(budgets)
BUDGETS = (
    sa.select(budgets.c.time, budgets.c.cause, *row(budgets, Budget))
    .where(budgets.c.study_id == _STUDY)
    .order_by(budgets.c.position)
)

# Rows changed since a count of changes. Neither is to be sorted by the database: it might then read the whole study
# in order rather than what changed.
_SINCE = sa.bindparam("since", type_=sa.Integer)
CHANGED_TRIALS = sa.select(
    *columns(trials, "number configuration fraction snapshots state note expected time_limit resumed_dollars kind")
).where(trials.c.study_id == _STUDY, trials.c.changed > _SINCE)
CHANGED_LEDGER = sa.select(*columns(ledger, "number attempt reserved settled")).where(
    ledger.c.study_id == _STUDY, ledger.c.changed > _SINCE
)
# Moves and observations of all trials, or of some.
_NUMBERS = sa.bindparam("numbers", expanding=True, type_=sa.Integer)
MOVES = (
    sa.select(moves.c.number, *row(moves, Move))
    .where(moves.c.study_id == _STUDY)
    .order_by(moves.c.number, moves.c.position)
)
MOVES_OF = MOVES.where(moves.c.number.in_(_NUMBERS))
OBSERVATIONS = (
    sa.select(observations.c.number, *row(observations, Observation))
    .where(observations.c.study_id == _STUDY)
    .order_by(observations.c.number, observations.c.position)
)
OBSERVATIONS_OF = OBSERVATIONS.where(observations.c.number.in_(_NUMBERS))

_THIS_TRIAL = sa.and_(trials.c.study_id == _STUDY, trials.c.number == _NUMBER)
INSERT_TRIAL = sa.insert(trials)
INSERT_MOVES = sa.insert(moves)
INSERT_OBSERVATIONS = sa.insert(observations)
DELETE_OBSERVATIONS = sa.delete(observations).where(observations.c.study_id == _STUDY, observations.c.number == _NUMBER)
UPDATE_TRIAL = sa.update(trials).where(_THIS_TRIAL)
_OPEN_STAYS = sa.and_(
    stays.c.study_id == trials.c.study_id,
    stays.c.number == trials.c.number,
    stays.c.attempt == trials.c.attempt,
    stays.c.ended.is_(None),
)
RUN = sa.select(
    *columns(trials, "attempt worker lease_until"),
    sa.select(stays.c.machine).where(_OPEN_STAYS).exists().label("stays"),
).where(_THIS_TRIAL)
# The next trials of the queue; in portions, because the first one usually fits.
QUEUED = (
    sa.select(trials.c.number, trials.c.attempt)
    .where(trials.c.study_id == _STUDY, trials.c.state == TrialState.QUEUED, trials.c.number > sa.bindparam("beyond"))
    .order_by(trials.c.number)
    .limit(32)
)
RUNNING = (
    sa.select(
        *columns(trials, "number attempt worker started lease_until"),
        *columns(ledger, "reserved rate time_limit"),
    )
    .join(
        ledger,
        sa.and_(
            ledger.c.study_id == trials.c.study_id,
            ledger.c.number == trials.c.number,
            ledger.c.attempt == trials.c.attempt,
        ),
    )
    .where(trials.c.study_id == _STUDY, trials.c.state == TrialState.RUNNING)
    .order_by(trials.c.number)
)
HELD = sa.select(trials.c.number).where(
    trials.c.study_id == _STUDY, trials.c.state == TrialState.RUNNING, trials.c.worker == _WORKER
)

INSERT_LEDGER = sa.insert(ledger)
UPDATE_LEDGER = sa.update(ledger).where(
    ledger.c.study_id == _STUDY, ledger.c.number == _NUMBER, ledger.c.attempt == sa.bindparam("run")
)
LEDGER = (
    sa.select(*row(ledger, LedgerRow)).where(ledger.c.study_id == _STUDY).order_by(ledger.c.number, ledger.c.attempt)
)

MAY_PROPOSE = UPDATE_STUDY.where(
    sa.or_(
        studies.c.proposing_worker.is_(None),
        studies.c.proposing_worker == _WORKER,
        studies.c.proposing_until <= sa.bindparam("now"),
    )
).values(proposing_worker=_WORKER)
NO_PROPOSER = UPDATE_STUDY.values(proposing_worker=None, proposing_until=None)
STOP_PROPOSING = NO_PROPOSER.where(studies.c.proposing_worker == _WORKER)

INSERT_REPORTS = sa.insert(reports)
REPORTS = (
    sa.select(*row(reports, ReportRow))
    .where(reports.c.study_id == _STUDY, reports.c.id > sa.bindparam("after"))
    .order_by(reports.c.id)
)
REPORTS_OF_TRIAL = REPORTS.where(reports.c.number == _NUMBER)

_THIS_RUN = sa.and_(stays.c.study_id == _STUDY, stays.c.number == _NUMBER, stays.c.attempt == sa.bindparam("run"))
INSERT_STAYS = sa.insert(stays)
DELETE_STAY = sa.delete(stays).where(_THIS_RUN, stays.c.machine == sa.bindparam("which"))
COUNT_OPEN_STAYS = sa.select(sa.func.count()).where(_THIS_RUN, stays.c.ended.is_(None))
CLOSE_STAYS = sa.update(stays).where(_THIS_RUN, stays.c.ended.is_(None))
STAYS = (
    sa.select(*row(stays, StayRow))
    .where(stays.c.study_id == _STUDY)
    .order_by(stays.c.launched, stays.c.number, stays.c.attempt, stays.c.machine)
)
STAYS_OF_TRIAL = STAYS.where(stays.c.number == _NUMBER)

_THIS_WORKER = sa.and_(workers.c.study_id == _STUDY, workers.c.id == _WORKER)
INSERT_WORKER = sa.insert(workers)
DELETE_WORKER = sa.delete(workers).where(_THIS_WORKER)
UPDATE_WORKER = sa.update(workers).where(_THIS_WORKER)
WORKERS = (
    sa.select(*row(workers, WorkerRow)).where(workers.c.study_id == _STUDY).order_by(workers.c.joined, workers.c.id)
)

# The database's list of studies.
STUDIES = sa.select(studies).order_by(studies.c.created, studies.c.id)
STUDY_OF_NAME = STUDIES.where(studies.c.name == sa.bindparam("wanted"))
NAMES = sa.select(studies.c.name).order_by(studies.c.name)
COUNTS = sa.select(trials.c.study_id, trials.c.state, sa.func.count()).group_by(trials.c.study_id, trials.c.state)
COUNTS_OF_STUDY = COUNTS.where(trials.c.study_id == _STUDY)
INSERT_STUDY = sa.insert(studies)
