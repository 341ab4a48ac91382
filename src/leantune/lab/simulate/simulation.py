"""One tuning of a list of jobs on simulated markets, from its start to the last finished job, and what it cost.

It is the study's own loop: SpotTune as the tuner, the rented executor over recorded programs, a simulated provider, a
clock that jumps, and a store in memory.

dollars    sum of the machines' bills, refunds taken off
selected   seconds until the best models are known; finished: until they are trained to the end
free steps kept on machines that cost nothing in the end
lost       steps done after the last checkpoint of a machine that was taken
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from leantune.arrays import FloatArray
from leantune.clock import SimulatedClock
from leantune.cloud.billing import AWS, BillingPolicy
from leantune.cloud.feeds import MarketFeed
from leantune.cloud.provider import Offer
from leantune.cloud.simcloud import SimCloud
from leantune.curves.base import CurvePredictor
from leantune.errors import InvalidInput
from leantune.executors.fleet import MarketClock, RentalMarket
from leantune.executors.rented import ProgramHooks, RentedExecutor
from leantune.history import Trial, TrialState
from leantune.lab.simulate.programs import RecordedPrograms, TrainingRun
from leantune.lab.simulate.workloads import RecordedJob
from leantune.problem import Problem, maximize, minimize
from leantune.rent.placement import FreePlacement, Pace
from leantune.rent.provisioner import Chooser
from leantune.rent.quotes import Forecaster
from leantune.rent.step_times import EXPONENT, StepTimes
from leantune.run.ledger import TimeRules
from leantune.run.loop import Loop, LoopSettings
from leantune.run.placing import course_of
from leantune.space import Cluster, Clusters, Space, ordinal
from leantune.store.memory import MemoryStudyStore
from leantune.store.rows import StayRow
from leantune.store.study_state import no_garbage
from leantune.strategies.spottune import SpotTune
from leantune.strategies.tuner import View

JOB = "job"  # the one parameter of a simulated study: which recording is played
METRIC = "value"  # the metric of every recording


@dataclass(frozen=True)
class TuningRules:
    """theta: share of the steps after which a job is predicted (1: all are trained to the end). mcnt: how many go on.

    boot, notice, finish_by, pace, patience: see `rent.placement.Pace`; notice 0: there is no warning, so that
    checkpoints are periodic. stop_on_plateau: a job that has nothing more to learn is ended.
    """

    theta: float = 0.7
    mcnt: int = 3
    boot: float = 60.0
    notice: float = 110.0
    finish_by: float | None = None
    pace: float | None = 1.0
    stop_on_plateau: bool = True
    patience: float = 6 * 3600.0

    def __post_init__(self) -> None:
        if not 0 < self.theta <= 1:
            raise InvalidInput(f"theta is {self.theta}", where="SpotTune", hint="Give a share above 0 and at most 1")
        if self.mcnt < 1:
            raise InvalidInput(f"mcnt is {self.mcnt}", where="SpotTune", hint="At least one setting must go on")


@dataclass(frozen=True)
class Scenario:
    """A simulation's input. feeds: spot and on demand. slowness: by machine type, seconds per recorded second.

    exponent: b of the prior C0 / CPU^b for step times. hour_value: USD that an hour of one job's time is worth.
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
    hour_value: float = 0.0

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
class JobOutcome:
    """How a job ended: the step of its last checkpoint, how many reports counted, and in what way."""

    step: float
    reports: int
    ending: str


