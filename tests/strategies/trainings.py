"""A study in memory whose programs report recorded curves, for tests of tuners that judge. Time goes on by seconds."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from leantune.history import History, ObservationKind, TrialState, observe
from leantune.problem import Budget, Problem, maximize, minimize
from leantune.space import Space, choice
from leantune.strategies.proposals import Proposal
from leantune.strategies.tuner import Judgement, LearningCurve, Tuner, Verdict, View

Points = Sequence[tuple[float, float]]
LIVE = (TrialState.QUEUED, TrialState.RUNNING)
LEADS_TO = {Verdict.PAUSE: TrialState.PAUSED, Verdict.RESUME: TrialState.QUEUED, Verdict.STOP: TrialState.STOPPED}


def numbers(count: int, *, steps: float = 20, larger: bool = False, budget: Budget | None = None) -> Problem:
    """So many settings n = 0, 1, ...; the loss (or accuracy) is reported up to so many steps."""
    goal = maximize("value") if larger else minimize("value")
    return Problem(Space(n=choice(*range(count))), goal, budget=budget or Budget(), steps=steps)


def falling(level: float, *, points: int = 20, noise: float = 0.0, seed: int = 0) -> Points:
    """A loss that nears its level as 1 / step."""
    scatter = noise * np.random.default_rng(seed).standard_normal(points)
    return [(float(k), level + 1.0 / k + float(scatter[k - 1])) for k in range(1, points + 1)]


@dataclass
class Training:
    """curves: by setting, all that its program would report if it were never stopped; the last step ends it.

    Points are reported in order, one at a time; what a verdict leads to is a move of the trial.
    """

    tuner: Tuner
    problem: Problem
    curves: Sequence[Points]
    history: History = field(default_factory=History)
    known: dict[int, LearningCurve] = field(default_factory=dict)
    closed: str = ""
    due: str = ""
    time: float = 0.0
    verdicts: list[tuple[int, Judgement]] = field(default_factory=list)
    last_steps: Sequence[float] | None = None  # by setting, where they are not the problem's

    @property
    def view(self) -> View:
        """What there is to judge now."""
        return View(self.problem, self.history, 0, dict(self.known), self.closed, self.due)

    @property
    def live(self) -> list[int]:
        """Numbers of trials whose programs may report."""
        return [trial.number for trial in self.history.trials if trial.state in LIVE]

    @property
    def states(self) -> list[TrialState]:
        """Of all trials, by number."""
        return [trial.state for trial in self.history.trials]

    def begin(self, count: int | None = None) -> Training:
        """Propose so many trials (None: all) and start them."""
        while count is None or len(self.history) < count:
            answer = self.tuner.ask(self.view)
            if not isinstance(answer, Proposal):
                break
            self.history, trial = self.history.propose(answer.configuration, answer.fraction, time=self.tick())
            self.move(trial.number, TrialState.QUEUED, TrialState.RUNNING)
        return self

    def tick(self) -> float:
        """A second passes."""
        self.time += 1.0
        return self.time

    def move(self, number: int, *states: TrialState) -> None:
        """The trial's next moves, each a second later."""
        for state in states:
            self.history = self.history.move(number, state, time=self.tick())

    def report(self, number: int, points: int = 1) -> None:
        """The program reports its next points; with its last step it is done."""
        trial = self.history.trial(number)
        for _ in range(points):
            told = self.known.get(number, LearningCurve((), ()))
            step, value = self.curves[trial.number][len(told.steps)]
            self.known[number] = LearningCurve((*told.steps, step), (*told.values, value))
            last = self.problem.steps if self.last_steps is None else self.last_steps[number]
            if step >= (last or math.inf):
                self.end(number, value)
                return

    def end(self, number: int, value: float) -> None:
        """The trial is done, or (no number) failed."""
        trial, fine = self.history.trial(number), math.isfinite(value)
        kind = ObservationKind.MEASURED if fine else ObservationKind.FAILED
        seen = observe(self.problem, trial, {"value": value} if fine else {}, fraction=Fraction(1), kind=kind)
        state = TrialState.DONE if fine else TrialState.FAILED
        self.history = self.history.record(number, [seen], time=self.tick(), state=state)

    def judge(self, only: Collection[int] | None = None) -> Mapping[int, Judgement]:
        """What the tuner says of the present view."""
        return self.tuner.judge(self.view, only)

    def apply(self, judged: Iterable[tuple[int, Judgement]]) -> None:
        """Carry out what was judged, in that order."""
        for number, judgement in judged:
            self.move(number, LEADS_TO[judgement.verdict])
            self.verdicts.append((number, judgement))

    def look(self) -> None:
        """Judge, and carry out."""
        self.apply(self.judge().items())

    def play(self, seed: int = 0) -> Training:
        """Report point by point in a random order, judging after each, until nobody is left to report."""
        rng = np.random.default_rng(seed)
        while self.live or self.judge():
            if self.live:
                self.report(int(rng.choice(self.live)))
            self.look()
        return self
