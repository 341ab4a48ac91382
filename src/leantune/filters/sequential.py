"""Filters that search: DIRECT and CMA-ES over the unit cube, each proposal snapped to the nearest untested pair.

They get as many acquisition evaluations as CEA with the same share would make (TrimTuner section IV compares them so).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import ModuleType

import numpy as np
from scipy.optimize import Bounds, direct
from scipy.spatial import cKDTree

from leantune.arrays import FloatArray, IntArray
from leantune.errors import needed
from leantune.filters.base import Search, SearchResult
from leantune.filters.ranked import NoFilter
from leantune.history import Note

# Proposals that snap to a computed pair cost nothing, but a search that only repeats itself must end.
ASKS_PER_EVALUATION = 5


@dataclass
class _Snapped:
    """The acquisition over the cube [x, s~], each point replaced by its nearest untested pair; every pair is computed
    once.
    """

    search: Search
    budget: int
    computed: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.flat = self.search.flat
        points = self.search.belief.candidates.points(self.search.pairs(self.flat))
        self.cube = np.column_stack([points.x, points.s])
        self.tree = cKDTree(self.cube)

    @property
    def spent(self) -> bool:
        return len(self.computed) >= self.budget

    def values(self, proposals: FloatArray) -> FloatArray:
        """Values of the nearest pairs; new ones beyond the budget are worth nothing."""
        nearest: IntArray = np.asarray(self.tree.query(np.atleast_2d(proposals))[1])
        new = [row for row in dict.fromkeys(nearest.tolist()) if row not in self.computed]
        new = new[: self.budget - len(self.computed)]
        if new:
            values = self.search.evaluate(self.search.pairs(self.flat[np.array(new)]))
            self.computed.update(zip(new, values.tolist(), strict=True))
        return np.array([self.computed.get(row, 0.0) for row in nearest.tolist()])

    def searched(self, notes: tuple[Note, ...]) -> SearchResult:
        rows = np.array(sorted(self.computed), dtype=np.int64)
        return SearchResult(
            self.search.pairs(self.flat[rows]), np.array([self.computed[row] for row in rows.tolist()]), notes
        )


@dataclass(frozen=True)
class DirectFilter:
    """DIviding RECTangles (`scipy.optimize.direct`, locally biased)."""

    share: float = 0.1

    def search(self, search: Search) -> SearchResult:
        count, notes = search.count(self.share)
        snapped = _Snapped(search, count)

        def negative(point: FloatArray) -> float:
            return -float(snapped.values(point)[0])

        dimensions = snapped.cube.shape[1]
        bounds = Bounds(np.zeros(dimensions), np.ones(dimensions))
        limit = ASKS_PER_EVALUATION * count
        direct(negative, bounds, maxfun=limit, maxiter=limit, vol_tol=0.0)
        return snapped.searched(notes)


def _cmaes() -> ModuleType:
    return needed("cmaes", "the CMA-ES filter needs the library cmaes", where="filter", extra="papers")


@dataclass(frozen=True)
class CmaesFilter:
    """CMA-ES (the `cmaes` package, of the extra `papers`) from the middle of the cube."""

    share: float = 0.1
    step: float = 0.3

    def __post_init__(self) -> None:
        _cmaes()

    def search(self, search: Search) -> SearchResult:
        count, notes = search.count(self.share)
        snapped = _Snapped(search, count)
        dimensions = snapped.cube.shape[1]
        if dimensions < 2:  # CMA-ES has no one-dimensional form, and such a space is small
            return NoFilter().search(search)

        bounds = np.tile([0.0, 1.0], (dimensions, 1))
        seed = int(search.rng.integers(2**31))
        optimiser = _cmaes().CMA(mean=np.full(dimensions, 0.5), sigma=self.step, bounds=bounds, seed=seed)
        for _ in range(ASKS_PER_EVALUATION * count // optimiser.population_size + 1):
            if snapped.spent or optimiser.should_stop():
                break
            asked = [optimiser.ask() for _ in range(optimiser.population_size)]
            values = snapped.values(np.array(asked))
            optimiser.tell([(point, -value) for point, value in zip(asked, values.tolist(), strict=True)])
        return snapped.searched(notes)
