"""Real learning curves for `benchmarks.curves`, read where they lie (`leantune.lab.replay.tables.default_data`).

lr_drop_curves.csv: 34 runs of residual networks with a stepped learning rate, up to three metrics each, all taken as to
minimise. A drop is declared where the lr column falls; six runs (mxnet) have none written, so nothing is declared for
them. The runs called mixup end mixup 20 epochs before they end (their training loss falls from 0.8 to 0.02 there): a
change of the schedule that is known beforehand, so it is declared like a drop.
FixedTextRNNClassification: validation loss of 1,000 settings of Adam over 51 evaluations; NaN where a run diverged.
"""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from leantune.arrays import FloatArray
from leantune.curves.base import Curve
from leantune.lab.replay.tables import default_data

DROPS = "lr_drop_curves.csv"
ADAM = "FixedTextRNNClassification_imdb_patch128_LSTM128_bs64.json"
MIXUP, WITHOUT_MIXUP = "_mixup", 20  # runs so called, and the epochs at their end
SHORTEST_STAGE = 15  # points: ten shares of fewer are the same share several times


@dataclass(frozen=True)
class Run:
    """A whole curve, until its end, and what it may be compared with: the same source and metric."""

    source: str
    name: str
    metric: str
    curve: Curve


@dataclass(frozen=True)
class Task:
    """A curve that ends at its last step; of it theta is known, counted from step `begin` on."""

    curve: Curve
    begin: float

    @property
    def end(self) -> float:
        """The step to predict."""
        return float(self.curve.steps[-1])

    @property
    def truth(self) -> float:
        """The value there."""
        return float(self.curve.values[-1])

    def known(self, theta: float) -> Curve:
        """The curve until theta of the way from begin to end."""
        return self.curve.until(self.begin + theta * (self.end - self.begin))


def curve_file(name: str) -> Path:
    """Where a file of real curves lies."""
    return default_data() / "curves" / name


def drop_runs(path: Path | None = None) -> list[Run]:
    """Every metric of every run, in the order of the file. Of a step written twice the first value counts."""
    rows: dict[tuple[str, str, str], list[tuple[float, float, float]]] = {}
    with (path or curve_file(DROPS)).open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            rate = float(row["lr"]) if row["lr"] else np.nan
            key = (row["source"], row["curve_id"], row["metric"])
            rows.setdefault(key, []).append((float(row["step"]), rate, float(row["value"])))
    return [Run(*key, _curve(np.array(points), mixup=key[1].endswith(MIXUP))) for key, points in rows.items()]


def _curve(points: FloatArray, *, mixup: bool) -> Curve:
    """(n, 3) step, learning rate, value."""
    steps, first = np.unique(points[:, 0], return_index=True)
    rates, values = points[first, 1], points[first, 2]
    falls = np.flatnonzero(rates[1:] < 0.99 * rates[:-1]) + 1  # a rounded rate is not a drop
    changes = [*steps[falls], steps[-WITHOUT_MIXUP]] if mixup else steps[falls]
    return Curve(steps, values, tuple(float(step) for step in changes))


def stage_tasks(runs: list[Run]) -> list[Task]:
    """Every stage of the runs that declare drops, as a run that ends with it; theta counts from the stage's begin."""
    tasks = []
    for run in runs:
        edges = (-np.inf, *run.curve.drops, np.inf)
        for index in range(len(edges) - 1 if run.curve.drops else 0):
            until = run.curve.steps < edges[index + 1]
            begins = run.curve.steps[until & (run.curve.steps >= edges[index])]
            if len(begins) >= SHORTEST_STAGE:
                declared = run.curve.drops[:index]
                tasks.append(Task(Curve(run.curve.steps[until], run.curve.values[until], declared), float(begins[0])))
    return tasks


def run_tasks(runs: list[Run]) -> list[Task]:
    """The runs whole: theta counts from step 0."""
    return [Task(run.curve, 0.0) for run in runs]


def adam_tasks(path: Path | None = None) -> list[Task]:
    """The 1,000 settings of Adam, steps 1..51."""
    told = json.loads((path or curve_file(ADAM)).read_text(encoding="utf-8"))
    losses = [[np.nan if value is None else value for value in one["valid"]["loss"]] for one in told]
    return [Task(Curve(np.arange(1.0, len(loss) + 1), np.array(loss, dtype=np.float64)), 0.0) for loss in losses]
