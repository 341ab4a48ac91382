"""Settings trained by real programs on markets of a few lines, for tests of SpotTune's own mode."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

from leantune.clock import Clock
from leantune.cloud.billing import BillingPolicy
from leantune.cloud.catalog import clusters
from leantune.cloud.feeds import MarketFeed
from leantune.cloud.marketplace import Marketplace
from leantune.cloud.markets import Market, PriceSeries
from leantune.problem import Problem, minimize
from leantune.run.fleet import FleetEvent
from leantune.run.local_tuning import Asked, Tuned, Workshop, tune
from leantune.space import Machine, Space, choice
from tests.executors.rented_worlds import Certain

OPENS = 1_456_000_000.0
POLICY = BillingPolicy("sim", notice_seconds=60.0, refund_window_seconds=600.0)
TINY = Machine("tiny", 0.5, 0.2, usd_per_hour=3.6)
SPACE = Space(floor=choice(0.1, 0.2, 0.3), cluster=clusters([TINY]))
PROBLEM = Problem(SPACE, minimize("loss"))
# loss = floor + 1 / step, ten steps of 20 ms; goes on from its checkpoint; asked to stop, it leaves after a step.
TRAINS = """
import json, pathlib, signal, sys, time
floor, file, stop = float(sys.argv[1]), pathlib.Path(sys.argv[2]) / "step", []
signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
step = int(file.read_text()) if file.exists() else 0
while step < 10 and not stop:
    time.sleep(0.02); step += 1
    file.write_text(str(step))
    print(json.dumps({"step": step, "loss": floor + 1 / step}), flush=True)
"""
PATIENCE = 60.0  # seconds of this world, for anything here to happen


def resting(at: int, code: str = TRAINS) -> str:
    """The program, which after this step waits to be asked to stop, unless it started from a checkpoint."""
    begins = code.replace("while step < 10", "fresh = step == 0\nwhile step < 10")
    return begins + f"    while fresh and step == {at} and not stop: time.sleep(0.01)\n"


class PatientClock:
    """Passes only while somebody sleeps, and stands still at each of its stops (seconds) until what it waits for is so.

    So that this happens before the prices change, however slow the machine.
    """

    def __init__(self, *stops: tuple[float, Callable[[], bool]]) -> None:
        self._at, self._stops, self._stood = 0.0, deque(stops), 0.0

    def now(self) -> float:
        """Seconds slept, but for those at a stop."""
        return self._at

    def monotonic(self) -> float:
        """Programs take real time."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Really, so that programs go on meanwhile."""
        time.sleep(seconds)
        self._at += seconds
        if self._stops and self._at > self._stops[0][0]:
            if self._stops[0][1]():
                self._stops.popleft()
                return
            self._at, self._stood = self._stops[0][0], self._stood + seconds
            assert self._stood < PATIENCE, "what the clock waits for does not happen"


def market(*steps: tuple[float, float], on_demand: bool = True) -> Marketplace:
    """One zone with these prices (seconds after the opening, USD per hour), and the same machine on demand."""
    where = Market("tiny", "a")
    feeds = [MarketFeed(TINY, where, None, on_demand=True, notice_seconds=60.0)] if on_demand else []
    if steps:
        times, prices = zip(*[(-7200.0, steps[0][1]), *steps], strict=True)
        series = PriceSeries(where, [OPENS + time for time in times], prices)
        feeds.insert(0, MarketFeed(TINY, where, series, notice_seconds=60.0))
    return Marketplace(tuple(feeds), OPENS, POLICY, boot_seconds=6.0)


def workshop(place: Path, code: str = TRAINS, parallel: int = 1, problem: Problem = PROBLEM) -> Workshop:
    """Programs in `place`."""
    return Workshop(
        problem,
        lambda trial, extra: [
            sys.executable, "-I", "-S", "-u", "-c", code, str(trial.configuration["floor"]), extra["checkpoint_dir"]
        ],
        place,
        place / "runs",
        place / "checkpoints",
        "tuning",
        parallel,
        grace=5.0,
    )  # fmt: skip


def tuned(
    place: Path,
    where: Marketplace,
    *,
    code: str = TRAINS,
    floors: Sequence[float] = (0.1, 0.2, 0.3),
    theta: float = 0.7,
    mcnt: int = 1,
    parallel: int = 1,
    clock: Clock | None = None,
    events: list[FleetEvent] | None = None,
) -> tuple[Tuned, list[FleetEvent]]:
    """How a tuning of these floors goes, and what was told meanwhile: `events`, if given, is where that is put."""
    told: list[FleetEvent] = [] if events is None else events
    asked = Asked(tuple({"floor": floor} for floor in floors), 10.0, theta, mcnt)
    base = PatientClock() if clock is None else clock
    return tune(asked, workshop(place, code, parallel), where, Certain(), told.append, base), told
