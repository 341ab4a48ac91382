"""Many replays: in processes or in this one, never twice, and nothing lost by an error or an interrupt."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from multiprocessing import active_children
from pathlib import Path

import pytest

from leantune.errors import LeanTuneError, StoreError, StrategyError, TableError
from leantune.lab.replay import pool
from leantune.lab.replay.kept import Kept, program_digest
from leantune.lab.replay.pool import ONE_THREAD, Done, Source, Task, default_processes, run_all
from leantune.lab.replay.runs import Row, Settings
from tests.lab.replay.small import small, write

EIC, RANDOM = Settings("eic", iterations=2), Settings("random", iterations=2)
OWN = """\
import os
import time
from leantune.strategies.registry import recipe
from leantune.errors import StrategyError

class Odd:
    def __init__(self, what): self.what = what
    judges = False
    def check(self, problem): pass
    def judge(self, view, only=None): return {}
    def recommend(self, view): raise NotImplementedError
    def stop_reason(self, view): return None
    def ask(self, view):
        if self.what == "dies": os._exit(9)
        if self.what == "sleeps": time.sleep(300)
        raise StrategyError(f"no idea with {os.environ['LEANTUNE_THREADS']} thread", where="odd", hint="Ask another")

def odd(what=""): return Odd(what)
"""


@pytest.fixture
def source(tmp_path: Path) -> Source:
    return Source(str(write(tmp_path)))


@pytest.fixture
def odd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Settings]]:
    """Settings of a tuner that only gives trouble."""
    (tmp_path / "own_odd.py").write_text(OWN, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield lambda what="": Settings(f"own_odd:odd(what={what!r})")
    sys.modules.pop("own_odd", None)


def tasks_of(source: Source, *settings: Settings, seeds: int = 2) -> list[Task]:
    return [Task(source, one, seed) for one in settings for seed in range(seeds)]


def untimed(found: dict[Task, list[Row]]) -> dict[Task, list[Row]]:
    return {task: [replace(row, ask_seconds=0.0) for row in rows] for task, rows in found.items()}


def test_two_processes_give_what_none_gives_and_the_second_time_nothing_runs(source: Source, tmp_path: Path) -> None:
    tasks = tasks_of(source, EIC, RANDOM)
    heard: list[Done] = []
    before = dict(os.environ)
    found = run_all(tasks, Kept(tmp_path / "two"), processes=2, done=heard.append)
    assert dict(os.environ) == before
    assert active_children() == []
    assert [done.fresh for done in heard] == [True] * 4
    assert {done.task for done in heard} == set(tasks) == set(found)
    alone = run_all(tasks, Kept(tmp_path / "none"), processes=0)
    assert untimed(found) == untimed(alone)
    heard.clear()
    assert run_all(tasks, Kept(tmp_path / "two"), processes=2, done=heard.append) == found
    assert [(done.task, done.fresh) for done in heard] == [(task, False) for task in tasks]


def test_only_what_is_missing_is_run(source: Source, tmp_path: Path) -> None:
    kept = Kept(tmp_path / "kept")
    heard: list[Done] = []
    run_all(tasks_of(source, RANDOM), kept, processes=0)
    tasks = tasks_of(source, EIC, RANDOM, seeds=3)
    run_all(tasks, kept, processes=0, done=heard.append)
    assert sorted(done.task.seed for done in heard if not done.fresh) == [0, 1]
    assert sum(done.fresh for done in heard) == 4
    path = next((tmp_path / "kept").glob("*.json"))
    path.write_text("damaged", encoding="utf-8")
    heard.clear()
    run_all(tasks, kept, processes=0, done=heard.append)
    assert sum(done.fresh for done in heard) == 1
    assert kept.damaged == [path]


def test_a_table_that_has_changed_is_run_again(source: Source, tmp_path: Path) -> None:
    kept = Kept(tmp_path / "kept")
    heard: list[Done] = []
    run_all(tasks_of(source, RANDOM), kept, processes=0)
    write(tmp_path, "# another word")
    run_all(tasks_of(source, RANDOM), kept, processes=0, done=heard.append)
    assert [done.fresh for done in heard] == [True, True]


def test_what_changes_meanwhile_is_refused(source: Source, tmp_path: Path) -> None:
    digest = small(tmp_path).digest
    with pytest.raises(TableError, match="table was changed meanwhile"):
        pool._replay(Task(source, RANDOM, 0), "another digest", program_digest())
    with pytest.raises(LeanTuneError, match="LeanTune was changed meanwhile"):
        pool._replay(Task(source, RANDOM, 0), digest, "another program")
    assert pool._replay(Task(source, RANDOM, 0), digest, program_digest())


def test_an_error_in_a_child_ends_all_with_that_error(
    source: Source, tmp_path: Path, odd: Callable[..., Settings]
) -> None:
    kept = Kept(tmp_path / "kept")
    with pytest.raises(StrategyError, match="no idea with 1 thread") as caught:
        run_all(tasks_of(source, odd()), kept, processes=1)
    assert (caught.value.where, caught.value.hint) == ("odd", "Ask another")
    assert active_children() == []
    assert not any(name in os.environ and os.environ[name] == "1" for name in ONE_THREAD[:1])
    assert list(kept.folder.iterdir()) == []


def test_a_child_that_dies_is_said_to_have_died(source: Source, tmp_path: Path, odd: Callable[..., Settings]) -> None:
    with pytest.raises(LeanTuneError, match="died suddenly"):
        run_all(tasks_of(source, odd("dies"), seeds=1), Kept(tmp_path / "kept"), processes=1)


def test_an_interrupt_keeps_what_was_done_and_ends_the_others(
    source: Source, tmp_path: Path, odd: Callable[..., Settings]
) -> None:
    """Also when it comes while this process is busy with a result: nobody waits for the run that sleeps."""
    kept = Kept(tmp_path / "kept")

    def interrupt(done: Done) -> None:
        raise KeyboardInterrupt

    tasks = [Task(source, RANDOM, 0), Task(source, odd("sleeps"), 0)]
    with pytest.raises(KeyboardInterrupt):
        run_all(tasks, kept, processes=2, done=interrupt)
    assert active_children() == []
    assert len(list(kept.folder.glob("*.json"))) == 1
    heard: list[Done] = []
    run_all(tasks[:1], kept, processes=1, done=heard.append)
    assert [done.fresh for done in heard] == [False]


def test_a_folder_that_cannot_be_written_is_refused_first(source: Source, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="results cannot be kept"):
        run_all(tasks_of(source, RANDOM), Kept(tmp_path / "file"), processes=1)


def test_an_interrupt_meant_for_the_terminal_does_not_reach_children() -> None:
    with pool._deaf_to_interrupts():
        assert signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, set())
        blocked = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, set()))"
        child = subprocess.run([sys.executable, "-c", blocked], capture_output=True, text=True, check=True)
    assert child.stdout == "True\n"
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, set())


def test_the_environment_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ONE_THREAD[0], "3")
    monkeypatch.delenv(ONE_THREAD[1], raising=False)
    with pytest.raises(RuntimeError), pool._one_thread_each():
        assert [os.environ[name] for name in ONE_THREAD] == ["1"] * len(ONE_THREAD)
        raise RuntimeError
    assert os.environ[ONE_THREAD[0]] == "3"
    assert ONE_THREAD[1] not in os.environ


def test_nothing_to_do(tmp_path: Path) -> None:
    assert run_all([], Kept(tmp_path / "kept")) == {}
    assert not (tmp_path / "kept").exists()
    assert default_processes() >= 1
