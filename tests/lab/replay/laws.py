"""Small tables drawn from laws that no model of LeanTune has, for tests of what strategies believe and find.

Of a configuration with log learning rate l in [0, 1], width w in [0, 1] (log), optimiser o and a share s of the data:

    final      q = top - bend (l - l_o - tilt w)^2 + gain w - dip o sin(6 l w)       tilt, dip: interactions
    curve      a = chance + (q - chance) c(s) / c(1), as it levels off at a share that depends on l and w:
               exponential   c = 1 - exp(-s / k)
               logistic      c = 1 / (1 + exp(-(log s - log k) / 0.6))
               hill          c = s^n / (s^n + k^n)
    loss       a = floor + drop (1 - q) + 1.5 exp(-(s / k)^0.7), to be minimised
    seconds    T = start + evaluation (1 + w) + ceil(20 s) / 20 work e^w (1 + o / 4) / vCPUs^0.7

with normal noise on the logit of a (on log a where it is a loss) and on log T. At full data the limit on dollars holds
for 30 to 70 % of the configurations, the one on seconds for 50 to 90 %.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType

import numpy as np
from scipy.special import expit, logit

from leantune.arrays import FloatArray
from leantune.executors.replay import Measurement
from leantune.files import digest
from leantune.lab.replay.tables import MeasuredTable
from leantune.problem import Problem, maximize, minimize
from leantune.space import Cluster, Clusters, Machine, Space, choice, ordinal
from leantune.strategies.proposals import derived_seed
from leantune.units import SECONDS_PER_HOUR

LAWS = ("exponential", "logistic", "hill", "loss")
FRACTIONS = (Fraction(1, 16), Fraction(1, 4), Fraction(1, 2), Fraction(1))
CHANCE = 0.1  # accuracy of guessing
NOISES = (0.01, 0.08)  # deviations on the modelled scales, from and to
RATES, WIDTHS = tuple(10.0 ** (-4.0 + 0.5 * step) for step in range(7)), (16, 32, 64, 128)
MACHINES = (Machine("small", 1, 2.0, 1.0), Machine("large", 4, 8.0, 3.5))


@dataclass(frozen=True)
class Law:
    """One table; the same in every process."""

    law: str
    number: int

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.law} {self.number}"

    def load(self) -> MeasuredTable:
        """112 configurations at four shares, and their problem."""
        rng = np.random.default_rng(derived_seed("laws", self.law, self.number))
        space = Space(
            lr=ordinal(*RATES, scale="log"),
            width=ordinal(*WIDTHS, scale="log"),
            optimiser=choice("sgd", "adam"),
            cluster=Clusters(tuple(Cluster(one, 1) for one in MACHINES)),
        )
        grid = tuple(space.grid())
        rate = np.array([math.log10(float(str(one["lr"]))) for one in grid])
        width = np.array([math.log2(float(str(one["width"]))) for one in grid])
        rate, width = (rate + 4.0) / 3.0, (width - 4.0) / 3.0
        adam = np.array([float(one["optimiser"] == "adam") for one in grid])
        vcpus = np.array([one.cluster.vcpus for one in grid if one.cluster is not None])
        prices = np.array([one.usd_per_hour or 0.0 for one in grid])
        values, seconds = self._values(rng, rate, width, adam), _seconds(rng, width, adam, vcpus)
        metric = "loss" if self.law == "loss" else "accuracy"
        dollars = seconds * prices / SECONDS_PER_HOUR
        kept = rng.uniform((0.3, 0.5), (0.7, 0.9))
        limits = [
            f"cost <= {float(np.quantile(dollars[-1], kept[0])):.3g} USD",
            f"time <= {float(np.quantile(seconds[-1], kept[1])):.3g} s",
        ]
        measurements = {
            (one.id, share): Measurement(
                {metric: float(values[level, row])}, float(seconds[level, row]), cost=float(dollars[level, row])
            )
            for level, share in enumerate(FRACTIONS)
            for row, one in enumerate(grid)
        }
        goal = minimize(metric) if self.law == "loss" else maximize(metric)
        return MeasuredTable(
            name=self.name,
            source="laws",
            problem_name="",
            problem=Problem(space, goal, limits, FRACTIONS),
            measurements=MappingProxyType(measurements),
            remarks=(),
            rows=len(measurements),
            digest=digest([self.name.encode()]),
        )

    def _values(self, rng: np.random.Generator, rate: FloatArray, width: FloatArray, adam: FloatArray) -> FloatArray:
        """The goal at every share, [levels, n]."""
        top, bend, gain, dip = rng.uniform((0.85, 0.3, 0.02, 0.02), (0.95, 0.9, 0.10, 0.10))
        best, tilt, shift = rng.uniform((0.35, -0.4, -0.3), (0.75, 0.0, 0.1))
        final = top - bend * (rate - best - tilt * width - shift * adam) ** 2 + gain * (width - 1.0)
        final = np.clip(final - dip * adam * np.sin(6.0 * rate * width), CHANCE + 0.02, 0.99)
        late = rng.uniform(0.03, 0.15) * np.exp(rng.uniform(0.5, 1.5) * (best - rate) + rng.uniform(0.0, 0.8) * width)
        shares = np.array(FRACTIONS, dtype=np.float64)[:, None]
        noise = rng.uniform(*NOISES) * rng.standard_normal((len(FRACTIONS), len(rate)))
        if self.law == "loss":
            floor, drop = rng.uniform((0.1, 1.0), (0.5, 2.0))
            return np.asarray((floor + drop * (1.0 - final) + 1.5 * np.exp(-((shares / late) ** 0.7))) * np.exp(noise))
        power = rng.uniform(0.8, 1.8)
        curve = _curve(self.law, shares, late, power) / _curve(self.law, np.ones(1), late, power)
        return np.asarray(expit(logit(np.clip(CHANCE + (final - CHANCE) * curve, 0.02, 0.995)) + noise))


def _curve(law: str, share: FloatArray, late: FloatArray, power: float) -> FloatArray:
    """c(s), up to 1; [levels, n]."""
    if law == "exponential":
        return np.asarray(1.0 - np.exp(-share / late))
    if law == "logistic":
        return np.asarray(expit((np.log(share) - np.log(late)) / 0.6))
    return np.asarray(share**power / (share**power + late**power))


def _seconds(rng: np.random.Generator, width: FloatArray, adam: FloatArray, vcpus: FloatArray) -> FloatArray:
    """Seconds at every share, [levels, n]."""
    start, evaluation, work = rng.uniform((2.0, 1.0, 60.0), (40.0, 15.0, 240.0))
    steps = np.array([math.ceil(20 * share) / 20 for share in FRACTIONS])[:, None]
    whole = start + evaluation * (1.0 + width) + steps * work * np.exp(width) * (1.0 + adam / 4.0) / vcpus**0.7
    return np.asarray(whole * np.exp(rng.uniform(*NOISES) * rng.standard_normal(whole.shape)))
