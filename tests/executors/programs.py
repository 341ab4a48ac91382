"""Training programs of a few lines, on this machine: what the tests of the local executor start."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

from leantune.clock import RealClock
from leantune.cloud.catalog import clusters
from leantune.executors.base import (
    Begun,
    CheckpointSaved,
    Event,
    Executor,
    Finished,
    MachineLaunched,
    MachineUpdate,
    Report,
    Terms,
)
from leantune.executors.keeper import SAVE_EVERY
from leantune.executors.local import LocalExecutor
from leantune.executors.registry import ProgramSettings
from leantune.history import History, Trial, TrialKind
from leantune.problem import Problem, maximize
from leantune.space import Machine, Space, integer
from leantune.units import Seconds

FULL = Fraction(1)
PROBLEM = Problem(Space(n=integer(0, 99)), maximize("accuracy"))
ENOUGH = Seconds(20.0)  # for anything here to end, on a busy machine
Kind = TypeVar("Kind", Begun, Report, CheckpointSaved, MachineLaunched, MachineUpdate, Finished)
# Four processes, which write down their ids: the program, a child, a daemon (forked twice, in a session of its own) and
# one in a session of its own that ignores SIGTERM.
FORKS = """
import os, sys, time
def note():
    with open("pids", "a") as file: file.write(f"{os.getpid()}\\n")
note()
if os.fork() == 0:
    note(); time.sleep(60)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        note(); time.sleep(60)
    os._exit(0)
if os.fork() == 0:
    import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); os.setsid(); note(); time.sleep(60)
while len(open("pids").readlines()) < 4: time.sleep(0.01)
"""


def python(code: str, *arguments: str) -> list[str]:
    """A command that runs the code; without site-packages it starts in 15 ms."""
    return [sys.executable, "-I", "-S", "-u", "-c", code, *arguments]


def on(machine: Machine, nodes: int = 1) -> Problem:
    """The problem whose only machine this is."""
    return Problem(Space(n=integer(0, 99), cluster=clusters([machine], nodes=[nodes])), maximize("accuracy"))


def trials_of(
    problem: Problem,
    count: int = 1,
    snapshots: tuple[Fraction, ...] = (FULL,),
    kind: TrialKind = TrialKind.SEARCH,
) -> History:
    """Trials 0, 1, ... of different configurations."""
    history = History()
    for number in range(count):
        cluster = {name: p.options[0] for name, p in problem.space.parameters.items() if hasattr(p, "options")}
        configuration = problem.space.configuration({"n": number, **cluster})
        history, _ = history.propose(configuration, snapshots[-1], snapshots, kind=kind)
    return history


def trial_of(
    problem: Problem = PROBLEM, snapshots: tuple[Fraction, ...] = (FULL,), kind: TrialKind = TrialKind.SEARCH
) -> Trial:
    """The first of them."""
    return trials_of(problem, 1, snapshots, kind).trial(0)


@contextmanager
def local(
    place: Path,
    command: list[str] | Callable[[Trial, Mapping[str, str]], list[str]],
    *,
    problem: Problem = PROBLEM,
    study: str = "s",
    folder: Path | None = None,
    checkpoints: Path | None = None,
    save_every: float = SAVE_EVERY,
    locks: Path | None = None,
    store: str = "",
) -> Iterator[LocalExecutor]:
    """An executor whose folders all lie in `place`, closed at the end."""
    settings = ProgramSettings(
        study=study,
        problem=problem,
        arguments=command if callable(command) else lambda trial, extra: command,
        folder=folder or place,
        runs=place / "runs",
        checkpoints=checkpoints,
        store=store or str(place),
    )
    executor = LocalExecutor(settings, save_every=save_every, locks=locks or place / "locks")
    try:
        yield executor
    finally:
        executor.close()


def end_of(executor: LocalExecutor, trial: Trial | None = None, terms: Terms = Terms()) -> Finished:  # noqa: B008
    """Start the trial and wait for its end."""
    executor.start(trial or trial_of(), terms)
    (finished,) = until_ended(executor)
    return finished


def told(executor: Executor, timeout: float = 0.0) -> list[Event]:
    """What is told after a wait."""
    executor.wait(Seconds(timeout))
    return executor.step(RealClock().now())


def until(executor: Executor, kind: type[Kind]) -> tuple[list[Kind], list[Event]]:
    """What of this kind is told next, and everything that was told by then."""
    events: list[Event] = []
    end = time.monotonic() + ENOUGH
    while not any(isinstance(event, kind) for event in events):
        assert time.monotonic() < end, f"no {kind.__name__} in time, but {events}"
        events += told(executor, 1.0)
    return [event for event in events if isinstance(event, kind)], events


def until_ended(executor: Executor) -> list[Finished]:
    """What ends next."""
    return until(executor, Finished)[0]


def run(place: Path, code: str, terms: Terms = Terms(), problem: Problem = PROBLEM) -> Finished:  # noqa: B008 - frozen
    """How a program of this code ends."""
    with local(place, python(code), problem=problem) as executor:
        return end_of(executor, trial_of(problem), terms)


def log_of(place: Path, number: int = 0, attempt: int = 1) -> str:
    """The log of a run, as far as it goes."""
    path = place / "runs" / f"trial-{number:04d}" / f"attempt-{attempt}.log"
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


def eventually(found: Callable[[], object], seconds: float = 15.0) -> None:
    """Wait until it is true; for what other processes do, of which nobody tells us."""
    end = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.005)


def alive(pid: int) -> bool:
    """Whether the process exists and has not ended (a zombie has)."""
    try:
        state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != b"Z"


def pids_in(path: Path) -> list[int]:
    """Process ids that a program wrote down, one on a line, complete ones only."""
    try:
        text = path.read_text(encoding="ascii")
    except FileNotFoundError:
        return []
    return [int(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def as_root() -> bool:
    """Whether this process may mount file systems."""
    return os.geteuid() == 0
