"""Large spaces and long histories: one proposal, in a process of its own, so that its peak memory is its own.

python -m benchmarks.scale trimtuner-gp --pairs 1000000 --observations 48
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from benchmarks.datasets import Dataset, generated, large_space, load
from benchmarks.histories import history_of
from benchmarks.timing import median_seconds, peak_mb
from leantune.strategies.registry import at_work, recipe
from leantune.strategies.tuner import View

ROOT = Path(__file__).resolve().parents[1]
TABLE_PAIRS = 1_440
SEED = 1


@dataclass(frozen=True)
class Case:
    """What is asked: a recipe, with so many pairs to choose from and so many observations."""

    recipe: str
    pairs: int
    observations: int


@dataclass(frozen=True)
class Result:
    """seconds of the second proposal in the process; peak_mb (10^6 bytes) of the whole process."""

    pairs: int
    observations: int
    recipe: str
    seconds: float
    peak_mb: float


def cases(*, quick: bool) -> list[Case]:
    """Every pool size at 48 observations, and the table's 1,440 pairs with more of them."""
    sizes = [(10_000, 48)] if quick else [(10_000, 48), (100_000, 48), (1_000_000, 48)]
    lengths = [] if quick else [(TABLE_PAIRS, 200), (TABLE_PAIRS, 1_000)]
    return [Case(name, *size) for name in ("trimtuner", "trimtuner-gp", "lean") for size in sizes + lengths]


def run(case: Case) -> Result:
    """Measure here."""
    dataset = _dataset(case.pairs)
    problem = dataset.problem()
    used = recipe(case.recipe)
    strategy = at_work(used)
    history = history_of(dataset, problem, used.start, observations=case.observations, seed=SEED)
    seconds = median_seconds([partial(strategy.ask, View(problem, history, SEED))] * 2)
    return Result(dataset.pairs, case.observations, case.recipe, seconds, peak_mb())


def run_apart(case: Case) -> Result:
    """Measure in a new process."""
    arguments = [case.recipe, "--pairs", str(case.pairs), "--observations", str(case.observations)]
    command = [sys.executable, "-m", "benchmarks.scale", *arguments]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return Result(**json.loads(done.stdout))


def _dataset(pairs: int) -> Dataset:
    return load("rnn") if pairs == TABLE_PAIRS else generated(f"{pairs} pairs", large_space(pairs))


def main() -> None:
    """Print one Result as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recipe")
    parser.add_argument("--pairs", type=int, default=TABLE_PAIRS)
    parser.add_argument("--observations", type=int, default=48)
    given = parser.parse_args()
    print(json.dumps(asdict(run(Case(given.recipe, given.pairs, given.observations)))))


if __name__ == "__main__":
    main()
