"""One replay: a strategy, a table, a seed. The loop, the store and the ledger are those of a live study; only the
executor looks runs up in a table, on a simulated clock.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

import numpy as np

from leantune.clock import Clock, RealClock, SimulatedClock
from leantune.errors import StrategyError
from leantune.executors.base import Terms
from leantune.executors.replay import ReplayExecutor
from leantune.history import Estimate, History, NoteKind, ObservationKind, Trial, told_dollars
from leantune.lab.replay.contenders import Contender, contender
from leantune.lab.replay.noise import Noise, has_deviations
from leantune.lab.replay.tables import MeasuredTable
from leantune.lab.replay.truth import TrueQuality, Truth
from leantune.problem import DEFAULT_REPEATS, At, Budget, Problem, Stop
from leantune.run.curves import learning_curves
from leantune.run.events import Event, RunEnded
from leantune.run.ledger import TimeRules, continued_dollars, smaller_result
from leantune.run.loop import Loop, LoopSettings
from leantune.store.database import Database
from leantune.strategies.proposals import Proposal, Recommendation
from leantune.strategies.registry import repeats_runs
from leantune.strategies.stops import budget_spent
from leantune.strategies.tuner import Judgement, Over, Tuner, View, Wait
from leantune.study.definition import describe, open_or_create
from leantune.units import SECONDS_PER_HOUR, Seconds

PAPER, COMMON = "paper", "common"
RULES = (PAPER, COMMON)
ROUNDING = 1e-12  # relative, of sums of dollars and seconds


@dataclass(frozen=True)
class Settings:
    """The settings of a replay without the table and the seed.

    strategy, filter: as `contenders` reads them. iterations: tests after the start, of which the strategy is not told;
    None: until the budget is spent or nothing is left. trials, usd, hours: the budget, which the strategy knows; a test
    that would exceed it is not started. overshoot: it is, as in the papers; only the one after it is not. parallel:
    tests at once. noise: factor on the table's standard deviations; 0: every test measures the means, 1: it scatters as
    runs did. Recommendations are judged on the means. repeats: runs of one configuration on all data at most, where
    tests scatter. stop: the expected regret at which `lean` ends; never, so that
    a replay shows how the recommendation develops. own_at, common_at: budgets at whose end a recommendation is asked
    for by the strategy's own rule, and by the common one, beside the end of the replay; None: after every test. For one
    test at a time: most of a replay's seconds go into recommendations. A replay that serves several budgets in this way
    ends when all of `common_at` are used.
    """

    strategy: str
    filter: str = ""
    iterations: int | None = 44
    trials: int | None = None
    usd: float | None = None
    hours: float | None = None
    overshoot: bool = False
    parallel: int = 1
    noise: float = 0.0
    repeats: int = DEFAULT_REPEATS
    stop: Stop = "never"
    own_at: tuple[Budget, ...] | None = None
    common_at: tuple[Budget, ...] | None = None

    def __post_init__(self) -> None:
        budget = self.budget  # refused where it is none
        if self.parallel > 1 and not (self.own_at is None and self.common_at is None):
            hint = "Leave own_at and common_at out"
            raise StrategyError("several tests at once have no order to be cut at", where="replay", hint=hint)
        if self.iterations is None and not budget.limits:
            raise StrategyError("a replay without an end", where="replay", hint="Give iterations or a budget")
        for name, count in (("iterations", self.iterations), ("parallel", self.parallel)):
            if count is not None and count < 1:
                raise StrategyError(f"{name} is {count}", where="replay", hint="Give a whole number of at least 1")
        if not (math.isfinite(self.noise) and self.noise >= 0.0):
            raise StrategyError(f"noise is {self.noise}", where="replay", hint="Give a factor of at least 0, such as 1")

    @property
    def budget(self) -> Budget:
        """The strategy's budget; a ProblemError where it is invalid."""
        return Budget(self.usd, self.trials, self.hours)

    @property
    def label(self) -> str:
        """The strategy with its filter and the noise of its tests, for people."""
        noise = f"noise {self.noise:g}" if self.noise else ""
        return ", ".join(part for part in (self.strategy, self.filter, noise) if part)


