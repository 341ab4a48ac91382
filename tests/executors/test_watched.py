"""An executor driven from a thread: what it hears meanwhile, and what it says of it. On real machines: test_rented."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator

import pytest

from leantune.clock import RealClock
from leantune.errors import IllegalMove, ProviderError
from leantune.executors.base import (
    Begun,
    EndMode,
    Event,
    Executor,
    Finished,
    FreeCapacity,
    MachineUpdate,
    Report,
    Terms,
)
from leantune.executors.watched import LOOK_SECONDS, WatchedExecutor
from leantune.history import Trial, TrialState
from leantune.units import NO_SECONDS, Seconds
from tests.executors.programs import ENOUGH, eventually, trial_of
from tests.executors.rented_worlds import stay_of

END = Finished(0, (), TrialState.QUEUED)
REPORT = Report(0, 1.0, {"accuracy": 0.5}, 1.0)
BILL = MachineUpdate(0, stay_of(0, "sim-1"))


class Puppet:
    """An executor that tells what a test has put into `news`, and fails when it is told to."""

    def __init__(self) -> None:
        self.alive: set[int] = set()
        self.owes = False
        self.news: list[Event] = []
        self.error: Exception | None = None
        self.steps = 0
        self.calls: list[tuple[object, ...]] = []

    @property
    def running(self) -> frozenset[int]:
        return frozenset(self.alive)

    def check(self, trial: Trial) -> None:
        self.calls.append(("check", trial.number))

    def capacity(self) -> FreeCapacity:
        return FreeCapacity(self.running, slots=3)

    def start(self, trial: Trial, terms: Terms = Terms()) -> None:  # noqa: B008 - frozen
        self.alive.add(trial.number)

    def end(self, number: int, mode: EndMode) -> None:
        self.calls.append(("end", number, mode))

    def renew(self, number: int, ago: Seconds = NO_SECONDS) -> None:
        self.calls.append(("renew", number, ago))

    def remains(self, number: int, attempt: int, grace: Seconds) -> bool:
        return False

    def kept(self, numbers: Iterable[int]) -> frozenset[int]:
        return frozenset()

    def forget(self, number: int) -> None:
        self.calls.append(("forget", number))

    def step(self, now: float) -> list[Event]:
        self.steps += 1
        if self.error is not None:
            raise self.error
        told, self.news = self.news, []
        self.alive -= {event.number for event in told if isinstance(event, Finished)}
        return told

    def next_event_time(self) -> float | None:
        return None

    def wait(self, timeout: Seconds | None = None) -> None:
        raise AssertionError("the thread waits by itself")

    def close(self) -> None:
        self.alive.clear()
        self.calls.append(("close",))


@pytest.fixture
def puppet() -> Puppet:
    return Puppet()


@pytest.fixture
def watched(puppet: Puppet) -> Iterator[WatchedExecutor]:
    made = WatchedExecutor(puppet, RealClock())
    executor: Executor = made
    yield made
    executor.close()


def tell(puppet: Puppet, *events: Event) -> None:
    """The executor inside has something to say, and the thread hears it."""
    puppet.news = list(events)
    eventually(lambda: not puppet.news)


def test_it_looks_while_nobody_asks(watched: WatchedExecutor, puppet: Puppet) -> None:
    watched.start(trial_of())
    eventually(lambda: puppet.steps >= 5)
    tell(puppet, Begun(0, 1.0), REPORT)
    tell(puppet, END)
    assert watched.running == {0}, "until it is told"
    assert watched.step(0.0) == [Begun(0, 1.0), REPORT, END]
    assert watched.running == frozenset()
    assert watched.step(0.0) == []


def test_where_nothing_runs_and_nothing_is_owed_nobody_looks(watched: WatchedExecutor, puppet: Puppet) -> None:
    eventually(lambda: puppet.steps >= 1)
    before = puppet.steps
    RealClock().sleep(5 * LOOK_SECONDS)
    assert puppet.steps == before
    watched.wait()  # returns at once
    puppet.owes = True
    watched.start(trial_of())
    tell(puppet, END)
    puppet.alive.clear()
    assert watched.owes
    tell(puppet, BILL)
    assert watched.step(0.0) == [END, BILL]


def test_a_wait_ends_with_the_first_thing_that_is_heard(watched: WatchedExecutor, puppet: Puppet) -> None:
    watched.start(trial_of())
    late = threading.Timer(0.1, lambda: puppet.news.append(END))
    late.start()
    clock = RealClock()
    began = clock.monotonic()
    watched.wait(ENOUGH)
    assert clock.monotonic() - began < ENOUGH / 2
    assert watched.step(0.0) == [END]
    watched.start(trial_of())
    began = clock.monotonic()
    watched.wait(Seconds(0.05))
    assert clock.monotonic() - began >= 0.05, "nothing happened"


def test_an_error_of_the_thread_comes_out_of_step(watched: WatchedExecutor, puppet: Puppet) -> None:
    watched.start(trial_of())
    puppet.error = ProviderError("the market is closed", where="sim", hint="Wait")
    watched.wait()
    for _ in range(2):
        with pytest.raises(ProviderError, match="the market is closed"):
            watched.step(0.0)
    before = puppet.steps
    RealClock().sleep(3 * LOOK_SECONDS)
    assert puppet.steps == before, "it is not tried again"


def test_what_has_ended_is_told_as_it_ended_unless_it_is_killed(watched: WatchedExecutor, puppet: Puppet) -> None:
    watched.start(trial_of())
    tell(puppet, REPORT, END)
    watched.end(0, EndMode.EVICT)
    assert puppet.calls == [], "it ended before it was asked"
    with pytest.raises(IllegalMove, match="trial 0"):
        watched.forget(0)
    assert watched.step(0.0) == [REPORT, END]
    watched.start(trial_of())
    tell(puppet, REPORT, BILL, END)
    watched.end(0, EndMode.KILL)
    assert watched.running == frozenset()
    assert watched.step(0.0) == [BILL], "what an earlier machine cost is told all the same"
    watched.start(trial_of())
    tell(puppet, REPORT)
    watched.end(0, EndMode.KILL)
    assert puppet.calls == [("end", 0, EndMode.KILL)]
    assert watched.step(0.0) == []


def test_the_rest_is_passed_on(watched: WatchedExecutor, puppet: Puppet) -> None:
    watched.check(trial_of())
    watched.start(trial_of())
    watched.renew(0, Seconds(2.0))
    watched.end(0, EndMode.SAVE)
    assert watched.capacity() == FreeCapacity(frozenset({0}), slots=3)
    assert watched.next_event_time() is None
    tell(puppet, END)
    watched.step(0.0)
    watched.forget(0)
    assert puppet.calls == [("check", 0), ("renew", 0, 2.0), ("end", 0, EndMode.SAVE), ("forget", 0)]


def test_closed_it_looks_no_more(watched: WatchedExecutor, puppet: Puppet) -> None:
    watched.start(trial_of())
    tell(puppet, REPORT)
    watched.close()
    assert puppet.calls == [("close",)]
    before = puppet.steps
    RealClock().sleep(3 * LOOK_SECONDS)
    assert puppet.steps == before
    assert watched.running == frozenset()
    assert watched.step(0.0) == []
    watched.close()
