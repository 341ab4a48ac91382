"""Recommendations: measured ones by hand, predicted ones against the truth."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from leantune.errors import StudyOver
from leantune.history import History, NoteKind, ObservationKind, TrialState, observe
from leantune.models.base import Gaussian
from leantune.problem import Problem, maximize, minimize
from leantune.strategies.recommending import cheapest_measured, excess, required
from leantune.strategies.strategy import Strategy
from leantune.strategies.tuner import View
from tests.toy import quick, recommended, told, toy_problem, toy_space


def measured(problem: Problem, rows: list[tuple[int, int, float, float]], kind: str = "measured") -> History:
    """(row, level, accuracy, seconds) of finished trials."""
    history = History()
    for row, level, value, took in rows:
        history, trial = history.propose(problem.space.grid()[row], problem.fractions[level])
        seen = observe(problem, trial, {"accuracy": value}, seconds=took, kind=ObservationKind(kind))
        history = history.record(trial.number, [seen], time=0.0)
    return history


def anywhere() -> Problem:
    return Problem(toy_space(), minimize("cost", at="anywhere"), ["accuracy >= 0.8", "time <= 60 s"], ("1/10", 1))


def test_cheapest_that_meets_the_limits_at_any_fraction() -> None:
    problem = anywhere()
    history = measured(problem, [(0, 1, 0.9, 50.0), (0, 0, 0.85, 20.0), (1, 0, 0.7, 1.0), (2, 1, 0.9, 100.0)])
    found = required(cheapest_measured(problem, history))
    assert (found.configuration, found.fraction) == (problem.space.grid()[0], Fraction(1, 10))
    assert found.feasible
    assert found.metrics["time"].mean == 20.0
    assert set(found.probabilities.values()) == {1.0}


def test_none_meets_the_limits_the_nearest_is_said_to_be_infeasible() -> None:
    problem = anywhere()
    history = measured(problem, [(0, 1, 0.4, 50.0), (1, 1, 0.76, 50.0), (2, 1, 0.9, 600.0)])
    found = required(cheapest_measured(problem, history))
    assert found.configuration == problem.space.grid()[1]
    assert not found.feasible
    assert "nearest" in found.why
    assert any(note.kind is NoteKind.FALLBACK for note in found.notes)


def test_a_cut_run_does_not_prove_that_a_time_limit_held() -> None:
    problem = anywhere()
    seen = measured(problem, [(0, 1, 0.9, 50.0)], "censored").trials[0].observations[0]
    assert excess(problem, seen) > 0.0


def test_random_search_prefers_full_data_when_the_goal_is_there() -> None:
    problem = Problem(toy_space(), maximize("accuracy"), (), ("1/10", 1))
    history = measured(problem, [(0, 0, 0.99, 5.0), (1, 1, 0.7, 50.0)])
    found = recommended(Strategy(quick("random")), problem, history, seed=0)
    assert found.configuration == problem.space.grid()[1]


def test_nothing_told_yet() -> None:
    for name in ("random", "eic", "nephele"):
        problem = toy_problem(anywhere=name == "nephele")
        assert Strategy(quick(name)).recommend(View(problem, History(), 0)) is None
    with pytest.raises(StudyOver, match="nothing to recommend"):
        required(None)


def test_predicted_recommendations_explain_themselves() -> None:
    problem = toy_problem()
    history = told(problem, [(row, 2) for row in range(0, 24, 2)])
    found = recommended(Strategy(quick("eic")), problem, history, seed=0)
    assert found.why.startswith("Largest predicted accuracy")
    assert "of 24 configurations" in found.why
    assert set(found.probabilities) == {"cost <= 0.05 USD"}
    assert set(found.metrics) == {"accuracy", "time", "cost"}
    rate = found.configuration.usd_per_hour
    assert rate is not None
    assert found.metrics["cost"].mean == pytest.approx(found.metrics["time"].mean * rate / 3600)
    row = problem.space.grid().index_of(found.configuration)
    assert row is not None
    assert found.tested == (row % 2 == 0)


def test_limits_that_nothing_meets_are_said() -> None:
    problem = Problem(toy_space(), maximize("accuracy"), ["cost <= 0.000001 USD"], ("1/10", "1/2", 1))
    found = recommended(Strategy(quick("eic")), problem, told(problem, [(row, 2) for row in range(0, 24, 2)]), seed=0)
    assert not found.feasible
    assert "No configuration meets the limits" in found.why
    assert found.notes


def test_time_limits_are_judged_though_dollars_are_modelled() -> None:
    problem = Problem(toy_space(), maximize("accuracy"), ["time <= 100 s"], ("1/10", "1/2", 1))
    history = told(problem, [(row, 2) for row in range(0, 24, 2)])
    by_dollars = recommended(Strategy(replace(quick("eic"), spend="dollars")), problem, history, seed=0)
    by_seconds = recommended(Strategy(replace(quick("eic"), spend="seconds")), problem, history, seed=0)
    for found in (by_dollars, by_seconds):
        assert 0.9 <= found.probabilities["time <= 100 s"] <= 1.0


def test_a_failed_run_is_no_test_of_the_recommendation() -> None:
    """Every configuration came through at half the data and failed at all of it: whichever is recommended."""
    problem = Problem(toy_space(), maximize("accuracy"), (), ("1/10", "1/2", 1))
    history = told(problem, [(row, 1) for row in range(24)])
    for configuration in problem.space.grid():
        history, trial = history.propose(configuration, Fraction(1))
        failed = observe(problem, trial, {}, seconds=1.0, kind=ObservationKind.FAILED)
        history = history.record(trial.number, [failed], time=0.0, state=TrialState.FAILED)
    found = recommended(Strategy(quick("ei")), problem, history, seed=0)
    assert not found.tested
    assert "up to 1/2 of the data, not at full data" in found.why


def test_what_models_believe_is_told_on_their_scale() -> None:
    problem = toy_problem()
    history = told(problem, [(row, 2) for row in range(0, 24, 2)])
    found = recommended(Strategy(quick("eic")), problem, history, seed=0)
    assert found.believed is not None
    normal = Gaussian(np.array([found.believed.mean]), np.array([found.believed.sd]))
    assert found.believed.scale.kind == "share"
    assert float(found.believed.scale.expectation(normal)[0]) == found.metrics["accuracy"].mean
    assert required(cheapest_measured(problem, history)).believed is None
