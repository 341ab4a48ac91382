"""A dead worker of this machine is known at once, by real processes."""

import os
import subprocess
import sys
from dataclasses import replace

from leantune.clock import RealClock
from leantune.run.workers import dead_workers, process_start, this_host, this_worker


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
