"""How well models foretell full data from tests that were mostly made on parts of it.

    python -m benchmarks.model_error [--json]

On the papers' tables, from TrimTuner's start and random pairs at s < 1: root mean squared error, over all
configurations whose full run was not cut, of log dollars and of -log(1 - accuracy) at s = 1; means over histories.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction

import numpy as np

from benchmarks.datasets import load
from benchmarks.histories import history_of
from leantune.arrays import FloatArray
from leantune.models.base import Fitter, Points
from leantune.models.gp import GpFitter
from leantune.models.threads import one_blas_thread
from leantune.models.trees import TreesFitter
from leantune.problem import COST
from leantune.strategies.evidence import Evidence
from leantune.strategies.registry import recipe

TABLES, SIZES, HISTORIES = ("rnn", "cnn"), (12, 24, 48), 10
MODELS: dict[str, Fitter] = {
    "trees": TreesFitter(trees=50, floor=0.3),
    "trees without the slope": TreesFitter(trees=50, floor=0.3, trend=False),
    "gp": GpFitter(),
}


@dataclass(frozen=True)
class Missed:
    """By how much a model misses full data, knowing so many observations."""

    table: str
    model: str
    observations: int
    log_dollars: float
    log_error: float


def measure(tables: Sequence[str] = TABLES, sizes: Sequence[int] = SIZES, histories: int = HISTORIES) -> list[Missed]:
    """Every table, size and model."""
    found = []
    for table in tables:
        for size in sizes:
            per_history = [_errors(table, size, seed) for seed in range(histories)]
            for model in MODELS:
                dollars, error = np.mean([errors[model] for errors in per_history], axis=0)
                found.append(Missed(table, model, size, float(dollars), float(error)))
    return found


def _errors(table: str, observations: int, seed: int) -> dict[str, tuple[float, float]]:
    """Root mean squared errors of (log dollars, -log(1 - accuracy)) at full data, by model."""
    dataset = load(table)
    parts = replace(dataset, fractions=dataset.fractions[:-1])  # what random pairs are drawn from
    problem = dataset.problem()
    history = history_of(parts, problem, recipe("trimtuner").start, observations=observations, seed=seed)
    evidence = Evidence.of(problem, history)
    grid = dataset.space.grid()
    rows = [dataset.measure(configuration, Fraction(1)) for configuration in grid]
    whole = np.array([not row.cut for row in rows])
    at_full = Points(np.array(grid.features)[whole], np.ones(int(whole.sum())))
    rates = np.array([configuration.usd_per_hour or np.nan for configuration in grid])
    truth = {
        COST: np.array([row.seconds for row in rows]) * rates / 3600.0,
        problem.goal.metric: np.array([row.metrics[problem.goal.metric] for row in rows]),
    }

    def missed(model: Fitter, metric: str) -> float:
        transform = evidence.transform(metric)
        fitted = model.fit(evidence.data(metric, transform), grows_with_data=metric == COST, seed=seed)
        return _root_mean_square(fitted.predict(at_full).mean - transform.forward(truth[metric][whole]))

    with one_blas_thread():
        return {name: (missed(one, COST), missed(one, problem.goal.metric)) for name, one in MODELS.items()}


def _root_mean_square(errors: FloatArray) -> float:
    return float(np.sqrt(np.mean(np.square(errors))))


def main(arguments: list[str] | None = None) -> None:
    """Print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON rather than a table")
    given, found = parser.parse_args(arguments), measure()
    if given.json:
        print(json.dumps([asdict(one) for one in found], indent=2))
        return
    print(f"{'table':6} {'observations':>12}  {'model':26} {'log dollars':>11} {'log error':>10}")
    for one in found:
        print(f"{one.table:6} {one.observations:12}  {one.model:26} {one.log_dollars:11.2f} {one.log_error:10.2f}")


if __name__ == "__main__":
    main()
