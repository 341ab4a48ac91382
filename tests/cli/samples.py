"""A small study at several moments, for what only renders: no store, no process."""

from __future__ import annotations

from fractions import Fraction

from leantune.cli.status import Progress, StudyStatus
from leantune.history import Estimate, History, Note, NoteKind, ObservationKind, Trial, TrialState, observe
from leantune.problem import Budget, Problem, maximize
from leantune.run.events import RunEnded, RunStarted, TrialProposed
from leantune.space import Cluster, Clusters, Space, choice, log, machine
from leantune.store.rows import Booking, Money
from leantune.units import Seconds, Usd

SMALL, LARGE = (
    machine("small", vcpus=1, memory=2, usd_per_hour=0.36),
    machine("large", vcpus=4, memory=8, usd_per_hour=3.6),
)
SPACE = Space(
    lr=log(1e-4, 1e-1),
    batch=choice(16, 64),
    cluster=Clusters((Cluster(SMALL, 1), Cluster(LARGE, 1), Cluster(LARGE, 2))),
)
PROBLEM = Problem(
    SPACE, maximize("accuracy"), ["cost <= 0.10 USD", "time <= 1 min"], ["1/4", 1], Budget(usd=5, trials=10)
)
QUARTER, FULL = Fraction(1, 4), Fraction(1)
CHARGED = Note(
    NoteKind.EXTRA_RUNS,
    "the program gives no snapshots: the start is one run for each of 4 fractions, each charged",
)
STARTED, DRAWN = Note(NoteKind.START, "start"), Note(NoteKind.RANDOM, "random")


def proposed(history: History, fraction: Fraction, *notes: Note) -> tuple[History, Trial]:
    configuration = SPACE.configuration({"lr": 0.01, "batch": 16, "cluster": {"type": "small", "nodes": 1}})
    modelled = any(note.kind is NoteKind.MODELS for note in notes)
    expected = {"accuracy": Estimate(0.9, 0.02)} if modelled else {}
    notes = notes or (STARTED,)
    return history.propose(configuration, fraction, notes=notes, time=100.0, expected=expected, time_limit=60.0)


def largest(pairs: int) -> Note:
    return Note(NoteKind.MODELS, f"largest acquisition of {pairs} pairs")


def nothing_promised(pairs: int) -> Note:
    return Note(NoteKind.FALLBACK, f"none of {pairs} pairs promises anything; the largest expected accuracy")


def running(history: History, number: int, time: float = 100.0) -> History:
    history = history.move(number, TrialState.QUEUED, time=time)
    return history.move(number, TrialState.RUNNING, time=time)


def done(history: History, number: int, accuracy: float, seconds: float) -> History:
    seen = observe(PROBLEM, history.trial(number), {"accuracy": accuracy}, seconds=seconds)
    return history.record(number, [seen], time=200.0)


def failed(history: History, number: int, cause: str, seconds: float = 1.0) -> History:
    seen = observe(PROBLEM, history.trial(number), {}, seconds=seconds, kind=ObservationKind.FAILED, cause=cause)
    return history.record(number, [seen], time=200.0, state=TrialState.FAILED, cause=cause)


def mixed() -> History:
    """0: done on a quarter; 1: done on all data, breaks the time limit; 2: failed; 3: done and good; 4: running."""
    history = History()
    for fraction, *notes in (
        (QUARTER, STARTED, CHARGED),
        (FULL, largest(9), Note(NoteKind.CAP, "the optimum is sought among 10 of 80 configurations")),
        (FULL, nothing_promised(9)),
        (FULL, nothing_promised(8)),
        (QUARTER, DRAWN),
    ):
        history, _ = proposed(history, fraction, *notes)
    history = done(history, 0, 0.80, 2.0)
    history = done(history, 1, 0.99, 90.0)
    history = failed(history, 2, "exit code 3: no such file; see runs/trial-0002/attempt-1.log")
    history = done(history, 3, 0.91, 10.0)
    return running(history, 4)


def status(history: History, problem: Problem = PROBLEM, reserved: float = 0.0) -> StudyStatus:
    money = Money(problem.budget.usd, history.cost, reserved)
    return StudyStatus("digits", "sqlite:///leantune.db", "eic", 1, problem, history, money)


def progress(history: History | None = None, began: float = 100.0) -> Progress:
    return Progress(status(mixed() if history is None else history, reserved=0.01), began)


def started(trial: Trial, attempt: int = 1, time_limit: float | None = 60.0) -> RunStarted:
    return RunStarted(trial, attempt, Booking(Usd(0.01), 0.36, None if time_limit is None else Seconds(time_limit)))


def ended(trial: Trial, seconds: float = 10.0) -> RunEnded:
    return RunEnded(trial, trial.cost, seconds, trial.moves[-1].cause)


def proposal(trial: Trial) -> TrialProposed:
    return TrialProposed(trial, 0.25)
