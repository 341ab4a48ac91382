"""The worth of one more run of a configuration, where runs of one configuration scatter.

M configurations were measured on all data, n_i times each; a_i: the mean of a metric there on its own scale, and
y_i = f(a_i) on the modelled one. Their noise there, a normal deviation sigma_i of one run:

    SS_i       = sum_r (f'(a_i) (a_ir - a_i))^2                                 first order in the scatter of runs
    sigma_0^2  = geometric mean of SS_i / (n_i - 1) over those that were repeated, and of what the model takes for noise
    sigma_i^2  = (2 sigma_0^2 + SS_i) / (2 + n_i - 1)                            some scatter more than others

With what is believed of i without its own results on all data, N(m_i, v_i), the true y_i is normal,

    1 / s_i^2  = 1 / v_i + n_i / sigma_i^2,   mu_i = s_i^2 (m_i / v_i + n_i y_i / sigma_i^2)

and so is every limited quantity, which gives P_i, the probability that the true means keep all limits. With V_i =
P_i max(mu_i - base, 0), base a little below what is expected of all, and V_i = 0 where i more probably breaks a
limit than keeps it, the gain of one more run of i is

    G(i) = E[max(V_i after it, w)] - max_j V_j,     w = the largest V of the others, and what an untested one is worth

After the run, mu_i and the means of limited quantities move by s_i^2 / sqrt(s_i^2 + sigma_i^2) times a standard normal:
a knowledge gradient for independent normals, in closed form for the goal and by quadrature for limits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from scipy.special import ndtr

from leantune.arrays import BoolArray, FloatArray, IntArray
from leantune.models.base import Gaussian, Roots
from leantune.models.scales import Transform

PRIOR_RUNS = 2.0  # runs that sigma_0 counts for
AGREEMENT = 0.01  # of the model's noise: scatter below it counts as this much
STEP = 1e-4  # of the difference that tells the slope of f
EVEN = 0.5  # probability of the limits, above which a configuration may be recommended
ROUNDING = 1e-9
ROOTS = Roots.of(5)


@dataclass(frozen=True)
class Runs:
    """Results of one metric on its own scale, by configuration; at least one of each."""

    values: tuple[FloatArray, ...]

    @cached_property
    def counts(self) -> IntArray:
        """n; [M]."""
        return np.array([len(runs) for runs in self.values], dtype=np.int64)

    @cached_property
    def means(self) -> FloatArray:
        """a; [M]."""
        return np.array([runs.mean() for runs in self.values], dtype=np.float64)

    @property
    def scatter(self) -> bool:
        """Whether runs of some configuration differ."""
        return any(float(np.ptp(runs)) > ROUNDING * max(1.0, abs(float(runs.mean()))) for runs in self.values)

    def squares(self, transform: Transform) -> FloatArray:
        """SS; [M]."""
        means = self.means
        step = STEP * np.where(means == 0.0, 1.0, np.abs(means))
        slope = (transform.forward(means + step) - transform.forward(means - step)) / (2.0 * step)
        spread = np.array([float(np.square(runs - runs.mean()).sum()) for runs in self.values])
        return np.asarray(np.square(slope) * spread)

    def noise(self, transform: Transform, model_noise: float) -> FloatArray:
        """sigma; [M]. model_noise: the deviation that the model takes for noise."""
        squares, freedom = self.squares(transform), self.counts - 1
        least = (AGREEMENT * model_noise) ** 2
        seen = np.maximum(squares[freedom > 0] / freedom[freedom > 0], least)
        usual = math.exp(float(np.log(np.append(seen, max(model_noise, ROUNDING) ** 2)).mean()))
        return np.sqrt((PRIOR_RUNS * usual + squares) / (PRIOR_RUNS + freedom))


@dataclass(frozen=True)
class Contest:
    """One quantity of the M configurations: belief N(mu, s^2) after all runs, and the noise sigma of one more; [M]."""

    belief: Gaussian
    noise: FloatArray

    @classmethod
    def of(cls, prior: Gaussian, y: FloatArray, counts: IntArray, noise: FloatArray) -> Contest:
        """prior: the belief without these runs."""
        before, precision = 1.0 / np.square(prior.sd), counts / np.square(noise)
        variance = 1.0 / (before + precision)
        return cls(Gaussian(variance * (before * prior.mean + precision * y), np.sqrt(variance)), noise)

    @property
    def move(self) -> FloatArray:
        """Deviation of mu's change by one more run; [M]."""
        variance = np.square(self.belief.sd)
        return np.asarray(variance / np.sqrt(variance + np.square(self.noise)))

    def after(self, i: int) -> Gaussian:
        """The belief of one of them after one more run, for each root; [K]."""
        variance, move = float(self.belief.sd[i]) ** 2, float(self.move[i])
        rest = max(variance - move**2, ROUNDING**2)
        return Gaussian(self.belief.mean[i] + move * ROOTS.z, np.full(len(ROOTS.z), math.sqrt(rest)))