@dataclass(frozen=True)
class Modelled:
    """The models' belief of the goal on their own scale ("logit", say), and the truth there."""

    scale: str
    mean: float
    sd: float
    truth: float


@dataclass(frozen=True)
class Advice:
    """A recommendation, its predictions, and the table's values.

    sure: whether the strategy believes that the limits hold as surely as asked. tested: whether it was tested on all
    the data (at: anywhere: at its fraction). predicted: by metric, on their own scale; measured values have no
    deviation. probabilities: of each limit, by its text. modelled: None where no model predicted the goal, or the table
    has no result.
    """

    configuration: Mapping[str, object]
    fraction: str
    sure: bool
    verdict: TrueQuality
    tested: bool = False
    predicted: Mapping[str, Estimate] = field(default_factory=dict)
    probabilities: Mapping[str, float] = field(default_factory=dict)
    modelled: Modelled | None = None


@dataclass(frozen=True)
class Row:
    """One test, and the recommendation after it; dollars and seconds are sums over all tests so far.

    ask_seconds: how long choosing the test took, by the wall's clock. advice: by rule ("paper", "common"); empty while
    there is nothing to recommend.
    """

    test: int
    start: bool
    configuration: Mapping[str, object]
    fraction: str
    test_dollars: float
    test_seconds: float
    cut: bool
    dollars: float
    seconds: float
    ask_seconds: float
    notes: tuple[str, ...]
    advice: Mapping[str, Advice] = field(default_factory=dict)


@dataclass
class _Timed:
    """A tuner whose answers are timed, and that ends after so many tests, or before one that exceeds the budget.

    seconds: of each proposal, by trial number. bills: what each test takes, (seconds, dollars), by trial number.
    """

    tuner: Tuner
    settings: Settings
    executor: ReplayExecutor
    rules: TimeRules
    clock: Clock
    seconds: dict[int, float] = field(default_factory=dict)
    bills: dict[int, tuple[float, float]] = field(default_factory=dict)

    @property
    def judges(self) -> bool:
        return self.tuner.judges

    def check(self, problem: Problem) -> None:
        self.tuner.check(problem)

    def prepare(self) -> None:
        self.tuner.prepare()

    def ends_by_itself(self, problem: Problem) -> bool:
        return self.tuner.ends_by_itself(problem)

    def ask(self, view: View) -> Proposal | Wait | Over:
        enough = self._enough(view)
        if enough is not None:
            return Over(enough)
        began = self.clock.now()
        answer = self.tuner.ask(view)
        self.seconds[len(view.history.trials)] = self.clock.now() - began
        if isinstance(answer, Proposal) and not self.settings.overshoot:
            exceeded = self._exceeded(view, answer)
            return answer if exceeded is None else Over(exceeded)
        return answer

    def judge(self, view: View, only: Collection[int] | None = None) -> Mapping[int, Judgement]:
        return self.tuner.judge(view, only)

    def recommend(self, view: View) -> Recommendation | None:
        return self.tuner.recommend(view)

    def stop_reason(self, view: View) -> str | None:
        return self._enough(view) or self.tuner.stop_reason(view)

    def _enough(self, view: View) -> str | None:
        iterations = self.settings.iterations
        if iterations is not None and _tests(view.history) >= iterations:
            return f"all {iterations} tests are made"
        marks, history = self.settings.common_at, view.history
        if marks and all(budget_spent(budget, history) is not None for budget in marks):
            return "every budget is used"
        return budget_spent(view.problem.budget, view.history)

    def _exceeded(self, view: View, proposal: Proposal) -> str | None:
        """Which limit of the budget the test would exceed, those that are running being paid for; None: it fits."""
        history, budget = view.history, view.problem.budget
        limit = proposal.useful_seconds
        draft = history.propose(proposal.configuration, proposal.fraction, proposal.snapshots, time_limit=limit)[1]
        smaller = smaller_result(view.problem, lambda: history, draft)
        if smaller is not None:
            limit = self.rules.difference(draft, smaller[1]).time_limit
        terms = Terms(time_limit=None if limit is None else Seconds(limit), continues=smaller)
        finished = self.executor.outcome(draft, terms)
        shown, paid = finished.observations, smaller[1] if smaller is not None and finished.continued else None
        bill = finished.seconds, told_dollars(shown) - continued_dollars(shown, paid)
        owed = [self.bills[trial.number] for trial in history.pending]
        seconds, dollars = (math.fsum(amounts) for amounts in zip(bill, *owed, strict=True))
        if budget.usd is not None and history.cost + dollars > budget.usd * (1.0 + ROUNDING):
            return f"the next test would exceed the budget of {budget.usd:g} USD"
        if budget.hours is not None and history.seconds + seconds > budget.hours * SECONDS_PER_HOUR * (1.0 + ROUNDING):
            return f"the next test would exceed the budget of {budget.hours:g} hours"
        self.bills[draft.number] = bill
        return None


