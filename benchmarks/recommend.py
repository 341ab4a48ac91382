"""How long one recommendation takes, beside other people's programs; `make bench` runs it with --json.

    python -m benchmarks.recommend [--json] [--quick]

The recipes are the registered ones, nothing thinned. Everything runs on the rnn table of TrimTuner (1,440 pairs, of
which 48 have been observed), warm, median of 5; LeanTune on all cores, or as LEANTUNE_THREADS says, the others on one.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, is_dataclass
from functools import partial
from importlib import metadata

from benchmarks import agreement, scale
from benchmarks.datasets import Dataset, load
from benchmarks.histories import history_of
from benchmarks.methods import RECIPES, Reference, botorch_entropy, optuna_gp, sklearn_trees
from benchmarks.report import print_report
from benchmarks.timing import median_seconds
from leantune import __version__, errors
from leantune.history import History
from leantune.models.threads import thread_count
from leantune.problem import Problem
from leantune.strategies.recipe import Recipe
from leantune.strategies.registry import at_work, recipe
from leantune.strategies.tuner import View

SEED = 1
OBSERVATIONS = 48
STARTED_WITH = 1_436  # pairs untested after TrimTuner's start: the number by which `ratio_trees` is defined
LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn", "torch", "botorch", "gpytorch", "optuna")

Json = dict[str, object]


@dataclass(frozen=True)
class Effort:
    """How much is measured."""

    quick: bool
    repetitions: int
    sklearn_candidates: int
    agreement_seeds: int


FULL = Effort(quick=False, repetitions=5, sklearn_candidates=5, agreement_seeds=10)
QUICK = Effort(quick=True, repetitions=1, sklearn_candidates=1, agreement_seeds=1)


@dataclass(frozen=True)
class Bench:
    """The one situation that everything is timed in."""

    dataset: Dataset
    problem: Problem
    history: History
    effort: Effort

    @classmethod
    def of(cls, effort: Effort) -> Bench:
        dataset = load("rnn")
        problem = dataset.problem()
        start = RECIPES["gp_cea10"]().start  # TrimTuner's, for every recipe
        history = history_of(dataset, problem, start, observations=OBSERVATIONS, seed=SEED)
        return cls(dataset, problem, history, effort)

    def recipe_seconds(self, method: Recipe) -> float:
        """One proposal of a recipe."""
        ask = partial(at_work(method).ask, View(self.problem, self.history, SEED))
        return median_seconds([ask] * (1 + self.effort.repetitions))

    def reference_seconds(self, prepare: Callable[..., Reference], **options: int) -> float | None:
        """One suggestion of another program, each time prepared anew; None in a quick run where it is not installed."""
        try:
            suggestions = [
                prepare(self.problem, self.history, seed=SEED + repetition, **options)
                for repetition in range(1 + self.effort.repetitions)
            ]
        except errors.MissingExtra as error:
            if not self.effort.quick:
                raise
            say(f"left out: {error}")
            return None
        return median_seconds(suggestions)


def measure(effort: Effort) -> Json:
    """Everything, under the keys of `make bench`."""
    bench = Bench.of(effort)
    say(f"{bench.dataset.name}: {bench.dataset.source}")
    result: Json = {"settings": settings(bench)}
    taken: dict[str, float] = {}
    for key, method in RECIPES.items():
        taken[key] = bench.recipe_seconds(method())
        result[f"{key}_s"] = taken[key]
        say(f"{key}: {taken[key]:.3f} s")
    result |= ratios(bench, taken)
    result["scale"] = scale_results(effort)
    result["agreement"] = agreement_results(bench)
    return result


def ratios(bench: Bench, taken: dict[str, float]) -> Json:
    """Seconds of the references over ours."""
    count = bench.effort.sklearn_candidates
    sklearn = bench.reference_seconds(sklearn_trees, candidates=count)
    found = {
        "ratio_trees": (None if sklearn is None else sklearn / count * STARTED_WITH, "trees_nofilter"),
        "ratio_botorch": (bench.reference_seconds(botorch_entropy), "gp_nofilter"),
        "ratio_optuna": (bench.reference_seconds(optuna_gp), "gp_cea10"),
        "ratio_optuna_limits": (bench.reference_seconds(optuna_gp, limits=True), "gp_cea10"),
    }
    result: Json = {}
    for name, (seconds, ours) in found.items():
        result[name] = None if seconds is None else seconds / taken[ours]
        if seconds is not None:
            say(f"{name}: {seconds:.3f} s over {taken[ours]:.3f} s = {seconds / taken[ours]:.2f}")
    return result


def scale_results(effort: Effort) -> list[Json]:
    """Large spaces and long histories."""
    results = []
    for case in scale.cases(quick=effort.quick):
        result = scale.run_apart(case)
        results.append(asdict(result))
        say(f"scale: {result}")
    return results


def agreement_results(bench: Bench) -> list[Json]:
    """Capped against uncapped at 1,440 pairs."""
    seeds = bench.effort.agreement_seeds
    found: list[agreement.Agreement] = []
    for name in ("trimtuner", "trimtuner-gp"):
        plain = recipe(name)
        capped = agreement.configuration_caps(plain)
        found += agreement.compare(
            agreement.uncapped(plain), capped, bench.dataset, observations=OBSERVATIONS, seeds=seeds
        )
    if not bench.effort.quick:  # sampling on all observations is what the cap is against: slow
        found += agreement.compare(*agreement.density_cap(), bench.dataset, observations=300, seeds=3)
    for one in found:
        say(f"agreement: {one}")
    return [asdict(one) for one in found]


def settings(bench: Bench) -> Json:
    """What was measured, on what."""
    return {
        "data": bench.dataset.source,
        "pairs": bench.dataset.pairs,
        "observations": OBSERVATIONS,
        "untested_pairs": bench.dataset.pairs - OBSERVATIONS,
        "ratio_trees_candidates": STARTED_WITH,
        "seed": SEED,
        "repetitions": bench.effort.repetitions,
        "quick": bench.effort.quick,
        "recipes": {key: described(method()) for key, method in RECIPES.items()},
        "threads": thread_count(),
        "reference_threads": 1,
        "cores": os.cpu_count(),
        "load_average": os.getloadavg()[0],
        "machine": platform.platform(),
        "versions": {"leantune": __version__, "python": platform.python_version(), **installed()},
    }


def installed() -> dict[str, str | None]:
    """Versions of the libraries that matter; None where one is missing."""
    found: dict[str, str | None] = {}
    for name in LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
    return found


def described(part: object) -> object:
    """A recipe as plain data: every field of every part, with the part's own name."""
    if is_dataclass(part) and not isinstance(part, type):
        return {"is": type(part).__name__} | {f.name: described(getattr(part, f.name)) for f in fields(part)}
    if isinstance(part, tuple | frozenset):
        return [described(one) for one in (sorted(part) if isinstance(part, frozenset) else part)]
    return part if isinstance(part, int | float | str | None) else str(part)


def say(line: str) -> None:
    """Progress, where it does not disturb the JSON."""
    print(line, file=sys.stderr, flush=True)


def main(arguments: list[str] | None = None) -> None:
    """Measure, then print JSON or tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON rather than tables")
    parser.add_argument("--quick", action="store_true", help="one repetition of a few things, to see that it runs")
    given = parser.parse_args(arguments)
    result = measure(QUICK if given.quick else FULL)
    if given.json:
        print(json.dumps(result, indent=2))
    else:
        print_report(result)


if __name__ == "__main__":
    main()
