"""One tuning of a list of jobs on simulated markets, from its start to the last finished job, and what it cost.

dollars    sum of the machines' bills, refunds taken off
selected   seconds until the best models are known; finished: until they are trained to the end
free steps kept on machines that cost nothing in the end
lost       steps done after the last checkpoint of a machine that was taken
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from leantune.arrays import FloatArray
from leantune.clock import SimulatedClock
from leantune.cloud.billing import AWS, BillingPolicy
from leantune.cloud.feeds import MarketFeed
from leantune.cloud.simcloud import SimCloud
from leantune.curves.base import CurvePredictor
from leantune.errors import InvalidInput
from leantune.lab.simulate.fleet import SimulatedFleet, TrainingRun
from leantune.lab.simulate.workloads import RecordedJob
from leantune.rent.provisioner import Chooser
from leantune.rent.quotes import Forecaster
from leantune.rent.step_times import EXPONENT, StepTimes
from leantune.run.spottune import SpotTune
from leantune.run.tuning import Stay, TuningJob, TuningOutcome, TuningRules


@dataclass(frozen=True)
class Scenario:
    """What is simulated. feeds: spot and on demand. slowness: by machine type, seconds per recorded second.

    exponent: b of the prior C0 / CPU^b for step times.
    """

    feeds: tuple[MarketFeed, ...]
    jobs: tuple[RecordedJob, ...]
    slowness: Mapping[str, float]
    start: float
    policy: BillingPolicy = AWS
    rules: TuningRules = field(default_factory=TuningRules)
    poll: float = 10.0
    launch_failures: float = 0.0
    seed: int = 0
    exponent: float = EXPONENT

    def __post_init__(self) -> None:
        missing = sorted({feed.machine.name for feed in self.feeds} - set(self.slowness))
        if missing:
            hint = "Give the slowness of every machine type"
            raise InvalidInput(f"how fast is {', '.join(missing)}?", where="simulation", hint=hint)

    def offer_slowness(self) -> FloatArray:
        """(offers,), in the order of the feeds."""
        return np.array([self.slowness[feed.machine.name] for feed in self.feeds])

    def step_seconds(self) -> FloatArray:
        """True seconds per step (jobs, offers), averaged over each recorded run."""
        recorded = np.array([float(job.seconds.sum() / job.total_steps) for job in self.jobs])
        return recorded[:, None] * self.offer_slowness()[None, :]


@dataclass(frozen=True)
class BilledStay:
    """A job's stay on a machine with its bill, when the machine ended, and what it brought."""

    stay: Stay
    ended: float
    gross_usd: float
    refund_usd: float
    revoked: bool

    @property
    def kept_steps(self) -> float:
        """Steps that a checkpoint holds."""
        return self.stay.kept - self.stay.step_from

    @property
    def lost_steps(self) -> float:
        """Steps that were reported and are not in a checkpoint."""
        return max(self.stay.reached - self.stay.kept, 0.0)

    @property
    def free(self) -> bool:
        """Whether the machine cost nothing in the end."""
        return self.gross_usd <= self.refund_usd


