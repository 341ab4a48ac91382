"""Markets of a few lines and real programs on them, for tests of whatever rents machines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from leantune.arrays import FloatArray
from leantune.clock import RealClock, ScaledClock
from leantune.cloud.billing import BillingPolicy
from leantune.cloud.catalog import clusters
from leantune.cloud.feeds import MarketFeed
from leantune.cloud.markets import Market, PriceSeries
from leantune.cloud.simcloud import SimCloud
from leantune.executors.base import Finished, FreeCapacity, Terms
from leantune.executors.fleet import RentalMarket
from leantune.executors.local import LocalExecutor
from leantune.executors.registry import ProgramSettings
from leantune.executors.rented import ProgramHooks, RentedExecutor
from leantune.executors.run_folder import RunFolder
from leantune.executors.watched import WatchedExecutor
from leantune.history import Trial
from leantune.problem import Problem, maximize
from leantune.rent.placement import FixedPlacement
from leantune.rent.provisioner import CheapestStep
from leantune.rent.quotes import LiveForecaster
from leantune.space import Cluster, Machine, Space, integer
from leantune.store.rows import StayRow
from tests.executors.programs import PROBLEM, python, until_ended

START = 1_456_000_000.0
BOX = Machine("box", 1, 0.1, usd_per_hour=3.6)  # a tenth of a cent a second
POLICY = BillingPolicy("sim", notice_seconds=60.0, refund_window_seconds=600.0)
# Counts to ten, a tenth of a second each, and goes on from its checkpoint; asked to stop, it says so and leaves.
COUNTS = """
import pathlib, signal, sys, time
stop = []
signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
file = pathlib.Path(sys.argv[1]) / "count"
count = int(file.read_text()) if file.exists() else 0
print('{"step": %d, "accuracy": 0.0}' % count, flush=True)
while count < 10 and not stop:
    time.sleep(0.1); count += 1
    file.write_text(str(count))
    print('{"step": %d, "accuracy": %g}' % (count, count / 10), flush=True)
sys.exit(1 if stop else 0)
"""

# The same, faster and without an end, until it is asked to stop; from a checkpoint, three more.
LASTS = (
    COUNTS.replace("count < 10", "count < end")
    .replace("while", "end = count + 3 if count else 6000\nwhile")
    .replace("sleep(0.1)", "sleep(0.03)")
)
# Ends when a file `go` appears.
UNTIL_TOLD = """
import pathlib, time
while not pathlib.Path("go").exists():
    time.sleep(0.01)
