"""Studies of the first schema are upgraded and go on; programs of the first LeanTune that still run are stopped.

studies_0001.sql was made by LeanTune 0.1.0 (commit a366d26): `killed`, a job whose worker was killed while two trials
ran; `verified`, a job that was run and verified; `python`, a study of ask and tell; `noted`, one with fallbacks and
caps. Times are shifted, names of the host replaced.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest

import leantune as lt
from leantune.history import NoteKind, TrialKind, TrialState
from leantune.run.loop import Outcome
from leantune.store.database import Database
from leantune.store.rows import JudgedMove
from leantune.study import Study
from tests.postgres import Postgres
from tests.store.frozen.loading import HERE, load_postgres, load_sqlite
from tests.store.frozen.make import frozen_space

FROZEN = "studies_0001.sql"
SPACE = lt.Space(lr=lt.log(1e-4, 1.0), layers=lt.integer(1, 4))
LARGE = lt.Space(a=lt.integer(0, 79), b=lt.integer(0, 49))
REFUSAL = "a newer LeanTune upgraded this database: start this program again with it"
TRAIN = 'echo "accuracy=$1 latency=2"\n'


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where the old studies are."""
    if request.param == "sqlite":
        return load_sqlite(tmp_path / "old.db", FROZEN)
    server: Postgres = request.getfixturevalue("postgres")
    return load_postgres(server.fresh_url(), FROZEN)


@contextmanager
def raw(url: str) -> Iterator[Callable[[str], list[tuple[object, ...]]]]:
    """Another program's connection: what it does is committed at the end."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection, connection:
            yield lambda statement: connection.execute(statement).fetchall()
        return
    with psycopg.connect(url) as server:

        def execute(statement: str) -> list[tuple[object, ...]]:
            cursor = server.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

        yield execute


def python_study(url: str) -> lt.Study:
    return lt.Study(
        SPACE,
        lt.maximize("accuracy"),
        fractions=("1/10", 1),
        budget=lt.Budget(trials=12),
        strategy="trimtuner",
        seed=5,
        store=url,
        name="python",
    )


# -- what is read


def test_notes_say_what_they_said(url: str) -> None:
    with raw(url) as execute:
        old = execute("SELECT name, number, note FROM trials JOIN studies ON study_id = id ORDER BY id, number")
    with Database(url) as database:
        spaces = {"python": SPACE, "noted": LARGE}
        now = {name: database.open(name, space).history() for name, space in spaces.items()}
    mine = [(str(name), number, str(text)) for name, number, text in old if name in spaces]
    assert len(mine) == 14
    for name, number, text in mine:
        assert [str(note) for note in now[name].trials[int(str(number))].notes] == text.split("\n")


def test_kinds_are_values_now(url: str, tmp_path: Path) -> None:
    with Database(url) as database:
        python = database.open("python", SPACE).history()
        noted = database.open("noted", LARGE).history()
    assert [trial.kind for trial in python.trials] == [TrialKind.SEARCH] * 5 + [TrialKind.ENQUEUED, TrialKind.SEARCH]
    assert [note.kind for note in python.trial(1).notes] == [
        NoteKind.FALLBACK,
        NoteKind.CAP,
        NoteKind.CAP,
        NoteKind.POOL,
    ]
    assert python.trial(1).notes[0].text.startswith("none of 401 pairs")
    assert python.trial(2).notes[0].kind is NoteKind.MODELS
    assert [note.kind for note in noted.trial(0).notes] == [NoteKind.START, NoteKind.EXTRA_RUNS]
    with open_stored_in(tmp_path, url, "verified") as opened:
        assert [trial.verifies for trial in opened.history.trials] == [False] * 4 + [True]
        assert all(move.seconds is None for trial in opened.history.trials for move in trial.moves)


# -- how studies go on


def test_a_study_from_python_goes_on(url: str) -> None:
    study = python_study(url)
    assert [trial.state.value for trial in study.history.trials] == ["done"] * 3 + [
        "failed",
        "done",
        "done",
        "proposed",
    ]
    study.tell(6, {"accuracy": 0.5}, seconds=1.0)
    assert study.enqueue({"lr": 0.5, "layers": 1}).number == 7
    assert study.store.money().spent == study.history.cost == 0.0


def test_the_next_proposal_is_the_one_that_0001_would_have_made(url: str) -> None:
    trial = python_study(url).ask()
    assert (trial["lr"], trial["layers"], trial.fraction) == (pytest.approx(0.14258775377274743), 2, Fraction(1))
    noted = lt.Study(
        LARGE,
        lt.maximize("accuracy"),
        fractions=("1/10", "1/2", 1),
        budget=lt.Budget(trials=12),
        strategy="trimtuner",
        seed=2,
        store=url,
        name="noted",
    )
    trial = noted.ask()
    assert (trial["a"], trial["b"], trial.fraction) == (69, 19, Fraction(1, 2))


def test_a_study_whose_worker_was_killed_goes_on(url: str, tmp_path: Path) -> None:
    with open_stored_in(tmp_path, url, "killed") as opened:
        before = opened.history
        assert [trial.state.value for trial in before.trials] == ["done", "done", "running", "running"]
        assert opened.run().outcome is Outcome.OVER
        after = opened.history
        assert [trial.state for trial in after.trials] == [TrialState.DONE] * 6
        assert after.trials[:2] == before.trials[:2]
        assert "vanished" in after.trial(2).moves[3].cause
        assert opened.store.money().spent == pytest.approx(after.cost)
        assert [row.attempt for row in opened.store.ledger() if row.number == 2] == [1, 2]


def test_a_verification_stands_and_is_no_trial_of_the_budget(url: str, tmp_path: Path) -> None:
    with open_stored_in(tmp_path, url, "verified") as opened:
        assert opened.verify().trial.number == 4
        assert len(opened.history) == 5
        assert opened.run().reason == "all 4 trials of the budget are used"


@contextmanager
def open_stored_in(folder: Path, url: str, name: str) -> Iterator[Study]:
    """A job of the store at work in a folder of the test."""
    (folder / "train.sh").write_text(TRAIN, encoding="utf-8")
    opened = Study.open(url, name, folder=folder)
    try:
        yield opened
    finally:
        opened.close()


# -- programs of 0001 that still run


@pytest.mark.parametrize(
    "statements",
    [
        # Every change of a trial or of the ledger ends so.
        ["UPDATE studies SET version=99 WHERE studies.id = 4"],
        # A run that ends: all of it is refused.
        [
            "UPDATE ledger SET settled=1.0, settled_at=2.0, changed=99 WHERE study_id = 4 AND number = 2",
            "UPDATE trials SET state='done', attempt=1, worker=NULL, started=NULL, lease_until=NULL, changed=99 "
            "WHERE study_id = 4 AND number = 2",
            "INSERT INTO moves (study_id, number, position, state, time, cause, dollars) "
            "VALUES (4, 2, 3, 'done', 2, '', 0)",
            "UPDATE studies SET version=99 WHERE studies.id = 4",
        ],
        # A proposal.
        [
            "INSERT INTO trials (study_id, number, configuration, fraction, snapshots, note, expected, time_limit, "
            "state, resumed_dollars, attempt, changed) "
            "VALUES (4, 4, '{}', '1', '1', 'random', '{}', NULL, 'queued', 0, 0, 99)",
            "UPDATE studies SET version=99 WHERE studies.id = 4",
        ],
        # Its heartbeat.
        ["UPDATE workers SET seen=1e10 WHERE study_id = 4"],
        # It joins, or joins again.
        [
            "DELETE FROM workers WHERE study_id = 4",
            "INSERT INTO workers (study_id, id, host, pid, process_started, slots, joined, seen) "
            "VALUES (4, 'host-1', 'host', 1, 1, 1, 1, 1)",
        ],
        # It creates a study.
        [
            "INSERT INTO studies (name, created, leantune_version, definition, job, version) "
            "VALUES ('new', 1, '0.1.0', '{}', '', 0)"
        ],
    ],
    ids=["change", "end", "proposal", "heartbeat", "join", "create"],
)
def test_programs_of_0001_are_refused_in_one_sentence(url: str, statements: list[str]) -> None:
    Database(url).close()
    before = contents(url)
    with pytest.raises((sqlite3.Error, psycopg.Error)) as caught, raw(url) as execute:
        for statement in statements:
            execute(statement)
    assert REFUSAL in str(caught.value).splitlines()[0]
    assert contents(url) == before


def test_programs_of_0001_read_what_is_true(url: str) -> None:
    """Theirs is the column `version`: it follows today's changes."""
    with Database(url) as database:
        study = database.open("python", SPACE)
        with raw(url) as execute:
            (before,) = execute("SELECT version FROM studies WHERE name = 'python'")[0]
        study.propose({"lr": 0.5, "layers": 1}, Fraction(1), time=0.0)
        with raw(url) as execute:
            assert execute("SELECT version, changes FROM studies WHERE name = 'python'") == [(before + 1, before + 1)]  # type: ignore[operator]


