"""Prints a small study, with a trial in every state, as SQL: `python -m tests.store.frozen.make > schema_NNNN.sql`.

Run it once for each new revision of the schema, and never again: the file stands for databases that people have.
"""

from __future__ import annotations

import sqlite3
import tempfile
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from leantune.history import Estimate, Note, NoteKind, Observation, ObservationKind, TrialKind, TrialState
from leantune.problem import Budget
from leantune.space import Cluster, Clusters, Space, choice, linear, log, machine, when
from leantune.store.database import Database
from leantune.store.rows import Booking, Claim, JudgedMove, ReportRow, StayRow, WorkerRow
from leantune.store.study import StudyStore
from leantune.units import Seconds, Usd

MACHINE = machine("small", vcpus=2, memory=4, usd_per_hour=0.36)
FULL, TENTH = Fraction(1), Fraction(1, 10)
NOTES = (
    Note(NoteKind.FALLBACK, "no result to learn from yet; at random"),
    Note(NoteKind.CAP, "the optimum is sought among 10 of 80 configurations"),
    Note(NoteKind.PLAIN, "two\nlines"),
)


def frozen_space() -> Space:
    """The space of the frozen study."""
    return Space(
        lr=log(1e-6, 1.0),
        optimizer=choice("adam", "sgd"),
        momentum=when(linear(0.0, 1.0), optimizer="sgd"),
        cluster=Clusters((Cluster(MACHINE, 1), Cluster(MACHINE, 4))),
    )


def fill(database: Database) -> None:
    """Three studies: an empty one, one with everything, and one on rented machines whose trials are judged midway."""
    database.create("empty", frozen_space(), {}, "", Budget(), time=1.0, leantune_version="0.1.0")
    study = database.create(
        "everything",
        frozen_space(),
        {"maximize": "accuracy", "seed": 7},
        "name: everything # a job file\n",
        Budget(usd=5.0, trials=40, hours=2.5),
        time=1700000000.25,
        leantune_version="0.1.0",
    )
    study.set_budget(Budget(usd=7.5), time=1700000001.5, cause="extended by the user")
    study.join(WorkerRow("host-1", "host", 4711, 12.5, 2, 1700000002.0, 1700000002.5))
    adam = {"lr": 0.1, "optimizer": "adam", "cluster": {"type": "small", "nodes": 1}}
    sgd = {"lr": 1e-5, "optimizer": "sgd", "momentum": 0.3, "cluster": {"type": "small", "nodes": 4}}
    done(study, adam)
    failed_after_revocation(study, sgd)
    stopped_after_loss(study, adam)
    study.propose(adam, FULL, time=30.0)
    study.record(3, [seen(FULL, 0.5, 11.0, 0.25)], time=31.0)
    study.propose(adam, TENTH, time=40.0)
    study.finish(claim(study, 41.0), observations=(), state=TrialState.QUEUED, cause="", time=42.0, dollars=Usd(0.125))
    claim(study, 50.0)
    study.propose(sgd, FULL, time=60.0)
    study.propose(sgd, FULL, time=70.0, queue=False)
    study.may_propose("host-1", time=80.0, for_seconds=10.0)
    judged(database, adam, sgd)


def done(study: StudyStore, configuration: dict[str, object]) -> None:
    """Trial 0: measured at two shares, with predictions and reports."""
    expected = {"accuracy": Estimate(0.8, 0.05), "cost": Estimate(0.1, 0.02)}
    study.propose(
        configuration,
        FULL,
        (TENTH, FULL),
        time=2.0,
        notes=(Note(NoteKind.START, "start 1/5"),),
        expected=expected,
        time_limit=600.0,
    )
    run = claim(study, 3.0)
    curve = [ReportRow(0, 1, 1.5, {"loss": 2.5}, step=1.0), ReportRow(0, 1, 9.5, {"accuracy": 0.7}, None, TENTH)]
    study.add_reports(curve)
    shown = [seen(TENTH, 0.7, 9.5, 0.00095), seen(FULL, 0.1 + 0.2, 100.125, 0.0100125)]
    study.finish(run, observations=shown, state=TrialState.DONE, cause="", time=103.125, dollars=Usd(0.0100125))


