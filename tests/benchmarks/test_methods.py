"""References suggest something on the same history; a missing library is named with the extra that brings it."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from benchmarks import methods
from benchmarks.datasets import Dataset, generated, trimtuner_space
from benchmarks.histories import history_of
from leantune import errors
from leantune.history import History
from leantune.problem import Problem
from leantune.strategies.designs import Snapshots

DATASET: Dataset = generated("methods", trimtuner_space())
PROBLEM: Problem = DATASET.problem()


@pytest.fixture(scope="module")
def history() -> History:
    return history_of(DATASET, PROBLEM, Snapshots(), observations=12, seed=2)


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
