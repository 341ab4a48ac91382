"""`lean` with one of its parts taken out or put back as in the papers, for the ablations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from leantune.models.gp import GpFitter
from leantune.strategies.designs import BudgetedStart, Snapshots
from leantune.strategies.recipe import Recipe
from leantune.strategies.registry import lean

PARTS: dict[str, Callable[[Recipe], Recipe]] = {
    "saturation": lambda whole: replace(whole, models=GpFitter()),
    "natural scales": lambda whole: replace(whole, natural_scales=False),
    "worth": lambda whole: replace(whole, decides="acquisition"),
    "small start": lambda whole: replace(whole, start=Snapshots()),
    "few starts": lambda whole: replace(whole, start=BudgetedStart(8)),
}


def lean_without(part: str) -> Recipe:
    """`lean` without curves that level off (Fabolas' kernel), natural scales (errors instead of logits), the rule of
    worth (constrained improvement at any share instead), the small start (TrimTuner's), or with eight starting tests
    rather than few.
    """
    return PARTS[part](lean())
