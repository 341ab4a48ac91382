"""The history as arrays."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from leantune.history import History, ObservationKind, TrialState, observe
from leantune.models.scales import Transform
from leantune.problem import Problem, maximize, minimize
from leantune.strategies.evidence import Evidence
from tests.toy import accuracy, told, toy_problem, toy_space


def test_rows_follow_trial_numbers_and_fractions() -> None:
    problem = toy_problem()
    evidence = Evidence.of(problem, told(problem, [(7, 2), (3, 0)]))
    grid = problem.space.grid()
    assert evidence.level.tolist() == [2, 0]
    np.testing.assert_array_equal(evidence.points.x, grid.features[[7, 3]])
    np.testing.assert_allclose(evidence.points.s, problem.levels[[2, 0]])
    np.testing.assert_allclose(
        evidence.metrics["accuracy"], [accuracy(grid[7], Fraction(1)), accuracy(grid[3], Fraction(1, 10))]
    )


def test_dollars_and_seconds_of_cut_and_failed_runs_are_bounds() -> None:
    problem = toy_problem()
    history = told(problem, [(1, 2)])
    for kind, state in ((ObservationKind.CENSORED, TrialState.DONE), (ObservationKind.FAILED, TrialState.FAILED)):
        history, trial = history.propose(problem.space.grid()[5], Fraction(1))
        metrics = {} if kind is ObservationKind.FAILED else {"accuracy": 0.4}
        seen = observe(problem, trial, metrics, seconds=50.0, kind=kind)
        history = history.record(trial.number, [seen], time=0.0, state=state)
    evidence = Evidence.of(problem, history)
    assert evidence.data("cost", Transform("log")).censored.tolist() == [False, True, True]
    assert len(evidence.data("accuracy", Transform("share"))) == 2
    assert evidence.successes().y.tolist() == [1.0, 1.0, -1.0]
    assert evidence.data("cost", Transform("log", descending=True)).bounds_above


def test_kept_limits_need_proof() -> None:
    problem = toy_problem()
    cheap, costly, cut = 1e-3, 1e4, 1e-3
    history = History()
    for took, kind in ((cheap, "measured"), (costly, "measured"), (cut, "censored")):
        history, trial = history.propose(problem.space.grid()[len(history)], Fraction(1))
        seen = observe(problem, trial, {"accuracy": 0.9}, seconds=took, kind=ObservationKind(kind))
        history = history.record(trial.number, [seen], time=0.0)
    assert Evidence.of(problem, history).kept_limits().tolist() == [True, False, False]


def test_dollars_follow_seconds_only_while_no_other_cost_was_told() -> None:
    problem = toy_problem()
    history = told(problem, [(0, 0), (1, 1)])
    assert Evidence.of(problem, history).dollars_follow_seconds
    history, trial = history.propose(problem.space.grid()[2], Fraction(1))
    spot = observe(problem, trial, {"accuracy": 0.9}, seconds=100.0, cost=1e-4)
    assert not Evidence.of(problem, history.record(trial.number, [spot], time=0.0)).dollars_follow_seconds


@pytest.mark.parametrize(
    ("goal", "values", "expected"),
    [
        (maximize("score"), [0.2, 0.9], Transform("share")),
        (maximize("score"), [0.2, 1.9], Transform("linear")),
        (maximize("score", scale="log"), [0.2, 1.9], Transform("log")),
        (minimize("score"), [0.2, 0.9], Transform("linear", descending=True)),
        (minimize("score", scale="log"), [0.2, 0.9], Transform("log", descending=True)),
    ],
)
def test_scale_of_the_goal(goal: object, values: list[float], expected: Transform) -> None:
    problem = Problem(toy_space(), goal, (), (1,))  # type: ignore[arg-type]
    history = History()
    for value in values:
        history, trial = history.propose(problem.space.grid()[len(history)], Fraction(1))
        history = history.record(trial.number, [observe(problem, trial, {"score": value})], time=0.0)
    assert Evidence.of(problem, history).transform("score") == expected


def test_cost_and_time_are_always_logs() -> None:
    problem = toy_problem(anywhere=True)
    evidence = Evidence.of(problem, told(problem, [(0, 0)]))
    assert evidence.transform("cost") == Transform("log", descending=True)
    assert evidence.transform("time") == Transform("log")
