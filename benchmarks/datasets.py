"""Problems with known answers: the measurements that TrimTuner's authors published, and generated ones.

The published tables are read where they lie, as `leantune.lab.replay` does (`<repository>/../shared/data`, or the
folder that LEANTUNE_DATA names). Where one is absent, `load` generates a table of the same shape and `Dataset.source`
says so.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import exp, sqrt
from pathlib import Path

import numpy as np

from leantune import clusters, errors, maximize, ordinal
from leantune.executors.replay import Measurement
from leantune.executors.replay import Table as ReplayTable
from leantune.lab.replay.tables import default_data, load_table
from leantune.problem import COST, Budget, Problem
from leantune.space import Configuration, Configurations, Space, choice
from leantune.strategies.proposals import derived_seed

GENERATED = "generated"
WRITTEN = (  # columns of the authors' files that matter
    "n_workers",
    "learning_rate",
    "batch_size",
    "synchronism",
    "vm_flavor",
    "training_set_size",
    "n_ps",
    "training_time",
    "standard deviation time",
    "acc",
    "standard deviation accuarcy",
)
GENERATED_NOISE = 0.03  # of log errors and log seconds
GENERATED_LIFT = 0.1  # of the accuracies that are written, so that some small shares are good enough

ACCURACY = "accuracy"
FULL_SIZE = 60_000  # images of the training set
FRACTIONS = tuple(Fraction(size, FULL_SIZE) for size in (1_000, 6_000, 15_000, 30_000, 60_000))
COST_LIMITS = {"rnn": 0.02, "multilayer": 0.06, "cnn": 0.10}  # USD (TrimTuner, section IV)

Measure = Callable[[Configuration, Fraction], Measurement]


@dataclass(frozen=True)
class Dataset:
    """A space with shares of the data, what a run of each pair brings, and a limit in dollars at full data.

    source: the file the measurements come from, or "generated".
    """

    name: str
    source: str
    space: Space
    fractions: tuple[Fraction, ...]
    cost_limit: float
    measure: Measure

    @property
    def pairs(self) -> int:
        """Number of (configuration, share) pairs."""
        return len(self.space.grid()) * len(self.fractions)

    def problem(self, budget: Budget | None = None) -> Problem:
        """Best accuracy at full data within the limit (TrimTuner Eq. 4)."""
        limits = [f"cost <= {self.cost_limit!r} USD"]
        return Problem(self.space, maximize(ACCURACY), limits, self.fractions, budget or Budget(), snapshots=True)

    def table(self) -> ReplayTable:
        """Every measurement, as a replay executor takes them."""
        pairs = product(self.space.grid(), self.fractions)
        return {(configuration.id, share): self.measure(configuration, share) for configuration, share in pairs}


def load(name: str) -> Dataset:
    """The published table of that name ("rnn", "cnn", "multilayer"), or a generated one where its file is absent."""
    if name not in COST_LIMITS:
        raise errors.InvalidInput(
            f"there is no table {name!r}", where="datasets.load", hint=f"Give one of {', '.join(COST_LIMITS)}"
        )
    return published(name) if table_path(name).is_file() else generated(name, trimtuner_space())


def table_path(name: str) -> Path:
    """Where the published table of that name is looked for."""
    return default_data() / "trimtuner" / f"{name}.csv"


def trimtuner_space() -> Space:
    """288 configurations; the parameter server and the helper machine are paid for beside the workers."""
    return Space(
        learning_rate=ordinal(1e-5, 1e-4, 1e-3),
        batch_size=ordinal(16, 256),
        synchronism=choice("async", "sync"),
        cluster=clusters(
            "aws",
            types=["t2.small", "t2.medium", "t2.xlarge", "t2.2xlarge"],
            vcpus=[8, 16, 32, 48, 64, 80],
            extra_nodes=1,
            overhead_usd_per_hour=0.3712,
        ),
    )


def published(name: str) -> Dataset:
    """A table of TrimTuner's authors."""
    table = load_table(f"trimtuner-{name}")
    expected = len(trimtuner_space().grid()) * len(FRACTIONS)
    if len(table.measurements) != expected or table.problem.fractions != FRACTIONS:
        hint = f"TrimTuner's tables have {expected}"
        raise errors.InvalidInput(f"{len(table.measurements)} usable pairs", where=table.source, hint=hint)
    (limit,) = (one.limit for one in table.problem.constraints if one.metric == COST)

    def measure(configuration: Configuration, share: Fraction) -> Measurement:
        return table.measurements[configuration.id, share]

    return Dataset(name, table.source, table.problem.space, FRACTIONS, limit, measure)


