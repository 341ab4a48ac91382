"""Studies to report on: a real one in memory, a long one, and those at the edges."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, partial
from pathlib import Path

import numpy as np

import leantune as lt
from leantune.clock import SimulatedClock
from leantune.errors import StudyOver
from leantune.history import Estimate, History, Note, NoteKind, Observation, ObservationKind, Trial, TrialState, observe
from leantune.jobfile import load_job
from leantune.problem import COST, Budget, Goal, Problem
from leantune.report.data import StudyView
from leantune.space import Configuration
from leantune.store.rows import LedgerRow, Money, ReportRow
from leantune.strategies.proposals import Proposal, Recommendation
from leantune.strategies.recipe import Caps
from leantune.strategies.recommending import cheapest_measured
from leantune.strategies.registry import named_tuner
from leantune.strategies.strategy import Strategy
from leantune.strategies.tuner import View
from leantune.study import AskedTrial, Study
from leantune.units import Usd
from tests.toy import quick, recommended

EXAMPLES = Path(__file__).parents[2] / "examples"
FRACTIONS = ("1/60", "1/10", "1/4", "1/2", 1)
LIMITS = ("cost <= 0.10 USD", "time <= 10 min @ 0.95")
START = 1_794_800_000.0  # November 2026
START_NOTES = (Note(NoteKind.START, "start"),)
GRACE = 30.0
LONGEST = 2400.0  # seconds of one run


def space() -> lt.Space:
    return lt.Space(
        lr=lt.log(1e-5, 1e-1),
        batch=lt.choice(16, 64, 256),
        optimizer=lt.choice("adam", "sgd"),
        momentum=lt.when(lt.linear(0.0, 0.99), optimizer="sgd"),
        cluster=lt.clusters("aws", types=["t2.small", "t2.xlarge"], vcpus=[4, 8, 16, 32]),
    )


def accuracy(configuration: Mapping[str, object], fraction: Fraction, step: float = 1.0) -> float:
    """Best near lr 3e-3 with small batches; grows with data and with the share of the steps that are made."""
    off = (math.log10(float(str(configuration["lr"]))) + 2.5) / 2.0
    error = 0.055 + 0.28 * off * off + {16: 0.0, 64: 0.006, 256: 0.03}[int(str(configuration["batch"]))]
    momentum = configuration.get("momentum")
    error += 0.0 if momentum is None else 0.03 * abs(float(str(momentum)) - 0.8)
    error *= 1.0 + 0.35 * (math.pow(fraction, -0.35) - 1.0)
    return max(0.1, 1.0 - error - 0.4 * math.exp(-5.0 * step))


def seconds(configuration: Configuration, fraction: Fraction) -> float:
    """More processors are faster, not in proportion; small batches are slower."""
    cluster = configuration.cluster
    assert cluster is not None
    work = {16: 5200.0, 64: 3600.0, 256: 2900.0}[int(str(configuration["batch"]))]
    return 12.0 + work * float(fraction) / math.pow(cluster.vcpus, 0.75)


def noisy(trial: AskedTrial) -> tuple[dict[str, float], float]:
    rng = np.random.default_rng(trial.number)
    value = accuracy(trial.configuration, trial.fraction) + 0.004 * float(rng.standard_normal())
    factor = math.exp(0.04 * float(rng.standard_normal()))
    return {"accuracy": min(max(value, 0.0), 1.0)}, factor * seconds(trial.configuration, trial.fraction)


def crashes(trial: AskedTrial) -> str:
    """A large learning rate diverges, as in life."""
    if float(trial["lr"]) > 0.03 and trial["optimizer"] == "sgd":
        return "accuracy is nan. Log: leantune-runs/fashion-cnn/trial/attempt-1.log"
    return "out of memory: killed above 2 GiB" if trial["batch"] == 256 and trial.number % 5 == 0 else ""


@dataclass(frozen=True)
class Ran:
    """A study that ran, and what was asked."""

    study: Study
    asked: tuple[AskedTrial, ...]


@cache
def ran(trials: int = 12, *, quickly: bool = True, seed: int = 3) -> Ran:
    """A real study over the synthetic program."""
    study = Study(
        space(),
        lt.maximize("accuracy"),
        subject_to=LIMITS,
        fractions=FRACTIONS,
        budget=Budget(usd=4.0, trials=trials),
        strategy=replace(quick("trimtuner-gp"), caps=Caps(100, 50, 50, 200)) if quickly else "trimtuner-gp",
        seed=seed,
        clock=SimulatedClock(START),
    )
    asked = []
    while True:
        try:
            trial = study.ask()
        except StudyOver:
            break
        asked.append(trial)
        metrics, took = noisy(trial)
        failed = crashes(trial)
        if failed:
            study.tell(trial, seconds=0.4 * took, failed=failed)
        else:
            study.tell(trial, metrics, seconds=took)
    return Ran(study, tuple(asked))


@dataclass
class Books:
    """A history and its ledger, as a store would keep them: every trial through every state, with its dollars."""

    problem: Problem
    history: History = field(default_factory=History)
    now: float = START
    ledger: list[LedgerRow] = field(default_factory=list)

    def open(
        self,
        configuration: Configuration,
        fraction: Fraction,
        notes: tuple[Note, ...],
        expected: Mapping[str, Estimate],
    ) -> Trial:
        self.history, trial = self.history.propose(
            configuration, fraction, notes=notes, time=self.now, expected=expected, time_limit=LONGEST
        )
        self.history = self.history.move(trial.number, TrialState.QUEUED, time=self.now)
        return trial

    def run(self, trial: Trial, took: float, attempt: int = 1) -> tuple[LedgerRow, float]:
        self.history = self.history.move(trial.number, TrialState.RUNNING, time=self.now, cause="")
        rate = trial.configuration.usd_per_hour
        reserved = (rate or 0.0) * (LONGEST + GRACE + 1.0) / 3600.0
        opened, self.now = self.now, self.now + took
        dollars = (rate or 0.0) * took / 3600.0
        return LedgerRow(trial.number, attempt, "host-1", rate, LONGEST, reserved, opened, dollars, self.now), dollars

    def lose(self, trial: Trial, took: float) -> None:
        row, dollars = self.run(trial, took)
        self.ledger.append(row)
        cause = "the worker host-1 vanished"
        self.history = self.history.move(
            trial.number, TrialState.LOST, time=self.now, cause=cause, dollars=Usd(dollars)
        )
        self.history = self.history.move(trial.number, TrialState.QUEUED, time=self.now)

    def end(self, trial: Trial, seen: Observation, attempt: int = 1) -> None:
        row, _ = self.run(trial, seen.seconds or 0.0, attempt)
        self.ledger.append(row)
        state = TrialState.FAILED if seen.kind is ObservationKind.FAILED else TrialState.DONE
        self.history = self.history.record(trial.number, [seen], time=self.now, state=state, cause=seen.cause)
        self.now += 2.0

    @property
    def money(self) -> Money:
        spent = math.fsum(row.settled or 0.0 for row in self.ledger)
        reserved = math.fsum(row.reserved for row in self.ledger if row.settled is None)
        return Money(self.problem.budget.usd, spent, reserved)


def books_of(source: Ran) -> Books:
    """The study's results in the books of a store; two attempts are lost on the way."""
    books = Books(source.study.problem)
    for asked, old in zip(source.asked, source.study.history.trials, strict=True):
        trial = books.open(asked.configuration, asked.fraction, old.notes, asked.expected)
        attempt = 1
        if asked.number % 11 == 7:
            books.lose(trial, 45.0)
            attempt = 2
        books.end(trial, old.observations[-1], attempt)
    return books


