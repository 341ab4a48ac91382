"""How many trees an information gain needs before it ranks tests as very many trees do.

    python -m benchmarks.tree_gain [--json]

On 48 observations of the rnn table and random untested pairs: mean rank correlation, over seeds, of the gain of few
trees with the gain of many, for both ways in which trees learn from a simulated test (leantune.models.trees).
`reference` is the agreement of two ensembles of many trees with each other: no estimate can be expected to do better.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass

import numpy as np
from scipy.stats import spearmanr

from benchmarks.datasets import load
from benchmarks.histories import history_of
from leantune.arrays import FloatArray
from leantune.models.base import Data, Points, Roots
from leantune.models.threads import one_blas_thread
from leantune.models.trees import Gain, TreesFitter
from leantune.strategies.candidates import Table
from leantune.strategies.evidence import Evidence
from leantune.strategies.registry import recipe

OBSERVATIONS, PAIRS, SEEDS, HISTORIES = 48, 40, 6, (1, 2)
MANY_TREES, MANY_SAMPLES = 2000, 4000
SAMPLES = 1000
TREES = (10, 20, 30, 50, 300)


@dataclass(frozen=True)
class Agreement:
    """Mean rank correlation with many trees, one number a history; trees: None is many trees against many."""

    gain: Gain
    trees: int | None
    correlation: tuple[float, ...]


@dataclass(frozen=True)
class Situation:
    """What was observed, what may be tested, where the optimum may lie."""

    data: Data
    tests: Points
    at: Points

    @classmethod
    def of(cls, seed: int) -> Situation:
        dataset, used = load("rnn"), recipe("trimtuner")
        problem = dataset.problem()
        history = history_of(dataset, problem, used.start, observations=OBSERVATIONS, seed=seed)
        evidence = Evidence.of(problem, history)
        metric = problem.goal.metric
        table = Table.of(problem, history, used, seed)
        rows, levels = np.nonzero(table.untested(used))
        chosen = np.sort(np.random.default_rng(seed).choice(len(rows), PAIRS, replace=False))
        x = table.candidates.x
        tests = Points(x[rows[chosen]], table.candidates.levels[levels[chosen]])
        everywhere = table.candidates.at_full(np.arange(len(x)))
        return cls(evidence.data(metric, evidence.transform(metric)), tests, everywhere)

    def gain(self, how: Gain, trees: int, samples: int, seed: int) -> FloatArray:
        """Information gain of every test."""
        fitter = TreesFitter(trees=trees, gain=how, gain_trees=trees)
        optimum = fitter.fit(self.data, grows_with_data=False, seed=seed).optimum(self.at, samples, seed)
        return optimum.expected_divergence(self.tests, Roots.of(3)) - optimum.divergence


def measure() -> list[Agreement]:
    """Both gains, every number of trees."""
    situations = [Situation.of(seed) for seed in HISTORIES]
    kinds: tuple[Gain, ...] = ("regrown", "conditioned")
    found = []
    for how in kinds:
        many = [[s.gain(how, MANY_TREES, MANY_SAMPLES, seed) for seed in (1001, 1002)] for s in situations]
        found.append(Agreement(how, None, tuple(_correlation(*pair) for pair in many)))
        for trees in TREES:
            means = [
                float(
                    np.mean(
                        [_correlation(pair[0] + pair[1], s.gain(how, trees, SAMPLES, seed)) for seed in range(SEEDS)]
                    )
                )
                for s, pair in zip(situations, many, strict=True)
            ]
            found.append(Agreement(how, trees, tuple(means)))
    return found


def _correlation(left: FloatArray, right: FloatArray) -> float:
    return float(spearmanr(left, right).statistic)


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON rather than lines")
    given = parser.parse_args(arguments)
    with one_blas_thread():
        found = measure()
    if given.json:
        print(json.dumps([asdict(one) for one in found], indent=2))
        return
    for one in found:
        trees = "reference" if one.trees is None else f"{one.trees} trees"
        print(f"{one.gain:12}{trees:12}{'  '.join(f'{value:.2f}' for value in one.correlation)}")


if __name__ == "__main__":
    main()