@dataclass(frozen=True, eq=False)
class SimulationResult:
    """The result. ranking: jobs, best first, when they were selected; selected: those that went on to the end.

    began, selected_at, finished_at: times of the simulated clock; seconds are counted from the start. notes: what could
    not be done as wished. final_values: true metric at the end of every job (jobs,).
    """

    began: float
    selected_at: float
    finished_at: float
    ranking: tuple[int, ...]
    selected: tuple[int, ...]
    jobs: tuple[JobOutcome, ...]
    notes: tuple[str, ...]
    stays: tuple[StayRow, ...]
    final_values: FloatArray
    maximize: bool

    @property
    def usd(self) -> float:
        """Dollars paid."""
        return sum(stay.usd for stay in self.stays)

    @property
    def refund_usd(self) -> float:
        """Dollars given back."""
        return sum(stay.refund_usd or 0.0 for stay in self.stays)

    @property
    def selected_seconds(self) -> float:
        """Until the best were selected."""
        return self.selected_at - self.began

    @property
    def finished_seconds(self) -> float:
        """Until they were trained to the end."""
        return self.finished_at - self.began

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
        return sum(stay.kept_steps for stay in self.stays if stay.usd <= 0) / kept if kept else 0.0

    @property
    def revocations(self) -> int:
        """Machines that the provider took."""
        return sum(stay.revoked for stay in self.stays)

    @property
    def machine_seconds(self) -> float:
        """Seconds that jobs were on machines, booting included."""
        return sum((stay.left or stay.over) - stay.launched for stay in self.stays)

    @property
    def saving_seconds(self) -> float:
        """Seconds spent on writing checkpoints."""
        return sum(stay.saving_seconds for stay in self.stays)

    @property
    def lead_seconds(self) -> float:
        """Seconds spent on booting and restoring."""
        return sum((stay.ready or stay.left or stay.over) - stay.launched for stay in self.stays)

    def hit(self, count: int) -> bool:
        """Whether the truly best setting is among the first `count` of the ranking."""
        sign = -1.0 if self.maximize else 1.0
        ranked = np.where(np.isfinite(self.final_values), sign * self.final_values, np.inf)
        return int(np.argmin(ranked)) in self.ranking[:count]


@dataclass(frozen=True)
class ObservedFleet:
    """A simulation's data for a chooser that knows the future: the time, and the number of launched machines."""

    now: Callable[[], float]
    launches: Callable[[], int]


MakeChooser = Callable[[Scenario, ObservedFleet], Chooser]


def simulate(
    scenario: Scenario, make_chooser: MakeChooser, forecaster: Forecaster, predictor: CurvePredictor
) -> SimulationResult:
    """Play the scenario with a chooser."""
    return Simulation(scenario, make_chooser, forecaster, predictor).run()


class Simulation:
    """A scenario as a study that is ready to run; its store and its provider tell afterwards how it went.

    clock: one that jumps, where none is given.
    """

    def __init__(
        self,
        scenario: Scenario,
        make_chooser: MakeChooser,
        forecaster: Forecaster,
        predictor: CurvePredictor,
        clock: MarketClock | None = None,
    ) -> None:
        self.scenario, self._clock = scenario, clock or SimulatedClock(scenario.start)
        self.provider = SimCloud(
            scenario.feeds,
            scenario.policy,
            self._clock,
            boot_seconds=scenario.rules.boot,
            launch_failures=scenario.launch_failures,
            seed=scenario.seed,
        )
        self._problem = _problem(scenario)
        self._tuner = _tuner(scenario, self._problem, predictor)
        self.store = MemoryStudyStore(self._problem.space, self._problem.budget)
        fleet = ObservedFleet(self._clock.now, lambda: self.provider.launches)
        self._placement = self._placed_by(make_chooser(scenario, fleet))
        self._executor = self._rented(forecaster)
        plan = LoopSettings(
            self._problem,
            self._tuner,
            scenario.seed,
            TimeRules(enforced=False, parallel=len(scenario.jobs), adds_up=True),
            lease=None,
            poll=None,
            max_failures=None,
            alone=True,
            due=None if scenario.rules.finish_by is None else self._executor.due,
        )
        self.loop = Loop(self.store, plan, self._executor, self._clock)

    def run(self) -> SimulationResult:
        """Play it to its end."""
        with no_garbage():
            self.loop.run()
            notes = {**self._placement.notes, **self._executor.notes}
            return _result(self.scenario, self._tuner, self.loop.view(), self.store.stays(), notes)

    def _placed_by(self, chooser: Chooser) -> FreePlacement:
        scenario, rules = self.scenario, self.scenario.rules
        notice = min(rules.notice, max(scenario.policy.notice_seconds - scenario.poll, 0.0))
        pace = Pace(boot=rules.boot, notice=notice, finish_by=rules.finish_by, pace=rules.pace, patience=rules.patience)
        vcpus = {feed.machine.name: feed.machine.vcpus for feed in scenario.feeds}
        times = StepTimes(vcpus, len(scenario.jobs), exponent=scenario.exponent)
        course, longest = course_of(self._tuner, self._problem), [job.total_steps for job in scenario.jobs]
        offers, side_by_side = self.provider.offers(), list(enumerate(longest))
        return FreePlacement(offers, chooser, pace, course, scenario.start, times, side_by_side=side_by_side)

    def _rented(self, forecaster: Forecaster) -> RentedExecutor:
        scenario, parameters = self.scenario, self._problem.space.parameters
        runs = [training_run(job, scenario.slowness) for job in scenario.jobs]
        machines = {feed.machine.name: feed.machine for feed in scenario.feeds}
        space = Space(**parameters, cluster=Clusters(tuple(Cluster(machine, 1) for machine in machines.values())))
        placed: dict[tuple[int, str], Trial] = {}

        def on(trial: Trial, offer: Offer) -> Trial:
            """The trial on that machine; made once."""
            key = (trial.number, offer.machine.name)
            if key not in placed:
                configuration = space.configuration({**trial.configuration, "cluster": Cluster(offer.machine, 1)})
                placed[key] = Trial(trial.number, configuration, trial.fraction, trial.snapshots, TrialState.RUNNING)
            return placed[key]

        def run_of(trial: Trial) -> TrainingRun:
            return runs[int(str(trial.configuration[JOB]))]

        def checkpoint(trial: Trial | None) -> tuple[float, float]:
            assert trial is not None
            return run_of(trial).save_seconds, run_of(trial).restore_seconds

        offers = self.provider.offers()
        market = RentalMarket(self.provider, self._clock, offers, forecaster, poll=scenario.poll)
        programs = RecordedPrograms(run_of, METRIC, self._clock)
        hooks = ProgramHooks(on, checkpoint=checkpoint, bills_add_up=True, writes_ahead=False)
        return RentedExecutor(programs, market, self._placement, self._clock, hooks)


