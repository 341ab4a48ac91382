"""One tuning of a family's 16 settings on a pool, simulated, and what is kept of it.

Checkpoints take what the recording measured on a local disk, and their bytes at the paper's slower rate (62.83 MB/s).
With theta = 1 nothing is compared early, so that flat curves do not end a job either: all steps are trained.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np

from benchmarks.spottune.policies import Policy, Rule, chooser
from benchmarks.spottune.pools import LONGEST, TRACE_PAST, Pool, PoolName
from benchmarks.spottune.risks import WithCapacity, capacity_risk
from leantune.cloud.billing import AWS
from leantune.cloud.feeds import MarketFeed
from leantune.cloud.predictor import Predictor
from leantune.cloud.provider import Offer
from leantune.curves.predictors import curve_predictor
from leantune.errors import LeanTuneError
from leantune.lab.simulate.forecast import TabledForecaster
from leantune.lab.simulate.simulation import Scenario, SimulationResult, TuningRules, simulate
from leantune.lab.simulate.workloads import RecordedJob, stretched
from leantune.rent.quotes import Forecaster, Quotes
from leantune.units import SECONDS_PER_HOUR

SLOW_BYTES_PER_SECOND, FAST_BYTES_PER_SECOND = 62.83e6, 134.22e6  # SpotTune IV-F: t2.micro, m4.4xlarge
BOOT = 60.0
POLL = 10.0
MCNT = 3
HOURS = 4.0
EVERY = {PoolName.VOLATILE: 300.0}  # seconds between rows of the table of risks
SMOOTH_EVERY = 1800.0  # smooth prices change some times a day
PRINTED_CURVES, OUR_CURVES = "earlycurve", "stacked"


@dataclass(frozen=True)
class Tuning:
    """What is simulated. predictor: a kind of `spot.kinds`, or "online-hazard". exponent: b of types without a speed.

    hours: of the family's median job on four vCPUs. gigabytes: of every checkpoint, rather than the recorded bytes.
    """

    pool: str
    family: str
    policy: Policy
    predictor: str
    start: int
    hours: float = HOURS
    exponent: float = 0.6
    gigabytes: float | None = None

    def under(self, policy: Policy) -> Tuning:
        """The same under another policy."""
        return replace(self, policy=policy)


@dataclass(frozen=True)
class Measured:
    """What came out of a tuning; seconds from its start, shares of its own total."""

    usd: float
    refund_usd: float
    selected_seconds: float
    finished_seconds: float
    kept_steps: float
    lost_steps: float
    free_share: float
    revocations: int
    stays: int
    machine_seconds: float
    saving_seconds: float
    restoring_seconds: float
    booting_seconds: float
    hit_1: bool
    hit_3: bool
    went_on: int
    demand_share: float
    notes: tuple[str, ...]

    @property
    def usd_per_step(self) -> float:
        """Dollars per kept step."""
        return self.usd / self.kept_steps

    @property
    def refund_share(self) -> float:
        """Refunds over all that the machines would have cost."""
        gross = self.usd + self.refund_usd
        return self.refund_usd / gross if gross else 0.0

    @property
    def checkpoint_share(self) -> float:
        """Seconds of saving and restoring over all seconds on machines."""
        return (self.saving_seconds + self.restoring_seconds) / self.machine_seconds

    @property
    def overhead_share(self) -> float:
        """The same with booting."""
        return self.checkpoint_share + self.booting_seconds / self.machine_seconds

    @property
    def rate(self) -> float:
        """Performance-cost rate, 1 / (hours until selected * dollars)."""
        return SECONDS_PER_HOUR / (self.selected_seconds * max(self.usd, 1e-9))

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Measured:
        """Back."""
        known = {field.name: told[field.name] for field in fields(cls)}
        return cls(**{**known, "notes": tuple(known["notes"])})


@dataclass(frozen=True)
class Bounded:
    """A forecaster that refuses to be asked later than any tuning should take: a job that never ends must be seen."""

    inner: Forecaster
    until: float

    def quotes(self, now: float) -> Quotes:
        """What is known at a moment before the end."""
        if now > self.until:
            hint = "Look for a job that neither ends nor moves, or raise LONGEST in benchmarks/spottune/pools.py"
            raise LeanTuneError("a simulated tuning does not come to its end", where="spottune", hint=hint)
        return self.inner.quotes(now)


def forecaster(pool: Pool, feeds: Sequence[MarketFeed], start: float, predictor: Predictor) -> Forecaster:
    """Prices and risks from a start on, for as long as a tuning may take."""
    taken = pool.capacities(start)
    if taken:
        risks = {market: capacity_risk(one, start - TRACE_PAST, start) for market, one in taken.items()}
        predictor = WithCapacity(predictor, risks)
    offers = [Offer(feed.machine, feed.market, feed.on_demand, feed.price_at(start)) for feed in feeds]
    every = EVERY.get(pool.name, SMOOTH_EVERY)
    period = (start, start + LONGEST)
    tabled = TabledForecaster(offers, [feed.prices for feed in feeds], predictor, period, every=every)
    return Bounded(tabled, start + 2 * LONGEST)


def scenario(tuning: Tuning, pool: Pool, feeds: Sequence[MarketFeed], jobs: Sequence[RecordedJob]) -> Scenario:
    """The tuning as the simulation takes it. jobs: of the family, as recorded."""
    speeds = pool.speeds(tuning.exponent)
    slowness = {name: speeds.slowness(name) for name in pool.vcpus()}
    theta = tuning.policy.theta
    notice = 0.0 if pool.name is PoolName.NO_NOTICE else AWS.notice_seconds - POLL
    rules = TuningRules(theta=theta, mcnt=MCNT, boot=BOOT, notice=notice, stop_on_plateau=theta < 1.0)
    remote = tuple(remotely(job, tuning.gigabytes) for job in stretched(jobs, tuning.hours))
    start = pool.start(tuning.start)
    return Scenario(tuple(feeds), remote, slowness, start, rules=rules, poll=POLL, exponent=tuning.exponent)


def remotely(job: RecordedJob, gigabytes: float | None = None) -> RecordedJob:
    """The job with checkpoints that travel to an object store and back."""
    size = job.model_bytes if gigabytes is None else gigabytes * 1e9
    travel = size / SLOW_BYTES_PER_SECOND
    return replace(job, save_seconds=job.save_seconds + travel, restore_seconds=job.restore_seconds + travel)


def tune(asked: Tuning, played: Scenario, forecast: Forecaster) -> Measured:
    """Simulate it."""
    curves = PRINTED_CURVES if asked.policy.rule is Rule.PRINTED else OUR_CURVES
    result = simulate(played, chooser(asked.policy.rule, asked.start), forecast, curve_predictor(curves))
    return measured(result, played)


def measured(result: SimulationResult, played: Scenario) -> Measured:
    """What is kept of a result."""
    boot = played.rules.boot
    ready = [stay.ready - stay.launched for stay in result.stays if stay.ready is not None]
    restoring = sum(max(seconds - boot, 0.0) for seconds in ready)
    sure = sum(stay.kept_steps for stay in result.stays if stay.on_demand)
    return Measured(
        usd=result.usd,
        refund_usd=result.refund_usd,
        selected_seconds=result.selected_seconds,
        finished_seconds=result.finished_seconds,
        kept_steps=result.kept_steps,
        lost_steps=result.lost_steps,
        free_share=result.free_share,
        revocations=result.revocations,
        stays=len(result.stays),
        machine_seconds=result.machine_seconds,
        saving_seconds=result.saving_seconds,
        restoring_seconds=restoring,
        booting_seconds=result.lead_seconds - restoring,
        hit_1=hit(result, 1),
        hit_3=hit(result, MCNT),
        went_on=len(result.selected),
        demand_share=sure / result.kept_steps if result.kept_steps else 0.0,
        notes=result.notes,
    )


def hit(result: SimulationResult, count: int) -> bool:
    """Whether a setting that ends as well as the best one is among the first `count` of the ranking.

    Table II has twins, settings that mean the same and have the same curve: either of them is the best.
    """
    losses = -result.final_values if result.maximize else result.final_values
    losses = np.where(np.isfinite(losses), losses, np.inf)
    best = np.flatnonzero(losses <= losses.min())
    return bool(set(best.tolist()) & set(result.ranking[:count]))