def step_reports(history: History) -> list[ReportRow]:
    """Learning curves of every trial that came through."""
    rows = []
    for trial in history.trials:
        for step in range(1, 21):
            value = accuracy(trial.configuration, trial.fraction, step / 20)
            rows.append(ReportRow(trial.number, 1, trial.seconds * step / 20, {"accuracy": value}, float(step), None))
    return rows


def view_of(
    problem: Problem,
    history: History,
    *,
    name: str = "fashion-cnn",
    recommendation: Recommendation | None = None,
    why: str = "",
    books: Books | None = None,
    reports: tuple[ReportRow, ...] = (),
    stop_reason: str | None = None,
) -> StudyView:
    ledger = () if books is None else tuple(books.ledger)
    money = Money(problem.budget.usd, history.cost, 0.0) if books is None else books.money
    return StudyView(
        name=name,
        problem=problem,
        history=history,
        strategy="trimtuner-gp",
        seed=3,
        recommendation=recommendation,
        why_no_recommendation=why,
        stop_reason=stop_reason,
        ledger=ledger,
        money=money,
        reports=reports,
        created=START,
        leantune_version=lt.__version__,
        verification=None,
    )


@cache
def epochs_view() -> StudyView:
    """examples/10_epochs with `lean`, as far as it can be played: shares are of epochs."""
    written = load_job(EXAMPLES / "10_epochs" / "job.yaml").problem
    problem, tuner = written.with_budget(Budget(usd=0.1, trials=9)), named_tuner("lean")
    history, reports = History(), list[ReportRow]()
    while isinstance(proposal := tuner.ask(View(problem, history, 1)), Proposal):
        history, trial = history.propose(
            proposal.configuration, proposal.fraction, notes=proposal.notes, expected=proposal.expected
        )
        share, units = float(trial.fraction), float(str(trial.configuration["hidden"]))
        value = 0.95 - 0.1 * abs(2.0 + math.log10(float(str(trial.configuration["lr"])))) - 0.05 / share / units
        reports.append(ReportRow(trial.number, 1, share, {"accuracy": value}, 40 * share, None))
        failed = trial.number == 2
        kind = ObservationKind.FAILED if failed else ObservationKind.MEASURED
        seen = observe(problem, trial, {} if failed else {"accuracy": value}, seconds=20.0 * share, kind=kind)
        state = TrialState.FAILED if failed else TrialState.DONE
        history = history.record(trial.number, [seen], time=START + trial.number, state=state)
    best = recommended(tuner, problem, history, seed=1)
    return view_of(problem, history, recommendation=best, reports=tuple(reports), stop_reason=proposal.why)


