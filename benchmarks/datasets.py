"""Problems with known answers: the measurements that TrimTuner's authors published, and generated ones.

The published tables are read where they lie (`<repository>/../shared/data`, or the folder that LEANTUNE_DATA names) and
are never copied. Where one is absent, `load` generates a table of the same shape and `Dataset.source` says so.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import exp, sqrt
from pathlib import Path

import numpy as np

from leantune import clusters, errors, maximize, ordinal
from leantune.executors.replay import Measurement
from leantune.executors.replay import Table as ReplayTable
from leantune.problem import Budget, Problem
from leantune.space import Configuration, Configurations, Space, choice
from leantune.strategies.seeds import derived_seed
from leantune.units import Seconds

DATA_VARIABLE = "LEANTUNE_DATA"
DEFAULT_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
GENERATED = "generated"

ACCURACY = "accuracy"
FULL_SIZE = 60_000  # images of the training set
FRACTIONS = tuple(Fraction(size, FULL_SIZE) for size in (1_000, 6_000, 15_000, 30_000, 60_000))
COST_LIMITS = {"rnn": 0.02, "multilayer": 0.06, "cnn": 0.10}  # USD (TrimTuner, section IV)
TIME_LIMIT = Seconds(600.0)  # the authors stopped every run after ten minutes

Measure = Callable[[Configuration, Fraction], Measurement]


@dataclass(frozen=True)
class Dataset:
    """A space with shares of the data, what a run of each pair brings, and a limit in dollars at full data.

    source: the file the measurements come from, or "generated". time_limit: runs that reach it were cut there.
    """

    name: str
    source: str
    space: Space
    fractions: tuple[Fraction, ...]
    cost_limit: float
    measure: Measure
    time_limit: Seconds | None = None

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
    path = table_path(name)
    return published(name, path) if path.is_file() else generated(name, trimtuner_space())


def table_path(name: str) -> Path:
    """Where the published table of that name is looked for."""
    return Path(os.environ.get(DATA_VARIABLE) or DEFAULT_DATA) / "trimtuner" / f"{name}.csv"


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


def published(name: str, path: Path) -> Dataset:
    """A table of TrimTuner's authors."""
    space = trimtuner_space()
    rows = dict(_rows(path))
    expected = len(space.grid()) * len(FRACTIONS)
    if len(rows) != expected:
        raise errors.InvalidInput(
            f"{len(rows)} different pairs", where=str(path), hint=f"TrimTuner's tables have {expected}"
        )

    def measure(configuration: Configuration, share: Fraction) -> Measurement:
        cluster = configuration.cluster
        assert cluster is not None
        own = tuple(configuration[parameter] for parameter in ("learning_rate", "batch_size", "synchronism"))
        return rows[(*own, cluster.type, cluster.nodes, share)]

    return Dataset(name, str(path), space, FRACTIONS, COST_LIMITS[name], measure, TIME_LIMIT)


def _rows(path: Path) -> Iterator[tuple[tuple[object, ...], Measurement]]:
    with path.open(encoding="utf-8-sig", newline="") as file:  # rnn.csv starts with a byte-order mark
        for row in csv.DictReader(file):
            share = Fraction(int(row["training_set_size"]), FULL_SIZE)
            own = (float(row["learning_rate"]), int(row["batch_size"]), row["synchronism"])
            seconds = float(row["training_time"])
            yield (
                (*own, row["vm_flavor"], int(row["n_workers"]), share),
                Measurement({ACCURACY: float(row["acc"])}, seconds),
            )


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
        error = (0.02 + 0.6 * (1.0 - exp(-distance)) + 0.3 * (1.0 - sqrt(share))) * exp(0.03 * noise[0])
        seconds = 200.0 * float(share) ** 0.8 * exp(float(growth @ (x - 0.5)) + 0.03 * noise[1])
        return Measurement({ACCURACY: max(0.0, 1.0 - error)}, seconds)

    sample = space.latin_hypercube(100, seed=0)
    costs = [measure(x, FRACTIONS[-1]).seconds / 3600.0 * (x.usd_per_hour or 0.0) for x in sample]
    return Dataset(name, GENERATED, space, FRACTIONS, float(np.median(costs)), measure)
