"""Processes and what they use, against real ones; a part of a processor, on a simulated machine."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leantune.worker import tree
from leantune.worker.tree import PERIOD, Throttle

GRANDCHILD = "import os, sys, time; pid = os.fork(); os.write(1, b'%d\\n' % os.getpid()); time.sleep(60)"


@pytest.fixture
def family() -> Iterator[tuple[int, set[int]]]:
    """A process with a child of its own, both of which have said who they are."""
    process = subprocess.Popen([sys.executable, "-I", "-S", "-c", GRANDCHILD], stdout=subprocess.PIPE)
    assert process.stdout is not None
    pids = {int(process.stdout.readline()) for _ in range(2)}
    yield process.pid, pids
    tree.send(pids, signal.SIGKILL)
    process.communicate()


@pytest.mark.parametrize("listed", [True, False])
def test_finds_children_and_their_children(
    family: tuple[int, set[int]], listed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree, "_HAS_CHILDREN", listed)
    root, pids = family
    assert pids <= set(tree.descendants(os.getpid()))
    assert set(tree.descendants(root)) == pids - {root}
    assert tree.descendants(1 << 30) == []


def test_measures_processor_time() -> None:
    code = "import time\nwhile time.process_time() < 0.3: pass\nprint(1, flush=True); input()"
    process = subprocess.Popen([sys.executable, "-I", "-S", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    seconds, _ = tree.usage([process.pid, 1 << 30])
    assert 0.28 <= seconds < 1.0
    process.communicate(b"\n")


def test_measures_memory_and_shares_what_is_shared() -> None:
    code = f"held = bytearray(b'x') * (50 << 20); {GRANDCHILD}"
    process = subprocess.Popen([sys.executable, "-I", "-S", "-c", code], stdout=subprocess.PIPE)
    assert process.stdout is not None
    pids = [int(process.stdout.readline()) for _ in range(2)]
    try:
        assert tree.usage(pids)[1] > 100 << 20
        assert 50 << 20 < tree.proportional_bytes([*pids, 1 << 30]) < 70 << 20
    finally:
        tree.send(pids, signal.SIGKILL)
        process.communicate()


def test_signals_to_nobody_are_no_error() -> None:
    tree.send([1 << 30], signal.SIGTERM)
    tree.send_group(1 << 30, signal.SIGTERM)


def test_a_process_dies_with_its_parent() -> None:
    code = """
import os, sys, time
sys.path.append(sys.argv[1])
from leantune.worker import tree
pid = os.fork()
if pid == 0:
    tree.die_with_parent(); print("up", flush=True); time.sleep(60)
print(pid, flush=True); time.sleep(60)
"""
    source = os.path.dirname(os.path.dirname(os.path.dirname(tree.__file__)))  # noqa: PTH120
    process = subprocess.Popen([sys.executable, "-I", "-S", "-c", code, source], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert {process.stdout.readline() for _ in range(2)} > {b"up\n"}
    process.kill()
    began = time.monotonic()
    assert process.stdout.read() == b"", "its standard output ends when the last of them has"
    assert time.monotonic() - began < 30.0, "long before it would end by itself"
    process.communicate()


def play(vcpus: float, cores: int, seconds: float, load: float = 1.0) -> tuple[float, int]:
    """CPU seconds used by a program of so much load on each core, and how often it was stopped."""
    throttle = Throttle(vcpus, cores, 100.0)
    now, used, stops = 100.0, 0.0, 0
    while now < 100.0 + seconds:
        running = throttle.running
        pause = throttle.step(now, used)
        assert pause > 0.0
        stops += running and not throttle.running
        now += pause
        used += pause * cores * load if throttle.running else 0.0
    return used, stops


@given(st.floats(0.05, 4.0))
def test_a_busy_program_gets_its_part(vcpus: float) -> None:
    cores = max(1, -int(-vcpus // 1))
    used, stops = play(vcpus, cores, 60.0)
    assert used / 60.0 == pytest.approx(vcpus, rel=0.05, abs=0.005)
    assert stops > 60.0 / PERIOD / 3, "often, so that it looks like a slower machine, not like one that hangs"


def test_a_program_that_needs_less_than_its_part_is_never_stopped() -> None:
    used, stops = play(0.5, 1, 60.0, load=0.4)
    assert stops == 0
    assert used == pytest.approx(24.0, rel=0.01)


def test_idle_time_is_not_saved_up() -> None:
    throttle = Throttle(0.25, 1, 0.0)
    throttle.step(1000.0, 0.0)
    assert throttle.running
    throttle.step(1000.1, 0.1)
    assert not throttle.running
