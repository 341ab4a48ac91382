"""A dead worker of this machine is known at once, by real processes. The heart renews leases, tells what was lost, and
does not die in silence.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from leantune.clock import RealClock
from leantune.errors import StoreError
from leantune.executors.base import Executor
from leantune.run import workers
from leantune.run.workers import Heartbeat, dead_workers, process_start, this_host, this_worker
from leantune.store.study import StudyStore
from leantune.units import Seconds


def test_this_process_is_alive_and_each_worker_has_a_name_of_its_own() -> None:
    first, second = this_worker(2, RealClock()), this_worker(2, RealClock())
    assert first.id != second.id
    assert first.slots == 2
    assert dead_workers([first, second]) == frozenset()


def test_a_process_that_has_ended_is_dead_even_before_it_is_buried() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    started = process_start(child.pid)
    assert started is not None
    worker = replace(this_worker(1, RealClock()), pid=child.pid, process_started=started)
    assert dead_workers([worker]) == frozenset()
    child.kill()
    # waitid with WNOWAIT waits for the end and leaves the zombie

    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert dead_workers([worker]) == {worker.id}
    child.communicate()
    assert dead_workers([worker]) == {worker.id}


def test_a_number_that_now_belongs_to_another_process_is_dead() -> None:
    mine = this_worker(1, RealClock())
    assert dead_workers([replace(mine, process_started=mine.process_started - 1)]) == {mine.id}


def test_of_other_machines_nothing_is_known() -> None:
    elsewhere = replace(this_worker(1, RealClock()), host="elsewhere", pid=2**22, process_started=1.0)
    assert dead_workers([elsewhere]) == frozenset()
    assert this_host() != "elsewhere"


@pytest.mark.parametrize("error", [PermissionError, FileNotFoundError], ids=["hidepid=1", "hidepid=2"])
def test_a_process_that_may_not_be_looked_at_is_not_taken_for_dead(
    error: type[OSError], monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = this_worker(1, RealClock())
    ended = subprocess.Popen(["true"])
    ended.wait()

    def refuse(*_: object, **__: object) -> str:
        raise error

    monkeypatch.setattr(Path, "read_text", refuse)
    assert not workers._is_gone(mine)
    assert workers._is_gone(replace(mine, pid=ended.pid))  # the kernel knows that there is none


HIDDEN = """
import os, subprocess, sys
from dataclasses import replace
from leantune.clock import RealClock
from leantune.run.workers import dead_workers, process_start, this_worker
from leantune.worker import tree
of_root, mine = int(sys.argv[2]), this_worker(1, RealClock())
started = process_start(of_root)
subprocess.run(["mount", "-t", "proc", "-o", f"hidepid={sys.argv[1]}", "proc", "/proc"], check=True)
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
theirs = replace(mine, pid=of_root, process_started=started)
gone = replace(mine, pid=2**22, process_started=1.0)
print(dead_workers([mine, theirs, gone]) == {gone.id}, tree.usage([of_root]) == (0.0, 0), tree.descendants(of_root))
"""


@pytest.mark.slow
@pytest.mark.parametrize("hidepid", [1, 2])
def test_another_users_worker_is_alive_under_hidepid(hidepid: int) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may act for two users")
    command = ["unshare", "--mount", "--propagation", "private", sys.executable, "-c", HIDDEN, str(hidepid)]
    seen = subprocess.run([*command, str(os.getpid())], capture_output=True, text=True, check=False)
    if "mount" in seen.stderr or "unshare" in seen.stderr:
        pytest.skip(f"no file system can be mounted here: {seen.stderr.strip()}")
    assert seen.stdout.split("\n")[0] == "True True []", seen.stderr


LEASE = 0.2


class Store:
    """Renews what it is told to keep; `slow` seconds late."""

    def __init__(self, keep: set[int]) -> None:
        self.keep, self.beats, self.beaten = keep, 0, threading.Event()
        self.failure: Exception | None = None
        self.seen_at: list[float] = []
        self.renewed_at: list[float] = []
        self.wait_for: threading.Event | None = None

    def seen(self, worker: str, time: float) -> None:
        self.seen_at.append(time)

    def renew(self, worker: str, numbers: Iterable[int], *, time: float, lease: float) -> frozenset[int]:
        if self.failure is not None:
            self.beaten.set()
            raise self.failure
        self.renewed_at.append(time)
        if self.wait_for is not None:
            self.wait_for.wait(10)
        self.beats += 1
        if self.beats >= 2:
            self.beaten.set()
        return frozenset(numbers) & self.keep


class Renewed:
    """Remembers whose runs may go on."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.ago: list[float] = []

    def renew(self, number: int, ago: Seconds) -> None:
        self.numbers.append(number)
        self.ago.append(ago)


def heart(store: Store, renewed: Renewed) -> Heartbeat:
    return Heartbeat(cast(StudyStore, store), cast(Executor, renewed), "w", LEASE, RealClock())


def test_held_trials_are_renewed_in_the_store_and_at_the_run() -> None:
    store, renewed = Store({1, 2}), Renewed()
    with heart(store, renewed) as beating:
        beating.hold(1)
        beating.hold(2)
        assert store.beaten.wait(10)
        assert beating.take_lost() == frozenset()
    assert {1, 2} <= set(renewed.numbers)
    assert len(store.seen_at) >= 2  # `leantune status` says when a worker was last seen


def test_what_another_worker_was_given_is_told_once_and_not_renewed() -> None:
    store, renewed = Store({2}), Renewed()
    with heart(store, renewed) as beating:
        beating.hold(1)
        beating.hold(2)
        assert store.beaten.wait(10)
        assert beating.take_lost() == {1}
        assert beating.take_lost() == frozenset()
    assert 1 not in renewed.numbers


def test_what_has_ended_is_not_lost() -> None:
    store, renewed = Store(set()), Renewed()
    with heart(store, renewed) as beating:
        beating.hold(1)
        beating.release(1)
        assert store.beaten.wait(10)
        assert beating.take_lost() == frozenset()


def test_a_slow_renewal_is_passed_on_with_its_age_and_followed_by_one_at_once() -> None:
    """The store counts the lease from before the renewal: the run must not count it from after."""
    store, renewed = Store({1}), Renewed()
    store.wait_for = threading.Event()
    with heart(store, renewed) as beating:
        beating.hold(1)
        threading.Timer(0.05 + 0.15, store.wait_for.set).start()  # more than the period, which is 0.05 s
        while len(renewed.numbers) < 2:
            threading.Event().wait(0.005)
    assert renewed.numbers[:2] == [1, 1]
    assert renewed.ago[0] > 0.1 and renewed.ago[1] < 0.1
    assert store.renewed_at[1] - store.renewed_at[0] < renewed.ago[0] + 0.04, "a period is not waited for again"


def test_a_store_that_fails_stops_the_loop_not_only_the_heart() -> None:
    store, renewed = Store({1}), Renewed()
    store.failure = StoreError("the disk is gone")
    with heart(store, renewed) as beating:
        beating.hold(1)
        assert store.beaten.wait(10)
        with pytest.raises(StoreError, match="disk is gone"):
            while True:
                beating.take_lost()
