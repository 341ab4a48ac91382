"""The named strategies (ALGORITHMS.md, "Strategies"): each a recipe of one screen, but for SpotTune.

A new one is a function here that returns a Recipe, with its options as arguments, and a line in RECIPES. One that is
not made of a recipe's parts is a Tuner of its own, with a line in STRATEGIES. Parts that few strategies have are
imported by the function itself, so that a study loads its own strategy alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from inspect import signature
from typing import TypeVar

from leantune.acquisition.base import Feasibility, PerDollar, Times
from leantune.acquisition.improvement import Improvement
from leantune.errors import StrategyError, did_you_mean
from leantune.filters.base import Filter
from leantune.filters.ranked import (
    ConstrainedAccuracyFilter,
    FeasibleAffordable,
    NoFilter,
    PromisingConfigurations,
    RandomFilter,
)
from leantune.models.base import Fitter
from leantune.problem import COST, TIME, At, Problem
from leantune.strategies.designs import BudgetedStart, LatinHypercube, UntilSpent
from leantune.strategies.recipe import Incumbent, Recipe, Shares, Spend
from leantune.strategies.stops import SmallImprovement
from leantune.strategies.strategy import Strategy
from leantune.strategies.tuner import Tuner

FULL_DATA = frozenset({At.FULL})
THRIFT = 0.0  # of `lean` (docs/lean.md has the trade)


def _direct(share: float) -> Filter:
    from leantune.filters.sequential import DirectFilter

    return DirectFilter(share)


def _cmaes(share: float) -> Filter:
    from leantune.filters.sequential import CmaesFilter

    return CmaesFilter(share)


FILTERS: dict[str, Callable[[float], Filter]] = {
    "cea": ConstrainedAccuracyFilter,
    "random": RandomFilter,
    "direct": _direct,
    "cmaes": _cmaes,
    "none": lambda _share: NoFilter(),
}


def lean(points: int = 3, members: int = 16, curves: bool = False, thrift: float = THRIFT) -> Recipe:
    """LeanTune's own: the best that the budget can find, tested before it is recommended (strategies.lean).

    points: of the start. members: hyper-parameter samples of each model. curves: stop runs that will not pay, by their
    learning curves. thrift: where only trials are limited, what the dollars of a usual test count for beside the trial
    that it takes; 0 is the best result at any cost. Why so, and what else was tried: docs/lean.md.
    """
    from leantune.models.saturation import SaturatingFitter

    if not 0.0 <= thrift < math.inf:
        raise StrategyError(f"thrift is {thrift}", where="lean", hint="Give a number of at least 0, such as 0.3")
    return Recipe(
        name="lean",
        start=BudgetedStart(points),
        models=SaturatingFitter(samples=members),
        acquisition=Times((Improvement(), Feasibility())),
        filter=PromisingConfigurations(),
        snapshots=True,
        natural_scales=True,
        decides="worth",
        curves=curves,
        thrift=thrift,
    )


def trimtuner(
    trees: int = 50,
    candidates: str = "cea",
    beta: float = 0.1,
    incumbent_roots: int = 1,
    points: int = 1,
    differenced: bool = True,
    spend: Spend = "dollars",
) -> Recipe:
    """TrimTuner with an ensemble of trees.

    The gain conditions the Gaussian of 300 trees: with few observations, regrowing 10 to 50 trees for every simulated
    test ranks tests hardly better than chance (benchmarks/tree_gain.py). The incumbents after a test are regrown.
    Dollars are modelled as they are: where work is shared well among nodes, dollars hardly depend on their number, and
    seconds do, which trees have to learn step by step. differenced: as in `trimtuner_gp`.
    """
    from leantune.acquisition.entropy import InformationGain
    from leantune.acquisition.incumbents import alpha_t
    from leantune.models.trees import TreesFitter

    return Recipe(
        name="trimtuner",
        start=LatinHypercube(points, at="partial"),
        models=TreesFitter(trees=trees, floor=0.3, gain="conditioned"),
        acquisition=alpha_t(InformationGain(samples=1000, differenced=differenced), incumbent_roots),
        filter=named_filter(candidates, beta),
        serves=FULL_DATA,
        spend=spend,
    )


def trimtuner_gp(
    candidates: str = "cea",
    beta: float = 0.1,
    incumbent_roots: int = 1,
    points: int = 1,
    differenced: bool = False,
    spend: Spend = "seconds",
) -> Recipe:
    """TrimTuner with Gaussian processes.

    differenced: subtract from the expected information after a test what is known before it, as entropy search has it,
    rather than take Eq. 5 as printed. As printed, alpha_T nearly ranks the pairs that the filter leaves by their price.
    Five seeds cannot tell the two apart (`make papers`, sensitivity).
    """
    from leantune.acquisition.entropy import InformationGain
    from leantune.acquisition.incumbents import alpha_t
    from leantune.models.gp import GpFitter

    return Recipe(
        name="trimtuner-gp",
        start=LatinHypercube(points, at="partial"),
        models=GpFitter(),
        acquisition=alpha_t(InformationGain(differenced=differenced), incumbent_roots),
        filter=named_filter(candidates, beta),
        serves=FULL_DATA,
        spend=spend,
    )


def fabulinus(refit: bool = True, overhead: float = 0.0) -> Recipe:
    """Fabulinus: constrained entropy search on parts of the data; refit=False: the ablation its author proposes."""
    from leantune.acquisition.entropy import InformationGain
    from leantune.acquisition.incumbents import constrained_entropy_search
    from leantune.models.gp import GpFitter

    return Recipe(
        name="fabulinus",
        start=LatinHypercube(points=9, share=0.03, at="partial"),
        models=GpFitter(),
        acquisition=constrained_entropy_search(InformationGain(), refit=refit, overhead=overhead),
        tests=Shares.PARTIAL,
        serves=FULL_DATA,
        incumbent=Incumbent(probability=0.99),
    )


def fabolas(overhead: float = 0.0, points: int = 1) -> Recipe:
    """Fabolas: information per dollar; knows no limits."""
    from leantune.acquisition.entropy import InformationGain
    from leantune.models.gp import GpFitter

    return Recipe(
        name="fabolas",
        start=LatinHypercube(points, at="partial"),
        models=GpFitter(),
        acquisition=PerDollar(InformationGain(), overhead),
        serves=FULL_DATA,
        incumbent=Incumbent(constrained=False),
    )


def nephele(horizon: int = 0, trees: int = 20, initial_usd: float | None = None) -> Recipe:
    """Nephele: look-ahead EIc per dollar over all fractions."""
    from leantune.acquisition.lookahead import LookAhead
    from leantune.models.trees import TreesFitter

    return Recipe(
        name="nephele",
        start=UntilSpent(dollars=initial_usd),
        models=TreesFitter(trees=trees),
        acquisition=LookAhead(horizon),
        filter=FeasibleAffordable(),
        serves=frozenset({At.ANYWHERE}),
    )


def lynceus(horizon: int = 0, trees: int = 20, initial_usd: float | None = None) -> Recipe:
    """Lynceus: the same at full data."""
    return replace(
        nephele(horizon, trees),
        name="lynceus",
        start=UntilSpent(dollars=initial_usd, at="full"),
        tests=Shares.FULL,
        serves=frozenset(At),
    )


def cherrypick(models: str = "gp", initial_usd: float | None = None, stop: bool = False) -> Recipe:
    """CherryPick: constrained EI at full data; models "gp", or "trees" as in the thesis; stop: its own stop rule."""
    fitter: Fitter
    if models == "gp":
        from leantune.models.gp import GpFitter

        fitter = GpFitter()
    elif models == "trees":
        from leantune.models.trees import TreesFitter

        fitter = TreesFitter(trees=20)
    else:
        raise StrategyError(f"models is {models!r}", where="cherrypick", hint="Give 'gp' or 'trees'")
    return Recipe(
        name="cherrypick",
        start=UntilSpent(dollars=initial_usd, at="full"),
        models=fitter,
        acquisition=Times((Improvement(), Feasibility())),
        tests=Shares.FULL,
        stops=(SmallImprovement(),) if stop else (),
    )


def eic(points: int = 4) -> Recipe:
    """Expected improvement times feasibility at full data."""
    from leantune.models.gp import GpFitter

    return Recipe(
        name="eic",
        start=LatinHypercube(points),
        models=GpFitter(),
        acquisition=Times((Improvement(), Feasibility())),
        tests=Shares.FULL,
    )


def eic_usd(points: int = 4) -> Recipe:
    """The same per dollar."""
    plain = eic(points)
    assert plain.acquisition is not None
    return replace(plain, name="eic-usd", acquisition=PerDollar(plain.acquisition))


def ei(points: int = 4) -> Recipe:
    """Expected improvement at full data; knows no limits."""
    return replace(
        eic(points), name="ei", acquisition=Improvement(feasible_only=False), incumbent=Incumbent(constrained=False)
    )


def random(fractions: str = "full", points: int = 4) -> Recipe:
    """Random search at full data, or (fractions="all") at any fraction."""
    if fractions not in ("full", "all"):
        raise StrategyError(f"fractions is {fractions!r}", where="random", hint="Give 'full' or 'all'")
    return Recipe(
        name="random",
        start=LatinHypercube(points),
        models=None,
        acquisition=None,
        tests=Shares.FULL if fractions == "full" else Shares.ALL,
    )


RECIPES: dict[str, Callable[..., Recipe]] = {
    "lean": lean,
    "trimtuner": trimtuner,
    "trimtuner-gp": trimtuner_gp,
    "fabulinus": fabulinus,
    "fabolas": fabolas,
    "nephele": nephele,
    "lynceus": lynceus,
    "cherrypick": cherrypick,
    "eic": eic,
    "eic-usd": eic_usd,
    "ei": ei,
    "random": random,
}


def spottune(theta: float = 0.7, mcnt: int = 3, plateau: bool = True) -> Tuner:
    """SpotTune: every setting up to theta of its steps, the best mcnt to the end; plateau: stop those that are flat."""
    from leantune.strategies.spottune import SpotTune

    return SpotTune(theta, mcnt, plateau)


STRATEGIES: dict[str, Callable[..., Recipe | Tuner]] = {**RECIPES, "spottune": spottune}


FREE_MACHINE = ("spottune", "random", "lean")  # strategies that do not need the machine


def default_strategy(problem: Problem, *, free_machine: bool = False) -> str:
    """The default strategy: eic is as good as lean on one fraction, but learns dollars by machine."""
    return "eic" if len(problem.fractions) == 1 and not free_machine else "lean"


def check_free_machine(name: str, problem: Problem) -> None:
    """Refuse strategies and goals that need a fixed machine where the machine is free."""
    hint = "Leave machine: free out, or "
    if name not in FREE_MACHINE:
        what = f"{name} learns dollars and seconds by the machine in the configuration, and the machine is free"
        raise StrategyError(what, where="strategy", hint=f"{hint}choose {', '.join(FREE_MACHINE)}")
    if problem.goal.metric in (COST, TIME):
        what = f"{problem.goal.metric} depends on which machine was available, and the machine is free"
        raise StrategyError(what, where="goal", hint=f"{hint}give a goal that the program reports")
    if name == "lean" and any(limit.metric == TIME for limit in problem.constraints):
        what = "the machine is free, so that lean cannot foresee seconds: they depend on which one is available"
        raise StrategyError(what, where="subject_to", hint=f"{hint}choose spottune or random, which measure them")


def repeats_runs(tuner: Tuner, problem: Problem) -> bool:
    """Whether the strategy may run one configuration several times, to see through the scatter of runs."""
    from leantune.strategies.lean import Lean

    return isinstance(tuner, Lean) and problem.goal.at is At.FULL


def check_repeats(tuner: Tuner, problem: Problem) -> None:
    """Refuse `repeats` that the strategy would not make."""
    if problem.repeats > 1 and not repeats_runs(tuner, problem):
        what = "only lean runs a configuration again, and only for a goal on all data"
        raise StrategyError(what, where="repeats", hint="Leave repeats out, or choose lean")


def named_filter(name: str, share: float) -> Filter:
    """A filter by its name."""
    if name not in FILTERS:
        raise StrategyError(f"there is no filter {name!r}", where="filter", hint=f"Choose one of {', '.join(FILTERS)}")
    if not 0.0 < share <= 1.0:
        raise StrategyError(
            f"beta is {share!r}", where="filter", hint="Give a share above 0 and at most 1, such as 0.1"
        )
    return FILTERS[name](share)


def recipe(name: str, **options: object) -> Recipe:
    """The recipe of that name, with its options, such as horizon=1 for "nephele"."""
    return _maker(RECIPES, name, options)(**options)


def named_tuner(name: str, **options: object) -> Tuner:
    """The strategy of that name at work, with its options, such as theta=0.5 for "spottune"."""
    made = _maker(STRATEGIES, name, options)(**options)
    return at_work(made) if isinstance(made, Recipe) else made


def at_work(recipe: Recipe) -> Tuner:
    """The tuner that carries a recipe out."""
    if recipe.decides == "worth":
        from leantune.strategies.lean import Lean

        return Lean(recipe)
    return Strategy(recipe)


_Made = TypeVar("_Made")


def _maker(
    makers: Mapping[str, Callable[..., _Made]], name: str, options: Mapping[str, object]
) -> Callable[..., _Made]:
    """The function of that name, after a check that it takes these options."""
    if name not in makers:
        hint = f"{did_you_mean(str(name), makers)}There are {', '.join(makers)}"
        raise StrategyError(f"there is no strategy {name!r}", where="strategy", hint=hint)
    accepted = signature(makers[name]).parameters
    unknown = [option for option in options if option not in accepted]
    if unknown:
        takes = ", ".join(accepted) or "none"
        raise StrategyError(f"{name} has no option {unknown[0]!r}", where="strategy", hint=f"Its options: {takes}")
    return makers[name]
