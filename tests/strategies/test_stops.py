"""Stop rules, by hand."""

from __future__ import annotations

import pytest

from leantune.history import History
from leantune.problem import Budget, Problem
from leantune.strategies.stops import BudgetSpent, NoGain, SmallImprovement, StopView
from leantune.strategies.strategy import Strategy
from leantune.strategies.tuner import View
from tests.toy import quick, told, toy_problem


def view(
    problem: Problem, history: History, merits: dict[int, float] | None = None, improvement: float | None = None
) -> StopView:
    table = merits or {}
    return StopView(problem, history, table.get, lambda: improvement)


@pytest.mark.parametrize(
    ("budget", "word"),
    [(Budget(trials=3), "all 3 trials"), (Budget(usd=1e-6), "USD is spent"), (Budget(hours=1e-6), "hours is used")],
)
def test_budget_spent(budget: Budget, word: str) -> None:
    problem = toy_problem(budget=budget)
    assert BudgetSpent().reason(view(problem, History())) is None
    reason = BudgetSpent().reason(view(problem, told(problem, [(0, 0), (1, 1), (2, 2)])))
    assert reason is not None
    assert word in reason


def test_no_gain_compares_now_with_then() -> None:
    problem = toy_problem()
    history = told(problem, [(row, 0) for row in range(5)])
    rule = NoGain(rounds=3, least=0.01)
    assert rule.reason(view(problem, history, {3: 0.90, 0: 0.905})) is not None
    assert rule.reason(view(problem, history, {3: 0.90, 0: 0.92})) is None
    assert rule.reason(view(problem, history, {0: 0.92})) is None
    assert NoGain(rounds=5).reason(view(problem, history, {5: 0.9, 0: 0.9})) is None


def test_small_improvement_after_six_tests() -> None:
    problem = toy_problem()
    rule = SmallImprovement()
    six = told(problem, [(row, 2) for row in range(6)])
    assert rule.reason(view(problem, six, improvement=0.05)) is not None
    assert rule.reason(view(problem, six, improvement=0.15)) is None
    assert rule.reason(view(problem, six, improvement=None)) is None
    assert rule.reason(view(problem, told(problem, [(0, 2)]), improvement=0.05)) is None


def test_rules_work_on_real_models() -> None:
    problem = toy_problem(anywhere=True)
    everything = told(problem, [(row, level) for row in range(0, 24, 2) for level in range(3)])
    strategy = Strategy(quick("cherrypick"))
    stopping = Strategy(type(strategy.recipe)(**{**vars(strategy.recipe), "stops": (SmallImprovement(share=10.0),)}))
    assert strategy.stop_reason(View(problem, everything, 1)) is None
    reason = stopping.stop_reason(View(problem, everything, 1))
    assert reason is not None
    assert "expected improvement" in reason
    full = toy_problem()
    history = told(full, [(row, 2) for row in range(20)])
    calm = Strategy(type(strategy.recipe)(**{**vars(quick("eic")), "stops": (NoGain(rounds=4, least=0.5),)}))
    assert "not improved" in str(calm.stop_reason(View(full, history, 1)))
