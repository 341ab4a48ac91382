"""Filters that pick the pairs first and evaluate them all at once: CEA, random, none, feasible and affordable."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leantune.acquisition.base import largest
from leantune.arrays import IntArray
from leantune.filters.base import Search, SearchResult
from leantune.history import Note, NoteKind
from leantune.models.base import Gaussian
from leantune.problem import At


def _evaluated(search: Search, flat: IntArray, notes: tuple[Note, ...]) -> SearchResult:
    pairs = search.pairs(flat)
    return SearchResult(pairs, search.evaluate(pairs), notes)


@dataclass(frozen=True)
class ConstrainedAccuracyFilter:
    """The share beta of the untested pairs with the largest CEA (TrimTuner Eq. 6)."""

    share: float = 0.1

    def search(self, search: Search) -> SearchResult:
        count, notes = search.count(self.share)
        return _evaluated(search, largest(search.constrained_accuracy(), count), notes)


@dataclass(frozen=True)
class RandomFilter:
    """A random share of the untested pairs."""

    share: float = 0.1

    def search(self, search: Search) -> SearchResult:
        count, notes = search.count(self.share)
        return _evaluated(search, np.sort(search.rng.choice(search.flat, size=count, replace=False)), notes)


@dataclass(frozen=True)
class NoFilter:
    """Every untested pair; above the cap, those with the largest CEA."""

    def search(self, search: Search) -> SearchResult:
        count, notes = search.count(1.0)
        flat = largest(search.constrained_accuracy(), count) if notes else search.flat
        return _evaluated(search, flat, notes)


@dataclass(frozen=True)
class PromisingConfigurations:
    """Every untested pair; above the cap, all levels of the configurations that promise most at full data.

    Promise: CEA with the objective one deviation better than expected, which keeps the unknown in. The largest CEA of
    pairs, as in `NoFilter`, would leave only the largest fractions; that is right where a pair itself is sought.
    """

    def search(self, search: Search) -> SearchResult:
        count, notes = search.count(1.0)
        if not notes or search.belief.answers_at is At.ANYWHERE:
            return NoFilter().search(search)
        belief, everything = search.belief, search.belief.everything
        beliefs = belief.at_full(everything)
        hoped = Gaussian(beliefs[0].mean + beliefs[0].sd, np.zeros_like(beliefs[0].sd))
        promise = belief.merit(hoped) * belief.feasibility(beliefs, everything)
        promise[~search.untested.any(axis=1)] = -1.0
        chosen = np.zeros_like(search.untested)
        chosen[largest(promise, max(1, count // search.untested.shape[1]))] = True
        flat = np.flatnonzero(chosen & search.untested)
        words = f"the acquisition was computed for {len(flat)} of {len(search.flat)} untested pairs"
        return _evaluated(search, flat, (Note(NoteKind.CAP, words),))


@dataclass(frozen=True)
class FeasibleAffordable:
    """Nephele Alg. 3, line 2: predicted to meet the limits and to be affordable; none: one at random among the
    affordable.
    """

    def search(self, search: Search) -> SearchResult:
        from leantune.acquisition.lookahead import feasible_and_affordable

        flat = search.flat
        pairs = search.pairs(flat)
        promising = flat[feasible_and_affordable(search.belief, pairs, search.conditions)]
        if len(promising) == 0:
            return self._at_random(search, flat)
        if len(promising) <= search.cap:
            return _evaluated(search, promising, ())
        among = np.full(search.untested.size, -1.0)
        among[promising] = search.constrained_accuracy()[promising]
        words = f"the acquisition was computed for {search.cap} of {len(promising)} feasible and affordable pairs"
        return _evaluated(search, largest(among, search.cap), (Note(NoteKind.CAP, words),))

    def _at_random(self, search: Search, flat: IntArray) -> SearchResult:
        pairs = search.pairs(flat)
        dollars = search.conditions.cost.dollars(search.belief.at(pairs), pairs.configuration)
        affordable = flat[dollars <= search.conditions.dollars_left]
        words = "no pair is predicted feasible and affordable; one at random among the affordable"
        if len(affordable) == 0:
            affordable = flat[dollars == dollars.min()]
            words = "no pair is predicted affordable; the cheapest"
        chosen = search.pairs(search.rng.choice(affordable, size=1))
        return SearchResult(chosen, np.zeros(1), (Note(NoteKind.FALLBACK, words),))
