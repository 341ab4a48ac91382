"""What `lean` knows when it chooses: regrets against quadrature, what tests take."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from leantune.history import History
from leantune.models.base import Roots
from leantune.models.gp import GaussianProcess
from leantune.problem import COST, Budget, Problem
from leantune.strategies.budgets import LIKELY
from leantune.strategies.candidates import Table
from leantune.strategies.evidence import Evidence
from leantune.strategies.prospects import Prospects
from leantune.strategies.recipe import Recipe
from tests.strategies.quick_lean import quick_lean
from tests.toy import told, toy_problem


def prospects(problem: Problem, history: History, recipe: Recipe, seed: int) -> Prospects:
    table, evidence = Table.of(problem, history, recipe, 0), Evidence.of(problem, history)
    return Prospects.of(table, evidence, recipe, seed, advising=True)


@pytest.mark.parametrize("seed", range(4))
def test_the_regret_of_one_rival_is_its_expected_improvement(seed: int) -> None:
    """By quadrature: only one configuration was not measured, and each member believes a normal value of it."""
    problem = toy_problem()
    history = told(problem, [(row, 2) for row in range(len(problem.space.grid()) - 1)])
    recipe = quick_lean()
    known = prospects(problem, history, recipe, seed)
    belief, outlook = known.belief, known.outlook
    worst = int(np.where(outlook.is_measured, outlook.mean, np.inf).argmin())
    outlook = replace(outlook, has_result=False)  # nothing else is compared with
    rival = int(np.flatnonzero(~outlook.is_measured)[0])
    model = belief.objective.model
    assert isinstance(model, GaussianProcess)
    mine = expit(outlook.mean[worst])
    roots = Roots.of(200)
    expected = []
    for member in model.members:
        there = member.condition(belief.candidates.at_full(np.array([rival])))
        y = model.centre + model.spread * (there.mean[0] + np.sqrt(there.variance[0]) * roots.z)
        expected.append(roots.w @ np.maximum(expit(y) - mine, 0.0))
    wanted = float(outlook.probability[rival] * np.mean(expected) / mine)
    known = replace(known, conditions=replace(known.conditions, seed=seed), outlook=outlook)
    assert known.regrets(worst).mean() == pytest.approx(wanted, rel=0.25, abs=2e-3)


def test_where_epochs_go_on_only_what_lies_beyond_is_weighed() -> None:
    problem, fresh = toy_problem(fidelity="epochs"), toy_problem()
    history = told(problem, [(0, 1), (5, 1), (9, 1)])
    recipe = quick_lean()
    whole, rest = (_takes_on_all_data(one, history, recipe) for one in (fresh, problem))
    assert rest[0] < whole[0]
    assert rest[1] == whole[1], "a configuration that was never tested starts from nothing"


def _takes_on_all_data(problem: Problem, history: History, recipe: Recipe) -> tuple[float, float]:
    known = prospects(problem, history, recipe, 1)
    takes = known.takes(known.belief.candidates.full_pairs(np.array([0, 1])))
    first, second = takes.amounts[COST][LIKELY].tolist()
    return first, second


def test_no_test_on_all_data_fits_where_little_is_left() -> None:
    problem = toy_problem()
    history = told(problem, [(0, 1), (5, 1), (9, 1)])
    untested = np.ones((len(problem.space.grid()), len(problem.fractions)), dtype=np.bool_)
    rich, poor = (problem.with_budget(Budget(usd=history.cost + usd)) for usd in (1e6, 1e-9))
    assert prospects(rich, history, quick_lean(), 1).full_tests_fit(untested)
    assert not prospects(poor, history, quick_lean(), 1).full_tests_fit(untested)
    assert prospects(problem, history, quick_lean(), 1).full_tests_fit(untested), "without a budget everything fits"
