"""Studies whose trials are judged while they run: recorded curves on a simulated clock, for tests of the loop.

A step takes 10 s, saving and restoring a checkpoint 5 s each, and a second costs a cent. `rented` runs the same
programs on machines that are chosen for them, on a market whose prices rise above those on demand again and again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from leantune.clock import Clock, SimulatedClock
from leantune.cloud.billing import BillingPolicy
from leantune.cloud.catalog import clusters
from leantune.cloud.feeds import MarketFeed
from leantune.cloud.markets import Market, PriceSeries
from leantune.cloud.provider import Offer
from leantune.cloud.simcloud import SimCloud
from leantune.executors.base import EndMode, Finished, Terms
from leantune.executors.base import Event as ExecutorEvent
from leantune.executors.fleet import RentalMarket
from leantune.executors.registry import Past
from leantune.executors.rented import ProgramHooks, RentedExecutor
from leantune.executors.simcloud import recall_steps
from leantune.history import Trial, TrialState
from leantune.lab.simulate.programs import RecordedPrograms, TrainingRun
from leantune.problem import Budget, Problem, minimize
from leantune.rent.placement import FreePlacement, Pace
from leantune.rent.provisioner import CheapestStep
from leantune.rent.quotes import LiveForecaster
from leantune.rent.step_times import StepTimes
from leantune.run.events import Event, TrialJudged, no_observer
from leantune.run.ledger import TimeRules, dollars
from leantune.run.loop import End, Loop, LoopSettings
from leantune.run.placing import course_of
from leantune.space import Cluster, Machine, Space, choice
from leantune.store.base import Store
from leantune.store.database import Database
from leantune.store.memory import MemoryStudyStore
from leantune.strategies.proposals import Proposal, Recommendation
from leantune.strategies.tuner import Judgement, Over, Tuner, Verdict, View
from leantune.units import Seconds, Usd
from tests.executors.rented_worlds import Certain

STEPS, STEP_SECONDS, SAVE_SECONDS = 20, 10.0, 5.0
MACHINE = Machine("m", 1, 1, usd_per_hour=36.0)  # a cent a second
START = 1000.0
NAME = "judged"
RULES = TimeRules(time_limit=400.0, grace=5.0, steps=STEPS)


def numbers(count: int, budget: Budget | None = None) -> Problem:
    """Settings n = 0, 1, ...; the loss is reported at 20 steps."""
    space = Space(n=choice(*range(count)), cluster=clusters([MACHINE]))
    return Problem(space, minimize("loss"), budget=budget or Budget(), steps=STEPS)


def falling(level: float, *, last: float | None = None) -> TrainingRun:
    """A loss that nears its level as 1 / step; last: what it shows at the last step, if not that."""
    steps = np.arange(1.0, STEPS + 1)
    values = level + 1.0 / steps
    if last is not None:
        values[-1] = last
    return TrainingRun(steps, values, steps * STEP_SECONDS, {MACHINE.name: 1.0}, SAVE_SECONDS, SAVE_SECONDS)


class PaidPrograms(RecordedPrograms):
    """Recorded runs at their machine's price; a result has the seconds and dollars of all attempts.

    checkpoints: by number, for whoever goes on. started: number and attempt; asked: whom to end, and how.
    """

    def __init__(self, runs: Sequence[TrainingRun], clock: Clock, checkpoints: MutableMapping[int, float]) -> None:
        super().__init__(lambda trial: runs[int(str(trial.configuration["n"]))], "loss", clock, checkpoints)
        self._terms: dict[int, Terms] = {}
        self._rates: dict[int, float | None] = {}
        self.started: list[tuple[int, int]] = []
        self.asked: list[tuple[int, EndMode]] = []
        self.forgotten: list[int] = []

    def start(self, trial: Trial, terms: Terms = Terms()) -> None:  # noqa: B008 - frozen
        """Remember on what terms."""
        super().start(trial, terms)
        self._terms[trial.number], self._rates[trial.number] = terms, trial.configuration.usd_per_hour
        self.started.append((trial.number, terms.attempt))

    def end(self, number: int, mode: EndMode) -> None:
        """Remember who asked."""
        super().end(number, mode)
        self.asked.append((number, mode))

    def forget(self, number: int) -> None:
        """Remember it."""
        super().forget(number)
        self.forgotten.append(number)

    def step(self, now: float) -> list[ExecutorEvent]:
        """With seconds and dollars of all attempts."""
        return [self._priced(event) if isinstance(event, Finished) else event for event in super().step(now)]

    def _priced(self, end: Finished) -> Finished:
        seconds = self._terms[end.number].earlier_seconds + end.seconds
        cost = dollars(self._rates[end.number], Seconds(seconds))
        shown = tuple(replace(seen, seconds=Seconds(seconds), cost=Usd(cost)) for seen in end.observations)
        return end._replace(observations=shown, resumed=bool(shown))


@dataclass(frozen=True)
class Scripted:
    """Proposes `trials` settings in their order (None: all) and judges by a rule."""

    rule: Callable[[View], Mapping[int, Judgement]]
    trials: int | None = None

    @property
    def judges(self) -> bool:
        """It does."""
        return True

    def check(self, problem: Problem) -> None:
        """Serves all."""

    def prepare(self) -> None:
        """Nothing."""

    def ends_by_itself(self, problem: Problem) -> bool:
        """When everything was tried."""
        return True

    def ask(self, view: View) -> Proposal | Over:
        """The next one."""
        settings, tried = list(view.problem.space.grid())[: self.trials], len(view.history)
        if tried >= len(settings):
            return Over("all are proposed")
        share = view.problem.fractions[-1]
        return Proposal(settings[tried], share, (share,), {}, ())

    def judge(self, view: View, only: object = None) -> Mapping[int, Judgement]:
        """By the rule, of those that may have a future."""
        judged = self.rule(view)
        return {number: one for number, one in judged.items() if view.history.trial(number).pending}

    def recommend(self, view: View) -> Recommendation | None:
        """Nothing."""
        return None

    def stop_reason(self, view: View) -> str | None:
        """As ask says."""
        answer = self.ask(view)
        return answer.why if isinstance(answer, Over) else None


def reached(view: View, number: int) -> float:
    """The last step that a trial has reported."""
    curve = view.curves.get(number)
    return float(curve.steps[-1]) if curve is not None else 0.0


def at_step(step: float, verdict: Verdict, *which: int) -> Callable[[View], Mapping[int, Judgement]]:
    """A verdict, once, on running trials (of these numbers, if any are given) that have come so far."""

    def rule(view: View) -> Mapping[int, Judgement]:
        running = [t for t in view.history.trials if t.state is TrialState.RUNNING and not t.runs.paused]
        chosen = [t.number for t in running if reached(view, t.number) >= step and (not which or t.number in which)]
        return {number: Judgement(verdict, f"{verdict} at {step:g}") for number in chosen}

    return rule


def states(trial: Trial) -> list[TrialState]:
    """All that it went through."""
    return [move.state for move in trial.moves]


@dataclass
class World:
    """A study with everything that a loop needs; what survives a process is here, what does not is made by `loop`."""

    problem: Problem
    store: Store
    runs: Sequence[TrainingRun]
    database: Database | None
    clock: SimulatedClock = field(default_factory=lambda: SimulatedClock(START))
    checkpoints: MutableMapping[int, float] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    executor: PaidPrograms | None = None

    def programs(self) -> PaidPrograms:
        """Another process that runs programs, with the same checkpoints."""
        self.executor = PaidPrograms(self.runs, self.clock, self.checkpoints)
        return self.executor

    def loop(
        self,
        tuner: Tuner,
        rules: TimeRules = RULES,
        observer: Callable[[Event], None] = no_observer,
        **options: object,
    ) -> Loop:
        """A worker; the books are looked at after every event."""

        def watch(event: Event) -> None:
            self.events.append(event)
            self.check_books()
            if isinstance(event, TrialJudged):
                assert event.trial == self.store.history().trial(event.trial.number), "told when it is so"
            observer(event)

        settings: dict[str, object] = {"lease": None, "poll": None, "max_failures": None, **options}
        plan = LoopSettings(self.problem, tuner, 1, rules, **settings)  # type: ignore[arg-type]
        return Loop(self.store, plan, self.programs(), self.clock, watch)

    def run(self, tuner: Tuner, rules: TimeRules = RULES, **options: object) -> End:
        """Work until the end."""
        return self.loop(tuner, rules, **options).run()  # type: ignore[arg-type]

    @property
    def trials(self) -> tuple[Trial, ...]:
        """As they are now."""
        return self.store.history().trials

    @property
    def judged(self) -> list[tuple[int, Verdict]]:
        """What was told of verdicts."""
        return [(one.trial.number, one.judgement.verdict) for one in self.events if isinstance(one, TrialJudged)]

    def check_books(self) -> None:
        """Dollars of the history are those of the ledger; whoever does not run holds no reservation."""
        history, ledger, money = self.store.history(), self.store.ledger(), self.store.money()
        assert math.isclose(history.cost, sum(row.settled or 0.0 for row in ledger), abs_tol=1e-9)
        assert math.isclose(history.cost, money.spent, abs_tol=1e-9)
        running = {trial.number for trial in history.trials if trial.state is TrialState.RUNNING}
        unsettled = [row.number for row in ledger if row.settled is None]
        assert sorted(unsettled) == sorted(running), "one open row for each that runs"
        assert math.isclose(money.reserved, sum(row.reserved for row in ledger if row.settled is None), abs_tol=1e-9)
        assert money.left >= 0.0


def world(
    kind: str, count: int = 4, *, budget: Budget | None = None, runs: Sequence[TrainingRun] | None = None
) -> World:
    """Settings 0, 1, ... whose losses end near 0, 0.1, ..., in memory or in SQLite."""
    problem = numbers(count, budget)
    curves = runs or [falling(0.1 * n) for n in range(count)]
    if kind == "memory":
        return World(problem, MemoryStudyStore(problem.space, problem.budget, name=NAME), curves, None)
    database = Database("sqlite://")
    store = database.create(NAME, problem.space, {}, "", problem.budget, time=START, leantune_version="")
    return World(problem, store, curves, database)


# -- on a market

OPENS = 1_456_000_000.0
CALM, DEAR = 230.0, 120.0  # seconds of a low and of a high price
POLICY = BillingPolicy("sim", notice_seconds=30.0, refund_window_seconds=150.0)
BOOT_SECONDS = 20.0
RENTED_RULES = TimeRules(
    time_limit=900.0, grace=5.0, billed=True, setup=120.0, worst_rate=36.0, adds_up=True, steps=STEPS
)


def bare_numbers(count: int, budget: Budget | None = None) -> Problem:
    """As above; the machine is not part of a setting."""
    return Problem(Space(n=choice(*range(count))), minimize("loss"), budget=budget or Budget(), steps=STEPS)


def feeds() -> tuple[MarketFeed, MarketFeed]:
    """A zone whose price is low and high in turn, and the same machine on demand."""
    times, prices = [OPENS - 7200.0], [9.0]
    for turn in range(200):
        times += [OPENS + turn * (CALM + DEAR) + CALM, OPENS + (turn + 1) * (CALM + DEAR)]
        prices += [72.0, 9.0]
    spot = Market(MACHINE.name, "a")
    series = PriceSeries(spot, times, prices)
    return (
        MarketFeed(MACHINE, spot, series, notice_seconds=POLICY.notice_seconds),
        MarketFeed(MACHINE, spot, None, on_demand=True, notice_seconds=POLICY.notice_seconds),
    )


@dataclass
class Rented:
    """Programs on rented machines, as a process makes them from what is stored."""

    executor: RentedExecutor
    cloud: SimCloud
    clock: SimulatedClock


def rented(
    problem: Problem, store: Store, tuner: Tuner, runs: Sequence[TrainingRun], checkpoints: MutableMapping[int, float]
) -> Rented:
    """The market is where the last machine was left, or the last trial moved."""
    past = Past(tuple(store.stays()), tuple(store.reports()))
    moves = [move.time for trial in store.history().trials for move in trial.moves]
    clock = SimulatedClock(max([OPENS, past.latest, *moves]))
    cloud = SimCloud(feeds(), POLICY, clock, boot_seconds=BOOT_SECONDS, launches=len(past.stays))
    offers = cloud.offers()
    times = StepTimes({MACHINE.name: MACHINE.vcpus}, len(runs))
    recall_steps(times, past)
    pace = Pace(boot=BOOT_SECONDS, notice=POLICY.notice_seconds, pace=None)
    began = min((stay.launched for stay in past.stays), default=OPENS)
    placement = FreePlacement(offers, CheapestStep(POLICY), pace, course_of(tuner, problem), began, times)
    on_machine = Space(**problem.space.parameters, cluster=clusters([MACHINE]))

    def aboard(trial: Trial, offer: Offer) -> Trial:
        values = {**trial.configuration, "cluster": Cluster(offer.machine, 1)}
        return replace(trial, configuration=on_machine.configuration(values))

    programs = RecordedPrograms(lambda trial: runs[int(str(trial.configuration["n"]))], "loss", clock, checkpoints)
    market = RentalMarket(cloud, clock, offers, LiveForecaster(offers, cloud.history, Certain()), source="test")
    hooks = ProgramHooks(aboard, checkpoint=lambda trial: (SAVE_SECONDS, SAVE_SECONDS), bills_add_up=True)
    executor = RentedExecutor(programs, market, placement, clock, hooks)
    executor.recall(past.stays)
    return Rented(executor, cloud, clock)
