"""What the loop and the replay ask of whoever chooses tests: our recipes, and other people's tuners beside them."""

from __future__ import annotations

from typing import Protocol

from leantune.history import History
from leantune.problem import Problem
from leantune.strategies.proposals import Proposal, Recommendation


class Tuner(Protocol):
    """Every answer is a pure function of (problem, history, seed): nothing is carried over between calls."""

    def check(self, problem: Problem) -> None:
        """Refuse a problem that it cannot serve, by a StrategyError."""

    def ask(self, problem: Problem, history: History, *, seed: int, count: int = 1) -> tuple[Proposal, ...]:
        """The next `count` tests; StudyOver when there is none."""

    def recommend(self, problem: Problem, history: History, *, seed: int) -> Recommendation:
        """The configuration to use, given what is known; StudyOver when nothing is."""

    def stop_reason(self, problem: Problem, history: History, *, seed: int) -> str | None:
        """Why the study is over, or None."""
