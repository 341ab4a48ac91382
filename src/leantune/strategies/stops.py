"""When a study is over, besides the budget that the user gave."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from leantune.errors import StrategyError
from leantune.history import History
from leantune.problem import At, Budget, Problem
from leantune.units import SECONDS_PER_HOUR


@dataclass(frozen=True)
class StopView:
    """What a rule may look at; the callables compute only when asked.

    merit(rounds_ago): E[objective] of the recommendation as it stood before the last `rounds_ago` results, in [0, 1].
    improvement(): the largest expected improvement among the untested pairs, relative to the best result so far.
    """

    problem: Problem
    history: History
    merit: Callable[[int], float | None]
    improvement: Callable[[], float | None]


class StopRule(Protocol):
    """A reason to stop."""

    def reason(self, view: StopView) -> str | None:
        """Why the study should end, or None."""


def check_stop(name: str, problem: Problem, *, foresees: bool) -> None:
    """Refuse a `stop` that nobody would heed. foresees: the strategy can say what going on would bring."""
    if isinstance(problem.stop, float) and not foresees:
        what = f"{name} cannot say what going on would bring" + (
            " for a goal anywhere" if problem.goal.at is At.ANYWHERE else ""
        )
        raise StrategyError(what, where="stop", hint="Leave stop out and give a budget, or choose lean")


def budget_spent(budget: Budget, history: History) -> str | None:
    """Which of the user's limits on trials, dollars and hours is used up, or None."""
    chosen = sum(not trial.verifies for trial in history.trials)  # verifying is asked for, not part of the search
    if budget.trials is not None and chosen >= budget.trials:
        return f"all {budget.trials} trials of the budget are used"
    if budget.usd is not None and history.cost >= budget.usd:
        return f"the budget of {budget.usd:g} USD is spent"
    if budget.hours is not None and history.seconds >= budget.hours * SECONDS_PER_HOUR:
        return f"the budget of {budget.hours:g} hours is used"
    return None


@dataclass(frozen=True)
class BudgetSpent:
    """The user's limits on trials, dollars and hours."""

    def reason(self, view: StopView) -> str | None:
        return budget_spent(view.problem.budget, view.history)


@dataclass(frozen=True)
class NoGain:
    """The predicted incumbent has not become better by more than `least` for `rounds` results."""

    rounds: int = 10
    least: float = 0.001

    def reason(self, view: StopView) -> str | None:
        if len(view.history.finished) <= self.rounds:
            return None
        before, now = view.merit(self.rounds), view.merit(0)
        if before is None or now is None or now > before + self.least:
            return None
        return f"the recommendation has not improved by more than {self.least:g} in {self.rounds} results"


@dataclass(frozen=True)
class SmallImprovement:
    """CherryPick: the largest expected improvement is below 10 % after at least 6 tests."""

    share: float = 0.10
    tests: int = 6

    def reason(self, view: StopView) -> str | None:
        if len(view.history.finished) < self.tests:
            return None
        improvement = view.improvement()
        if improvement is None or improvement >= self.share:
            return None
        return f"the largest expected improvement is {improvement:.1%}, below {self.share:.0%}"
