"""The budget left, the cost of tests, and the share of the budget left that they would use.

    price      sum over the resources of the budget, each by how soon it would run out at the present pace:
               (what the test takes + 0.3 of what tests take) / what is left
               where only trials are limited: (1 + thrift x dollars in usual ones) / trials left

so that a cheap test on little data is bought only as long as it leads to a dear test. Source: shared/design/MODEL.md,
"How to decide within a budget".
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from leantune.acquisition.base import Belief, CostModel, Pairs
from leantune.arrays import BoolArray, FloatArray, IntArray
from leantune.history import History, Trial
from leantune.problem import COST, TIME, Problem
from leantune.units import SECONDS_PER_HOUR

TRIALS = "trials"
# Share of the average cost of tests, added to the cost of a test: the price of very cheap tests does not decide.
USUAL = 0.3
LARGEST_LOG = 500.0
LIKELY, HIGH, SURPRISE = range(3)  # rows of an amount
HIGH_DEVIATIONS = 0.5  # by which a test may exceed its expected cost and still fit
SURPRISE_DEVIATIONS = 2.0  # beyond which a test is a surprise
LEAST_SURPRISE = 2.0  # times what it was chosen for, however sure that is
LEAST_REST = 0.05  # of a whole run, what one that goes on from an earlier one takes at least


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

    @classmethod
    def of(cls, problem: Problem, history: History, thrift: float = 0.0) -> Resources:
        """Pending trials are taken as they were expected to turn out."""
        budget, finished = problem.budget, len(history.finished)
        usual_usd = history.cost / finished if finished else 0.0
        usual_seconds = history.seconds / finished if finished else 0.0

        def foreseen(trial: Trial, metric: str, usual: float) -> float:
            return trial.expected[metric].mean if metric in trial.expected else usual

        usd = sum(foreseen(trial, COST, usual_usd) for trial in history.pending)
        seconds = sum(foreseen(trial, TIME, usual_seconds) for trial in history.pending)
        chosen = sum(not trial.verifies for trial in history.trials)
        return cls(
            None if budget.usd is None else budget.usd - history.cost - usd,
            None if budget.hours is None else budget.hours * SECONDS_PER_HOUR - history.seconds - seconds,
            None if budget.trials is None else budget.trials - chosen,
            usual_usd,
            usual_seconds,
            thrift,
        )

    @property
    def limited(self) -> dict[str, float]:
        """Dollars and seconds that are left, where they are limited."""
        return {metric: rest for metric, rest in ((COST, self.usd), (TIME, self.seconds)) if rest is not None}

    @property
    def usual(self) -> dict[str, float]:
        return {COST: self.usual_usd, TIME: self.usual_seconds}

    @property
    def any(self) -> bool:
        """Whether there is a budget."""
        return bool(self.limited) or self.trials is not None

    @property
    def only_trials(self) -> bool:
        """Whether the cost of a test has no limit."""
        return self.trials is not None and not self.limited

    def without(self, takes: Takes) -> Resources:
        """The budget left after one test."""
        rest = {
            metric: left - float(takes.amounts[metric][LIKELY, 0]) if metric in takes.amounts else left
            for metric, left in self.limited.items()
        }
        trials = None if self.trials is None else self.trials - 1
        return replace(self, usd=rest.get(COST), seconds=rest.get(TIME), trials=trials)

    @property
    def words(self) -> str:
        """The end of a sentence about the budget left; empty where there is no budget."""
        parts = [] if self.usd is None else [f"${max(self.usd, 0.0):.4g}"]
        parts += [] if self.seconds is None else [f"{max(self.seconds, 0.0) / SECONDS_PER_HOUR:.3g} hours"]
        parts += [] if self.trials is None else [f"{max(self.trials, 0)} trials"]
        return f"; {' and '.join(parts)} of the budget are left" if parts else ""

    @property
    def urgency(self) -> dict[str, float]:
        """How soon dollars, seconds and trials run out at the pace so far, the soonest 1: with money for a hundred
        tests and ten trials left, a test's dollars hardly matter.
        """
        tests = dict.fromkeys((COST, TIME, TRIALS), math.inf)
        usual = self.usual
        tests |= {metric: max(rest, 0.0) / usual[metric] for metric, rest in self.limited.items() if usual[metric] > 0}
        if self.trials is not None:
            tests[TRIALS] = max(self.trials, 1)
        soonest = min(tests.values())
        if soonest == math.inf:
            return dict.fromkeys(tests, 1.0)
        return {name: max(soonest, 1e-9) / max(count, 1e-9) for name, count in tests.items()}


def amount(log_mean: FloatArray, log_sd: FloatArray) -> FloatArray:
    """Dollars, or seconds, that B tests take by a log-normal belief: the median (LIKELY), and so many deviations above
    it (HIGH, SURPRISE); a surprise is at least twice the median, as runs of one configuration scatter too. [3, B]
    """
    likely = np.exp(np.minimum(log_mean, LARGEST_LOG))
    high, surprise = (
        likely * np.exp(np.minimum(times * log_sd, LARGEST_LOG / 10))
        for times in (HIGH_DEVIATIONS, SURPRISE_DEVIATIONS)
    )
    return np.stack([likely, high, np.maximum(surprise, LEAST_SURPRISE * likely)])


@dataclass(frozen=True)
class Takes:
    """What B tests take: dollars and seconds by their names, where something is known of them; each as of `amount`.

    By the median: the mean of a log-normal belief grows with its uncertainty, and would make every test on much data
    too dear.
    """

    tests: int
    amounts: Mapping[str, FloatArray]

    @classmethod
    def of(cls, belief: Belief, cost: CostModel, pairs: Pairs) -> Takes:
        points = belief.candidates.points(pairs)
        amounts: dict[str, FloatArray] = {}
        for quantity in belief.quantities:
            if quantity.name in (COST, TIME):
                expected = quantity.model.predict(points)
                sign = -1.0 if quantity.transform.descending else 1.0  # both are modelled by their logarithm
                amounts[quantity.name] = amount(sign * expected.mean, expected.sd)
        if belief.candidates.rates is not None:
            rates = np.maximum(belief.candidates.rates[pairs.configuration] / SECONDS_PER_HOUR, 1e-12)
            if COST not in amounts and TIME in amounts and cost.rates is not None:
                amounts[COST] = amounts[TIME] * rates
            elif TIME not in amounts and COST in amounts:
                amounts[TIME] = amounts[COST] * (1.0 / rates)
        return cls(len(pairs), amounts)

    @property
    def seconds(self) -> FloatArray | None:
        return self.amounts.get(TIME)

    def ended_after(self, most: FloatArray, rates: FloatArray | None) -> Takes:
        """Their cost where each is ended after so many seconds, [B]. rates: USD per hour, [B]."""
        largest = {TIME: most} if rates is None else {TIME: most, COST: most * rates / SECONDS_PER_HOUR}
        ended = {name: np.minimum(self.amounts[name], largest[name]) for name in largest if name in self.amounts}
        return replace(self, amounts={**self.amounts, **ended})

    def without(self, usd: FloatArray, seconds: FloatArray) -> Takes:
        """Their cost minus what earlier runs have paid; [B] each. Always above 0: a run has to be started."""
        paid = {COST: usd, TIME: seconds}
        rest = {name: np.maximum(whole - paid[name], LEAST_REST * whole) for name, whole in self.amounts.items()}
        return replace(self, amounts=rest)

    def take(self, indices: IntArray) -> Takes:
        return Takes(len(indices), {name: amounts[:, indices] for name, amounts in self.amounts.items()})

    def fit(self, left: Resources) -> BoolArray:
        """Which of the tests fit into what is left, if they take a little more than expected; [B]."""
        fits = np.ones(self.tests, dtype=np.bool_)
        for name, rest in left.limited.items():
            if name in self.amounts:
                fits &= self.amounts[name][HIGH] <= rest
        return fits

    def price(self, left: Resources) -> FloatArray:
        """The share of what is left that each test uses up, summed over the resources; without a budget its dollars
        (seconds where nothing is priced, 1 where nothing is known); [B].
        """
        usual, weight = left.usual, left.urgency
        likely = {name: amounts[LIKELY] + USUAL * usual[name] for name, amounts in self.amounts.items()}
        if not left.any:
            spent = likely.get(COST, likely.get(TIME))
            return np.ones(self.tests) if spent is None else np.maximum(spent, 1e-12)
        price = np.zeros(self.tests)
        for name, rest in left.limited.items():
            if name in likely:
                price = price + weight[name] * likely[name] / max(rest, 1e-12)
        if left.trials is not None or not price.any():
            price = price + weight[TRIALS] / max(left.trials or 1, 1)
        if left.only_trials and COST in self.amounts and left.usual_usd > 0:
            price = price * (1.0 + left.thrift * self.amounts[COST][LIKELY] / left.usual_usd)
        return price
