"""How well the ends of real learning curves are foreseen, and whether the best settings are kept (Fig. 8c, Fig. 11).

    python -m benchmarks.curves [--json] [--quick]

For theta = 0.1..1.0 and every predictor: the relative error |predicted - true| / |true|, how often the 68 % and 95 %
intervals hold the truth, and how often the best setting of a group is among the one or three that continue. Plus the
share of declared drops that the heuristics find, and seconds beside scipy.optimize.curve_fit.

    stages  every stage of the runs with declared drops, ended with the stage; theta of the stage
    runs    the same 34 runs whole, theta of the run; most have a drop to come and are not predictable before it
    adam    1,000 settings of Adam, theta of the run; groups of 16 settings at random
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy.optimize import curve_fit

from benchmarks.curve_data import Run, Task, adam_tasks, drop_runs, run_tasks, stage_tasks
from leantune.arrays import FloatArray
from leantune.curves.base import Curve, Outlook, Prediction
from leantune.curves.predictors import DEFAULT, PREDICTORS, curve_predictor
from leantune.curves.selection import choose
from leantune.curves.stages import ChangeRate, Jump, StageRule

SEED = 1
GROUP = 16  # settings, as in the paper
NEAR = 0.01  # of the best: as good as it
ONE_SIGMA, INTERVAL_95 = 1.0, 1.96
FITTED_POINTS = 200
WIDE = 160  # columns, where no terminal says how many
RULES: dict[str, StageRule] = {"as printed": ChangeRate(), "default": Jump()}

Json = dict[str, object]
IndexArray = NDArray[np.int64]


@dataclass(frozen=True)
class Effort:
    """How much is measured; `take`: every so manyth task."""

    thetas: tuple[float, ...]
    take: int
    groups: int
    fits: int


FULL = Effort(tuple(round(0.1 * i, 1) for i in range(1, 11)), take=1, groups=500, fits=1_000)
QUICK = Effort((0.3, 0.7, 1.0), take=10, groups=50, fits=50)


@dataclass(frozen=True)
class Accuracy:
    """Over the tasks that were predicted and ended in a number other than 0; diverged: said so, and how many were."""

    data: str
    predictor: str
    theta: float
    tasks: int
    scored: int
    not_predictable: int
    said_diverged: int
    error_median: float | None
    error_p90: float | None
    cover_68: float | None
    cover_95: float | None


@dataclass(frozen=True)
class Choice:
    """Shares of groups whose best setting was among those that continued with mcnt 1 and 3.

    near_3: or one within 1 % of it; continue_3: how many went on with mcnt 3, those not predictable included;
    by_mean_3: top_3 where the means alone decide.
    """

    data: str
    predictor: str
    theta: float
    groups: int
    top_1: float
    top_3: float
    near_3: float
    by_mean_3: float
    continue_3: float


def predictions_of(tasks: Sequence[Task], name: str, theta: float) -> list[Prediction]:
    """What a predictor says of each task."""
    predictor = curve_predictor(name)
    return [predictor.predict(task.known(theta), task.end) for task in tasks]


def accuracy(data: str, name: str, theta: float, tasks: Sequence[Task], told: Sequence[Prediction]) -> Accuracy:
    """Errors and coverage."""
    truth = np.array([task.truth for task in tasks])
    mean, sd = np.array([one.mean for one in told]), np.array([one.sd for one in told])
    scored = np.isfinite(mean) & np.isfinite(sd) & np.isfinite(truth) & (truth != 0.0)
    distance = np.abs(mean - truth)[scored]
    error = distance / np.abs(truth[scored])
    return Accuracy(
        data,
        name,
        theta,
        len(tasks),
        int(scored.sum()),
        sum(one.outlook is Outlook.NOT_PREDICTABLE for one in told),
        sum(one.outlook is Outlook.DIVERGED for one in told),
        float(np.median(error)) if len(error) else None,
        float(np.quantile(error, 0.9)) if len(error) else None,
        float(np.mean(distance <= ONE_SIGMA * sd[scored])) if len(error) else None,
        float(np.mean(distance <= INTERVAL_95 * sd[scored])) if len(error) else None,
    )


def choice(
    data: str, name: str, theta: float, groups: Sequence[IndexArray], told: Sequence[Prediction], truth: FloatArray
) -> Choice:
    """Hit rates over groups of indices."""
    hits = []
    for group in groups:
        ends = truth[group]
        members = [told[i] for i in group]
        best, by_chance = int(np.nanargmin(ends)), choose(members, 3)
        first = {by_chance.ranking[0].index} | {one.index for one in by_chance.ranking if np.isnan(one.probability)}
        near = bool((ends[list(by_chance.chosen)] <= ends[best] + NEAR * abs(ends[best])).any())
        by_mean = choose([replace(one, sd=0.0) if np.isfinite(one.sd) else one for one in members], 3)
        kept = by_chance.chosen
        hits.append((best in first, best in kept, near, best in by_mean.chosen, len(kept)))
    shares = [float(share) for share in np.mean(hits, axis=0)]
    return Choice(data, name, theta, len(groups), *shares)


def random_groups(truth: FloatArray, count: int) -> list[IndexArray]:
    """Groups of 16 different settings, each with one that ends in a number."""
    random = np.random.default_rng(SEED)
    size = min(GROUP, len(truth))
    groups = [random.choice(len(truth), size, replace=False) for _ in range(count)]
    return [group for group in groups if np.isfinite(truth[group]).any()]


def comparable_groups(runs: Sequence[Run]) -> list[IndexArray]:
    """Runs of one source and metric, where there are four or more."""
    kinds = sorted({(run.source, run.metric) for run in runs})
    groups = [[i for i, run in enumerate(runs) if (run.source, run.metric) == kind] for kind in kinds]
    return [np.array(group) for group in groups if len(group) >= 4]


def heuristic_hits(runs: Sequence[Run]) -> list[Json]:
    """How many of the declared drops each rule finds from the values alone, within two evaluations."""
    found: list[Json] = []
    for name, rule in RULES.items():
        declared = hit = told = 0
        for run in runs:
            steps, drops = run.curve.steps, run.curve.drops
            if not drops:
                continue
            starts = steps[rule.starts(run.curve.values)]
            reach = 2.0 * float(np.median(np.diff(steps)))
            declared, told = declared + len(drops), told + len(starts)
            hit += sum(bool((np.abs(starts - drop) <= reach).any()) for drop in drops)
        found.append({"rule": name, "declared": declared, "found": hit, "told": told})
    return found


def generated_curves(count: int) -> list[Curve]:
    """Noisy curves of Eq. 4, 200 points."""
    random = np.random.default_rng(SEED)
    k = np.arange(1.0, FITTED_POINTS + 1)
    shapes = random.uniform((1e-5, 1e-3, 0.5, 0.1), (1e-3, 0.1, 2.0, 1.0), (count, 4))
    return [Curve(k, eq4(k, *shape) + random.normal(0.0, 0.005, len(k))) for shape in shapes]


def eq4(k: FloatArray, a0: float, a1: float, a2: float, a3: float) -> FloatArray:
    """SpotTune Eq. 4."""
    return 1.0 / (a0 * k**2 + a1 * k + a2) + a3


def speed(count: int) -> list[Json]:
    """Seconds per 1,000 curves of 200 points, and how many times that curve_fit takes for Eq. 4 alone."""
    curves = generated_curves(count)
    few = curves[: max(count // 20, 5)]
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # covariances that cannot be had
        for curve in few:
            curve_fit(eq4, curve.steps, curve.values, p0=(1e-4, 1e-2, 1.0, 0.1), bounds=(0.0, np.inf), maxfev=20_000)
    reference = (time.perf_counter() - begin) / len(few) * 1_000
    rows: list[Json] = [{"predictor": "scipy curve_fit", "seconds_per_1000": reference, "ratio": 1.0}]
    for name in PREDICTORS:
        predictor = curve_predictor(name)
        predictor.predict(curves[0], 300.0)  # compiled before it is timed
        begin = time.perf_counter()
        for curve in curves:
            predictor.predict(curve, 300.0)
        taken = (time.perf_counter() - begin) / count * 1_000
        rows.append({"predictor": name, "seconds_per_1000": taken, "ratio": reference / taken})
    return rows


def measure(effort: Effort) -> Json:
    """Everything, as JSON."""
    runs = drop_runs()
    tasks = {"stages": stage_tasks(runs)[:: effort.take], "runs": run_tasks(runs), "adam": adam_tasks()[:: effort.take]}
    truth = {name: np.array([task.truth for task in of]) for name, of in tasks.items()}
    groups = {"runs": comparable_groups(runs), "adam": random_groups(truth["adam"], effort.groups)}
    accuracies, choices = [], []
    for name in PREDICTORS:
        for theta in effort.thetas:
            for data, of in tasks.items():
                told = predictions_of(of, name, theta)
                accuracies.append(asdict(accuracy(data, name, theta, of, told)))
                if data in groups:
                    choices.append(asdict(choice(data, name, theta, groups[data], told, truth[data])))
    return {
        "default": DEFAULT,
        "accuracy": accuracies,
        "choice": choices,
        "heuristics": heuristic_hits(runs),
        "speed": speed(effort.fits),
    }


def print_report(result: Json, console: Console) -> None:
    """Each list of rows as a table."""
    for title, rows in result.items():
        if not isinstance(rows, list):
            continue
        table = Table(*rows[0], title=title)
        for row in rows:
            table.add_row(*(f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in row.values()))
        console.print(table)


def main() -> None:
    """Print the tables, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--quick", action="store_true", help="a tenth of the curves, three thetas")
    given = parser.parse_args()
    result = measure(QUICK if given.quick else FULL)
    if given.json:
        print(json.dumps(result, indent=1))
    else:
        print_report(result, Console(width=None if sys.stdout.isatty() else WIDE))


if __name__ == "__main__":
    main()
