"""The named recipes are those of ALGORITHMS.md's table, and their options are checked."""

from __future__ import annotations

import pytest

from leantune.acquisition.lookahead import LookAhead
from leantune.errors import StrategyError
from leantune.filters.ranked import ConstrainedAccuracyFilter, FeasibleAffordable, NoFilter
from leantune.models.gp import GpFitter
from leantune.models.saturation import SaturatingFitter
from leantune.models.trees import TreesFitter
from leantune.problem import At
from leantune.strategies.lean import Lean
from leantune.strategies.recipe import Shares
from leantune.strategies.registry import FILTERS, RECIPES, STRATEGIES, at_work, named_filter, named_tuner, recipe
from leantune.strategies.spottune import SpotTune
from leantune.strategies.strategy import Strategy

TABLE = {
    "lean": (SaturatingFitter, object, Shares.ALL),
    "trimtuner": (TreesFitter, ConstrainedAccuracyFilter, Shares.ALL),
    "trimtuner-gp": (GpFitter, ConstrainedAccuracyFilter, Shares.ALL),
    "fabulinus": (GpFitter, NoFilter, Shares.PARTIAL),
    "fabolas": (GpFitter, NoFilter, Shares.ALL),
    "nephele": (TreesFitter, FeasibleAffordable, Shares.ALL),
    "lynceus": (TreesFitter, FeasibleAffordable, Shares.FULL),
    "cherrypick": (GpFitter, NoFilter, Shares.FULL),
    "eic": (GpFitter, NoFilter, Shares.FULL),
    "eic-usd": (GpFitter, NoFilter, Shares.FULL),
    "ei": (GpFitter, NoFilter, Shares.FULL),
    "random": (type(None), NoFilter, Shares.FULL),
}


def test_the_table_is_complete() -> None:
    assert set(RECIPES) == set(TABLE)


@pytest.mark.parametrize("name", TABLE)
def test_each_recipe_is_the_one_of_the_table(name: str) -> None:
    models, candidates, tests = TABLE[name]
    found = recipe(name)
    assert found.name == name
    assert isinstance(found.models, models)
    assert isinstance(found.filter, candidates)
    assert found.tests is tests


def test_lean_serves_every_goal_and_decides_by_worth() -> None:
    found = recipe("lean")
    assert found.serves == frozenset(At)
    assert isinstance(at_work(found), Lean)
    assert isinstance(at_work(found.with_common_incumbent()), Strategy)
    assert all(isinstance(at_work(recipe(name)), Strategy) for name in TABLE if name != "lean")
    assert not any(recipe(name).snapshots for name in TABLE if name != "lean")


def test_incumbent_rules_of_the_papers() -> None:
    assert recipe("trimtuner").incumbent.probability == 0.90
    assert recipe("fabulinus").incumbent.probability == 0.99
    assert not recipe("fabolas").incumbent.constrained
    assert not recipe("ei").incumbent.constrained
    assert recipe("ei").with_common_incumbent().incumbent == recipe("eic").incumbent


def test_options_reach_the_parts() -> None:
    ahead = recipe("nephele", horizon=2).acquisition
    assert isinstance(ahead, LookAhead)
    assert ahead.horizon == 2
    wide = recipe("trimtuner", beta=0.25).filter
    assert isinstance(wide, ConstrainedAccuracyFilter)
    assert wide.share == 0.25
    assert recipe("cherrypick", stop=True).stops
    assert isinstance(recipe("cherrypick", models="trees").models, TreesFitter)
    assert recipe("random", fractions="all").tests is Shares.ALL


@pytest.mark.parametrize("name", FILTERS)
def test_filters_have_names(name: str) -> None:
    assert callable(named_filter(name, 0.5).search)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("trimtunr", {}, "Did you mean 'trimtuner'"),
        ("grid", {}, "There are lean, trimtuner"),
        ("nephele", {"horizn": 1}, "Its options: horizon"),
        ("trimtuner", {"candidates": "sobol"}, "Choose one of cea"),
        ("trimtuner", {"beta": 0.0}, "above 0"),
        ("cherrypick", {"models": "forest"}, "'gp' or 'trees'"),
        ("random", {"fractions": "half"}, "'full' or 'all'"),
    ],
)
def test_wrong_names_and_options(name: str, options: dict[str, object], message: str) -> None:
    for make in (recipe, named_tuner):
        with pytest.raises(StrategyError, match=message):
            make(name, **options)


def test_tuners_have_names() -> None:
    assert set(STRATEGIES) == {*RECIPES, "spottune"}
    assert named_tuner("eic", points=7) == Strategy(recipe("eic", points=7))
    assert named_tuner("spottune", theta=0.5, mcnt=2, plateau=False) == SpotTune(0.5, 2, plateau=False)
    assert named_tuner("spottune") == SpotTune(0.7, 3, plateau=True)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("spotune", {}, "Did you mean 'spottune'"),
        ("spottune", {"drops": {}}, "Its options: theta, mcnt, plateau"),
        ("spottune", {"theta": 2.0}, "above 0 and at most 1"),
        ("spottune", {"mcnt": 0}, "at least 1"),
    ],
)
def test_wrong_tuners(name: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(StrategyError, match=message):
        named_tuner(name, **options)


def test_spottune_is_no_recipe() -> None:
    with pytest.raises(StrategyError, match="there is no strategy 'spottune'"):
        recipe("spottune")
