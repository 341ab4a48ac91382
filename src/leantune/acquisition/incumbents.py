"""The configuration to recommend, now or after a simulated test, and acquisitions that follow from it.

The rule (ALGORITHMS.md, "Start, incumbent, stop"): at full data the largest E[a] among those that meet every
requirement with its probability; none does: the largest CEA. With x* the incumbent after the test,

    TrimTuner Eq. 5        alpha_T(x, s) = gain(x, s) / C(x, s) * E[prod_i p(q_i(x*, 1) >= 0 | S + (x, s, q, a))]
    Fabulinus Eq. 9, 10    ESc(x, s) = gain(x, s) / (C(x, s) + overhead) * E[a(x*, 1)] * prod_i p(q_i(x*, 1) >= 0)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from leantune.acquisition.base import Belief, Conditions, Feasibility, Pairs, PerDollar, RecommendationRule, Times
from leantune.acquisition.entropy import InformationGain
from leantune.arrays import BoolArray, FloatArray, IntArray
from leantune.models.base import Gaussian, Roots


def choose(merit: FloatArray, feasibility: FloatArray, qualified: BoolArray) -> tuple[IntArray, BoolArray]:
    """Index of the incumbent along the last axis, and whether any qualified."""
    any_qualified: BoolArray = np.asarray(qualified.any(axis=-1))
    best = np.where(qualified, merit, -1.0).argmax(axis=-1)
    fallback = (merit * feasibility).argmax(axis=-1)
    return np.where(any_qualified, best, fallback), any_qualified


def present_incumbent(belief: Belief, rule: RecommendationRule, among: IntArray) -> tuple[int, bool]:
    """Row of the configuration table to recommend now, and whether it meets the requirements."""
    beliefs = belief.at_full(among)
    merit, feasibility = belief.merit(beliefs[0]), belief.feasibility(beliefs, among)
    chosen, qualified = choose(merit, feasibility, rule.qualifies(beliefs, among))
    return int(among[int(chosen)]), bool(qualified)


@dataclass(frozen=True)
class SimulatedIncumbents:
    """The incumbents after each of B tests under one combination of roots: their merit and feasibility [B], and its
    weight.
    """

    weight: float
    merit: FloatArray
    feasibility: FloatArray


def simulated_incumbents(
    belief: Belief, pairs: Pairs, conditions: Conditions, roots: Roots
) -> Iterator[SimulatedIncumbents]:
    """The four steps of TrimTuner III for every pair and every combination of roots of the quantities that decide.

    Quantities that no limit names and that are not the objective stay as they are.
    """
    involved = sorted({0, *(limit.quantity for limit in belief.limits)})
    points = belief.candidates.points(pairs)
    among = belief.incumbents_among(conditions.incumbents)
    at = belief.candidates.at_full(among)
    refitted = {q: belief.quantities[q].model.simulate(points, roots, at) for q in involved}
    now = belief.at_full(among)
    rows = np.arange(len(pairs))
    for combination in product(range(len(roots.z)), repeat=len(involved)):
        after: list[Gaussian] = list(now)
        for q, root in zip(involved, combination, strict=True):
            after[q] = Gaussian(refitted[q].mean[:, root], refitted[q].sd[:, root])
        merit, feasibility = belief.merit(after[0]), belief.feasibility(after, among)
        chosen, _ = choose(merit, feasibility, conditions.rule.qualifies(after, among))
        weight = float(np.prod([roots.w[root] for root in combination]))
        yield SimulatedIncumbents(weight, merit[rows, chosen], feasibility[rows, chosen])


@dataclass(frozen=True)
class IncumbentFeasibility:
    """E[prod_i p(q_i(x*, 1) >= 0)], x* the incumbent of the models refitted with the simulated outcome.

    One root: the outcome is the models' own prediction, as in the paper; more: the full tensor product of the
    quantities' roots.
    """

    roots: int = 1

    def values(self, belief: Belief, pairs: Pairs, conditions: Conditions) -> FloatArray:
        result = np.zeros(len(pairs))
        for after in simulated_incumbents(belief, pairs, conditions, Roots.of(self.roots)):
            result += after.weight * after.feasibility
        return result


@dataclass(frozen=True)
class IncumbentAccuracy:
    """E[a(x*, 1)] prod_i p(q_i(x*, 1) >= 0), likewise."""

    roots: int = 1

    def values(self, belief: Belief, pairs: Pairs, conditions: Conditions) -> FloatArray:
        result = np.zeros(len(pairs))
        for after in simulated_incumbents(belief, pairs, conditions, Roots.of(self.roots)):
            result += after.weight * after.merit * after.feasibility
        return result


@dataclass(frozen=True)
class FullDataFeasibility:
    """prod_i p(q_i(x, 1) >= 0) of the candidate's own configuration by the present models: the variant without
    simulated refit that the thesis proposes to test (section IX).
    """

    def values(self, belief: Belief, pairs: Pairs, conditions: Conditions) -> FloatArray:
        return Feasibility().values(belief, belief.candidates.full_pairs(pairs.configuration), conditions)


def alpha_t(gain: InformationGain, incumbent_roots: int = 1) -> PerDollar:
    """TrimTuner Eq. 5."""
    return PerDollar(Times((gain, IncumbentFeasibility(incumbent_roots))))


def constrained_entropy_search(gain: InformationGain, *, refit: bool = True, overhead: float = 0.0) -> PerDollar:
    """Thesis Eq. 9, or (refit=False) its ablation."""
    return PerDollar(Times((gain, IncumbentAccuracy() if refit else FullDataFeasibility())), overhead)
