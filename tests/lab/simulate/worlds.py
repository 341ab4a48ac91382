"""Small worlds of markets and jobs, for tests of simulated studies: random, seeded, and quick."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from leantune.arrays import FloatArray
from leantune.clock import SimulatedClock
from leantune.cloud.billing import AWS, AZURE, GCP, BillingPolicy
from leantune.cloud.feeds import MarketCapacity, MarketFeed
from leantune.cloud.markets import Market, PriceSeries
from leantune.cloud.provider import Offer
from leantune.cloud.simcloud import SimCloud
from leantune.curves.predictors import curve_predictor
from leantune.executors.fleet import MarketClock
from leantune.history import History
from leantune.lab.simulate.simulation import (
    Scenario,
    Simulation,
    SimulationResult,
    TuningRules,
)
from leantune.lab.simulate.workloads import RecordedJob
from leantune.rent.provisioner import Always, CheapestStep, Chooser, PaperRule, RandomMarket
from leantune.rent.quotes import LiveForecaster
from leantune.space import Machine
from leantune.store.memory import MemoryStudyStore
from leantune.store.rows import StayRow

HOUR = 3600.0
MACHINE, MARKET = Machine("m", 2.0, 8.0, usd_per_hour=0.5, provider="sim"), Market("m", "zone-a")


class MovingClock(SimulatedClock):
    """Says so when the time stands still, or goes on for months: a study without end is a failure, not a long test."""

    def __init__(self, start: float) -> None:
        super().__init__(start)
        self._end, self._asked, self._asked_at = start + 100 * 86400.0, 0, start

    def now(self) -> float:
        """The time, which must move on some day."""
        time = super().now()
        self._asked, self._asked_at = (self._asked + 1 if time == self._asked_at else 0), time
        assert self._asked < 5000, f"the time stands still at {time}"
        assert time < self._end, "the study does not end"
        return time


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
            held = MarketCapacity(edges[::2], edges[1::2], edges[1::2])
            made.append(MarketFeed(machine, market, prices, held, mode="both", with_notice=bool(rng.random() < 0.5)))
        else:
            made.append(MarketFeed(machine, market, prices))
        if on_demand:
            made.append(MarketFeed(machine, market, None, on_demand=True))
    return tuple(made)


def quiet_market(price: float = 0.1) -> tuple[MarketFeed, ...]:
    """One machine type whose price never changes, and the same on demand."""
    spot = MarketFeed(MACHINE, MARKET, PriceSeries(MARKET, [0.0], [price], end=1e9))
    return spot, on_demand()


def on_demand() -> MarketFeed:
    """The machine that is never taken."""
    return MarketFeed(MACHINE, MARKET, None, on_demand=True)


def jumping_market(at: float, until: float) -> MarketFeed:
    """0.1 USD per hour, and 0.4 between two moments."""
    return MarketFeed(MACHINE, MARKET, PriceSeries(MARKET, [0.0, at, until], [0.1, 0.4, 0.1], end=1e9))


def job_of(seed: int, *, hours: float, save: float = 20.0) -> RecordedJob:
    """A run of 40 reports that takes so many hours on one vCPU."""
    rng = np.random.default_rng(seed)
    steps = np.cumsum(rng.integers(5, 20, 40)).astype(np.float64)
    seconds = np.diff(steps, prepend=0.0) * rng.uniform(0.95, 1.05, 40)
    values = 1.0 / (0.05 * np.arange(1, 41) + 1.0) + rng.uniform(0, 0.5) + rng.normal(0, 0.002, 40)
    facts = (f"job {seed}", "made", {"seed": seed}, "loss", False)
    return RecordedJob(*facts, steps, values, seconds * (hours * HOUR / seconds.sum()), (), 10**6, save, save)


def with_values(job: RecordedJob, values: FloatArray) -> RecordedJob:
    """The same run, but for what it reports."""
    return replace(job, values=values)


def slowness_of(markets: Sequence[MarketFeed]) -> Mapping[str, float]:
    """Larger machines are faster, though not in proportion."""
    return {feed.machine.name: feed.machine.vcpus**-0.6 for feed in markets}


def seconds_on(job: RecordedJob, feed: MarketFeed) -> float:
    """How long the whole training takes there."""
    return job.total_seconds * slowness_of([feed])[feed.machine.name]


@dataclass
class World:
    """Everything of one study, to look at afterwards."""

    simulation: Simulation
    result: SimulationResult

    @property
    def jobs(self) -> tuple[RecordedJob, ...]:
        """What was played."""
        return self.simulation.scenario.jobs

    @property
    def store(self) -> MemoryStudyStore:
        """Where the study is kept."""
        return self.simulation.store

    @property
    def history(self) -> History:
        """Its trials."""
        return self.store.history()

    @property
    def cloud(self) -> SimCloud:
        """Who rented the machines out."""
        return self.simulation.provider

    @property
    def stays(self) -> list[StayRow]:
        """All of them, in the order of launches."""
        return sorted(self.store.stays(), key=lambda stay: stay.launched)

    @property
    def endings(self) -> list[str]:
        """Of each job."""
        return [job.ending for job in self.result.jobs]


def tune(
    markets: Sequence[MarketFeed],
    jobs: Sequence[RecordedJob],
    rules: TuningRules,
    *,
    clock: MarketClock | None = None,
    chooser: Chooser | None = None,
    policy: BillingPolicy = AWS,
    failures: float = 0.0,
    poll: float = 10.0,
    risk: float = 0.3,
) -> World:
    """Run a study to its end."""
    clock = clock or MovingClock(HOUR)
    start = clock.now()
    scenario = Scenario(
        tuple(markets), tuple(jobs), slowness_of(markets), start, policy, rules, poll, launch_failures=failures
    )
    offers = [Offer(feed.machine, feed.market, feed.on_demand, feed.price_at(start)) for feed in markets]
    prices = {feed.market: feed.prices for feed in markets if feed.prices is not None}
    forecaster = LiveForecaster(offers, prices.__getitem__, KnownRisk(risk))
    used = chooser or CheapestStep(policy, poll)
    simulation = Simulation(scenario, lambda _scenario, _standing: used, forecaster, curve_predictor(), clock)
    return World(simulation, simulation.run())


def any_world(seed: int) -> World:
    """Anything that can be drawn: markets, jobs, rules, choosers and hooks of looking."""
    rng = np.random.default_rng(seed)
    policy = (AWS, AWS, GCP, AZURE)[rng.integers(4)]
    markets = _under(policy, feeds(seed, markets=int(rng.integers(1, 4)), capacity=bool(rng.integers(2))))
    jobs = [_any_job(rng, seed * 7 + number) for number in range(int(rng.integers(1, 6)))]
    rules = TuningRules(
        theta=float(rng.choice([0.1, 0.3, 0.7, 1.0])),
        mcnt=int(rng.integers(1, 4)),
        boot=float(rng.choice([0.0, 60.0, 300.0])),
        notice=float(rng.choice([0.0, 20.0, 110.0])),
        finish_by=(None, None, HOUR + float(rng.uniform(0.3, 8.0)) * HOUR)[rng.integers(3)],
        pace=(None, 1.0, 0.3)[rng.integers(3)],
        stop_on_plateau=bool(rng.integers(2)),
        patience=float(rng.choice([600.0, 6 * HOUR])),
    )
    choosers = (None, None, RandomMarket(seed), Always(0, 10.0), Always(0, 0.12), PaperRule(seed))
    return tune(
        markets,
        jobs,
        rules,
        chooser=choosers[rng.integers(len(choosers))],
        policy=policy,
        failures=float(rng.choice([0.0, 0.3])),
        poll=float(rng.choice([0.0, 10.0, 45.0])),
        risk=float(rng.choice([0.0, 0.3, 0.95])),
    )


def _under(policy: BillingPolicy, markets: Sequence[MarketFeed]) -> list[MarketFeed]:
    """The same markets with a provider's notice."""
    notice = policy.notice_seconds
    return [
        MarketFeed(
            feed.machine,
            feed.market,
            feed.prices,
            feed.capacity,
            mode=feed.mode,
            with_notice=feed.with_notice,
            on_demand=feed.on_demand,
            notice_seconds=notice,
        )
        for feed in markets
    ]


def _any_job(rng: np.random.Generator, seed: int) -> RecordedJob:
    """One that ends well, diverges, converges, drops its learning rate, or seldom says anything."""
    hours, save = float(rng.choice([0.2, 2.0, 6.0])), float(rng.choice([0.0, 1.0, 20.0, 60.0, 150.0, 400.0]))
    job, values, at = job_of(seed, hours=hours, save=save), job_of(seed, hours=hours).values.copy(), rng.integers(40)
    match rng.integers(8):
        case 0:
            values[at:] = np.nan
            return with_values(job, values)
        case 1:
            values[at:] = values[at]
            return with_values(job, values)
        case 2:
            return replace(job, drops=(job.total_steps * float(rng.uniform(0.2, 0.95)),))
        case 3:
            told = np.unique([*rng.integers(0, 39, 2), 39])
            seconds = np.diff(np.cumsum(job.seconds)[told], prepend=0.0)
            return replace(job, steps=job.steps[told], values=job.values[told], seconds=seconds)
    return job
