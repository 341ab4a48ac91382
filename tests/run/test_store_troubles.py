"""A store that is far away, busy, frozen or gone for a while: sound programs are not killed, and nothing is lost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import pytest

from leantune.clock import RealClock
from leantune.executors.base import Finished, Terms
from leantune.history import TrialState
from leantune.problem import Budget
from leantune.run.workers import Heartbeat
from leantune.store.database import Database
from leantune.store.rows import Booking
from leantune.units import NO_USD, Seconds
from tests.executors.programs import PROBLEM, local, python
from tests.postgres import Postgres, postgres
from tests.proxy import SlowProxy

__all__ = ["postgres"]
pytestmark = pytest.mark.slow
LEASE, GRACE, WORKER = 8.0, 0.5, "w"


@contextmanager
def claimed(url: str) -> Iterator[float]:
    """A study with one trial that the worker has claimed; when."""
    clock = RealClock()
    with Database(url) as database:
        store = database.create("s", PROBLEM.space, {}, "", Budget(), time=clock.now(), leantune_version="0")
        store.propose(PROBLEM.space.grid()[0], Fraction(1), time=clock.now())
        began = clock.monotonic()
        store.claim(WORKER, time=clock.now(), lease=LEASE, fitting=lambda *_: Booking(NO_USD, None, None))
        yield began


def end_of_run(folder: Path, url: str, seconds: float) -> Finished:
    """How a program of so many seconds ends, whose lease is renewed in the store at that address."""
    clock = RealClock()
    with (
        Database(url) as database,
        local(folder, python(f"import time; time.sleep({seconds}); print('accuracy=1')")) as executor,
    ):
        store = database.open("s", PROBLEM.space)
        with Heartbeat(store, executor, WORKER, LEASE, clock) as heart:
            heart.hold(0)
            executor.start(store.history().trial(0), Terms(lease=Seconds(LEASE), grace=Seconds(GRACE)))
            while True:
                executor.wait(Seconds(1.0))
                for event in executor.step(clock.now()):
                    if isinstance(event, Finished):
                        return event


def test_a_database_that_is_far_away_costs_no_run(tmp_path: Path, postgres: Postgres) -> None:
    """Every renewal takes more than a second, and the program runs longer than its lease."""
    url = postgres.fresh_url()
    with claimed(url), SlowProxy(url, round_trip=0.3) as proxy:
        end = end_of_run(tmp_path, proxy.url, seconds=LEASE + 2.0)
    assert (end.state, end.cause) == (TrialState.DONE, "")
