"""Several real processes on one study: nothing is claimed twice, nothing is lost, and the money adds up."""

from __future__ import annotations

import multiprocessing
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from leantune.history import TrialState
from leantune.store.database import Database
from leantune.testing.store_samples import contract_space
from leantune.units import Usd
from tests.postgres import Postgres
from tests.store import crowd

WORKERS = 4
TRIALS = 48
ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(params=["sqlite", "postgres"])
def new_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database that does not exist yet, or is empty."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'crowd.db'}"
    server: Postgres = request.getfixturevalue("postgres")
    return server.fresh_url()


@pytest.fixture
def crowd_of() -> Iterator[Callable[[str, int], list[crowd.Diary]]]:
    """Runs workers in processes of their own, all at once."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.store.crowd"])
    start = context.Barrier(WORKERS)
    with ProcessPoolExecutor(WORKERS, context, crowd.set_barrier, (start,)) as pool:

        def run(url: str, trials: int) -> list[crowd.Diary]:
            futures = [pool.submit(crowd.work, url, f"worker {index}", trials) for index in range(WORKERS)]
            return [future.result(120.0) for future in futures]

        yield run


def test_a_crowd(new_url: str, crowd_of: Callable[[str, int], list[crowd.Diary]]) -> None:
    diaries = crowd_of(new_url, TRIALS)
    with Database(new_url) as database:
        study = database.open(crowd.NAME, contract_space())
        history, money, ledger = study.history(), study.money(), study.ledger()
    runs = sorted(run for diary in diaries for run in diary.claimed)
    assert len(runs) == len(set(runs)), "no run is claimed twice"
    assert runs == [(row.number, row.attempt) for row in ledger], "none is lost"
    assert sorted(number for diary in diaries for number in diary.proposed) == list(range(TRIALS))
    assert sorted(number for diary in diaries for number, _ in diary.finished) == list(range(TRIALS))
    abandoned = sorted(run for diary in diaries for run in diary.abandoned)
    assert abandoned == sorted(run for diary in diaries for run in diary.lost), "each is recovered once"
    assert abandoned, "some workers died"
    assert {trial.state for trial in history.trials} == {TrialState.DONE}
    spent = TRIALS * crowd.PAID + len(abandoned) * crowd.LOST
    assert money.spent == history.cost == sum(row.settled or 0.0 for row in ledger) == spent
    assert money.reserved == 0.0


@pytest.mark.slow
def test_a_killed_process_leaves_a_sound_store(new_url: str) -> None:
    """Killed within any transaction, it is as if that had never begun; the next one goes on."""
    chance = random.Random(7)
    for _ in range(4):
        child = subprocess.Popen([sys.executable, "-m", "tests.store.crowd", new_url], stdout=subprocess.PIPE, cwd=ROOT)
        assert child.stdout is not None
        with child.stdout:
            assert len(child.stdout.read(chance.randrange(6, 30))) >= 6, "it works"
            child.kill()
        child.wait()
        with Database(new_url) as database:
            study = database.open(crowd.NAME, contract_space())
            history, ledger, money = study.history(), study.ledger(), study.money()
            running = [trial.number for trial in history.trials if trial.state is TrialState.RUNNING]
            assert [row.number for row in ledger if row.settled is None] == running
            assert money.reserved == len(running) * 1.0 and len(running) <= 1
            assert money.spent == history.cost
            for claim in study.running():
                assert study.lose(claim, time=2.0, cause="killed", dollars=Usd(crowd.LOST))
    assert heir_runs_what_is_left(new_url)


def heir_runs_what_is_left(url: str) -> bool:
    """Whether what the killed ones left can be run to the end by somebody else."""
    with Database(url) as database:
        study = database.open(crowd.NAME, contract_space())
        left = len(study.history().pending)
        diary = crowd.Worker(study, "heir", len(study.history())).run()
        return len(diary.finished) == left