def _begins(trial: Trial) -> bool:
    return any(note.kind is NoteKind.START for note in trial.notes)


def _tests(history: History) -> int:
    """Tests after the start."""
    return sum(not _begins(trial) for trial in history.trials)


def check(table: MeasuredTable, settings: Settings) -> tuple[Contender, Problem]:
    """The strategy and the problem with its budget; a StrategyError where they do not go together."""
    chosen = contender(settings.strategy, settings.filter)
    problem = table.problem.with_budget(settings.budget).with_stop(settings.stop)
    if settings.noise and repeats_runs(chosen.tuner, problem):
        problem = problem.with_repeats(settings.repeats)
    chosen.tuner.check(problem)
    if settings.usd is not None and all(measured.cost is None for measured in table.measurements.values()):
        hint = "Give iterations instead, or say in its description what a run costs"
        raise StrategyError("a budget in dollars, and the table has none", where=table.name, hint=hint)
    if settings.noise and not has_deviations(table):
        hint = "Leave the noise out, or name the columns of deviations in its description (deviations:)"
        raise StrategyError("noise, and the table has no standard deviations", where=table.name, hint=hint)
    return chosen, problem


def replay(table: MeasuredTable, settings: Settings, seed: int) -> list[Row]:
    """Run the strategy over the table; one row per test, in the order in which tests ended."""
    chosen, problem = check(table, settings)
    drawn = Noise.of(table, settings.noise, seed).drawn if settings.noise else None
    clock, database = SimulatedClock(), Database("sqlite://")
    judges = chosen.tuner.judges
    executor = ReplayExecutor(table.measurements, clock, problem=problem, drawn=drawn, reports=judges)
    rules = TimeRules(enforced=False, parallel=settings.parallel, ends_useless=True)
    timed = _Timed(chosen.tuner, settings, executor, rules, RealClock())
    try:
        document = describe(problem, settings.strategy, {}, seed)
        store = open_or_create(database, "replay", problem, document, "", clock)
        watch = _Watch(Truth.of(table), chosen, settings)
        plan = LoopSettings(problem, timed, seed, rules, lease=None, poll=None, max_failures=None)

        def view() -> View:
            return View(problem, store.history(), seed, learning_curves(store, problem) if judges else {})

        def observe(event: Event) -> None:
            if isinstance(event, RunEnded):
                watch.ended(event.trial, view(), timed.seconds[event.trial.number])

        Loop(store, plan, executor, clock, observe).run()
        watch.add_marked(view())
    finally:
        database.close()
    return watch.rows


