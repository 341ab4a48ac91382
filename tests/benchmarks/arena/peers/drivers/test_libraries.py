"""The real libraries: what they suggest can be tested, and comes again when they are told the same."""

import pytest

from benchmarks.arena.peers.environments import ENVIRONMENTS
from benchmarks.arena.peers.processes import close_drivers
from benchmarks.arena.peers.tuners import METHODS, peer
from leantune.cloud.catalog import clusters
from leantune.history import History
from leantune.problem import Problem
from leantune.space import Space, choice, ordinal
from leantune.strategies.tuner import Over, View
from tests import toy
from tests.benchmarks.arena.peers.fakes import gone_on, pairs

TESTS = 10
ON_ALL_DATA = ("optuna-tpe", "optuna-gp", "openbox")


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_a_library_plays_and_comes_to_the_same_tests_again(method: str) -> None:
    environment = ENVIRONMENTS[METHODS[method].environment]
    if not environment.installed:
        pytest.skip(f"the environment of {environment.name} is not installed")
    problem = toy.toy_problem()
    try:
        history = gone_on(peer(method), problem, History(), TESTS)
        assert len(set(pairs(history))) == TESTS
        if method not in ON_ALL_DATA:
            assert len({share for _, share in pairs(history)}) > 1
        assert pairs(gone_on(peer(method), problem, History(), TESTS)) == pairs(history)
        one_share = Problem(problem.space, problem.goal, problem.constraints)
        assert len(gone_on(peer(method), one_share, History(), 3)) == 3
        few = Problem(
            Space(lr=ordinal(1e-3), batch=choice("few", "many"), cluster=clusters(toy.MACHINES, nodes=[1])),
            problem.goal,
        )
        tuner = peer(method)
        history = gone_on(tuner, few, History(), 4)
        assert isinstance(tuner.ask(View(few, history, 1)), Over)
    finally:
        close_drivers()
