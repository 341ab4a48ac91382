"""Small worlds of markets and jobs, for tests of SpotTune's loop: random, seeded, and quick."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from leantune.lab.simulate.fleet import SimulatedFleet, TrainingRun
from leantune.run.fleet import FleetEvent
from leantune.run.spottune import SpotTune
from leantune.run.tuning import TuningJob, TuningOutcome, TuningRules

from leantune.arrays import FloatArray
from leantune.clock import Clock, SimulatedClock
from leantune.cloud.billing import AWS, BillingPolicy
from leantune.cloud.feeds import Capacity, MarketFeed
from leantune.cloud.markets import Market, PriceSeries
from leantune.cloud.simcloud import SimCloud
from leantune.curves.predictors import curve_predictor
from leantune.rent.provisioner import CheapestStep, Chooser
from leantune.rent.quotes import LiveForecaster
from leantune.space import Machine

HOUR = 3600.0


class KnownRisk:
    """A predictor that always says the same."""

    name = "known"

    def __init__(self, p: float = 0.3) -> None:
        self._p = p

    def predict(self, series: Sequence[PriceSeries], times: FloatArray, max_prices: FloatArray) -> FloatArray:
        """The same for all."""
        return np.full(len(times), self._p)


def walk(market: Market, rng: np.random.Generator, *, days: float = 20.0, mean_gap: float = 900.0) -> PriceSeries:
    """Prices that wander and jump, around 0.1 USD per hour."""
    count = int(days * 86400 / mean_gap)
    times = np.concatenate(([0.0], np.cumsum(rng.exponential(mean_gap, count) + 1.0)))
    prices = 0.1 * np.exp(np.clip(np.cumsum(rng.normal(0, 0.15, len(times))), -1, 1))
    prices *= np.where(rng.random(len(times)) < 0.05, 8.0, 1.0)
    return PriceSeries(market, times, prices, end=float(times[-1]) + 1e7)


def feeds(seed: int, *, markets: int = 3, capacity: bool = False, on_demand: bool = True) -> tuple[MarketFeed, ...]:
    """Markets of machines with 2, 4, 8, ... vCPUs; each also on demand."""
    rng = np.random.default_rng(seed)
    made: list[MarketFeed] = []
    for index in range(markets):
        machine = Machine(f"m{index}", 2.0 ** (index + 1), 8.0, usd_per_hour=0.3 * 2**index, provider="sim")
        market = Market(machine.name, "zone-a")
        prices = walk(market, rng)
        if capacity:
            edges = np.cumsum(rng.exponential(3 * HOUR, 400) + 300.0)
            held = Capacity(edges[::2], edges[1::2], edges[1::2])
            made.append(MarketFeed(machine, market, prices, held, mode="both", with_notice=bool(rng.random() < 0.5)))
        else:
            made.append(MarketFeed(machine, market, prices))
        if on_demand:
            made.append(MarketFeed(machine, market, None, on_demand=True))
    return tuple(made)


def run_of(seed: int, offers: Sequence[MarketFeed], *, hours: float, save: float = 20.0) -> TrainingRun:
    """A run of 40 reports that takes so many hours on one vCPU-like reference."""
    rng = np.random.default_rng(seed)
    steps = np.cumsum(rng.integers(5, 20, 40)).astype(np.float64)
    seconds = np.diff(steps, prepend=0.0) * rng.uniform(0.95, 1.05, 40)
    elapsed = np.cumsum(seconds) * hours * HOUR / seconds.sum()
    values = 1.0 / (0.05 * np.arange(1, 41) + 1.0) + rng.uniform(0, 0.5) + rng.normal(0, 0.002, 40)
    slowness = np.array([feed.machine.vcpus**-0.6 for feed in offers])
    return TrainingRun(steps, values, elapsed, slowness, save, save)


@dataclass
class World:
    """Everything of one tuning, to look at afterwards. told: every event of the fleet, in order."""

    fleet: SimulatedFleet
    cloud: SimCloud
    runs: list[TrainingRun]
    outcome: TuningOutcome
    told: list[FleetEvent]


class Listening(SimulatedFleet):
    """Keeps what it told."""

    told: list[FleetEvent]

    def wait(self, until: float | None) -> Sequence[FleetEvent]:
        """As the fleet, and written down."""
        events = super().wait(until)
        self.told = [*getattr(self, "told", []), *events]
        return events


def tune(
    markets: Sequence[MarketFeed],
    runs: list[TrainingRun],
    rules: TuningRules,
    *,
    clock: Clock | None = None,
    chooser: Chooser | None = None,
    policy: BillingPolicy = AWS,
    failures: float = 0.0,
    poll: float = 10.0,
    drops: tuple[float, ...] = (),
    risk: float = 0.3,
) -> World:
    """Run the loop to its end."""
    clock = clock or SimulatedClock(HOUR)
    cloud = SimCloud(markets, policy, clock, boot_seconds=rules.boot, launch_failures=failures)
    fleet = Listening(runs, cloud, clock, poll=poll)
    jobs = [
        TuningJob(f"job{i}", float(run.steps[-1]), drops, False, run.save_seconds, run.restore_seconds)
        for i, run in enumerate(runs)
    ]
    forecaster = LiveForecaster(fleet.offers, cloud.history, KnownRisk(risk))
    loop = SpotTune(
        jobs, fleet, chooser or CheapestStep(policy, poll), forecaster, curve_predictor("earlycurve"), rules
    )
    outcome = loop.run()
    fleet.drain()
    return World(fleet, cloud, runs, outcome, fleet.told)
