"""What is true of a table."""

import json
from pathlib import Path

import pytest

from leantune.lab.replay.facts import facts
from tests.lab.replay.made import CSV, table


def test_facts_at_full_data(tmp_path: Path) -> None:
    found = facts(table(tmp_path, subject_to="subject_to: [time <= 30 s]"))
    assert found == {
        "table": "runs",
        "problem": "",
        "rows": 4,
        "configurations": 2,
        "feasible": 1,
        "near_optimal": 1,
        "best": 0.6,
        "best_cost": 20 / 3600 * 2 * 0.023,
        "best_configuration": {"lr": 0.1, "cluster": {"type": "t2.small", "nodes": 2}},
        "best_fraction": "1",
        "feasible_by_fraction": {"1": 1},
        "remarks": ["2 of 4 combinations of the parameters are not in the table and are never proposed"],
    }
    assert json.loads(json.dumps(found)) == found


def test_facts_anywhere(tmp_path: Path) -> None:
    problems = "problems: {cheap: {minimize: time, at: anywhere, subject_to: [accuracy >= 0.6]}}"
    found = facts(table(tmp_path, problem="cheap", problems=problems))
    assert (found["feasible"], found["best"], found["best_fraction"]) == (3, 20.0, "1")
    assert found["feasible_by_fraction"] == {"1/2": 1, "1": 2}


@pytest.mark.parametrize(("goal", "near"), [("maximize: accuracy", 2), ("minimize: accuracy", 2)])
def test_nearly_optimal_is_within_five_percent(tmp_path: Path, goal: str, near: int) -> None:
    for values in (("0.95", "1.0"), ("-1.0", "-0.95")):
        csv = CSV.replace("20,0.6", f"20,{values[0]}").replace("40,0.8", f"40,{values[1]}")
        assert facts(table(tmp_path, csv, maximize=goal))["near_optimal"] == near
    csv = CSV.replace("20,0.6", "20,0.94").replace("40,0.8", "40,1.0")
    assert facts(table(tmp_path, csv, maximize=goal))["near_optimal"] == 1


def test_failed_runs_are_not_feasible(tmp_path: Path) -> None:
    assert facts(table(tmp_path, CSV.replace("40,0.8", "40,")))["feasible"] == 1


def test_nothing_is_feasible(tmp_path: Path) -> None:
    found = facts(table(tmp_path, subject_to="subject_to: [accuracy >= 0.9]"))
    assert (found["feasible"], found["near_optimal"], found["best"], found["best_cost"]) == (0, 0, None, None)
    assert (found["best_configuration"], found["best_fraction"]) == (None, None)
    assert found["feasible_by_fraction"] == {"1": 0}
