"""What is done for every trial finds its rows by an index, however many trials there are."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from leantune.store import statements
from leantune.store.database import Database
from leantune.store.schema import REVISION_TABLE

EVERY_TRIAL = {
    "HEAD": statements.HEAD,
    "RUN": statements.RUN,
    "QUEUED": statements.QUEUED,
    "RUNNING": statements.RUNNING,
    "HELD": statements.HELD,
    "UPDATE_TRIAL": statements.UPDATE_TRIAL,
    "UPDATE_LEDGER": statements.UPDATE_LEDGER,
    "MAY_PROPOSE": statements.MAY_PROPOSE,
    "REPORTS": statements.REPORTS,
    "REPORTS_OF_TRIAL": statements.REPORTS_OF_TRIAL,
    "DELETE_STAY": statements.DELETE_STAY,
    "CLOSE_STAYS": statements.CLOSE_STAYS,
    "changed trials": statements.CHANGED_TRIALS,
    "changed ledger": statements.CHANGED_LEDGER,
}


@pytest.fixture
def database() -> Iterator[Database]:
    with Database("sqlite://") as database:
        yield database


def plan(database: Database, statement: sa.ClauseElement) -> list[str]:
    compiled = str(statement.compile(dialect=sa.create_engine("sqlite://").dialect))
    with database._connections.reading() as connection:
        rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {compiled}", (1,) * compiled.count("?"))
        return [row.detail for row in rows]


@pytest.mark.parametrize("name", EVERY_TRIAL)
def test_no_scan_and_no_sorting(database: Database, name: str) -> None:
    steps = plan(database, EVERY_TRIAL[name])
    steps = [step for step in steps if step != f"SCAN {REVISION_TABLE}"]  # which has one row
    assert steps and not [step for step in steps if "SCAN" in step or "TEMP B-TREE" in step], steps


@pytest.mark.parametrize("name", ["changed trials", "changed ledger"])
def test_changes_are_found_by_version(database: Database, name: str) -> None:
    assert "changed>?" in plan(database, EVERY_TRIAL[name])[0]
