"""Problems from plausible laws, drawn anew for every (family, number).

The laws were adjusted by the statistics of a few problems (correlations, shares), and after one look at replays of
`trimtuner-gp` and `eic-usd`; `lean` was developed on problems 0 to 4 of some families, beside the papers' tables.

Laws, of a configuration x and a share s of the data (u, v, w: random functions of x, standardised over the grid):

    error      e = c (1 - exp(-(e_0 + e_1 s^-b exp(g h)) / c)),  h = cos(t) u + sin(t) v,  t = t_0 log(s) / log(s_1)
    seconds    T = T_0 + (s n / batch) (t_0 + batch t_1 / (speed nodes) + sync overhead (nodes - 1)) exp(0.15 w)

so that errors follow a power law with a floor e_0, and chance c bounds them. cos(t_0) is the correlation of h between
the smallest share and full data: with 0.93 the accuracies' rank correlation comes out at 0.90 to 0.94, with 0.1 at 0.24
to 0.33, with 0.7 at 0.62 to 0.84. A strip of large steps and small batches diverges, whatever the share: e = c. The
random functions are neither quite smooth nor quite additive: half is rough (Cauchy frequencies), half smooth (normal).

Every value of the table is a mean of three runs whose deviations it gives, as in TrimTuner's tables: relative ones of
seconds about 0.1 at s = 1/60 and 0.02 at 1, of errors 0.24 and 0.12 (at most 0.05), each spread by a factor of two.
Runs that a cap cuts have seen less of the data, and cost the cap.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType

import numpy as np

from leantune.arrays import FloatArray
from leantune.errors import InvalidInput
from leantune.executors.replay import Measurement
from leantune.files import digest
from leantune.lab.replay.tables import MeasuredTable
from leantune.problem import COST, TIME, Goal, Problem, maximize, minimize
from leantune.space import Cluster, Clusters, Configuration, Machine, Space, choice, ordinal
from leantune.strategies.proposals import derived_seed
from leantune.units import SECONDS_PER_HOUR

FRACTIONS = (Fraction(1, 60), Fraction(1, 10), Fraction(1, 4), Fraction(1, 2), Fraction(1))
ACCURACY, LOSS, PERPLEXITY = "accuracy", "loss", "perplexity"
CHANCE = 0.9  # error of guessing among ten classes
REPEATS = 3  # runs that a value of the table is the mean of
DIVERGED = 0.1  # share of configurations whose training diverges
FREQUENCIES = 100
INSTANCES = 60_000
MACHINES = (  # name, vCPUs, GiB, USD per hour
    ("t.small", 1, 2.0, 0.023),
    ("t.large", 2, 8.0, 0.0928),
    ("c.xlarge", 4, 8.0, 0.17),
    ("m.2xlarge", 8, 32.0, 0.384),
    ("c.4xlarge", 16, 32.0, 0.68),
)


@dataclass(frozen=True)
class Family:
    """What its problems have in common.

    correlation: of the error's exponent h between the smallest share and full data. overhead: seconds that one more
    node adds to every step, over the seconds that one node of the smallest machine needs for a step, divided by the
    largest number of nodes. feasible: share of the configurations that keep the limits. cut: share of full runs that a
    time cap ends. timed: a limit on seconds beside the one on dollars. steps: numbers of learning rates, batch sizes,
    machine types and node counts.
    """

    about: str
    correlation: float = 0.7
    overhead: float = 0.15
    feasible: float = 0.35
    cut: float = 0.0
    timed: bool = False
    snapshots: bool = True
    metric: str = ACCURACY
    scale: str = "auto"
    steps: tuple[int, int, int, int] = (5, 3, 3, 4)

    @property
    def goal(self) -> Goal:
        """What is sought at full data."""
        return maximize(self.metric) if self.metric == ACCURACY else minimize(self.metric, self.scale)


FAMILIES: dict[str, Family] = {
    "ranks-well": Family("small fractions rank configurations well", correlation=0.93),
    "ranks-badly": Family("small fractions rank configurations badly", correlation=0.1),
    "scales-well": Family("more nodes are faster for little more money", overhead=0.01),
    "scales-badly": Family("many nodes are slower and dearer", overhead=4.0),
    "tight": Family("a tenth of the configurations keeps the limit", feasible=0.1),
    "loose": Family("seven tenths keep the limit", feasible=0.7),
    "capped": Family("a time cap cuts a third of the full runs", cut=1 / 3, feasible=0.5),
    "uncapped": Family("the same without a cap", feasible=0.5),
    "two-limits": Family("dollars and seconds are limited", feasible=0.25, timed=True),
    "no-snapshots": Family("a run reports only at its end", snapshots=False),
    "loss": Family("a loss between 1.5 and 5.5 to minimise", metric=LOSS),
    "perplexity": Family("a perplexity to minimise on the log scale", metric=PERPLEXITY, scale="log"),
    "large": Family("3,000 configurations", steps=(10, 5, 5, 6)),
}


@dataclass(frozen=True)
class Generated:
    """One problem of a family; the same in every process."""

    family: str
    number: int

    def __post_init__(self) -> None:
        if self.family not in FAMILIES:
            hint = f"Choose among {', '.join(FAMILIES)}"
            raise InvalidInput(f"there is no family {self.family!r}", where="generated problems", hint=hint)

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.family} {self.number}"

    def load(self) -> MeasuredTable:
        """The table: every configuration at every share."""
        return _Drawn(FAMILIES[self.family], self.name, derived_seed("lean", self.family, self.number)).table()


def space_of(family: Family) -> Space:
    """Learning rates, batch sizes, sync or async, machine types and nodes: 360 configurations, or 3,000."""
    rates, batches, types, counts = family.steps
    machines = [Machine(*one) for one in MACHINES[:types]]
    clusters = tuple(Cluster(machine, 2**power) for machine in machines for power in range(counts))
    return Space(
        learning_rate=ordinal(*(10.0 ** (-5.0 + 4.0 * step / (rates - 1)) for step in range(rates)), scale="log"),
        batch_size=ordinal(*(16 * 2 ** (2 * step if batches < 4 else step) for step in range(batches))),
        synchronism=choice("async", "sync"),
        cluster=Clusters(clusters),
    )


class _Drawn:
    """The laws with their constants drawn; arrays are over the configurations of the grid, [n]."""

    def __init__(self, family: Family, name: str, seed: int) -> None:
        self.family, self.name = family, name
        self.rng = np.random.default_rng(seed)
        self.space = space_of(family)
        self.configurations = tuple(self.space.grid())
        raw = np.array(
            [_numbers(one) for one in self.configurations]
        )  # log rate, log batch, sync, log vCPUs, log nodes
        self.batch, self.sync, self.vcpus, self.nodes = (
            np.exp(raw[:, 1]),
            raw[:, 2],
            np.exp(raw[:, 3]),
            np.exp(raw[:, 4]),
        )
        self.unit = (raw - raw.min(axis=0)) / np.ptp(raw, axis=0)
        draw = self.rng.uniform
        self.floor, self.lift, self.power, self.spread = (
            draw(0.005, 0.02),
            draw(0.02, 0.06),
            draw(0.2, 0.4),
            draw(0.7, 1.0),
        )
        self.begin, self.epochs, self.efficiency = draw(2.0, 8.0), draw(1.0, 3.0), draw(0.7, 1.0)
        self.step, self.instance = draw(5e-3, 2e-2), draw(1e-3, 5e-3)  # seconds of a step, and of an instance in it
        self.exponents = _uncorrelated(self._function(0.3), self._function(0.3))
        self.slowness = np.exp(0.15 * self._function(1.0))
        self.diverged = self._diverging()

    def table(self) -> MeasuredTable:
        """Means of three runs at every pair, and the problem."""
        measurements: dict[tuple[str, Fraction], Measurement] = {}
        for share in FRACTIONS:
            measurements |= self._measured(share)
        limits = self._limits([measurements[one.id, FRACTIONS[-1]] for one in self.configurations])
        problem = Problem(self.space, self.family.goal, limits, FRACTIONS, snapshots=self.family.snapshots)
        content = [repr((key, one)).encode() for key, one in measurements.items()]
        return MeasuredTable(
            name=self.name,
            source="generated",
            problem_name="",
            problem=problem,
            measurements=MappingProxyType(measurements),
            remarks=(),
            rows=len(measurements),
            digest=digest([*map(str.encode, (self.name, *limits, repr(self.family))), *content]),
        )

    @cached_property
    def cap(self) -> float:
        """Seconds after which runs are ended; infinite in families without a cap."""
        return float(np.quantile(self._seconds(1.0), 1.0 - self.family.cut)) if self.family.cut else math.inf

    def _function(self, machine_relevance: float) -> FloatArray:
        """A random function of the configuration with mean 0 and deviation 1 over the grid, [n]."""
        scales = np.exp(self.rng.uniform(math.log(0.7), math.log(3.0), self.unit.shape[1]))
        scales[3:] *= machine_relevance
        smooth = self.rng.standard_normal((FREQUENCIES, len(scales)))
        rough = np.clip(self.rng.standard_cauchy((FREQUENCIES, len(scales))), -8.0, 8.0)
        phases = self.rng.uniform(0.0, 2.0 * math.pi, 2 * FREQUENCIES)
        weights = self.rng.standard_normal(2 * FREQUENCIES)
        values = np.cos(self.unit @ (np.vstack([smooth, rough]) * scales).T + phases) @ weights
        return np.asarray((values - values.mean()) / values.std())

    def _diverging(self) -> np.ndarray:
        """Where steps are too large: high rates, small batches, and asynchronous updates of many nodes."""
        tilt = self.rng.uniform(0.0, 0.5, 3)
        push = self.unit[:, 0] - tilt[0] * self.unit[:, 1] + tilt[1] * (1.0 - self.sync) * self.unit[:, 4]
        push = push + 0.1 * tilt[2] * self._function(0.3)
        return np.asarray(push > np.quantile(push, 1.0 - DIVERGED))

    def _error(self, share: FloatArray) -> FloatArray:
        """Error at the share of the data that each configuration has seen, [n]."""
        angle = math.acos(self.family.correlation) * np.clip(np.log(share) / math.log(FRACTIONS[0]), 0.0, 1.0)
        exponent = np.cos(angle) * self.exponents[0] + np.sin(angle) * self.exponents[1]
        law = self.floor + self.lift * share**-self.power * np.exp(self.spread * exponent)
        return np.where(self.diverged, CHANCE, CHANCE * (1.0 - np.exp(-law / CHANCE)))

    def _seconds(self, share: float) -> FloatArray:
        """Seconds without a cap, [n]."""
        speed = self.vcpus**self.efficiency * self.nodes
        compute = self.batch * self.instance
        shared = np.where(self.sync > 0, 1.0, 0.6)  # asynchronous workers wait less for each other
        exchange = shared * self.family.overhead * np.median(compute) * (self.nodes - 1) / self.nodes.max()
        steps = share * self.epochs * INSTANCES / self.batch
        return np.asarray(self.begin + steps * (self.step / self.nodes + compute / speed + exchange) * self.slowness)

    def _measured(self, fraction: Fraction) -> dict[tuple[str, Fraction], Measurement]:
        share, count = float(fraction), len(self.configurations)
        spread = np.clip(2.0 ** self.rng.standard_normal((2, count)), 0.25, 3.0)
        relative = np.minimum(0.02 * share**-0.4 * spread[0], 0.5)
        noise = self.rng.standard_normal((2, count)) / math.sqrt(REPEATS)
        wanted = self._seconds(share) * np.exp(relative * noise[0])
        seconds, cut = np.minimum(wanted, self.cap), wanted >= self.cap
        error = self._error(share * seconds / wanted)
        absolute = np.minimum(0.12 * share**-0.17 * spread[1] * error, 0.05)
        values, deviations = _reported(self.family.metric, error, absolute, noise[1])
        rates = np.array([one.usd_per_hour or 0.0 for one in self.configurations])
        dollars = seconds / SECONDS_PER_HOUR * rates
        return {
            (one.id, fraction): Measurement(
                {self.family.metric: float(values[row])},
                float(seconds[row]),
                cost=float(dollars[row]),
                cut=bool(cut[row]),
                deviations={TIME: float(relative[row] * wanted[row]), self.family.metric: float(deviations[row])},
            )
            for row, one in enumerate(self.configurations)
        }

    def _limits(self, full: list[Measurement]) -> list[str]:
        """Quantiles at full data: of dollars, and (timed) of the seconds of those that keep the limit on dollars."""
        dollars, seconds = np.array([one.cost for one in full]), np.array([one.seconds for one in full])
        share = math.sqrt(self.family.feasible) if self.family.timed else self.family.feasible
        limit = _rounded(np.quantile(dollars, share))
        if not self.family.timed:
            return [f"{COST} <= {limit!r} USD"]
        kept = seconds[dollars <= limit]
        return [f"{COST} <= {limit!r} USD", f"{TIME} <= {_rounded(np.quantile(kept, share))!r} s"]


def _uncorrelated(first: FloatArray, second: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Both, the second without what it shares with the first; standardised, [n] each."""
    rest = second - first * np.mean(first * second)
    return first, np.asarray((rest - rest.mean()) / rest.std())


def _numbers(one: Configuration) -> tuple[float, ...]:
    rate, batch, cluster = one["learning_rate"], one["batch_size"], one["cluster"]
    assert isinstance(rate, float) and isinstance(batch, int) and isinstance(cluster, Cluster)
    sync = float(one["synchronism"] == "sync")
    return math.log(rate), math.log(batch), sync, math.log(cluster.machine.vcpus), math.log(cluster.nodes)


def _reported(
    metric: str, error: FloatArray, deviation: FloatArray, noise: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """What a program reports of an error, with its noise, and the deviation of one run of it; [n] each."""
    noisy = np.clip(error + deviation * noise, 0.0, 1.0)
    if metric == ACCURACY:
        return 1.0 - noisy, deviation
    if metric == LOSS:
        return 1.5 + 4.0 * noisy, 4.0 * deviation
    perplexity = 20.0 * np.exp(3.0 * noisy)
    return perplexity, 3.0 * perplexity * deviation


def _rounded(value: float) -> float:
    """Three digits, as people write limits."""
    return float(f"{value:.3g}")
