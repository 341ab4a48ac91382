"""Problems: goals, limits, medians."""

from pathlib import Path

import pytest

from leantune.errors import JobError
from leantune.problem import Constraint, minimize
from tests.lab.replay.made import CSV, table


def test_the_median_stands_for_a_number(tmp_path: Path) -> None:
    found = table(tmp_path, subject_to="subject_to: [time <= median @ 0.9, accuracy >= median, cost <= 1 USD]")
    assert found.problem.constraints == (
        Constraint("time", True, 30.0, 0.9),
        Constraint("accuracy", False, (0.6 + 0.8) / 2),
        Constraint("cost", True, 1.0),
    )
    assert [one.text for one in found.remarks if one.kind == "median"] == [
        "the median time of 2 full-data runs is 30 s",
        "the median accuracy of 2 full-data runs is 0.7",
    ]


def test_failed_runs_have_no_median(tmp_path: Path) -> None:
    csv = CSV.replace("20,0.6", "20,")
    found = table(tmp_path, csv, subject_to="subject_to: time <= median")
    assert found.problem.constraints[0].limit == 40.0
    with pytest.raises(JobError, match="there is no median time"):
        table(tmp_path, csv.replace("40,0.8", "40,"), subject_to="subject_to: time <= median")


def test_problems_by_name(tmp_path: Path) -> None:
    lines = {"problems": "problems: {cheap: {minimize: cost, at: anywhere, subject_to: [accuracy >= 0.6]}}"}
    main, cheap = table(tmp_path, **lines), table(tmp_path, problem="cheap", **lines)
    assert (main.problem_name, cheap.problem_name) == ("", "cheap")
    assert cheap.problem.goal == minimize("cost", at="anywhere")
    assert main.digest != cheap.digest
    assert main.problem.constraints == ()


@pytest.mark.parametrize(
    ("lines", "says", "where"),
    [
        ({"subject_to": "subject_to: [time < median]"}, "'<' cannot be checked", "line 8, subject_to item 1"),
        ({"subject_to": "subject_to: [loss <= median]"}, "there is no metric 'loss'", "line 8, subject_to item 1"),
        ({"subject_to": "subject_to: [loss <= 3]"}, "there is no metric 'loss'", "line 8, subject_to item 1"),
        ({"subject_to": "subject_to: [time <= 5]"}, "has no unit", "line 8, subject_to item 1"),
        ({"subject_to": "subject_to: [accuracy >= 0.9, accuracy >= 0.8]"}, "two limits", "line 8, subject_to item 2"),
        ({"cluster": "", "subject_to": "subject_to: [cost <= $1]"}, "needs dollars", "line 7, subject_to item 1"),
        ({"cluster": "", "maximize": "minimize: cost"}, "needs dollars", "line 6, minimize"),
    ],
)
def test_wrong_limits(tmp_path: Path, lines: dict[str, str], says: str, where: str) -> None:
    with pytest.raises(JobError) as caught:
        table(tmp_path, **lines)
    assert says in caught.value.what
    assert caught.value.where == f"{tmp_path / 'runs.yaml'}, {where}"
    assert caught.value.hint