def write_generated(name: str, folder: Path) -> Path:
    """A generated table as TrimTuner's authors would have written it, for runs without the published ones.

    Seconds are scaled so that half of the configurations keep the limit of that table.
    """
    made = generated(name, trimtuner_space())
    scale = COST_LIMITS[name] / made.cost_limit
    path = folder / "trimtuner" / f"{name}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(WRITTEN)
        for x, share in product(made.space.grid(), FRACTIONS):
            seen, cluster = made.measure(x, share), x.cluster
            assert cluster is not None
            own = [cluster.nodes, x["learning_rate"], x["batch_size"], x["synchronism"], cluster.type]
            size, accuracy = int(share * FULL_SIZE), min(0.99, seen.metrics[ACCURACY] + GENERATED_LIFT)
            seconds = seen.seconds * scale
            numbers = (seconds, GENERATED_NOISE * seconds, accuracy, GENERATED_NOISE * (1.0 - accuracy))
            writer.writerow([*own, size, 1, *(f"{one:.6f}" for one in numbers)])
    return path


def large_space(pairs: int) -> Space:
    """A space that makes 10^4, 10^5 or 10^6 pairs with the five shares."""
    sizes = (10_000, 100_000, 1_000_000)
    if pairs not in sizes:
        raise errors.InvalidInput(
            f"{pairs} pairs", where="large_space", hint=f"Give one of {', '.join(map(str, sizes))}"
        )
    parameters = {
        "learning_rate": ordinal(*(10.0 ** (-5.0 + step / 3.0) for step in range(10))),
        "batch_size": ordinal(*(2 ** (step + 3) for step in range(10))),
        "cluster": clusters("aws", types=["t2.small", "t2.medium", "t2.xlarge", "t2.2xlarge"], nodes=[1, 2, 4, 8, 16]),
        "dropout": ordinal(*(step / 20 for step in range(10))),
        "momentum": ordinal(*(step / 10 for step in range(10))),
    }
    kept = 3 + sizes.index(pairs)
    return Space(**dict(list(parameters.items())[:kept]))


def generated(name: str, space: Space) -> Dataset:
    """Made-up measurements over any space with prices, smooth with a little noise, the same in every process.

    Accuracy falls off around a best place in the features and rises with the data; seconds grow log-linearly with
    features and data. The limit is the median cost at full data.
    """
    rng = np.random.default_rng(derived_seed(GENERATED, name, space.dimensions))
    best = rng.uniform(0.2, 0.8, space.dimensions)
    sharpness = rng.uniform(0.2, 1.0, space.dimensions)
    growth = rng.uniform(-1.0, 1.0, space.dimensions)

    def measure(configuration: Configuration, share: Fraction) -> Measurement:
        x = Configurations.of(space, [configuration]).features[0]
        noise = np.random.default_rng(derived_seed(name, configuration.id, str(share))).standard_normal(2)
        distance = float(sharpness @ (x - best) ** 2)
        error = (0.02 + 0.6 * (1.0 - exp(-distance)) + 0.3 * (1.0 - sqrt(share))) * exp(GENERATED_NOISE * noise[0])
        seconds = 200.0 * float(share) ** 0.8 * exp(float(growth @ (x - 0.5)) + GENERATED_NOISE * noise[1])
        return Measurement({ACCURACY: max(0.0, 1.0 - error)}, seconds)

    sample = space.latin_hypercube(100, seed=0)
    costs = [measure(x, FRACTIONS[-1]).seconds / 3600.0 * (x.usd_per_hour or 0.0) for x in sample]
    return Dataset(name, GENERATED, space, FRACTIONS, float(np.median(costs)), measure)
