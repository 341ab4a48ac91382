"""The statements of a study, made once: what varies is bound by name. `study` is the study's id in all of them.

An update sets the columns that it is given values of, under their own names.
"""

from typing import Any

import sqlalchemy as sa

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


def all_but(table: sa.Table, names: str) -> list[sa.Column[Any]]:
    """The other columns of a table, in its order."""
    return [column for column in table.c if column.name not in names.split()]


_STUDY = sa.bindparam("study", type_=sa.Integer)
_NUMBER = sa.bindparam("trial", type_=sa.Integer)
_WORKER = sa.bindparam("who", type_=sa.Text)

# The revision of the schema: an older program must not write what it does not know.
REVISION = sa.select(revisions.c.version_num)
# The study's row: its count of changes and its budget. LOCK waits until nobody else changes the study.
HEAD = sa.select(
    REVISION.scalar_subquery(),
    *columns(studies, "changes budget_usd budget_trials budget_hours proposing_worker"),
).where(studies.c.id == _STUDY)
LOCK = HEAD.with_for_update(of=studies)
UPDATE_STUDY = sa.update(studies).where(studies.c.id == _STUDY)

COUNT_BUDGETS = sa.select(sa.func.count()).where(budgets.c.study_id == _STUDY)
INSERT_BUDGET = sa.insert(budgets)
BUDGETS = (
    sa.select(*all_but(budgets, "study_id position")).where(budgets.c.study_id == _STUDY).order_by(budgets.c.position)
)

_THIS_TRIAL = sa.and_(trials.c.study_id == _STUDY, trials.c.number == _NUMBER)
INSERT_TRIAL = sa.insert(trials)
INSERT_MOVES = sa.insert(moves)
INSERT_OBSERVATIONS = sa.insert(observations)
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
    .where(trials.c.study_id == _STUDY, trials.c.state == "queued", trials.c.number > sa.bindparam("beyond"))
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
    .where(trials.c.study_id == _STUDY, trials.c.state == "running")
    .order_by(trials.c.number)
)
HELD = sa.select(trials.c.number).where(
    trials.c.study_id == _STUDY, trials.c.state == "running", trials.c.worker == _WORKER
)

INSERT_LEDGER = sa.insert(ledger)
UPDATE_LEDGER = sa.update(ledger).where(
    ledger.c.study_id == _STUDY, ledger.c.number == _NUMBER, ledger.c.attempt == sa.bindparam("run")
)
LEDGER = (
    sa.select(*all_but(ledger, "study_id changed"))
    .where(ledger.c.study_id == _STUDY)
    .order_by(ledger.c.number, ledger.c.attempt)
)

MAY_PROPOSE = UPDATE_STUDY.where(
    sa.or_(
        studies.c.proposing_worker.is_(None),
        studies.c.proposing_worker == _WORKER,
        studies.c.proposing_until <= sa.bindparam("now"),
    )
).values(proposing_worker=_WORKER)
NOBODY_PROPOSES = UPDATE_STUDY.values(proposing_worker=None, proposing_until=None)
STOP_PROPOSING = NOBODY_PROPOSES.where(studies.c.proposing_worker == _WORKER)

INSERT_REPORTS = sa.insert(reports)
REPORTS = (
    sa.select(*columns(reports, "number attempt seconds metrics step fraction id"))
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
    sa.select(*all_but(stays, "study_id"))
    .where(stays.c.study_id == _STUDY)
    .order_by(stays.c.launched, stays.c.number, stays.c.attempt, stays.c.machine)
)
STAYS_OF_TRIAL = STAYS.where(stays.c.number == _NUMBER)

_THIS_WORKER = sa.and_(workers.c.study_id == _STUDY, workers.c.id == _WORKER)
INSERT_WORKER = sa.insert(workers)
DELETE_WORKER = sa.delete(workers).where(_THIS_WORKER)
UPDATE_WORKER = sa.update(workers).where(_THIS_WORKER)
WORKERS = (
    sa.select(*all_but(workers, "study_id seen"))
    .where(workers.c.study_id == _STUDY)
    .order_by(workers.c.joined, workers.c.id)
)

# The database's list of studies.
STUDIES = sa.select(studies).order_by(studies.c.created, studies.c.id)
STUDY_OF_NAME = STUDIES.where(studies.c.name == sa.bindparam("wanted"))
NAMES = sa.select(studies.c.name).order_by(studies.c.name)
COUNTS = sa.select(trials.c.study_id, trials.c.state, sa.func.count()).group_by(trials.c.study_id, trials.c.state)
COUNTS_OF_STUDY = COUNTS.where(trials.c.study_id == _STUDY)
INSERT_STUDY = sa.insert(studies)