@dataclass(frozen=True)
class LimitedContest:
    """A limited quantity: it shall lie between low and high, each [M]."""

    contest: Contest
    low: FloatArray
    high: FloatArray

    @property
    def probability(self) -> FloatArray:
        """That the true mean keeps the limit; [M]."""
        return self._between(self.contest.belief, self.low, self.high)

    def after(self, i: int) -> FloatArray:
        """The same of one of them after one more run, for each root; [K]."""
        return self._between(self.contest.after(i), self.low[i], self.high[i])

    @property
    def in_doubt(self) -> BoolArray:
        """Whether a bound lies within two deviations of the mean; [M]."""
        mean, reach = self.contest.belief.mean, 2.0 * self.contest.belief.sd
        return (np.abs(mean - self.low) < reach) | (np.abs(mean - self.high) < reach)

    @staticmethod
    def _between(belief: Gaussian, low: FloatArray, high: FloatArray) -> FloatArray:
        return np.asarray(belief.below(high) - belief.below(low))


@dataclass(frozen=True)
class Race:
    """The measured configurations: rows of the configuration table, runs of each, goal and limited quantities; [M].

    sound: no run failed or was cut. base: see the module.
    """

    rows: IntArray
    counts: IntArray
    goal: Contest
    limits: Sequence[LimitedContest]
    sound: BoolArray
    base: float

    @cached_property
    def probability(self) -> FloatArray:
        """P; [M]."""
        result = self.sound.astype(np.float64)
        for limit in self.limits:
            result = result * limit.probability
        return result

    @cached_property
    def value(self) -> FloatArray:
        """V; [M]."""
        worth = self.probability * np.maximum(self.goal.belief.mean - self.base, 0.0)
        return np.where(self.probability > EVEN, worth, 0.0)

    @property
    def leader(self) -> int:
        """Place of the one to recommend; where none is worth anything, of the one that most probably keeps the
        limits.
        """
        return int(self.value.argmax() if self.value.any() else self.probability.argmax())

    @cached_property
    def in_doubt(self) -> BoolArray:
        """Those that may be the best after all: their mean within two deviations of the leader's, or a limit within
        two deviations; none where the leader is alone. [M]
        """
        mean, sd = self.goal.belief.mean, self.goal.belief.sd
        best = self.leader
        near = mean + 2.0 * np.hypot(sd, sd[best]) > mean[best]
        for limit in self.limits:
            near &= (limit.probability > EVEN) | limit.in_doubt
        near &= self.sound
        others = near.copy()
        others[best] = any(bool(limit.in_doubt[best]) for limit in self.limits)
        return near if others.any() else np.zeros_like(near)

    def gains(self, untested: float) -> FloatArray:
        """G of one more run of each; [M], at least 0. untested: V of the best that was not measured."""
        best, gains = max(float(self.value.max()), untested), np.zeros(len(self.rows))
        for i in np.flatnonzero(self.in_doubt).tolist():
            others = max(float(np.delete(self.value, i).max(initial=0.0)), untested)
            gains[i] = self._expected(i, others) - best
        return np.where(gains > ROUNDING, gains, 0.0)

    def _expected(self, i: int, others: float) -> float:
        """E[max(V_i after one more run, others)]."""
        above, move = float(self.goal.belief.mean[i]) - self.base, float(self.goal.move[i])
        after = [limit.after(i) for limit in self.limits]
        total = 0.0
        for combination in product(range(len(ROOTS.z)), repeat=len(after)):
            weight = math.prod(float(ROOTS.w[root]) for root in combination)
            chance = math.prod(
                float(probabilities[root]) for probabilities, root in zip(after, combination, strict=True)
            )
            more = expected_excess(chance * above - others, chance * move) if chance > EVEN else 0.0
            total += weight * (others + more)
        return total


def expected_excess(mean: float, sd: float) -> float:
    """E[max(x, 0)] of a normal x."""
    if sd <= 0.0:
        return max(mean, 0.0)
    z = mean / sd
    return float(mean * ndtr(z) + sd * math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi))
