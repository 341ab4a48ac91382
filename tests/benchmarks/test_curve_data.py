"""The real curves, as they are read."""

import csv
from pathlib import Path

import numpy as np

from benchmarks.curve_data import (
    ADAM,
    DROPS,
    SHORTEST_STAGE,
    WITHOUT_MIXUP,
    Task,
    adam_tasks,
    curve_file,
    drop_runs,
    run_tasks,
    stage_tasks,
)
from leantune.curves.base import Curve
from tests.data import needs


def present(name: str) -> Path:
    needs(curve_file(name))
    return curve_file(name)


def test_drops_are_where_the_learning_rate_falls(tmp_path: Path) -> None:
    rows: list[tuple[object, ...]]
    rows = [("a", "one", step, 0.1 if step < 21 else 0.01, "loss", 1.0 / step, 0) for step in range(1, 41)]
    rows += [("a", "one", 40, 0.01, "loss", 99.0, 0)]  # written twice
    rows += [("a", "two", step, "", "loss", 1.0 / step, 0) for step in range(1, 11)]
    path = tmp_path / "drops.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("source", "curve_id", "step", "lr", "metric", "value", "seconds"), *rows])
    one, two = drop_runs(path)
    assert (one.curve.drops, two.curve.drops) == ((21.0,), ())
    assert (len(one.curve.steps), one.curve.values[-1]) == (40, 1.0 / 40)
    first, second = stage_tasks([one, two])
    assert (first.begin, first.end, first.curve.drops) == (1.0, 20.0, ())
    assert (second.begin, second.end, second.curve.drops) == (21.0, 40.0, (21.0,))


def test_theta_counts_from_the_begin() -> None:
    task = Task(Curve(np.arange(1.0, 41.0), np.arange(40.0)), 21.0)
    assert task.known(0.5).steps[-1] == 30.0
    assert task.known(1.0).steps[-1] == task.end
    assert task.truth == 39.0


def test_the_34_runs() -> None:
    runs = drop_runs(present(DROPS))
    assert len({(run.source, run.name) for run in runs}) == 34
    assert {run.source for run in runs if not run.curve.drops} == {"mxnet_resnet"}
    assert min(len(task.curve.steps) for task in stage_tasks(runs)) >= SHORTEST_STAGE
    assert len(run_tasks(runs)) == len(runs)
    mixed = [run.curve for run in runs if run.name.endswith("mixup") and run.metric == "train_loss"]
    assert len(mixed) == 10
    assert all(curve.values[-WITHOUT_MIXUP] < 0.5 * curve.values[-WITHOUT_MIXUP - 1] for curve in mixed)


def test_the_1000_settings_of_adam() -> None:
    tasks = adam_tasks(present(ADAM))
    assert len(tasks) == 1_000
    assert {len(task.curve.steps) for task in tasks} == {51}
    assert sum(np.isfinite(task.truth) for task in tasks) == 901
