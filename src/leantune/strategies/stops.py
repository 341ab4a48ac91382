"""When a study is over, besides the budget that the user gave."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from leantune.errors import StrategyError
from leantune.history import History
from leantune.problem import At, Budget, Problem
from leantune.units import SECONDS_PER_HOUR


class StopRule(Protocol):
    """A reason to stop."""

    def reason(self, history: History, improvement: Callable[[], float | None]) -> str | None:
        """Why the study should end, or None.

        improvement(): the largest expected improvement among the untested pairs, relative to the best result so far;
        computed only when asked.
        """


def check_stop(name: str, problem: Problem, *, foresees: bool) -> None:
    """Refuse a `stop` that the strategy would ignore. foresees: the strategy can say what going on would bring."""
    if isinstance(problem.stop, float) and not foresees:
        what = f"{name} cannot say what going on would bring" + (
            " for a goal anywhere" if problem.goal.at is At.ANYWHERE else ""
        )
        raise StrategyError(what, where="stop", hint="Leave stop out and give a budget, or choose lean", path=("stop",))


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
class SmallImprovement:
    """CherryPick: the largest expected improvement is below 10 % after at least 6 tests."""

    share: float = 0.10
    tests: int = 6

    def reason(self, history: History, improvement: Callable[[], float | None]) -> str | None:
        if len(history.finished) < self.tests:
            return None
        expected = improvement()
        if expected is None or expected >= self.share:
            return None
        return f"the largest expected improvement is {expected:.1%}, below {self.share:.0%}"
