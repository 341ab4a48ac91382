"""Many replays at once: one process a core, one thread each, results kept as they come.

Processes are spawned, never forked: numba's threads do not survive a fork. Two threads within a process would only
slow each other down.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from multiprocessing import active_children, get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import Protocol

from leantune.errors import LeanTuneError, TableError
from leantune.lab.replay.kept import Kept, Key, program_digest
from leantune.lab.replay.runs import Row, Settings, replay
from leantune.lab.replay.tables import MeasuredTable, load_table
from leantune.models.threads import THREADS_VARIABLE

ONE_THREAD = (THREADS_VARIABLE, "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class TableSource(Protocol):
    """Where a table comes from: immutable, hashable, and small enough to send to another process."""

    @property
    def name(self) -> str:
        """The table's name."""
        ...

    def __hash__(self) -> int: ...

    def load(self) -> MeasuredTable:
        """The table, the same whenever and wherever it is loaded."""
        ...


@dataclass(frozen=True)
class Source:
    """A table in files: the data for another process to load it again."""

    name: str
    data: Path | None = None
    problem: str = ""

    def load(self) -> MeasuredTable:
        """The table."""
        return load_table(self.name, data=self.data, problem=self.problem)


@dataclass(frozen=True)
class Task:
    """One replay."""

    source: TableSource
    settings: Settings
    seed: int


@dataclass(frozen=True)
class Done:
    """A finished replay; `fresh`: it was run now, not read from disk."""

    task: Task
    rows: list[Row]
    fresh: bool


def default_processes() -> int:
    """As many as this process may use cores."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_all(
    tasks: Sequence[Task],
    kept: Kept,
    *,
    processes: int | None = None,
    done: Callable[[Done], None] = lambda _done: None,
) -> dict[Task, list[Row]]:
    """The rows of every task: those that are kept at once, the others run and kept. `done` hears of each.

    processes: one for each core by default; 0: one run after the other in this process. An interrupt or an error of one
    run ends the others; what was finished stays kept.
    """
    tables = {source: source.load() for source in dict.fromkeys(task.source for task in tasks)}
    keys = {task: Key.of(tables[task.source], task.settings, task.seed) for task in tasks}
    results: dict[Task, list[Row]] = {}
    missing: list[Task] = []
    for task, key in keys.items():
        rows = kept.get(key)
        if rows is None:
            missing.append(task)
        else:
            results[task] = rows
            done(Done(task, rows, fresh=False))
    if missing:
        kept.prepare()
    with _one_thread_each(), closing(_run(missing, tables, processes)) as finished:
        for task, rows in finished:
            kept.put(keys[task], rows)
            results[task] = rows
            done(Done(task, rows, fresh=True))
    return {task: results[task] for task in tasks}


def _run(
    tasks: Sequence[Task], tables: Mapping[TableSource, MeasuredTable], processes: int | None
) -> Generator[tuple[Task, list[Row]]]:
    if processes == 0 or not tasks:
        yield from ((task, replay(tables[task.source], task.settings, task.seed)) for task in tasks)
        return
    count, others = min(processes or default_processes(), len(tasks)), set(active_children())
    with ProcessPoolExecutor(count, mp_context=get_context("spawn"), initializer=_begin) as executor:
        try:
            with _deaf_to_interrupts():
                running: dict[Future[list[Row]], Task] = {
                    executor.submit(_replay, task, tables[task.source].digest, program_digest()): task for task in tasks
                }
            for future in as_completed(running):
                yield running[future], future.result()
        except BrokenProcessPool as error:
            hint = "Was it killed for lack of memory? Fewer --processes need less; the same command goes on"
            raise LeanTuneError("a process that replayed died suddenly", where="replay", hint=hint) from error
        except BaseException:
            for child in set(active_children()) - others:  # their results would be thrown away
                child.terminate()
            raise  # the executor removes them and drops tasks that had not begun


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Children read these when they start, before they load a numeric library."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Children started meanwhile never hear of Ctrl-C, not even while they load; this process hears it afterwards."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin() -> None:
    """Ctrl-C is the parent's to handle; a child whose parent was killed ends too."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@cache
def _table(source: TableSource) -> MeasuredTable:
    return source.load()


def _replay(task: Task, digest: str, program: str) -> list[Row]:
    table = _table(task.source)
    if table.digest != digest:
        raise TableError("the table was changed meanwhile", where=task.source.name, hint="Run the same command again")
    if program_digest() != program:
        raise LeanTuneError("LeanTune was changed meanwhile", where="replay", hint="Run the same command again")
    return replay(table, task.settings, task.seed)