@dataclass
class _Watch:
    """Records the recommendation after every test, and how good it is."""

    truth: Truth
    contender: Contender
    settings: Settings
    rows: list[Row] = field(default_factory=list)

    def ended(self, trial: Trial, view: View, ask_seconds: float) -> None:
        history = view.history
        self.rows.append(
            Row(
                test=len(self.rows) + 1,
                start=_begins(trial),
                configuration=trial.configuration.as_json(),
                fraction=str(trial.fraction),
                test_dollars=trial.cost,
                test_seconds=trial.seconds,
                cut=any(seen.kind is ObservationKind.CENSORED for seen in trial.observations[-1:]),
                dollars=history.cost,
                seconds=history.seconds,
                ask_seconds=ask_seconds,
                notes=tuple(map(str, trial.notes)),
                advice=self._advice(view, self._now()) if self._now() else {},
            )
        )

    def add_marked(self, view: View) -> None:
        """Advice at the ends of the budgets that were asked for; tests were made one at a time."""
        for name, marks in ((PAPER, self.settings.own_at), (COMMON, self.settings.common_at)):
            for place in () if marks is None else self._ends(marks):
                row = self.rows[place]
                if name not in row.advice:
                    until_then = replace(view, history=History(view.history.trials[: place + 1]))
                    advice = self._advice(until_then, (name,))
                    self.rows[place] = replace(row, advice={**row.advice, **advice})

    def _ends(self, marks: tuple[Budget, ...]) -> list[int]:
        """The last row within each budget, and the last of all."""
        ends = [_last_within(budget, self.rows) for budget in marks]
        return sorted({place for place in (*ends, len(self.rows) - 1) if place >= 0})

    def _now(self) -> tuple[str, ...]:
        """Rules by which something is recommended after every test."""
        asked = {PAPER: self.settings.own_at, COMMON: self.settings.common_at}
        return tuple(name for name, marks in asked.items() if marks is None)

    def _advice(self, view: View, rules: Collection[str]) -> dict[str, Advice]:
        # Cheapest anywhere has one rule for all strategies: the cheapest measured pair.
        same = self.contender.common is self.contender.tuner or view.problem.goal.at is At.ANYWHERE
        paper = self._advised(self.contender.tuner, view) if same or PAPER in rules else None
        common = paper if same else self._advised(self.contender.common, view) if COMMON in rules else None
        by_rule = {PAPER: paper, COMMON: common or paper}
        return {name: advice for name, advice in by_rule.items() if advice is not None and (same or name in rules)}

    def _advised(self, tuner: Tuner, view: View) -> Advice | None:
        recommended = tuner.recommend(view)
        if recommended is None:
            return None
        verdict = self.truth.judge((recommended.configuration.id, recommended.fraction))
        anywhere = view.problem.goal.at is At.ANYWHERE
        return Advice(
            recommended.configuration.as_json(),
            str(recommended.fraction),
            recommended.feasible,
            verdict,
            recommended.tested and (anywhere or recommended.fraction == 1),
            dict(recommended.metrics),
            dict(recommended.probabilities),
            _modelled(recommended, verdict.metrics.get(view.problem.goal.metric)),
        )


def _last_within(budget: Budget, rows: Sequence[Row]) -> int:
    """Index of the last row before the first one that exceeds the budget; -1 where the first does."""
    most_usd = math.inf if budget.usd is None else budget.usd * (1.0 + ROUNDING)
    most_seconds = math.inf if budget.hours is None else budget.hours * SECONDS_PER_HOUR * (1.0 + ROUNDING)
    most_trials = math.inf if budget.trials is None else budget.trials
    fit = (row.test <= most_trials and row.dollars <= most_usd and row.seconds <= most_seconds for row in rows)
    return sum(1 for _ in takewhile(bool, fit)) - 1


def _modelled(recommended: Recommendation, truth: float | None) -> Modelled | None:
    believed = recommended.believed
    if believed is None or truth is None:
        return None
    there = float(believed.scale.forward(np.array([truth]))[0])
    return Modelled(believed.scale.kind, believed.mean, believed.sd, there)
