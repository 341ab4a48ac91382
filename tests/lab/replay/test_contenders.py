"""Strategies by their text: names, options, filters, tuners of one's own, the common rule, and what is wrong."""

import sys
from pathlib import Path

import pytest

from leantune.errors import StrategyError
from leantune.filters.ranked import ConstrainedAccuracyFilter, FeasibleAffordable, NoFilter, RandomFilter
from leantune.filters.sequential import CmaesFilter, DirectFilter
from leantune.lab.replay.contenders import Contender, contender, parse_filter, source_files, split_specs
from leantune.models.gp import GpFitter
from leantune.strategies.lean import Lean
from leantune.strategies.recipe import Incumbent, Recipe
from leantune.strategies.registry import RECIPES, recipe
from leantune.strategies.strategy import Strategy

OWN = """\
from leantune.strategies.registry import recipe
from leantune.strategies.strategy import Strategy

class Mine:
    def __init__(self, beta): self.beta = beta
    def check(self, problem): pass
    def ask(self, view): raise NotImplementedError
    def judge(self, view, only=None): return {}
    def recommend(self, view): raise NotImplementedError
    def stop_reason(self, view): return None

def tuner(beta=0.5): return Mine(beta)
def cook(points=4): return recipe("eic", points=points)
def nothing(): return None
broken = 3
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "own_tuners.py").write_text(OWN, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "own_tuners", raising=False)
    return "own_tuners"


def recipe_of(spec: str, filter_spec: str = "") -> Recipe:
    tuner = contender(spec, filter_spec).tuner
    assert isinstance(tuner, Strategy | Lean)
    return tuner.recipe


def common_of(spec: str) -> Recipe:
    tuner = contender(spec).common
    assert isinstance(tuner, Strategy)
    return tuner.recipe


@pytest.mark.parametrize(
    ("text", "specs"),
    [
        ("eic", ["eic"]),
        (" trimtuner , eic ", ["trimtuner", "eic"]),
        ("nephele(horizon=1, trees=10),eic", ["nephele(horizon=1, trees=10)", "eic"]),
        ("eic,own.module:make(a=(1, 2), b=[3, 4])", ["eic", "own.module:make(a=(1, 2), b=[3, 4])"]),
    ],
)
def test_commas_in_parentheses_belong_to_a_strategy(text: str, specs: list[str]) -> None:
    assert split_specs(text) == specs


@pytest.mark.parametrize("text", ["", "eic,", ",eic", "eic,,ei"])
def test_an_empty_name_is_refused(text: str) -> None:
    with pytest.raises(StrategyError, match="an empty name"):
        split_specs(text)


@pytest.mark.parametrize("name", RECIPES)
def test_every_named_strategy_is_one(name: str) -> None:
    assert recipe_of(name) == recipe(name)


def test_options_are_those_of_the_recipe() -> None:
    assert recipe_of("nephele(horizon=1, trees=10)") == recipe("nephele", horizon=1, trees=10)
    assert recipe_of("fabolas(overhead=1)") == recipe("fabolas", overhead=1), "a whole number is a number"
    assert recipe_of("fabulinus(refit=False)") == recipe("fabulinus", refit=False)
    assert recipe_of("lynceus(initial_usd=None)") == recipe("lynceus")
    assert recipe_of(" eic ( points = 2 ) ") == recipe("eic", points=2)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("eicc", "there is no strategy 'eicc'.*Did you mean 'eic'"),
        ("eic(", "does not read as a strategy"),
        ("eic!", "does not read as a strategy"),
        ("eic(3)", "does not read as options"),
        ("eic(points=)", "does not read as options"),
        ("eic(points=open('x'))", "does not read as options"),
        ("eic(**{'points': 1})", "does not read as options"),
        ("eic(points=1, points=2)", "does not read as options"),
        ("eic(pints=1)", "eic has no option 'pints'"),
        ("eic(flag=True)", "eic has no option 'flag'"),
        ("eic(points='four')", "points is 'four'.*Its type is int"),
        ("eic(points=True)", "points is True.*Its type is int"),
        ("eic(points=1.5)", "points is 1.5.*Its type is int"),
        ("fabulinus(refit=1)", "refit is 1.*Its type is bool"),
        ("nephele(initial_usd='x')", "initial_usd is 'x'.*Its type is float | None"),
        ("trimtuner(beta=2)", "beta is 2"),
        ("no_such_module:make", "No module named 'no_such_module'"),
        (":make", "'' is not the name of a module"),
        (".relative:make", "is not the name of a module"),
    ],
)
def test_what_is_wrong_is_said(spec: str, message: str) -> None:
    with pytest.raises(StrategyError, match=message):
        contender(spec)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("cea", ConstrainedAccuracyFilter(0.1)),
        ("cea:0.2", ConstrainedAccuracyFilter(0.2)),
        ("random:0.3", RandomFilter(0.3)),
        ("direct", DirectFilter(0.1)),
        ("cmaes:1", CmaesFilter(1.0)),
        ("none", NoFilter()),
    ],
)
def test_filters_by_name_and_share(text: str, found: object) -> None:
    assert parse_filter(text) == found
    assert recipe_of("trimtuner-gp", text).filter == found


@pytest.mark.parametrize(
    ("text", "message"), [("cea:some", "'some' is not a share"), ("ceea", "no filter 'ceea'"), ("cea:0", "beta is 0")]
)
def test_a_wrong_filter_is_refused_even_where_none_is_used(text: str, message: str) -> None:
    for strategy in ("trimtuner", "random"):
        with pytest.raises(StrategyError, match=message):
            contender(strategy, text)


def test_without_a_filter_the_recipe_keeps_its_own() -> None:
    assert recipe_of("nephele").filter == FeasibleAffordable()


def test_the_common_rule() -> None:
    for spec in ("trimtuner-gp", "eic", "nephele"):
        made = contender(spec)
        assert made.common is made.tuner, "its own rule is the common one"
    for spec in ("fabolas", "ei", "fabulinus"):
        assert recipe_of(spec).incumbent != Incumbent()
        assert common_of(spec) == recipe(spec).with_common_incumbent()
    assert recipe_of("random").models is None
    assert common_of("random").models == GpFitter()


def test_a_tuner_of_ones_own(own: str) -> None:
    made = contender(f"{own}:tuner(beta=0.25)")
    assert made == Contender(made.tuner, made.tuner)
    assert made.tuner.beta == 0.25  # type: ignore[attr-defined]
    assert [path.name for path in source_files(f"{own}:tuner")] == ["own_tuners.py"]
    assert source_files("eic") == []
    with pytest.raises(StrategyError, match="only recipes of LeanTune have a filter"):
        contender(f"{own}:tuner", "cea")


def test_a_recipe_of_ones_own(own: str) -> None:
    assert recipe_of(f"{own}:cook(points=2)", "random:0.5").filter == RandomFilter(0.5)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("absent", "no such function"),
        ("broken", "no such function"),
        ("nothing", "returned NoneType, not a tuner"),
        ("tuner(gamma=1)", "unexpected keyword argument 'gamma'"),
    ],
)
def test_what_is_wrong_with_ones_own_is_said(own: str, function: str, message: str) -> None:
    with pytest.raises(StrategyError, match=message):
        contender(f"{own}:{function}")


def test_commas_inside_nested_parentheses_belong_to_one_strategy() -> None:
    assert split_specs("m:f(a=1, b=(1, 2)),eic") == ["m:f(a=1, b=(1, 2))", "eic"]


def test_a_filter_for_what_has_nothing_to_filter_is_refused() -> None:
    with pytest.raises(StrategyError, match="random has no acquisition"):
        contender("random", "cea:0.1")


def test_a_module_that_cannot_be_loaded_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_tuner.py").write_text("def make(:\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(StrategyError, match="cannot be loaded: SyntaxError"):
        contender("broken_tuner:make")
