"""`lean` with one of its parts taken out or put back as in the papers, for the ablations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from leantune.acquisition.base import PerDollar
from leantune.acquisition.entropy import InformationGain
from leantune.acquisition.value import ValueGain
from leantune.models.gp import GpFitter
from leantune.models.priors import ScalingLaws
from leantune.strategies.designs import SmallTests, Snapshots
from leantune.strategies.recipe import Incumbent, Recipe
from leantune.strategies.registry import lean


def _models(recipe: Recipe, laws: ScalingLaws | None) -> Recipe:
    assert isinstance(recipe.models, GpFitter)
    return replace(recipe, models=replace(recipe.models, laws=laws))


PARTS: dict[str, Callable[[Recipe], Recipe]] = {
    "laws": lambda whole: _models(whole, None),
    "roughness": lambda whole: _models(whole, ScalingLaws(roughness=0.0)),
    "risk": lambda whole: replace(whole, incumbent=Incumbent()),
    "value": lambda whole: replace(whole, acquisition=PerDollar(InformationGain(), usual=0.3, cools=True)),
    "dollars": lambda whole: replace(whole, acquisition=ValueGain()),
    "small start": lambda whole: replace(whole, start=Snapshots()),
    "few starts": lambda whole: replace(whole, start=SmallTests(8)),
}


def lean_without(part: str) -> Recipe:
    """`lean` without scaling laws (Fabolas' kernel, and so without roughness), roughness, risk (TrimTuner's 90 % rule),
    value (information about the best objective instead), dollars (value of a test, whatever it costs), the small start
    (TrimTuner's), or with eight starting tests rather than few.
    """
    return PARTS[part](lean())