def contents(url: str) -> list[object]:
    with raw(url) as execute:
        tables = ("studies", "trials", "moves", "ledger", "workers")
        return [sorted(map(str, execute(f"SELECT * FROM {table}"))) for table in tables]


# -- today's dump


def test_todays_dump_is_read(tmp_path: Path) -> None:
    assert (HERE / "schema_0002.sql").is_file()
    with Database(load_sqlite(tmp_path / "today.db", "schema_0002.sql")) as database:
        study = database.open("judged", frozen_space())
        history = study.history()
        assert [trial.state.value for trial in history.trials] == ["paused", "stopped", "done", "running"]
        assert [trial.kind.value for trial in history.trials] == ["search", "search", "verification", "enqueued"]
        assert [str(note) for note in history.trial(0).notes] == [
            "fallback: no result to learn from yet; at random",
            "cap: the optimum is sought among 10 of 80 configurations",
            "two\nlines",
        ]
        assert history.trial(0).moves[-1].seconds == 5.5
        assert history.trial(1).observations[0].kind.value == "partial"
        assert next(iter(history.observations))[0].number == 2
        assert [(stay.number, stay.machine, stay.on_demand, stay.ended) for stay in study.stays()] == [
            (0, "i-0", False, 9.0),
            (1, "i-1", False, 9.0),
            (3, "i-3", True, None),
        ]
        assert study.money().spent == history.cost == 0.75
        (queued,) = study.judge([JudgedMove(0, TrialState.PAUSED, TrialState.QUEUED, "chosen")], time=99.0)
        assert queued.state is TrialState.QUEUED
