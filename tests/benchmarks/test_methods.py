"""References suggest something on the same history; a missing library is named with the extra that brings it."""

from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Literal

import numpy as np
import pytest

from benchmarks import methods
from benchmarks.datasets import Dataset, generated, trimtuner_space
from benchmarks.histories import history_of
from leantune import errors
from leantune.executors.replay import Measurement
from leantune.history import History, observe
from leantune.lab.replay.contenders import contender
from leantune.problem import Problem
from leantune.space import Configuration
from leantune.strategies.designs import LatinHypercube
from leantune.strategies.recommending import excess
from tests.toy import asked, recommended

DATASET: Dataset = generated("methods", trimtuner_space())
PROBLEM: Problem = DATASET.problem()
PARTS = LatinHypercube(1, at="partial")


@pytest.fixture(scope="module")
def history() -> History:
    return history_of(DATASET, PROBLEM, PARTS, observations=12, seed=2)


def test_timed_recipes_of_one_model_differ_only_in_the_filter() -> None:
    made = {name: make() for name, make in methods.RECIPES.items()}
    for models in ("trees", "gp"):
        filtered, plain = made[f"{models}_cea10"], made[f"{models}_nofilter"]
        assert filtered.filter != plain.filter
        assert replace(filtered, filter=plain.filter) == plain


def test_scikit_learn_computes_the_same_acquisition(history: History) -> None:
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    values = methods.sklearn_trees(PROBLEM, history, seed=1, candidates=3)()
    assert isinstance(values, np.ndarray)
    assert values.shape == (3,)
    assert (values >= 0).all()


def test_botorch_picks_an_untested_pair(history: History) -> None:
    pytest.importorskip("botorch", reason="botorch is not installed")
    chosen = methods.botorch_entropy(PROBLEM, history, seed=1)()
    assert isinstance(chosen, int)
    assert 0 <= chosen < DATASET.pairs - 12


def test_optuna_suggests_within_the_space(history: History) -> None:
    pytest.importorskip("optuna", reason="optuna is not installed")
    pytest.importorskip("torch", reason="torch is not installed")
    suggested = methods.optuna_gp(PROBLEM, history, seed=1)()
    assert isinstance(suggested, dict)
    distributions = methods.optuna_distributions(PROBLEM.space, PROBLEM.fractions)
    assert suggested.keys() == distributions.keys()


def test_every_pair_has_its_own_parameters_in_optuna() -> None:
    pairs = [(configuration, share) for configuration in DATASET.space.grid() for share in DATASET.fractions]
    translate = partial(methods.optuna_parameters, PROBLEM)
    assert len({tuple(translate(*pair).items()) for pair in pairs}) == len(pairs)


def test_a_missing_library_is_named_with_its_extra() -> None:
    missing = pytest.raises(errors.MissingExtra, match=r"nothing is not installed.*leantune\[bench\]")
    with missing, methods.needs_extra("nothing"):
        raise ImportError("no module named nothing")


def seen(configuration: Configuration) -> Measurement:
    return DATASET.measure(configuration, Fraction(1))


def played(tests: int, sampler: Literal["tpe", "gp"], seed: int = 3) -> History:
    """A history that the tuner chose, test by test."""
    history, tuner = History(), methods.optuna_tuner(sampler)
    for _ in range(tests):
        proposal = asked(tuner, PROBLEM, history, seed=seed)
        history, trial = history.propose(proposal.configuration, proposal.fraction, notes=proposal.notes)
        told = seen(proposal.configuration)
        history = history.record(trial.number, [observe(PROBLEM, trial, told.metrics, seconds=told.seconds)], time=0.0)
    return history


@pytest.mark.parametrize("sampler", ["tpe", "gp"])
def test_optuna_chooses_untested_full_runs_from_the_start_of_eic(sampler: Literal["tpe", "gp"]) -> None:
    pytest.importorskip("optuna", reason="optuna is not installed")
    pytest.importorskip("torch", reason="torch is not installed")
    history = played(10, sampler)
    assert {trial.fraction for trial in history.trials} == {Fraction(1)}
    assert len({trial.configuration.id for trial in history.trials}) == 10
    assert [str(trial.notes[0]) for trial in history.trials] == ["start"] * 4 + [f"optuna {sampler}"] * 6
    start = LatinHypercube(4)
    assert start.next(PROBLEM, history, 3) is None
    again = asked(methods.optuna_tuner(sampler), PROBLEM, History(history.trials[:9]), seed=3)
    assert again.configuration == history.trials[9].configuration
    found = recommended(methods.optuna_tuner(sampler), PROBLEM, history, seed=3)
    kept = [trial for trial in history.trials if excess(PROBLEM, trial.observations[-1]) == 0.0]
    best = max(kept, key=lambda trial: trial.observations[-1].metrics["accuracy"])
    assert found.configuration == best.configuration


def test_a_repeated_suggestion_is_replaced_by_its_nearest_untested_neighbour() -> None:
    pytest.importorskip("optuna", reason="optuna is not installed")
    grid = DATASET.space.grid()
    rows = {methods._as_key(methods.optuna_parameters(PROBLEM, x, Fraction(1))): i for i, x in enumerate(grid)}
    assert len(rows) == len(grid)
    distributions = methods.optuna_distributions(DATASET.space, (Fraction(1),))
    wanted = methods.optuna_parameters(PROBLEM, grid[17], Fraction(1))
    untested = np.ones(len(grid), dtype=bool)
    assert methods._nearest(wanted, rows, untested, distributions) == 17
    untested[17] = False
    near = methods.optuna_parameters(
        PROBLEM, grid[methods._nearest(wanted, rows, untested, distributions)], Fraction(1)
    )
    assert sum(near[name] != wanted[name] for name in wanted if name != methods.SHARE) == 1


def test_optuna_can_be_named_as_a_contender() -> None:
    pytest.importorskip("optuna", reason="optuna is not installed")
    found = contender("benchmarks.methods:optuna_tuner(sampler='tpe')")
    assert found.tuner == methods.OptunaTuner("tpe")
    found.tuner.check(PROBLEM)
    with pytest.raises(errors.StrategyError, match="no sampler 'cma'"):
        contender("benchmarks.methods:optuna_tuner(sampler='cma')")
