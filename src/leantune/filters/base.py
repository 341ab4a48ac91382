"""Filters decide which untested pairs get the full acquisition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import Protocol

import numpy as np

from leantune.acquisition.base import Belief, Conditions, Pairs
from leantune.arrays import BoolArray, FloatArray, IntArray
from leantune.history import Note, NoteKind
from leantune.models.base import Gaussian


@dataclass(frozen=True)
class SearchResult:
    """The evaluated pairs, their acquisition values, and notes about the search."""

    pairs: Pairs
    values: FloatArray
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True)
class Search:
    """The input of a filter: belief and conditions, the pairs it may choose from ([N, k] mask), the acquisition, a cap
    and random numbers.

    `evaluate` counts: comparing filters fairly means the same number of evaluations.
    """

    belief: Belief
    conditions: Conditions
    untested: BoolArray
    evaluate: Callable[[Pairs], FloatArray]
    cap: int
    rng: np.random.Generator

    @property
    def flat(self) -> IntArray:
        """Flat indices of the untested pairs, configuration-major."""
        return np.flatnonzero(self.untested)

    def pairs(self, flat: IntArray) -> Pairs:
        configuration, level = np.divmod(flat, self.untested.shape[1])
        return Pairs(configuration, level)

    def count(self, share: float) -> tuple[int, tuple[Note, ...]]:
        """The number of pairs in a share of the untested pairs, and a note where the cap makes it smaller."""
        total = int(self.untested.sum())
        wanted = max(1, ceil(share * total - 1e-9))  # 0.1 * 70 is a little above 7
        if wanted <= self.cap:
            return wanted, ()
        words = f"the acquisition was computed for {self.cap} of the {wanted} pairs the filter would take"
        return self.cap, (Note(NoteKind.CAP, words),)

    def constrained_accuracy(self) -> FloatArray:
        """CEA of every pair of the grid, flat; -1 where tested."""
        beliefs = self.belief.grid
        configuration = np.arange(self.untested.shape[0])
        transposed = tuple(Gaussian(g.mean.T, g.sd.T) for g in beliefs)  # limits index the last axis
        score = self.belief.merit(transposed[0]) * self.belief.feasibility(transposed, configuration)
        return np.where(self.untested, score.T, -1.0).ravel()


class Filter(Protocol):
    """A way to look for the pair of largest acquisition without computing it everywhere."""

    def search(self, search: Search) -> SearchResult: ...
