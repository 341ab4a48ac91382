"""Strategies that tests of `lean` must refuse: as replays name them, "tests.strategies.controls:without_plateau"."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from leantune.history import History
from leantune.models.gp import GpFitter
from leantune.strategies.recipe import Recipe
from leantune.strategies.registry import recipe


def without_plateau() -> Recipe:
    """`lean` with Fabolas' kernel: what it sees on little data goes on for ever."""
    return replace(recipe("lean"), models=GpFitter())


@dataclass(frozen=True)
class AfterTests:
    """Stops after so many tests, whatever the budget still allows."""

    tests: int

    def reason(self, history: History, improvement: Callable[[], float | None]) -> str | None:
        return f"{self.tests} tests are made" if len(history.finished) >= self.tests else None


def without_ambition(tests: int = 5) -> Recipe:
    """`lean` that does not use its budget."""
    return replace(recipe("lean"), stops=(AfterTests(tests),))
