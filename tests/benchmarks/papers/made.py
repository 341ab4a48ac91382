"""Rows that nobody measured: results of every group, for tests of what is made of them."""

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.papers.experiments import Effort, groups
from benchmarks.papers.inventory import Inventory
from benchmarks.papers.results import Results, Run, Timing
from leantune.lab.replay.runs import COMMON, PAPER, Advice, Row
from leantune.lab.replay.truth import TrueQuality

BEST = 0.98
_FOLDER = TemporaryDirectory(prefix="leantune-papers-")  # goes when the tests end
SHARES = ("1/60", "1/10", "1/4", "1/2", "1")


def advice(accuracy: float, *, feasible: bool = True, ratio: float | None = None, full: float | None = None) -> Advice:
    """A recommendation of that accuracy; ratio: over the best, by default that of the accuracies."""
    found = BEST / accuracy if ratio is None else ratio
    verdict = TrueQuality({"accuracy": accuracy}, feasible, accuracy, found, found if full is None else full)
    return Advice({}, "1", True, verdict)


def row(
    test: int,
    dollars: float,
    told: Advice | None,
    *,
    start: bool = False,
    share: str = "1",
    cost: float = 0.1,
    asked: float = 0.5,
) -> Row:
    """A test after which so many dollars are spent, one second a cent."""
    advised = {} if told is None else {PAPER: told, COMMON: told}
    return Row(test, start, {}, share, cost, 100 * cost, False, dollars, 100 * dollars, asked, (), advised)


def run(
    accuracies: Sequence[float], *, starts: int = 1, cost: float = 0.1, share: str = "1", asked: float = 0.5
) -> Run:
    """Tests of equal cost; below 0: infeasible. A start brings as many tests as it says."""
    return [
        row(
            index + 1,
            cost * (index + 1),
            advice(abs(accuracy), feasible=accuracy > 0),
            start=index < starts,
            share=share,
            cost=cost,
            asked=asked,
        )
        for index, accuracy in enumerate(accuracies)
    ]


@cache
def inventory() -> Inventory:
    """A generated table of the rnn's shape."""
    return Inventory.generate(Path(_FOLDER.name))


@cache
def results(seeds: int = 3) -> Results:
    """Every group of the generated table, random numbers that improve."""
    made = groups(inventory(), Effort(seeds=seeds))
    runs = {}
    for group in made.values():
        for case in group.cases:
            rng = np.random.default_rng([len(case.method), len(case.setup), len(group.name)])
            runs[group.name, case.setup, case.table, case.method] = [_random(rng, case.table) for _ in range(seeds)]
    return Results(runs, made, {name: Timing(90.0, 12) for name in made})


def _random(rng: np.random.Generator, table: str) -> Run:
    tests = int(rng.integers(8, 14))
    costs = rng.uniform(0.001, 0.02, tests)
    accuracies = np.sort(rng.uniform(0.5, 0.98, tests))
    spent = np.cumsum(costs)
    rows = []
    for index in range(tests):
        ratio = float(1.0 + 3.0 * rng.random() * (1.0 - index / tests))
        told = advice(float(accuracies[index]), feasible=bool(rng.random() > 0.2), full=ratio)
        share = str(Fraction(SHARES[int(rng.integers(5))]))
        asked = float(rng.uniform(0.01, 0.5))
        rows.append(
            row(
                index + 1,
                float(spent[index]),
                told,
                start=index < 2,
                share=share,
                cost=float(costs[index]),
                asked=asked,
            )
        )
    return rows