print("accuracy=0.5")
"""


class Certain:
    """A predictor that thinks nothing will be revoked."""

    name = "certain"

    def predict(self, series: Sequence[PriceSeries], times: FloatArray, max_prices: FloatArray) -> FloatArray:
        """0 for all."""
        return np.zeros(len(times))


def feed(zone: str, *steps: tuple[float, float], machine: Machine = BOX) -> MarketFeed:
    """Prices (seconds after START, USD per hour) in a zone; none at all: on demand."""
    market = Market(machine.name, zone)
    if not steps:
        return MarketFeed(machine, market, None, on_demand=True, notice_seconds=POLICY.notice_seconds)
    times, prices = zip(*[(-7200.0, steps[0][1]), *steps], strict=True)
    series = PriceSeries(market, [START + time for time in times], prices)
    return MarketFeed(machine, market, series, notice_seconds=POLICY.notice_seconds)


def problem_on(machine: Machine = BOX, nodes: int = 1, extra: int = 0) -> Problem:
    """One machine type to train on."""
    space = Space(n=integer(0, 99), cluster=clusters([machine], nodes=[nodes], extra_nodes=extra))
    return Problem(space, maximize("accuracy"))


class StillClock(ScaledClock):
    """A market's clock that stands still until it is told how much later it is: however slow a machine, all is on time.

    speed: of the seconds that programs take.
    """

    def __init__(self, speed: float) -> None:
        super().__init__(RealClock(), speed, START)
        self._at = START

    def now(self) -> float:
        """What was told last."""
        return self._at

    def at(self, seconds: float) -> None:
        """It is so many seconds after START."""
        self._at = START + seconds


class Unlimited(LocalExecutor):
    """Runs programs without holding cores, so that any number of clusters fits on this machine, or so many `cores`."""

    cores: int | None = None

    def check(self, trial: Trial) -> None:
        """Everything fits."""

    def capacity(self) -> FreeCapacity:
        """For all; with so many cores, for what fits beside nothing."""
        return FreeCapacity(self.running, cores=self.cores)

    def start(self, trial: Trial, terms: Terms = Terms()) -> None:  # noqa: B008 - frozen
        """Without its cluster."""
        bare = PROBLEM.space.configuration({"n": trial.configuration["n"]})
        super().start(replace(trial, configuration=bare), terms)


@dataclass
class World:
    """Everything of one market, to look at afterwards."""

    executor: WatchedExecutor
    rented: RentedExecutor
    cloud: SimCloud
    clock: ScaledClock
    programs: LocalExecutor

    def at(self, seconds: float) -> None:
        """It is so many seconds after START, by a clock that stands still."""
        assert isinstance(self.clock, StillClock)
        self.clock.at(seconds)

    def told(self) -> Finished:
        """The end of the only trial."""
        (finished,) = until_ended(self.executor)
        return finished

    def end(self, trial: Trial, terms: Terms = Terms()) -> Finished:  # noqa: B008 - frozen
        """Start the trial and wait for its end."""
        self.executor.start(trial, terms)
        return self.told()

    @property
    def billed(self) -> float:
        """Dollars of all machines that have ended."""
        return sum(bill.net_usd for bill in self.cloud.bills().values())


def make_world(
    place: Path,
    feeds: Sequence[MarketFeed],
    *,
    code: str = COUNTS,
    speed: float = 60.0,
    still: bool = False,
    boot: float = 6.0,
    arguments: Mapping[int, Sequence[str]] | None = None,
    launch_failures: float = 0.0,
    cores: int | None = None,
) -> World:
    """A market that opens now, and an executor on it; programs are told their checkpoint folder, or `arguments`.

    still: time passes there only when `World.at` says so.
    """
    base = RealClock()
    clock = StillClock(speed) if still else ScaledClock(base, speed, START)
    cloud = SimCloud(feeds, POLICY, clock, boot_seconds=boot, launch_failures=launch_failures)
    settings = ProgramSettings(
        study="s",
        problem=PROBLEM,
        arguments=lambda trial, extra: python(
            code, *(arguments[trial.number] if arguments else [extra["checkpoint_dir"]])
        ),
        folder=place,
        runs=place / "runs",
        checkpoints=place / "checkpoints",
    )
    inner = Unlimited(settings, locks=place / "locks")
    inner.cores = cores
    offers = cloud.offers()
    market = RentalMarket(cloud, clock, offers, LiveForecaster(offers, cloud.history, Certain()), tag="s")
    hooks = ProgramHooks(lose_disk=lambda number: RunFolder(place / "runs", number).remove_checkpoint())
    rented = RentedExecutor(inner, market, FixedPlacement(offers, CheapestStep(POLICY), boot), base, hooks)
    return World(WatchedExecutor(rented, base), rented, cloud, clock, inner)


@contextmanager
def world(place: Path, *feeds: MarketFeed, **options: object) -> Iterator[World]:
    """As above, closed at the end."""
    made = make_world(place, feeds, **options)  # type: ignore[arg-type]
    try:
        yield made
    finally:
        made.executor.close()


def stay_of(number: int, machine: str) -> StayRow:
    """A trial's stay on a machine of the zone a, from START."""
    return StayRow(number, 1, machine, "box/a", False, 3.6, 1.8, "test", START)


def cluster_of(problem: Problem) -> Cluster:
    """The only one."""
    (found,) = problem.space.parameters["cluster"].options  # type: ignore[attr-defined]
    assert isinstance(found, Cluster)
    return found