def training_run(job: RecordedJob, slowness: Mapping[str, float]) -> TrainingRun:
    """A recorded job as it is played."""
    return TrainingRun(job.steps, job.values, np.cumsum(job.seconds), slowness, job.save_seconds, job.restore_seconds)


def _problem(scenario: Scenario) -> Problem:
    """The only parameter: which recording to play."""
    first, count = scenario.jobs[0], len(scenario.jobs)
    space = Space(**{JOB: ordinal(*range(max(count, 2)))})
    goal = maximize(METRIC, scale="linear") if first.maximize else minimize(METRIC, scale="linear")
    settings = [space.configuration({JOB: number}) for number in range(count)]
    return Problem(space, goal, steps=max(job.total_steps for job in scenario.jobs), settings=settings)


def _tuner(scenario: Scenario, problem: Problem, predictor: CurvePredictor) -> SpotTune:
    by_setting = dict(zip((setting.id for setting in problem.settings), scenario.jobs, strict=True))
    return SpotTune(
        scenario.rules.theta,
        scenario.rules.mcnt,
        plateau=scenario.rules.stop_on_plateau,
        predictor=predictor,
        last_steps={setting: job.total_steps for setting, job in by_setting.items()},
        drops={setting: job.drops for setting, job in by_setting.items()},
    )


def _result(
    scenario: Scenario, tuner: SpotTune, view: View, stays: Sequence[StayRow], notes: Mapping[str, int]
) -> SimulationResult:
    kept: dict[int, float] = {}
    for stay in stays:
        kept[stay.number] = max(kept.get(stay.number, 0.0), stay.kept)
    ranked = tuner.ranking(view)
    moves = [(trial, before, after) for trial in view.history.trials for before, after in pairwise(trial.moves)]
    chosen_at = [after.time for _, before, after in moves if before.state is TrialState.PAUSED]
    finished_at = max(trial.moves[-1].time for trial in view.history.trials)
    selected_at = min(chosen_at, default=finished_at)
    unjudged = sum(_is_unjudged(trial, selected_at) for trial in view.history.trials) if chosen_at else 0
    if unjudged:
        notes = {**notes, "a job was not judged at theta: the deadline would not wait": unjudged}
    endings = {row.trial.number: str(row.ending or "") for row in ranked}
    return SimulationResult(
        scenario.start,
        selected_at,
        finished_at,
        tuple(row.trial.number for row in ranked),
        tuple(sorted(row.trial.number for row in ranked if row.selected)),
        tuple(
            JobOutcome(kept.get(number, 0.0), len(view.curves[number].steps), endings[number])
            for number in range(len(scenario.jobs))
        ),
        tuple(text if count == 1 else f"{text} ({count} times)" for text, count in notes.items()),
        tuple(stays),
        np.array([job.final_value for job in scenario.jobs]),
        scenario.jobs[0].maximize,
    )


def _is_unjudged(trial: Trial, selected_at: float) -> bool:
    """Whether the best were selected while it had neither paused nor ended."""
    ended = not trial.pending and trial.moves[-1].time <= selected_at
    return not ended and not any(move.state is TrialState.PAUSED and move.time <= selected_at for move in trial.moves)
