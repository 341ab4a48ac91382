"""Quantities and limits that come out of a problem."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from leantune.acquisition.base import Belief, Conditions
from leantune.history import History, ObservationKind, TrialState, observe
from leantune.models.base import UNKNOWN_SCALING, Data, Scaling
from leantune.models.gp import GaussianProcess, GpFitter
from leantune.problem import Problem, maximize, minimize
from leantune.space import Space, choice, ordinal
from leantune.strategies.beliefs import build_belief
from leantune.strategies.candidates import Table
from leantune.strategies.evidence import Evidence
from leantune.strategies.recipe import Recipe
from tests.toy import FRACTIONS, quick, told, toy_space


def belief_of(problem: Problem, history: History, used: Recipe | None = None) -> Belief:
    return fitted(problem, history, used)[0]


def fitted(problem: Problem, history: History, used: Recipe | None = None) -> tuple[Belief, Conditions]:
    used = used or quick("eic")
    table = Table.of(problem, history, used, 0)
    return build_belief(used, Evidence.of(problem, history), table.candidates, 0)


def problem_with(*limits: str) -> Problem:
    return Problem(toy_space(), maximize("accuracy"), limits, ("1/10", "1/2", 1))


PAIRS = [(0, 0), (5, 1), (9, 2), (14, 0), (20, 1)]


def test_cost_and_time_are_one_quantity_with_the_tighter_bound() -> None:
    problem = problem_with("cost <= 0.05 USD", "time <= 100 s")
    belief = belief_of(problem, told(problem, PAIRS), replace(quick("eic"), spend="dollars"))
    assert [q.name for q in belief.quantities] == ["accuracy", "cost"]
    rates = problem.space.grid().rates
    assert rates is not None
    (limit,) = belief.limits
    np.testing.assert_allclose(np.exp(limit.high), np.minimum(0.05, 100 * rates / 3600))
    assert np.isneginf(limit.low).all()


def test_the_same_in_seconds() -> None:
    problem = problem_with("cost <= 0.05 USD", "time <= 100 s")
    belief, conditions = fitted(problem, told(problem, PAIRS), replace(quick("eic"), spend="seconds"))
    rates = problem.space.grid().rates
    assert rates is not None
    assert [q.name for q in belief.quantities] == ["accuracy", "time"]
    np.testing.assert_allclose(np.exp(belief.limits[0].high), np.minimum(100, 0.05 * 3600 / rates))
    everything = belief.everything
    beliefs = belief.at_full(everything)
    expected = belief.quantities[1].transform.expectation(beliefs[1]) * rates / 3600
    np.testing.assert_allclose(conditions.cost.dollars(beliefs, everything), expected)


def test_limits_of_their_own_certainty_are_requirements_of_their_own() -> None:
    problem = problem_with("cost <= 0.05 USD @ 0.99", "time <= 100 s", "accuracy >= 0.5")
    belief, conditions = fitted(problem, told(problem, PAIRS))
    assert sorted(r.probability for r in conditions.rule.requirements) == [0.9, 0.99]
    assert len(belief.limits) == 2  # accuracy, and dollars with seconds
    shared = next(r for r in conditions.rule.requirements if r.probability == 0.9)
    assert len(shared.limits) == 2


def test_objective_to_minimise_is_turned_and_its_limits_with_it() -> None:
    problem = Problem(
        toy_space(), minimize("cost", at="anywhere"), ["time <= 100 s", "accuracy >= 0.6"], ("1/10", "1/2", 1)
    )
    history = told(problem, PAIRS)
    belief, conditions = fitted(problem, history, replace(quick("cherrypick"), spend="dollars"))
    assert conditions.cost.quantity == 0
    assert belief.objective.name == "cost"
    (own,) = [limit for limit in belief.limits if limit.quantity == 0]
    rates = problem.space.grid().rates
    assert rates is not None
    np.testing.assert_allclose(np.exp(-own.low), 100 * rates / 3600)
    cheapest = min(
        trial.cost
        for trial in history.trials
        if trial.observations[0].metrics["accuracy"] >= 0.6 and trial.seconds <= 100
    )
    assert belief.best == pytest.approx(-np.log(cheapest))


def test_best_counts_full_data_only_when_the_goal_is_there() -> None:
    problem = problem_with()
    belief = belief_of(problem, told(problem, [(0, 0), (5, 1)]))
    assert belief.best is None
    assert belief_of(problem, told(problem, [(0, 0), (9, 2)])).best is not None


def test_success_is_modelled_once_something_failed() -> None:
    problem = problem_with("cost <= 0.05 USD")
    history = told(problem, PAIRS)
    assert "success" not in [q.name for q in belief_of(problem, history).quantities]
    history, trial = history.propose(problem.space.grid()[23], Fraction(1))
    seen = observe(problem, trial, {}, seconds=1.0, kind=ObservationKind.FAILED)
    history = history.record(trial.number, [seen], time=0.0, state=TrialState.FAILED)
    belief = belief_of(problem, history)
    assert belief.quantities[-1].name == "success"
    success = next(limit for limit in belief.limits if limit.quantity == len(belief.quantities) - 1)
    beliefs = belief.at_full(belief.everything)
    chance = success.probability(beliefs[-1], belief.everything)
    assert chance[23] < chance[9]


def test_told_dollars_without_prices_and_nothing_told_at_all() -> None:
    space = Space(lr=ordinal(1.0, 2.0, 3.0), kind=choice("a", "b"))
    problem = Problem(space, maximize("accuracy"), (), (1,))
    for cost, took, expected in ((0.5, None, "cost"), (None, 60.0, "time"), (None, None, None)):
        history = History()
        for row in range(3):
            history, trial = history.propose(space.grid()[row], Fraction(1))
            seen = observe(problem, trial, {"accuracy": 0.1 * row}, seconds=took, cost=cost)
            history = history.record(trial.number, [seen], time=0.0)
        belief, conditions = fitted(problem, history)
        index = conditions.cost.quantity
        name = None if index is None else belief.quantities[index].name
        assert name == expected
        everything = belief.everything
        assert (conditions.cost.dollars(belief.at_full(everything), everything) > 0).all()


class Listening:
    """A Fitter that remembers what it was told of each model's scaling."""

    def __init__(self) -> None:
        self.fitter = GpFitter(samples=1, burn_in=1)
        self.heard: dict[int, Scaling] = {}

    def fit(
        self, data: Data, *, grows_with_data: bool, seed: int, pairs: int = 0, scaling: Scaling = UNKNOWN_SCALING
    ) -> GaussianProcess:
        model = self.fitter.fit(data, grows_with_data=grows_with_data, seed=seed, pairs=pairs)
        self.heard[id(model)] = scaling
        return model

    def caps_at(self, observations: int, pairs: int = 0) -> tuple[str, ...]:
        return ()


