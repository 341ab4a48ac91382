"""Tuners over the driver that has no library."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.arena.peers.processes import DriverProcess
from benchmarks.arena.peers.tuners import PeerTuner
from leantune.history import History
from leantune.problem import Problem
from tests.toy import asked, measure

COMMAND = [sys.executable, "-m", "tests.benchmarks.arena.peers.fake_driver"]


@contextmanager
def fake_process(*, seconds: float = 20.0) -> Iterator[DriverProcess]:
    """Ended at the end."""
    process = DriverProcess("fake", COMMAND, seconds=seconds)
    try:
        yield process
    finally:
        process.close()


def gone_on(tuner: PeerTuner, problem: Problem, history: History, tests: int, *, seed: int = 1) -> History:
    """With so many tests more."""
    for _ in range(tests):
        proposal = asked(tuner, problem, history, seed=seed)
        history, trial = history.propose(proposal.configuration, proposal.fraction, proposal.snapshots)
        history = history.record(trial.number, measure(problem, trial), time=0.0)
    return history


def pairs(history: History) -> list[tuple[str, str]]:
    """What was tested, in order."""
    return [(trial.configuration.id, str(trial.fraction)) for trial in history.trials]