@cache
def real_view(trials: int = 12, *, quickly: bool = True, verified: bool = True, seed: int = 2) -> StudyView:
    """The real study with its recommendation and, if wanted, the run that verifies it."""
    source = ran(trials, quickly=quickly, seed=seed)
    study = source.study
    books = books_of(source)
    best = study.recommendation()
    number = None
    if verified:
        asked = AskedTrial(len(books.history), best.configuration, Fraction(1), (Fraction(1),), {}, ())
        why = (Note(NoteKind.PLAIN, "verification of the recommendation"),)
        trial = books.open(best.configuration, Fraction(1), why, best.metrics)
        metrics, took = noisy(asked)
        books.end(trial, observe(study.problem, trial, metrics, seconds=took))
        number = trial.number
    view = view_of(
        study.problem,
        books.history,
        recommendation=best,
        books=books,
        reports=tuple(step_reports(books.history)),
        stop_reason=study.stop_reason,
    )
    return replace(view, verification=number)


@cache
def long_view(trials: int = 300, *, seed: int = 5) -> StudyView:
    """Many trials: settings drawn at random ever nearer to a good one, expectations that are about right."""
    problem = Problem(space(), lt.maximize("accuracy"), LIMITS, FRACTIONS, Budget(usd=0.1 * trials, trials=trials))
    rng = np.random.default_rng(seed)
    pool = problem.space.pool(2 * trials, seed=seed)
    books = Books(problem)
    for number in range(trials):
        share = problem.fractions[min(4, int(rng.exponential(0.6 + 2.0 * number / trials)))]
        options = [pool[int(row)] for row in rng.integers(0, len(pool), 1 + 4 * number // trials)]
        chosen = max(options, key=lambda configuration: accuracy(configuration, share))
        asked = AskedTrial(number, chosen, share, (share,), {}, ())
        metrics, took = noisy(asked)
        rate = chosen.usd_per_hour or 0.0
        expected = {
            "accuracy": Estimate(accuracy(chosen, share) + 0.01 * float(rng.standard_normal()), 0.011),
            COST: Estimate(took * rate / 3600 * math.exp(0.1 * float(rng.standard_normal())), 0.1 * took * rate / 3600),
        }
        notes: tuple[Note, ...] = (
            Note(NoteKind.MODELS, f"largest acquisition of {2000 - number} pairs"),
            Note(NoteKind.CAP, "the optimum is sought among 500 of 2000 configurations"),
        )
        if number % 40 == 39:
            words = f"none of {2000 - number} pairs promises anything; the largest expected accuracy"
            notes = (Note(NoteKind.FALLBACK, words),)
        trial = books.open(chosen, share, START_NOTES if number < 9 else notes, expected if number >= 9 else {})
        failed = crashes(asked)
        kind = ObservationKind.FAILED if failed else ObservationKind.MEASURED
        books.end(trial, observe(problem, trial, {} if failed else metrics, seconds=took, kind=kind, cause=failed))
    best = recommended(Strategy(quick("random")), problem, books.history, seed=1)
    return view_of(problem, books.history, recommendation=best, books=books, stop_reason="the budget is used")


HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&{}%{x}<a href='https://evil.example'>$"


def _problem(goal: Goal | None = None, limits: Sequence[str] = (), fractions: Sequence[str | int] = (1,)) -> Problem:
    free = lt.Space(lr=lt.log(1e-5, 1e-1), batch=lt.choice(16, 64, 256))
    return Problem(free, goal or lt.maximize("accuracy"), limits, fractions, Budget(trials=20))


def _told(problem: Problem, count: int, metrics: Callable[[Trial], dict[str, float]], **details: object) -> History:
    """A history of `count` trials whose metrics are a function of the trial; without any, it failed."""
    history = History()
    for number, configuration in enumerate(problem.space.pool(count, seed=2)):
        share = problem.fractions[number % len(problem.fractions)]
        note = details.get("note", Note(NoteKind.RANDOM, "random"))
        assert isinstance(note, Note)
        history, trial = history.propose(configuration, share, notes=(note,), time=START)
        told = metrics(trial)
        kind = ObservationKind.MEASURED if told else ObservationKind.FAILED
        state = TrialState.DONE if told else TrialState.FAILED
        cause = "" if told else str(details.get("cause", "exit code 1: ValueError"))
        seen = observe(problem, trial, told, seconds=details.get("seconds", 30.0), kind=kind, cause=cause)  # type: ignore[arg-type]
        history = history.record(number, [seen], time=START + 31.0 * (number + 1), state=state, cause=cause)
    return history


def _measured(problem: Problem, history: History, **more: str) -> StudyView:
    best = cheapest_measured(problem, history)
    return view_of(problem, history, recommendation=best, **more)  # type: ignore[arg-type]


def _by_lr(trial: Trial) -> dict[str, float]:
    return {"accuracy": accuracy(trial.configuration, trial.fraction)}


@cache
def nothing() -> StudyView:
    return view_of(_problem(), History(), why="Nothing was run yet: there is nothing to recommend.")


@cache
def only_pending() -> StudyView:
    problem = _problem(fractions=("1/10", 1))
    configuration = problem.space.pool(1, seed=1)[0]
    history, trial = History().propose(configuration, Fraction(1, 10), notes=START_NOTES, time=START)
    return view_of(problem, history.move(trial.number, TrialState.QUEUED, time=START), why="No result yet.")


@cache
def all_failed() -> StudyView:
    problem = _problem(limits=("time <= 1 min",))
    return view_of(problem, _told(problem, 5, lambda trial: {}), why="Every trial failed.")


@cache
def without_prices() -> StudyView:
    problem = _problem(limits=("time <= 1 min",), fractions=("1/10", 1))
    return _measured(problem, _told(problem, 12, _by_lr))


@cache
def without_seconds() -> StudyView:
    problem = _problem()
    return _measured(problem, _told(problem, 8, _by_lr, seconds=None))


@cache
def minimised() -> StudyView:
    """A loss, one of which exploded."""
    problem = _problem(lt.minimize("loss"))

    def loss(trial: Trial) -> dict[str, float]:
        return {"loss": 900.0 if trial.number == 4 else 1.2 - _by_lr(trial)["accuracy"]}

    return _measured(problem, _told(problem, 12, loss))


@cache
def anywhere() -> StudyView:
    """The cheapest run at any share that is accurate enough, with a run that was cut short."""
    goal = lt.minimize(COST, at="anywhere")
    problem = Problem(space(), goal, ["accuracy >= 0.75", "time <= 8 min"], FRACTIONS, Budget(usd=5.0))
    books = Books(problem)
    for number, configuration in enumerate(problem.space.pool(30, seed=4)):
        share = problem.fractions[number % 5]
        metrics, took = noisy(AskedTrial(number, configuration, share, (share,), {}, ()))
        trial = books.open(configuration, share, START_NOTES, {})
        kind = ObservationKind.CENSORED if took > 700 else ObservationKind.MEASURED
        books.end(trial, observe(problem, trial, metrics, seconds=min(took, 700.0), kind=kind))
    best = cheapest_measured(problem, books.history)
    return view_of(problem, books.history, recommendation=best, books=books)


@cache
def hostile() -> StudyView:
    """Every text that comes from outside tries to be something else."""
    metric = HOSTILE.replace(" ", "_").replace("<", "‹").replace(">", "›").replace("=", "") + "&lt;b&gt;"
    options = lt.choice(HOSTILE, "</title>", "--><!--", "ünï ☃ \ud800")
    problem = Problem(
        lt.Space(kind=options, x=lt.linear(0, 1)),
        lt.maximize(metric),
        [f"{metric} >= 0.2"],
        ("1/2", 1),
        Budget(trials=20),
    )

    def result(trial: Trial) -> dict[str, float]:
        return {} if trial.number % 4 == 1 else {metric: float(str(trial.configuration["x"]))}

    history = _told(problem, 12, result, note=Note(NoteKind.FALLBACK, HOSTILE), cause=f"exit code 1: {HOSTILE}\n\x00")
    view = replace(_measured(problem, history, name=HOSTILE, stop_reason=HOSTILE), strategy=HOSTILE)
    reports = tuple(ReportRow(0, 1, float(step), {HOSTILE: float(step)}, float(step), None) for step in range(5))
    return replace(view, reports=reports, leantune_version=HOSTILE)


EDGES: Mapping[str, Callable[[], StudyView]] = {
    "nothing": nothing,
    "only pending": only_pending,
    "all failed": all_failed,
    "without prices": without_prices,
    "without seconds": without_seconds,
    "minimised": minimised,
    "anywhere": anywhere,
    "hostile": hostile,
}


def many_view(count: int) -> StudyView:
    """A study of very many trials: those of a long one, over and over."""
    source = long_view(200)
    trials: list[Trial] = []
    ledger: list[LedgerRow] = []
    last = source.ledger[-1].settled_at or START
    for number in range(count):
        turn, index = divmod(number, len(source.history))
        later = turn * (last - START)
        old, row = source.history.trials[index], source.ledger[index]
        moves = tuple(move._replace(time=move.time + later) for move in old.moves)
        trials.append(replace(old, number=number, moves=moves))
        ends = (row.settled_at or START) + later
        ledger.append(row._replace(number=number, opened=row.opened + later, settled_at=ends))
    money = Money(1e6, math.fsum(row.settled or 0.0 for row in ledger), 0.0)
    return replace(source, history=History(tuple(trials)), ledger=tuple(ledger), money=money)


VIEWS: Mapping[str, Callable[[], StudyView]] = {"real": real_view, "long": partial(long_view, 120), **EDGES}
