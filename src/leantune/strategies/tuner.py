"""The interface of a tuner, which chooses tests and judges them while they run.

    check(problem)       may it serve this problem at all
    ask(view)            the next test: Proposal, or Wait for a result, or Over
    judge(view)          which of the live and the paused trials are not simply to go on
    recommend(view)      the configuration to use, given what is known
    stop_reason(view)    why nothing more will be proposed, or None: as dear as `ask` where models decide the end

Our recipes, SpotTune and other people's tuners are all of this kind. Every answer is a pure function of the view:
nothing is carried over between calls, so that a resumed study, another worker or a replay gives the same answer.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from leantune.history import Estimate, History
from leantune.problem import Problem
from leantune.strategies.proposals import Proposal, Recommendation


@dataclass(frozen=True, slots=True)
class LearningCurve:
    """The goal's metric as a run has reported it so far.

    steps: increasing; a step that is done again after a revocation is left out; shares of the data where it is not said
    how many steps a training has (`Problem.curves_by_share`). values: one for each step, NaN where it was no number. A
    curve may grow; what it holds never changes.
    """

    steps: Sequence[float]
    values: Sequence[float]


@dataclass(frozen=True, slots=True)
class View:
    """The complete input of a tuner's answers.

    problem: with the budget in force. seed: the study's. curves: of trials that have reported steps, by number.
    closed: why nothing will be proposed any more, where the loop knows it: no dollars are left to start a trial with.
    due: why the best of the paused must be chosen now, where the loop knows it: a deadline would not wait.
    """

    problem: Problem
    history: History
    seed: int
    curves: Mapping[int, LearningCurve] = field(default_factory=dict)
    closed: str = ""
    due: str = ""


@dataclass(frozen=True)
class Wait:
    """Nothing is to be proposed before the next event."""

    why: str


@dataclass(frozen=True)
class Over:
    """Nothing is to be proposed any more."""

    why: str


class Verdict(StrEnum):
    """A decision about a trial."""

    GO_ON = "go on"
    PAUSE = "pause"  # save a checkpoint and wait for the others
    RESUME = "resume"  # a paused trial is queued again
    STOP = "stop"  # it will not pay, or there is nothing more to learn


@dataclass(frozen=True)
class Judgement:
    """A verdict with its reason, and the prediction of the goal's metric that decided it, where one did."""

    verdict: Verdict
    why: str = ""
    predicted: Estimate | None = None


class Tuner(Protocol):
    """Chooses tests and judges them; see the module."""

    @property
    def judges(self) -> bool:
        """Whether `judge` ever says anything: if not, learning curves are not read for it."""
        ...

    def check(self, problem: Problem) -> None:
        """Refuse a problem that it cannot serve, by a StrategyError."""

    def prepare(self) -> None:
        """Work that takes seconds and needs no result: compiling code. Called while the first tests run, in a
        thread of its own.
        """

    def ends_by_itself(self, problem: Problem) -> bool:
        """Whether a study of the problem comes to its end without a budget."""
        ...

    def ask(self, view: View) -> Proposal | Wait | Over:
        """The next test. Pending ones count as tested."""

    def judge(self, view: View, only: Collection[int] | None = None) -> Mapping[int, Judgement]:
        """Trials that are not simply to go on, in the order in which they matter: best first.

        Queued, running and paused trials are judged. only: those that may have changed since the last call; None: all.
        This saves work and changes no verdict.
        """

    def recommend(self, view: View) -> Recommendation | None:
        """The configuration to use; None while nothing is known."""

    def stop_reason(self, view: View) -> str | None:
        """Why nothing more will be proposed, or None: then `ask` is Over."""
