"""A driver that answers, and what is said of one that does not."""

import sys

import pytest

from benchmarks.arena.peers.drivers.wire import Axis, Result, Task
from benchmarks.arena.peers.processes import DriverProcess, close_drivers, shared_driver
from leantune.errors import LeanTuneError
from tests.benchmarks.arena.peers.fakes import COMMAND, fake_process

AXES = (Axis("a", "unit"), Axis("b", "choice", 3))


def task(method: str, seed: int = 0) -> Task:
    return Task(method, AXES, (0.1, 1.0), (0, 1), 1, seed)


def test_a_driver_answers_and_what_it_prints_stays_out_of_the_pipe() -> None:
    with fake_process() as process:
        assert process.open(task("random")) == 1
        first = process.ask()
        assert first is not None
        assert set(first.point) == {"a", "b"}
        assert first.level == 1
        process.tell(Result(first.key, first.level, first.point, 0.5, 0.5, (-1.0,)))
        second = process.ask()
        assert second is not None
        assert second.point != first.point
        assert process.alive
    assert not process.alive


def test_opening_again_begins_anew_by_the_seed() -> None:
    with fake_process() as process:
        points = []
        for seed in (1, 2, 1):
            process.open(task("random", seed))
            points.append(process.ask())
        assert points[0] == points[2] != points[1]
        assert process.session == 3


def test_an_end_is_told() -> None:
    with fake_process() as process:
        process.open(task("short"))
        assert process.ask() is not None
        assert process.ask() is not None
        assert process.ask() is None


@pytest.mark.parametrize(
    ("method", "asks", "told"),
    [
        ("dies", 2, "it died; it wrote: out of memory"),
        ("babbles", 1, "no JSON: b'hello'"),
        ("hangs", 1, "no answer within 1 s"),
        ("refuses", 0, "ValueError: no such space"),
    ],
)
def test_what_went_wrong_is_said_with_the_librarys_name(method: str, asks: int, told: str) -> None:
    with fake_process(seconds=1.0 if method == "hangs" else 20.0) as process:
        if method == "hangs":
            process.seconds = 20.0
            process.open(task(method))  # loading takes its time
            process.seconds = 1.0
        with pytest.raises(LeanTuneError) as failure:
            if method != "hangs":
                process.open(task(method))
            for _ in range(asks):
                process.ask()
        assert told in str(failure.value)
        assert failure.value.where == "fake"
        assert process.alive == (method in ("babbles", "refuses"))


def test_asked_before_it_was_opened() -> None:
    with fake_process() as process, pytest.raises(LeanTuneError, match="before a task was opened"):
        process.ask()


def test_a_command_that_is_none_is_said() -> None:
    with pytest.raises(LeanTuneError, match=r"cannot be started.*install"):
        DriverProcess("fake", ["/no/such/python"])


def test_one_process_serves_all_until_it_dies() -> None:
    try:
        first = shared_driver("fake", COMMAND)
        assert shared_driver("fake", COMMAND) is first
        assert shared_driver("other", [*COMMAND, "x"]) is not first
        first.open(task("dies"))
        first.ask()
        with pytest.raises(LeanTuneError, match="died"):
            first.ask()
        assert shared_driver("fake", COMMAND).pid != first.pid
    finally:
        close_drivers()


def test_close_ends_a_driver_that_does_not_listen() -> None:
    process = DriverProcess("deaf", [sys.executable, "-c", "import time; time.sleep(60)"])
    process.close()
    assert not process.alive
