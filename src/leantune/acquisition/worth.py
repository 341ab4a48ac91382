"""What a test is worth above the best result so far, and which share of what is left it would use up.

y: the goal on its modelled scale, larger is better; m, sd, P: what is believed of it on all data, and the probability
that the limits hold. Of what was measured on all data m = y, sd = 0 and P is 0 or 1. With the floor b, the best
measured y whose limits held (none yet: a little below what is expected of the others),

    worth      U(x)    = P max(m - kappa sd - b, 0)                              of what was not measured
    gain       G(x, s) = E[max U after the test] - max U,  at s = 1 at least P EI(x) - max U
    price      sum over the resources of the budget, each by how soon it would run out at the present pace:
               (what the test takes + 0.3 of what tests take) / what is left

and where only trials are limited (1 + thrift x dollars in usual ones) / trials left,
so that an untested recommendation counts for nothing until it beats what was measured by more than half a
deviation, and that a cheap test on little data is bought only as long as it leads to a dear one. Source:
shared/design/MODEL.md, "How to decide within a budget".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from scipy.special import ndtr

from leantune.acquisition.base import Belief, CostModel, Pairs, largest
from leantune.arrays import BoolArray, FloatArray, IntArray
from leantune.models.base import Gaussian, Roots
from leantune.problem import COST, TIME
from leantune.units import SECONDS_PER_HOUR

GOAL_ROOTS, LIMIT_ROOTS = Roots.of(7), Roots.of(3)
USUAL = (
    0.3  # of what tests have taken on average, added to what one takes: the price of very cheap ones does not decide
)
LARGEST_LOG = 500.0
HIGH = 0.5  # deviations that a test may take more than expected, to be taken for one that fits
SURPRISE = 2.0  # deviations after which it takes far more than what it was chosen for
LEAST_SURPRISE = 2.0  # times what it was chosen for, however sure that is
LEAST_REST = 0.05  # of a whole run, what one that goes on from an earlier one takes at least
ROUNDING = 1e-9


@dataclass(frozen=True)
class MeasuredResults:
    """Results on all data: rows of the configuration table [M], the goal there [M], whether the limits held [M]."""

    rows: IntArray
    y: FloatArray
    kept: BoolArray


@dataclass(frozen=True)
class Resources:
    """What is left of a budget, None where it has no such limit, and what a test has taken on average.

    thrift: where only trials are limited, what the dollars of a usual test count for beside the trial that it takes.
    """

    usd: float | None = None
    seconds: float | None = None
    trials: int | None = None
    usual_usd: float = 0.0
    usual_seconds: float = 0.0
    thrift: float = 0.0

    def without(self, takes: Takes) -> Resources:
        """What is left after one test."""
        usd, seconds = self.usd, self.seconds
        if usd is not None and takes.usd is not None:
            usd -= float(takes.usd.likely[0])
        if seconds is not None and takes.seconds is not None:
            seconds -= float(takes.seconds.likely[0])
        return replace(self, usd=usd, seconds=seconds, trials=None if self.trials is None else self.trials - 1)

    @property
    def words(self) -> str:
        """What is left, to be said after something else; nothing where there is no budget."""
        parts = [] if self.usd is None else [f"${max(self.usd, 0.0):.4g}"]
        parts += [] if self.seconds is None else [f"{max(self.seconds, 0.0) / SECONDS_PER_HOUR:.3g} hours"]
        parts += [] if self.trials is None else [f"{max(self.trials, 0)} trials"]
        return f"; {' and '.join(parts)} of the budget are left" if parts else ""

    @property
    def any(self) -> bool:
        """Whether there is a budget."""
        return not (self.usd is None and self.seconds is None and self.trials is None)

    @property
    def urgency(self) -> dict[str, float]:
        """How soon each resource runs out at the pace so far, the soonest 1: with money for a hundred tests and ten
        trials left, a test's dollars hardly matter.
        """
        tests = {"usd": math.inf, "seconds": math.inf, "trials": math.inf}
        if self.usd is not None and self.usual_usd > 0:
            tests["usd"] = max(self.usd, 0.0) / self.usual_usd
        if self.seconds is not None and self.usual_seconds > 0:
            tests["seconds"] = max(self.seconds, 0.0) / self.usual_seconds
        if self.trials is not None:
            tests["trials"] = max(self.trials, 1)
        soonest = min(tests.values())
        if soonest == math.inf:
            return dict.fromkeys(tests, 1.0)
        return {name: max(soonest, 1e-9) / max(count, 1e-9) for name, count in tests.items()}

    @property
    def only_trials(self) -> bool:
        """Whether a test may be as dear as it likes."""
        return self.trials is not None and self.usd is None and self.seconds is None


@dataclass(frozen=True)
class FullDataOutlook:
    """What is believed of every configuration on all data; each [N]. probability: that all limits hold."""

    mean: FloatArray
    sd: FloatArray
    probability: FloatArray
    is_measured: BoolArray
    floor: float
    has_result: bool  # somebody was measured to keep the limits
    kappa: float

    @classmethod
    def of(cls, belief: Belief, measured: MeasuredResults, kappa: float) -> FullDataOutlook:
        beliefs = belief.full_beliefs
        mean, sd = beliefs[0].mean.copy(), beliefs[0].sd.copy()
        probability = belief.feasibility(beliefs, belief.everything)
        is_measured = np.zeros(len(mean), dtype=np.bool_)
        is_measured[measured.rows] = True
        mean[measured.rows], sd[measured.rows] = measured.y, 0.0
        probability[measured.rows] = measured.kept
        kept = measured.y[measured.kept]
        total = float(probability.sum())
        if len(kept):
            floor = float(kept.max())
        else:
            floor = float(probability @ mean / total if total > 0 else mean.mean()) - float(mean.std())
        return cls(mean, sd, probability, is_measured, floor, bool(len(kept)), kappa)

    @property
    def worth(self) -> FloatArray:
        """U; 0 of what was measured."""
        above = np.maximum(self.mean - self.kappa * self.sd - self.floor, 0.0)
        return np.where(self.is_measured, 0.0, self.probability * above)

    @property
    def improvement(self) -> FloatArray:
        """P EI(x) above the floor; 0 of what was measured."""
        sd = np.maximum(self.sd, ROUNDING)
        z = (self.mean - self.floor) / sd
        expected = sd * (z * ndtr(z) + np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi))
        return np.where(self.is_measured, 0.0, self.probability * np.maximum(expected, 0.0))


def gains(belief: Belief, outlook: FullDataOutlook, pairs: Pairs, among: IntArray) -> FloatArray:
    """G of each pair, the best after it sought `among` these configurations; [B], at least 0."""
    present = float(outlook.worth.max())
    among = among[~outlook.is_measured[among]]
    gain = np.zeros(len(pairs))
    if len(among):
        gain = _expected_best(_after(belief, outlook, pairs, among)) - present
    on_all_data = pairs.level == len(belief.candidates.levels) - 1
    direct = outlook.improvement[pairs.configuration] - present
    gain = np.where(on_all_data, np.maximum(gain, direct), gain)
    return np.where(gain > ROUNDING, gain, 0.0)


def _after(
    belief: Belief, outlook: FullDataOutlook, pairs: Pairs, among: IntArray
) -> list[tuple[FloatArray, FloatArray]]:
    """For each quantity that decides: what it contributes to U at `among` after each test and root [B, K, R], and the
    weights of its roots [K].
    """
    points, at = belief.candidates.points(pairs), belief.candidates.at_full(among)
    factors = []
    for q in sorted({0, *(limit.quantity for limit in belief.limits)}):
        roots = GOAL_ROOTS if q == 0 else LIMIT_ROOTS
        after: Gaussian = belief.quantities[q].model.simulate(points, roots, at)
        factor = np.ones_like(after.mean)
        if q == 0:
            factor = np.maximum(after.mean - outlook.kappa * after.sd - outlook.floor, 0.0)
        for limit in belief.limits:
            if limit.quantity == q:
                factor *= limit.probability(after, among)
        factors.append((factor, roots.w))
    return factors


def _expected_best(factors: Sequence[tuple[FloatArray, FloatArray]]) -> FloatArray:
    """E[max_x prod_q factor_q(x)] over the tensor product of the roots; [B]."""
    result = np.zeros(len(factors[0][0]))
    for combination in product(*(range(len(weights)) for _, weights in factors)):
        weight, worth = 1.0, None
        for (factor, weights), root in zip(factors, combination, strict=True):
            weight *= float(weights[root])
            worth = factor[:, root] if worth is None else worth * factor[:, root]
        assert worth is not None
        result += weight * worth.max(axis=1)
    return result


@dataclass(frozen=True)
class Amount:
    """Dollars, or seconds, that tests take: probably, if it is a little more than expected, and if it is a surprise;
    each [B].
    """

    likely: FloatArray
    high: FloatArray
    surprise: FloatArray

    @classmethod
    def of(cls, log_mean: FloatArray, log_sd: FloatArray) -> Amount:
        """Of a log-normal belief: its median, and so many deviations above it; a surprise is at least twice as much, as
        runs of one configuration scatter too.
        """
        likely = np.exp(np.minimum(log_mean, LARGEST_LOG))
        high, surprise = (likely * np.exp(np.minimum(times * log_sd, LARGEST_LOG / 10)) for times in (HIGH, SURPRISE))
        return cls(likely, high, np.maximum(surprise, LEAST_SURPRISE * likely))

    def times(self, factor: FloatArray) -> Amount:
        return Amount(self.likely * factor, self.high * factor, self.surprise * factor)

    def at_most(self, most: FloatArray) -> Amount:
        return Amount(*(np.minimum(amount, most) for amount in (self.likely, self.high, self.surprise)))

    def without(self, paid: FloatArray) -> Amount:
        """What is left after this was paid before; [B]. Never nothing: a run has to be started."""
        wholes = (self.likely, self.high, self.surprise)
        return Amount(*(np.maximum(whole - paid, LEAST_REST * whole) for whole in wholes))

    def take(self, indices: IntArray) -> Amount:
        return Amount(self.likely[indices], self.high[indices], self.surprise[indices])


@dataclass(frozen=True)
class Takes:
    """What tests will probably take, by the median: dollars and seconds, None where nothing is known of them.
    The mean of a log-normal belief grows with its uncertainty, and would make every test on much data too dear.
    """

    usd: Amount | None
    seconds: Amount | None

    @classmethod
    def of(cls, belief: Belief, cost: CostModel, pairs: Pairs) -> Takes:
        points = belief.candidates.points(pairs)
        amounts: dict[str, Amount] = {}
        for quantity in belief.quantities:
            if quantity.name in (COST, TIME):
                expected = quantity.model.predict(points)
                sign = -1.0 if quantity.transform.descending else 1.0  # both are modelled by their logarithm
                amounts[quantity.name] = Amount.of(sign * expected.mean, expected.sd)
        usd, seconds = amounts.get(COST), amounts.get(TIME)
        if belief.candidates.rates is not None:
            rates = np.maximum(belief.candidates.rates[pairs.configuration] / SECONDS_PER_HOUR, 1e-12)
            if usd is None and seconds is not None and cost.rates is not None:
                usd = seconds.times(rates)
            elif seconds is None and usd is not None:
                seconds = usd.times(1.0 / rates)
        return cls(usd, seconds)

    def ended_after(self, most: FloatArray, rates: FloatArray | None) -> Takes:
        """What they take where each is ended after so many seconds, [B]. rates: USD per hour, [B]."""
        usd, seconds = self.usd, self.seconds
        if usd is not None and rates is not None:
            usd = usd.at_most(most * rates / SECONDS_PER_HOUR)
        return Takes(usd, None if seconds is None else seconds.at_most(most))

    def without(self, usd: FloatArray, seconds: FloatArray) -> Takes:
        """What is left of them after these were paid before; [B] each."""
        dollars = None if self.usd is None else self.usd.without(usd)
        return Takes(dollars, None if self.seconds is None else self.seconds.without(seconds))

    def take(self, indices: IntArray) -> Takes:
        dollars = None if self.usd is None else self.usd.take(indices)
        return Takes(dollars, None if self.seconds is None else self.seconds.take(indices))

    def fit(self, left: Resources, count: int) -> BoolArray:
        """Which of the tests fit into what is left, if they take a little more than expected; [B]."""
        fits = np.ones(count, dtype=np.bool_)
        if left.usd is not None and self.usd is not None:
            fits &= self.usd.high <= left.usd
        if left.seconds is not None and self.seconds is not None:
            fits &= self.seconds.high <= left.seconds
        return fits

    def price(self, left: Resources, count: int) -> FloatArray:
        """The share of what is left that each test uses up, summed over the resources; without a budget its dollars
        (seconds where nothing is priced, 1 where nothing is known).
        """
        usd = None if self.usd is None else self.usd.likely + USUAL * left.usual_usd
        seconds = None if self.seconds is None else self.seconds.likely + USUAL * left.usual_seconds
        price = np.zeros(count)
        if not left.any:
            spent = usd if usd is not None else seconds
            return np.ones(count) if spent is None else np.maximum(spent, 1e-12)
        weight = left.urgency
        if left.usd is not None and usd is not None:
            price = price + weight["usd"] * usd / max(left.usd, 1e-12)
        if left.seconds is not None and seconds is not None:
            price = price + weight["seconds"] * seconds / max(left.seconds, 1e-12)
        if left.trials is not None or not price.any():
            price = price + weight["trials"] / max(left.trials or 1, 1)
        if left.only_trials and self.usd is not None and left.usual_usd > 0:
            price = price * (1.0 + left.thrift * self.usd.likely / left.usual_usd)
        return price


def places(outlook: FullDataOutlook, count: int) -> IntArray:
    """Configurations among which the best after a test is sought: those that promise most now."""
    hope = outlook.worth + outlook.improvement
    return largest(hope, count)
