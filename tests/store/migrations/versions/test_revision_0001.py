"""A database that the first schema's LeanTune wrote is read by today's, to the last digit."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from leantune.history import Estimate, Move, Note, NoteKind, Observation, ObservationKind, Trial, TrialState
from leantune.problem import Budget
from leantune.store.database import Database
from leantune.store.rows import BudgetChange, LedgerRow, Money, ReportRow, WorkerRow
from leantune.store.study import StudyStore
from leantune.units import Seconds, Usd
from tests.store.frozen.loading import load_postgres, load_sqlite
from tests.store.frozen.make import frozen_space

FROZEN = "schema_0001.sql"
FULL, TENTH = Fraction(1), Fraction(1, 10)
ADAM = {"lr": 0.1, "optimizer": "adam", "cluster": {"type": "small", "nodes": 1}}
SGD = {"lr": 1e-5, "optimizer": "sgd", "momentum": 0.3, "cluster": {"type": "small", "nodes": 4}}


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    if request.param == "sqlite":
        url = load_sqlite(tmp_path / "old.db", FROZEN)
    else:
        url = load_postgres(request.getfixturevalue("postgres").fresh_url(), FROZEN)
    with Database(url) as database:
        yield database


@pytest.fixture
def study(database: Database) -> StudyStore:
    return database.open("everything", frozen_space())


def moves(*told: tuple[str, float] | tuple[str, float, str] | tuple[str, float, str, float]) -> tuple[Move, ...]:
    return tuple(Move(TrialState(state), *rest) for state, *rest in told)


def seen(share: Fraction, accuracy: float, seconds: float, cost: float) -> Observation:
    return Observation(
        share, ObservationKind.MEASURED, {"accuracy": accuracy, "loss": 0.5}, Seconds(seconds), Usd(cost)
    )


def test_studies(database: Database, study: StudyStore) -> None:
    empty, everything = database.studies()
    assert (empty.name, empty.created, empty.budget, empty.counts) == ("empty", 1.0, Budget(), {})
    assert (everything.name, everything.created) == ("everything", 1700000000.25)
    assert everything.counts == {"done": 2, "failed": 1, "stopped": 1, "running": 1, "queued": 1, "proposed": 1}
    assert study.definition == {"maximize": "accuracy", "seed": 7}
    assert study.job == "name: everything # a job file\n"


def test_history(study: StudyStore) -> None:
    adam, sgd = frozen_space().configuration(ADAM), frozen_space().configuration(SGD)
    failure = Observation(FULL, ObservationKind.FAILED, {}, Seconds(20.0), Usd(1.5), "timeout: 20 s")
    cut = Observation(FULL, ObservationKind.CENSORED, {"accuracy": 0.25}, Seconds(3.0), Usd(0.75))
    expected = {"accuracy": Estimate(0.8, 0.05), "cost": Estimate(0.1, 0.02)}
    assert study.history().trials == (
        Trial(
            0,
            adam,
            FULL,
            (TENTH, FULL),
            TrialState.DONE,
            (seen(TENTH, 0.7, 9.5, 0.00095), seen(FULL, 0.1 + 0.2, 100.125, 0.0100125)),
            moves(("proposed", 2.0), ("queued", 2.0), ("running", 3.0), ("done", 103.125)),
            (Note(NoteKind.START, "start 1/5"),),
            expected,
            Seconds(600.0),
        ),
        Trial(
            1,
            sgd,
            FULL,
            (FULL,),
            TrialState.FAILED,
            (failure,),
            moves(
                ("proposed", 10.0),
                ("queued", 10.0),
                ("running", 11.0),
                ("revoked", 12.0, "notice", 0.5),
                ("queued", 12.0),
                ("running", 13.0),
                ("failed", 33.0, "timeout: 20 s"),
            ),
            (Note(NoteKind.PLAIN, "model"),),
            resumed_dollars=Usd(0.5),
        ),
        Trial(
            2,
            adam,
            FULL,
            (FULL,),
            TrialState.STOPPED,
            (cut,),
            moves(
                ("proposed", 20.0),
                ("queued", 20.0),
                ("running", 21.0),
                ("lost", 22.0, "worker host-1 vanished", 0.25),
                ("queued", 22.0),
                ("running", 23.0),
                ("stopped", 26.0, "hopeless"),
            ),
        ),
        Trial(
            3,
            adam,
            FULL,
            (FULL,),
            TrialState.DONE,
            (seen(FULL, 0.5, 11.0, 0.25),),
            moves(("proposed", 30.0), ("queued", 30.0), ("running", 31.0), ("done", 31.0)),
        ),
        Trial(
            4,
            adam,
            TENTH,
            (TENTH,),
            TrialState.RUNNING,
            (),
            moves(
                ("proposed", 40.0), ("queued", 40.0), ("running", 41.0), ("queued", 42.0, "", 0.125), ("running", 50.0)
            ),
        ),
        Trial(5, sgd, FULL, (FULL,), TrialState.QUEUED, (), moves(("proposed", 60.0), ("queued", 60.0))),
        Trial(6, sgd, FULL, (FULL,), TrialState.PROPOSED, (), moves(("proposed", 70.0))),
    )


def test_money(study: StudyStore) -> None:
    assert study.budget() == Budget(usd=7.5)
    assert study.budgets() == [
        BudgetChange(1700000000.25, Budget(usd=5.0, trials=40, hours=2.5), "created"),
        BudgetChange(1700000001.5, Budget(usd=7.5), "extended by the user"),
    ]
    assert study.ledger() == [
        LedgerRow(0, 1, "host-1", 0.36, 600.0, 1.25, 3.0, 0.0100125, 103.125),
        LedgerRow(1, 1, "host-1", 0.36, 600.0, 1.25, 11.0, 0.5, 12.0),
        LedgerRow(1, 2, "host-1", 0.36, 600.0, 1.25, 13.0, 1.0, 33.0),
        LedgerRow(2, 1, "host-1", 0.36, 600.0, 1.25, 21.0, 0.25, 22.0),
        LedgerRow(2, 2, "host-1", 0.36, 600.0, 1.25, 23.0, 0.75, 26.0),
        LedgerRow(3, 1, "", 0.36, None, 0.0, 31.0, 0.25, 31.0),
        LedgerRow(4, 1, "host-1", 0.36, 600.0, 1.25, 41.0, 0.125, 42.0),
        LedgerRow(4, 2, "host-1", 0.36, 600.0, 1.25, 50.0, None, None),
    ]
    assert study.money() == Money(7.5, 2.8850125, 1.25)
    assert study.history().cost == 2.8850125


def test_reports_and_workers(study: StudyStore) -> None:
    assert study.reports() == [
        ReportRow(0, 1, 1.5, {"loss": 2.5}, step=1.0),
        ReportRow(0, 1, 9.5, {"accuracy": 0.7}, fraction=TENTH),
    ]
    assert study.workers() == [WorkerRow("host-1", "host", 4711, 12.5, 2, 1700000002.0, 1700000002.5)]


def test_work_goes_on(study: StudyStore) -> None:
    assert not study.may_propose("host-2", time=89.0, for_seconds=1.0)
    (claim,) = study.running()
    assert (claim.trial.number, claim.attempt, claim.worker, claim.booking.usd) == (4, 2, "host-1", 1.25)
    done = study.finish(
        claim, observations=[seen(TENTH, 0.9, 1.0, 0.5)], state=TrialState.DONE, cause="", time=111.0, dollars=Usd(0.5)
    )
    assert done.state is TrialState.DONE
    assert study.propose(ADAM, FULL, time=113.0).number == 7
