"""`lean` with fewer hyper-parameter samples: the same steps and the same laws, sooner done."""

from dataclasses import replace

from leantune.models.saturation import SaturatingFitter
from leantune.strategies.recipe import Recipe
from leantune.strategies.registry import recipe
from tests.toy import NoStart


def quick_lean(**options: object) -> Recipe:
    full = recipe("lean", **options)
    assert isinstance(full.models, SaturatingFitter)
    return replace(full, models=replace(full.models, samples=4, burn_in=10, thinning=1))


def modelled_lean(**options: object) -> Recipe:
    """It uses its models from the first proposal on."""
    return replace(quick_lean(**options), start=NoStart())
