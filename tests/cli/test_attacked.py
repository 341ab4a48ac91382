"""Workers and wardens are killed and stopped at random: no trial runs twice at once, and every second is paid for."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import defaultdict
from contextlib import closing, suppress
from pathlib import Path

import pytest

from leantune.worker import tree
from leantune.worker.remains import _is_warden
from tests.cli.tiny import PRICED, left_behind, make_job, told

pytestmark = pytest.mark.slow

# Two processes, which ignore that they are asked to end, and write down every 10 ms that they run.
STUBBORN = """
import os, signal, sys, time
lr, trial, attempt, folder = sys.argv[1:]
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = os.fork()
with open(f"{folder}/{trial}-{attempt}-{os.getpid()}", "a", buffering=1) as file:
    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        file.write(f"{time.monotonic()}\\n")
        time.sleep(0.01)
if child:
    os.wait()
    print(f"accuracy={lr}")
"""
SEED, KILLS, TRIALS, SECONDS = 1, 10, 4, 180.0
RATE = 36.0 / 3600


def spans_of(ticks: Path) -> dict[int, dict[int, tuple[float, float]]]:
    """By trial and attempt: when its processes ran, first and last."""
    times: dict[int, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for path in ticks.iterdir():
        trial, attempt, _ = map(int, path.name.split("-"))
        lines = path.read_text(encoding="ascii").splitlines(keepends=True)
        times[trial][attempt] += [float(line) for line in lines if line.endswith("\n")]
    return {n: {a: (min(t), max(t)) for a, t in sorted(of.items()) if t} for n, of in times.items()}


def worker(folder: Path, log: Path) -> subprocess.Popen[str]:
    with log.open("a") as file:
        command = [sys.executable, "-m", "leantune", "run", str(folder / "job.yaml")]
        return subprocess.Popen(command, cwd=folder, stdout=file, stderr=file, text=True)


def attack(process: subprocess.Popen[str], kind: str) -> bool:
    """Whether there was somebody to attack."""
    wardens = [pid for pid in tree.descendants(process.pid) if _is_warden(pid)]
    if not wardens or process.poll() is not None:
        return False
    with suppress(ProcessLookupError):
        if kind in ("worker", "both"):
            os.kill(process.pid, signal.SIGSTOP)  # so that it sees nothing of what comes
        if kind in ("warden", "both"):
            os.kill(wardens[0], signal.SIGKILL)
        if kind == "stopped warden":
            os.kill(wardens[0], signal.SIGSTOP)
        if kind in ("worker", "both"):
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
    return True


def attacked_to_the_end(folders: list[Path], log: Path, chance: random.Random) -> int:
    """Work in these folders, under attack, until the study is over; how many attacks found somebody."""
    kills, until = 0, time.monotonic() + SECONDS
    workers = [worker(folder, log) for folder in folders]
    try:
        while not all(process.poll() == 0 for process in workers):
            assert time.monotonic() < until, (kills, log.read_text(encoding="utf-8")[-3000:])
            time.sleep(chance.uniform(0.1, 0.6))
            if kills < KILLS:
                kind = chance.choice(["worker", "warden", "both", "stopped warden"])
                kills += attack(workers[chance.randrange(2)], kind)
            for index, process in enumerate(workers):
                if process.poll() not in (None, 0):
                    workers[index] = worker(folders[index], log)
    finally:
        for process in workers:
            process.kill()
            process.wait()
    return kills


def test_nothing_runs_twice_and_every_second_is_paid_for(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(STUBBORN, encoding="utf-8")
    ticks, store = tmp_path / "ticks", f"sqlite:///{tmp_path}/shared.db"
    ticks.mkdir()
    train = [sys.executable, "-I", "-S", str(tmp_path / "train.py"), "{lr}", "{trial}", "{attempt}", str(ticks)]
    run = {"time_limit": "20 s", "grace": "300 ms", "lease": "20 s", "max_failures": 1000}
    changes = {**PRICED, "budget": {"usd": 3, "trials": TRIALS}, "train": train, "run": run, "store": store}
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        make_job(folder, **changes)
    assert attacked_to_the_end(folders, tmp_path / "out", random.Random(SEED)) >= KILLS // 2
    spans = spans_of(ticks)
    for attempts in spans.values():
        for (_, ended), (began, _) in zip(list(attempts.values()), list(attempts.values())[1:], strict=False):
            assert ended < began, attempts
    assert told("status", folders[0] / "job.yaml")["trials"]["done"] == TRIALS
    with closing(sqlite3.connect(tmp_path / "shared.db")) as database:
        ((paid, unsettled),) = database.execute("SELECT sum(settled), count(*) - count(settled) FROM ledger")
    assert unsettled == 0
    used = sum(ended - began for attempts in spans.values() for began, ended in attempts.values())
    assert used * RATE <= paid
    assert left_behind(tmp_path) == []
