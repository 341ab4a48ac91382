"""Stop rules, by hand."""

from __future__ import annotations

import pytest

from leantune.history import History
from leantune.problem import Budget
from leantune.strategies.stops import SmallImprovement, budget_spent
from leantune.strategies.strategy import Strategy
from leantune.strategies.tuner import View
from tests.toy import quick, told, toy_problem


@pytest.mark.parametrize(
    ("budget", "word"),
    [(Budget(trials=3), "all 3 trials"), (Budget(usd=1e-6), "USD is spent"), (Budget(hours=1e-6), "hours is used")],
)
def test_budget_spent(budget: Budget, word: str) -> None:
    problem = toy_problem(budget=budget)
    assert budget_spent(budget, History()) is None
    reason = budget_spent(budget, told(problem, [(0, 0), (1, 1), (2, 2)]))
    assert reason is not None
    assert word in reason


def test_small_improvement_after_six_tests() -> None:
    problem = toy_problem()
    rule = SmallImprovement()
    six = told(problem, [(row, 2) for row in range(6)])
    assert rule.reason(six, lambda: 0.05) is not None
    assert rule.reason(six, lambda: 0.15) is None
    assert rule.reason(six, lambda: None) is None
    assert rule.reason(told(problem, [(0, 2)]), lambda: 0.05) is None


def test_rules_work_on_real_models() -> None:
    problem = toy_problem(anywhere=True)
    everything = told(problem, [(row, level) for row in range(0, 24, 2) for level in range(3)])
    strategy = Strategy(quick("cherrypick"))
    stopping = Strategy(type(strategy.recipe)(**{**vars(strategy.recipe), "stops": (SmallImprovement(share=10.0),)}))
    assert strategy.stop_reason(View(problem, everything, 1)) is None
    reason = stopping.stop_reason(View(problem, everything, 1))
    assert reason is not None
    assert "expected improvement" in reason