def scalings(problem: Problem, history: History) -> dict[str, tuple[float, bool]]:
    """What the models of each quantity are told: how often the smallest share fits into 1, and whether a law holds."""
    listening = Listening()
    belief = belief_of(problem, history, replace(quick("eic"), models=listening))
    heard = {quantity.name: listening.heard[id(quantity.model)] for quantity in belief.quantities}
    return {name: (round(float(np.exp(one.log_range)), 9), one.logarithmic) for name, one in heard.items()}


def test_models_are_told_of_which_quantities_laws_are_known() -> None:
    """Of the goal and of spending, where their logarithm is modelled; of a further metric or of success nothing."""
    history = told(problem_with(), PAIRS)
    assert scalings(problem_with("cost <= 0.05 USD"), history) == {"accuracy": (10.0, True), "time": (10.0, True)}
    linear = Problem(toy_space(), maximize("accuracy", scale="linear"), (), FRACTIONS)
    assert scalings(linear, history)["accuracy"] == (10.0, False)
    cheapest = Problem(toy_space(), minimize("cost", at="anywhere"), ["accuracy >= 0.6"], FRACTIONS)
    found = scalings(cheapest, history)
    assert found.pop("accuracy") == (10.0, False)
    assert set(found.values()) == {(10.0, True)}  # dollars or seconds
    halves = Problem(toy_space(), maximize("accuracy"), (), ("1/2", 1))
    assert scalings(halves, told(halves, [(0, 0), (5, 1)]))["accuracy"] == (2.0, True)
    single = Problem(toy_space(), maximize("accuracy"), (), (1,))
    assert scalings(single, told(single, [(0, 0), (5, 0)]))["accuracy"] == (1.0, True)
    history, trial = history.propose(problem_with().space.grid()[23], Fraction(1))
    seen = observe(problem_with(), trial, {}, seconds=1.0, kind=ObservationKind.FAILED)
    failed = history.record(trial.number, [seen], time=0.0, state=TrialState.FAILED)
    assert scalings(problem_with(), failed)["success"] == (10.0, False)


def test_recipes_that_know_no_limits_require_nothing() -> None:
    problem = problem_with("cost <= 0.05 USD")
    assert fitted(problem, told(problem, PAIRS), quick("fabolas"))[1].rule.requirements == ()
