"""The simulated refits of TrimTuner and Fabulinus by plain enumeration: one pair, one outcome, one configuration at a
time, with `extend` and the error function only.
"""

from dataclasses import dataclass
from itertools import product
from math import erf, exp, sqrt

from leantune.acquisition.base import Belief, Limit, RecommendationRule
from leantune.models.base import Points, Roots, Surrogate
from tests.acquisition.small_world import simulated_outcome


@dataclass(frozen=True)
class Incumbent:
    """What one simulated test leads to."""

    weight: float
    configuration: int
    qualified: bool
    accuracy: float
    feasibility: float


@dataclass(frozen=True)
class Normal:
    """A belief about one quantity at one point."""

    mean: float
    sd: float

    @classmethod
    def of(cls, model: Surrogate, point: Points) -> "Normal":
        now = model.predict(point)
        return cls(float(now.mean[0]), float(now.sd[0]))

    def at_most(self, value: float) -> float:
        return 0.5 * (1.0 + erf((value - self.mean) / self.sd / sqrt(2.0)))

    def within(self, limit: Limit, configuration: int) -> float:
        return self.at_most(float(limit.high[configuration])) - self.at_most(float(limit.low[configuration]))


def point_of(belief: Belief, pair: tuple[int, int]) -> Points:
    configuration, level = pair
    levels = belief.candidates.levels[level : level + 1]
    return Points(belief.candidates.x[configuration : configuration + 1], levels)


def dollars_of(belief: Belief, point: Points) -> float:
    """Expected dollars of a test: log-normal, quantity 1."""
    now = Normal.of(belief.quantities[1].model, point)
    return exp(now.mean + now.sd**2 / 2)


def accuracy_of(now: Normal) -> float:
    """E[a] of a share modelled as -log(1 - a), clipped to [0, 1]."""
    return max(0.0, 1.0 - exp(-now.mean + now.sd**2 / 2))


def probability_of(limits: tuple[Limit, ...], beliefs: dict[int, Normal], configuration: int) -> float:
    result = 1.0
    for limit in limits:
        result *= beliefs[limit.quantity].within(limit, configuration)
    return result


def beliefs_at_full(belief: Belief, models: dict[int, Surrogate], configuration: int) -> dict[int, Normal]:
    point = point_of(belief, (configuration, len(belief.candidates.levels) - 1))
    return {quantity: Normal.of(model, point) for quantity, model in models.items()}


def models_of(belief: Belief) -> dict[int, Surrogate]:
    return {index: quantity.model for index, quantity in enumerate(belief.quantities)}


def incumbents_after(
    belief: Belief, rule: RecommendationRule, pair: tuple[int, int], roots: Roots, among: list[int]
) -> list[Incumbent]:
    """Steps 1 to 4 of TrimTuner III: predict the outcome, refit with it, find the incumbent, judge it."""
    point = point_of(belief, pair)
    involved = sorted({0, *(limit.quantity for limit in belief.limits)})
    refitted: dict[tuple[int, int], dict[int, Normal]] = {}
    for quantity, root in product(involved, range(len(roots.z))):
        model = belief.quantities[quantity].model
        longer = model.extend(point, simulated_outcome(model, point, float(roots.z[root])))
        refitted[quantity, root] = {c: beliefs_at_full(belief, {0: longer}, c)[0] for c in among}
    found = []
    for choice in product(range(len(roots.z)), repeat=len(involved)):
        weight = 1.0
        for root in choice:
            weight *= float(roots.w[root])
        after = {c: {q: refitted[q, root][c] for q, root in zip(involved, choice, strict=True)} for c in among}
        found.append(best_of(belief, rule, after, weight))
    return found


def best_of(
    belief: Belief, rule: RecommendationRule, after: dict[int, dict[int, Normal]], weight: float = 1.0
) -> Incumbent:
    """Largest E[a] among the configurations that meet every requirement; none does: largest CEA."""
    rows = []
    for configuration, beliefs in after.items():
        qualified = all(
            probability_of(requirement.limits, beliefs, configuration) >= requirement.probability
            for requirement in rule.requirements
        )
        feasibility = probability_of(belief.limits, beliefs, configuration)
        rows.append(Incumbent(weight, configuration, qualified, accuracy_of(beliefs[0]), feasibility))
    good = [row for row in rows if row.qualified]
    if good:
        return max(good, key=lambda row: row.accuracy)
    return max(rows, key=lambda row: row.accuracy * row.feasibility)