@dataclass(frozen=True)
class SimulationResult:
    """What came out; seconds are counted from the start."""

    outcome: TuningOutcome
    stays: tuple[BilledStay, ...]
    final_values: FloatArray  # true metric at the end of every job (jobs,)
    maximize: bool

    @property
    def usd(self) -> float:
        """Dollars paid."""
        return sum(stay.gross_usd - stay.refund_usd for stay in self.stays)

    @property
    def refund_usd(self) -> float:
        """Dollars given back."""
        return sum(stay.refund_usd for stay in self.stays)

    @property
    def selected_seconds(self) -> float:
        """Until the best were selected."""
        return self.outcome.selected_at - self.outcome.began

    @property
    def finished_seconds(self) -> float:
        """Until they were trained to the end."""
        return self.outcome.finished_at - self.outcome.began

    @property
    def kept_steps(self) -> float:
        """Steps in checkpoints, over all jobs."""
        return sum(stay.kept_steps for stay in self.stays)

    @property
    def lost_steps(self) -> float:
        """Steps done in vain."""
        return sum(stay.lost_steps for stay in self.stays)

    @property
    def free_share(self) -> float:
        """Share of the kept steps that cost nothing."""
        kept = self.kept_steps
        return sum(stay.kept_steps for stay in self.stays if stay.free) / kept if kept else 0.0

    @property
    def revocations(self) -> int:
        """Machines that the provider took."""
        return sum(stay.revoked for stay in self.stays)

    @property
    def usd_per_step(self) -> float:
        """Dollars per kept step."""
        return self.usd / self.kept_steps if self.kept_steps else float("inf")

    @property
    def machine_seconds(self) -> float:
        """Seconds that jobs were on machines, booting included."""
        return sum((stay.stay.left or stay.ended) - stay.stay.launched for stay in self.stays)

    @property
    def saving_seconds(self) -> float:
        """Seconds spent on writing checkpoints."""
        return sum(stay.stay.saving_seconds for stay in self.stays)

    @property
    def lead_seconds(self) -> float:
        """Seconds spent on booting and restoring."""
        return sum((stay.stay.ready or stay.stay.left or stay.ended) - stay.stay.launched for stay in self.stays)

    def hit(self, count: int) -> bool:
        """Whether the truly best setting is among the first `count` of the ranking."""
        sign = -1.0 if self.maximize else 1.0
        ranked = np.where(np.isfinite(self.final_values), sign * self.final_values, np.inf)
        return int(np.argmin(ranked)) in self.outcome.ranking[:count]


MakeChooser = Callable[[Scenario, SimulatedFleet], Chooser]


def simulate(
    scenario: Scenario, make_chooser: MakeChooser, forecaster: Forecaster, predictor: CurvePredictor
) -> SimulationResult:
    """Play the scenario with a chooser."""
    clock = SimulatedClock(scenario.start)
    heard = max(scenario.policy.notice_seconds - scenario.poll, 0.0)
    rules = replace(
        scenario.rules,
        notice=min(scenario.rules.notice, heard),
        refund_window=scenario.policy.refund_window_seconds,
    )
    provider = SimCloud(
        scenario.feeds,
        scenario.policy,
        clock,
        boot_seconds=rules.boot,
        launch_failures=scenario.launch_failures,
        seed=scenario.seed,
    )
    slowness = scenario.offer_slowness()
    fleet = SimulatedFleet([training_run(job, slowness) for job in scenario.jobs], provider, clock, poll=scenario.poll)
    jobs = [
        TuningJob(job.name, job.total_steps, job.drops, job.maximize, job.save_seconds, job.restore_seconds)
        for job in scenario.jobs
    ]
    vcpus = {feed.machine.name: feed.machine.vcpus for feed in scenario.feeds}
    times = StepTimes(vcpus, len(jobs), exponent=scenario.exponent)
    loop = SpotTune(jobs, fleet, make_chooser(scenario, fleet), forecaster, predictor, rules, times)
    outcome = loop.run()
    fleet.drain()
    final = np.array([float(job.values[-1]) for job in scenario.jobs])
    return SimulationResult(outcome, _billed(outcome.stays, fleet), final, scenario.jobs[0].maximize)


def training_run(job: RecordedJob, slowness: FloatArray) -> TrainingRun:
    """A recorded job as the fleet plays it."""
    return TrainingRun(job.steps, job.values, np.cumsum(job.seconds), slowness, job.save_seconds, job.restore_seconds)


def _billed(stays: Sequence[Stay], fleet: SimulatedFleet) -> tuple[BilledStay, ...]:
    endings = fleet.endings()
    return tuple(
        BilledStay(stay, ending.time, ending.gross_usd, ending.refund_usd, ending.revoked)
        for stay in stays
        for ending in (endings[stay.machine],)
    )
