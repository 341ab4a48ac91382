"""Which pairs are up for choice."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from leantune.history import History, observe
from leantune.problem import Problem, maximize, minimize
from leantune.space import Space, linear
from leantune.strategies.candidates import Table, best_tested
from leantune.strategies.recipe import Caps, Shares
from tests.toy import quick, told, toy_problem


def test_untested_leaves_out_what_was_tested_and_what_is_pending() -> None:
    problem = toy_problem()
    history = told(problem, [(0, 0), (5, 1)])
    history, _ = history.propose(problem.space.grid()[7], Fraction(1))
    used = quick("trimtuner-gp")
    open_pairs = Table.of(problem, history, used, 0).untested(used)
    closed = {tuple(pair) for pair in np.argwhere(~open_pairs).tolist()}
    assert closed == {(0, 0), (5, 1), (7, 2)}


def test_repeats_open_finished_pairs_again_but_not_pending_ones() -> None:
    problem = toy_problem()
    history = told(problem, [(0, 0), (5, 1), (5, 1)])
    history, _ = history.propose(problem.space.grid()[7], Fraction(1))
    used = replace(quick("trimtuner-gp"), repeats=2)
    open_pairs = Table.of(problem, history, used, 0).untested(used)
    assert {tuple(pair) for pair in np.argwhere(~open_pairs).tolist()} == {(5, 1), (7, 2)}


def test_fractions_of_the_recipe() -> None:
    problem = toy_problem()
    for tests, columns in ((Shares.FULL, [False, False, True]), (Shares.PARTIAL, [True, True, False])):
        used = replace(quick("trimtuner-gp"), tests=tests)
        open_pairs = Table.of(problem, History(), used, 0).untested(used)
        assert open_pairs.all(axis=0).tolist() == columns


def test_pools_hold_everything_tested_and_neighbours_of_the_best() -> None:
    problem = Problem(Space(x=linear(0, 1), y=linear(0, 1)), maximize("accuracy"), (), (1,))
    history = History()
    for x, value in ((0.2, 0.3), (0.5, 0.9), (0.8, 0.1)):
        history, trial = history.propose(problem.space.configuration({"x": x, "y": 0.5}), Fraction(1))
        history = history.record(trial.number, [observe(problem, trial, {"accuracy": value})], time=0.0)
    used = replace(quick("eic"), caps=Caps(pool=64))
    table = Table.of(problem, history, used, 3)
    assert (table.rows >= 0).all()
    assert table.notes
    again = Table.of(problem, history, used, 3)
    np.testing.assert_array_equal(table.configurations.codes, again.configurations.codes)


def test_best_tested_prefers_larger_fractions_then_values() -> None:
    problem = toy_problem()
    grid = problem.space.grid()
    history = told(problem, [(0, 0), (8, 0), (9, 2), (0, 2)])
    first = best_tested(problem, history)
    assert {first[0].id, first[1].id} == {grid[9].id, grid[0].id}
    cheapest = Problem(problem.space, minimize("cost", at="anywhere"), (), problem.fractions)
    costs = {trial.configuration.id: trial.cost for trial in history.trials if trial.fraction == 1}
    assert best_tested(cheapest, history)[0].id == min(costs, key=lambda key: costs[key])


def test_nothing_but_the_listed_settings_is_on_offer() -> None:
    space = Space(x=linear(0, 1), y=linear(0, 1))
    listed = [{"x": 0.5, "y": 0.5}, {"x": 0.1, "y": 0.9}, {"x": 0.7, "y": 0.2}]
    problem = Problem(space, maximize("accuracy"), (), (1,), settings=listed)
    history, _ = History().propose(problem.settings[1], Fraction(1))
    used = quick("eic")
    table = Table.of(problem, history, used, 0)
    assert list(table.configurations) == list(problem.settings)
    assert table.notes == ()
    assert table.untested(used)[:, 0].tolist() == [True, False, True]
