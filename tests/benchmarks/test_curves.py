"""Scores of predictions whose truth is known, and a small run on the real curves."""

import io
import json

import numpy as np
import pytest
from rich.console import Console

from benchmarks.curve_data import ADAM, DROPS, Run, Task, curve_file
from benchmarks.curves import (
    FULL,
    QUICK,
    Effort,
    accuracy,
    choice,
    comparable_groups,
    heuristic_hits,
    measure,
    print_report,
    random_groups,
    speed,
)
from leantune.curves.base import Curve, Outlook, Prediction
from leantune.curves.predictors import PREDICTORS
from tests.data import needs

TASKS = [Task(Curve(np.array([1.0, 2.0]), np.array([3.0, end])), 0.0) for end in (1.0, 2.0, 4.0, 0.0, np.nan)]


def test_errors_are_relative_and_intervals_counted() -> None:
    told = [
        Prediction(1.1, 0.2),
        Prediction(2.0, 0.0),
        Prediction(2.0, 0.5),
        Prediction(1.0, 1.0),
        Prediction(1.0, 1.0),
    ]
    score = accuracy("made", "none", 0.5, TASKS, told)
    assert (score.tasks, score.scored) == (5, 3)  # an end at 0 or at no number has no relative error
    assert score.error_median == pytest.approx(0.1)
    assert score.cover_68 == score.cover_95 == pytest.approx(2 / 3)


def test_what_was_not_predicted_is_counted_apart() -> None:
    told = [Prediction(3.0, np.inf, Outlook.NOT_PREDICTABLE)] * 4 + [Prediction(np.nan, np.nan, Outlook.DIVERGED)]
    score = accuracy("made", "none", 0.5, TASKS, told)
    assert (score.scored, score.not_predictable, score.said_diverged, score.error_median) == (0, 4, 1, None)


def test_a_hit_is_the_best_among_those_that_continue() -> None:
    truth = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    told = [Prediction(mean, 0.0) for mean in (0.25, 0.2, 0.3, 0.4, 0.1)]
    groups = [np.array([0, 1, 2, 3, 4]), np.array([0, 2, 3])]
    score = choice("made", "none", 0.5, groups, told, truth)
    assert (score.top_1, score.top_3, score.near_3, score.continue_3) == (0.5, 1.0, 1.0, 3.0)
    told[0] = Prediction(9.0, 0.0)
    assert choice("made", "none", 0.5, groups[:1], told, truth).top_3 == 0.0
    told[0] = Prediction(9.0, np.inf, Outlook.NOT_PREDICTABLE)
    assert choice("made", "none", 0.5, groups[:1], told, truth).continue_3 == 4.0


def test_groups() -> None:
    truth = np.arange(100.0)
    groups = random_groups(truth, 5)
    assert [len(set(group)) for group in groups] == [16] * 5
    assert [list(group) for group in random_groups(truth, 5)] == [list(group) for group in groups]
    runs = [Run("a", str(i), metric, TASKS[0].curve) for metric in ("x", "y") for i in range(4)] + [
        Run("b", "1", "x", TASKS[0].curve)
    ]
    assert [list(group) for group in comparable_groups(runs)] == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_the_heuristics_are_counted_against_declared_drops() -> None:
    values = np.concatenate((np.full(30, 1.0), np.full(30, 0.3)))
    run = Run("a", "1", "x", Curve(np.arange(1.0, 61.0), values, (31.0, 50.0)))
    assert [(row["declared"], row["found"], row["told"]) for row in heuristic_hits([run])] == [(2, 1, 1)] * 2


def test_speed_is_beside_scipy() -> None:
    rows = speed(5)
    assert [row["predictor"] for row in rows] == ["scipy curve_fit", *PREDICTORS]
    assert all(isinstance(row["ratio"], float) and row["ratio"] > 0 for row in rows)


def test_full_runs_cover_what_quick_ones_do() -> None:
    assert set(QUICK.thetas) < set(FULL.thetas) == {round(0.1 * i, 1) for i in range(1, 11)}


@pytest.mark.slow
def test_a_small_run_on_the_real_curves() -> None:
    needs(curve_file(DROPS), curve_file(ADAM))
    result = json.loads(json.dumps(measure(Effort((0.7, 1.0), take=20, groups=10, fits=5))))
    over = [row for row in result["accuracy"] if row["theta"] == 1.0 and row["scored"]]
    assert over
    assert {row["error_median"] for row in over} == {0.0}
    staged = {row["predictor"]: row["error_median"] for row in result["accuracy"] if row["data"] == "stages"}
    assert staged.keys() == PREDICTORS.keys()
    written = io.StringIO()
    print_report(result, Console(file=written, width=200))
    assert "earlycurve" in written.getvalue()