def failed_after_revocation(study: StudyStore, configuration: dict[str, object]) -> None:
    """Trial 1: its machine was taken away, then it ran out of time."""
    study.propose(configuration, FULL, time=10.0, notes=(Note(NoteKind.PLAIN, "model"),))
    run = claim(study, 11.0)
    study.finish(run, observations=(), state=TrialState.REVOKED, cause="notice", time=12.0, dollars=Usd(0.5))
    failure = Observation(FULL, ObservationKind.FAILED, {}, Seconds(20.0), Usd(1.5), "timeout: 20 s")
    run = claim(study, 13.0)
    study.finish(
        run,
        observations=[failure],
        state=TrialState.FAILED,
        cause="timeout: 20 s",
        time=33.0,
        dollars=Usd(1.0),
        resumed_dollars=Usd(0.5),
    )


def stopped_after_loss(study: StudyStore, configuration: dict[str, object]) -> None:
    """Trial 2: its worker vanished, then we stopped it."""
    study.propose(configuration, FULL, time=20.0)
    study.lose(claim(study, 21.0), time=22.0, cause="worker host-1 vanished", dollars=Usd(0.25))
    cut = Observation(FULL, ObservationKind.CENSORED, {"accuracy": 0.25}, Seconds(3.0), Usd(0.75))
    run = claim(study, 23.0)
    study.finish(run, observations=[cut], state=TrialState.STOPPED, cause="hopeless", time=26.0, dollars=Usd(0.75))


def judged(database: Database, adam: dict[str, object], sgd: dict[str, object]) -> None:
    """Trial 0: paused; 1: stopped while it was paused; 2: a verification, done; 3: the user's, on its machine."""
    study = database.create("judged", frozen_space(), {}, "", Budget(usd=9.0), time=1.0, leantune_version="0.2.0")
    for configuration in (adam, sgd):
        study.propose(configuration, FULL, time=2.0, notes=NOTES)
    for number in (0, 1):
        run = claim(study, 3.0)
        stay = StayRow(number, 1, f"i-{number}", "small/zone-a", False, 0.5, 0.125, "prices.csv", 3.5, '{"a":1}')
        study.open_stay("host-1", stay)
        over = replace(stay, ready=4.0, left=8.0, ended=9.0, kept=7.0, reached=7.5, saving_seconds=0.5, gross_usd=0.25)
        pause = "predicted 0.8 ± 0.1"
        study.finish(
            run,
            observations=(),
            state=TrialState.PAUSED,
            cause=pause,
            time=9.0,
            dollars=Usd(0.25),
            seconds=Seconds(5.5),
            stays=[over],
        )
    midway = Observation(FULL, ObservationKind.PARTIAL, {"accuracy": 0.75}, Seconds(5.5), Usd(0.25))
    stop = JudgedMove(1, TrialState.PAUSED, TrialState.STOPPED, "not selected", (midway,), resumed_dollars=Usd(0.25))
    study.judge([stop], time=10.0)
    study.propose(adam, FULL, time=11.0, kind=TrialKind.VERIFICATION)
    done = [seen(FULL, 0.5, 11.0, 0.25)]
    study.finish(
        claim(study, 12.0),
        observations=done,
        state=TrialState.DONE,
        cause="",
        time=23.0,
        dollars=Usd(0.25),
        seconds=Seconds(11.0),
    )
    study.propose(sgd, FULL, time=24.0, kind=TrialKind.ENQUEUED)
    claim(study, 25.0)
    study.open_stay("host-1", StayRow(3, 1, "i-3", "small/zone-b", True, None, 0.36, "catalogue", 25.5))


def seen(share: Fraction, accuracy: float, seconds: float, cost: float) -> Observation:
    """A measurement."""
    return Observation(
        share, ObservationKind.MEASURED, {"accuracy": accuracy, "loss": 0.5}, Seconds(seconds), Usd(cost)
    )


def claim(study: StudyStore, time: float) -> Claim:
    """The next queued trial, run by host-1."""
    booked = study.claim("host-1", time=time, lease=60.0, fitting=lambda *_: Booking(Usd(1.25), 0.36, Seconds(600.0)))
    assert booked is not None
    return booked


def main() -> None:
    """Print the statements that make the database."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "frozen.db"
        with Database(f"sqlite:///{path}") as database:
            fill(database)
        connection = sqlite3.connect(path)
        for line in "\n".join(connection.iterdump()).splitlines():
            print(line.rstrip())
        connection.close()


if __name__ == "__main__":
    main()
