"""Which configuration would be recommended, now or after a simulated test.

The rule (ALGORITHMS.md, "Start, incumbent, stop"): at full data the largest E[a] among those that meet every
requirement with its probability; none does: the largest CEA.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from leantune.acquisition.base import Belief, Pairs
from leantune.arrays import BoolArray, FloatArray, IntArray
from leantune.models.base import Gaussian, Roots


def choose(merit: FloatArray, feasibility: FloatArray, qualified: BoolArray) -> tuple[IntArray, BoolArray]:
    """Index of the incumbent along the last axis, and whether any qualified."""
    any_qualified: BoolArray = np.asarray(qualified.any(axis=-1))
    best = np.where(qualified, merit, -1.0).argmax(axis=-1)
    fallback = (merit * feasibility).argmax(axis=-1)
    return np.where(any_qualified, best, fallback), any_qualified


@dataclass(frozen=True)
class SimulatedIncumbents:
    """The incumbents after each of B tests under one combination of roots: their merit and feasibility [B], and its
    weight.
    """

    weight: float
    merit: FloatArray
    feasibility: FloatArray


def simulated_incumbents(belief: Belief, pairs: Pairs, roots: Roots) -> Iterator[SimulatedIncumbents]:
    """The four steps of TrimTuner III for every pair and every combination of roots of the quantities that decide.

    Quantities that no limit names and that are not the objective stay as they are.
    """
    involved = sorted({0, *(limit.quantity for limit in belief.limits)})
    points = belief.candidates.points(pairs)
    among = belief.incumbents_among
    at = belief.candidates.at_full(among)
    refitted = {q: belief.quantities[q].model.simulate(points, roots, at) for q in involved}
    now = belief.at_full(among)
    for combination in product(range(len(roots.z)), repeat=len(involved)):
        after: list[Gaussian] = list(now)
        for q, root in zip(involved, combination, strict=True):
            after[q] = Gaussian(refitted[q].mean[:, root], refitted[q].sd[:, root])
        weight = float(np.prod([roots.w[root] for root in combination]))
        yield _incumbents(belief, after, among, weight)


def _incumbents(belief: Belief, after: Sequence[Gaussian], among: IntArray, weight: float) -> SimulatedIncumbents:
    merit = belief.merit(after[0])
    feasibility = belief.feasibility(after, among)
    chosen, _ = choose(merit, feasibility, belief.qualifies(after, among))
    rows = np.arange(len(chosen))
    return SimulatedIncumbents(weight, merit[rows, chosen], feasibility[rows, chosen])


def present_incumbent(belief: Belief, among: IntArray) -> tuple[int, bool]:
    """Row of the configuration table to recommend now, and whether it meets the requirements."""
    beliefs = belief.at_full(among)
    merit, feasibility = belief.merit(beliefs[0]), belief.feasibility(beliefs, among)
    chosen, qualified = choose(merit, feasibility, belief.qualifies(beliefs, among))
    return int(among[int(chosen)]), bool(qualified)
