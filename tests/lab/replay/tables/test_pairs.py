"""Rows that lack something, repeat something or are missing, and runs that were cut."""

from fractions import Fraction
from pathlib import Path

import pytest

from leantune.errors import SpaceError, TableError
from leantune.executors.replay import Measurement
from leantune.lab.replay.tables import MeasuredTable
from tests.lab.replay.made import CSV, rows, table

FULL, HALF = Fraction(1), Fraction(1, 2)
ONE = "0.1,t2.small,2,30,10,0.5", "0.1,t2.small,2,60,20,0.6"
VMS = ("t2.medium", "t2.xlarge", "t2.small")
CLUSTER = "cluster: {type: vm, nodes: n, provider: aws}"
TWO = "0.01,t2.medium,1,30,30,0.7", "0.01,t2.medium,1,60,40,0.8"


def at(found: MeasuredTable, lr: float, share: Fraction) -> Measurement:
    (configuration,) = (one for one in found.problem.space.grid() if one["lr"] == lr)
    return found.measurements[configuration.id, share]


def said(found: MeasuredTable) -> list[tuple[str, int, str]]:
    """Remarks, but for what they say of the grid."""
    return [(one.kind, one.count, one.text) for one in found.remarks if one.kind not in ("absent", "listed")]


def test_a_clean_table(tmp_path: Path) -> None:
    found = table(tmp_path)
    assert at(found, 0.1, FULL) == Measurement({"accuracy": 0.6}, 20.0, cost=20 / 3600 * 2 * 0.023)
    assert len(found.measurements) == 4
    assert found.problem.fractions == (HALF, FULL)
    assert said(found) == []


def test_combinations_that_are_not_in_the_table(tmp_path: Path) -> None:
    found = table(tmp_path)
    assert [(one["lr"], str(one["cluster"])) for one in found.problem.space.grid()] == [
        (0.01, "1 x t2.medium"),
        (0.1, "2 x t2.small"),
    ]
    text = "2 of 4 combinations of the parameters are not in the table and are never proposed"
    assert [one.text for one in found.remarks] == [text]


def test_configurations_on_no_grid_are_a_list(tmp_path: Path) -> None:
    """1,500 configurations, 6.75 million combinations of their values: each measured one is there, and no other."""
    csv = "a,b,vm,n,seconds,acc\n" + "".join(
        f"{n},{n * 7 % 1500 / 3},{VMS[n % 3]},1,{n + 1},0.5\n" for n in range(1500)
    )
    found = table(tmp_path, csv, parameters="parameters: {a: linear, b: linear}", cluster=CLUSTER, fraction="")
    space = found.problem.space
    assert [one.text for one in found.remarks] == ["1,500 configurations on no grid: strategies choose among these"]
    assert len(space.grid()) == space.size == 1500 and space.enumerable
    configuration = space.grid()[3]
    assert (configuration["a"], configuration["b"], str(configuration["cluster"])) == (3, 7.0, "1 x t2.medium")
    assert found.measurements[configuration.id, FULL].seconds == 4.0
    assert found.problem.space.grid().features[:, 0].tolist() == pytest.approx([n / 1499 for n in range(1500)])
    with pytest.raises(SpaceError, match="is not listed"):
        space.configuration({"a": 3, "b": 0.0, "cluster": {"type": "t2.medium", "nodes": 1}})


def test_a_list_repeats_and_lacks_as_a_grid_does(tmp_path: Path) -> None:
    """Of six random configurations one comes twice, one lacks its half and one has no accuracy."""
    lines = [f"{n}.{n},{10 - n},{images},{n + images},0.{n}" for n in range(1, 7) for images in (30, 60)]
    lines.remove("2.2,8,30,32,0.2")
    csv = "\n".join(["a,b,images,seconds,acc", *lines, "1.1,9,60,71,0.3", ""]).replace("66,0.6", "66,")
    found = table(tmp_path, csv, parameters="parameters: {a: linear, b: linear}", cluster="")
    assert [one.kind for one in found.remarks] == ["nan", "duplicates", "missing", "listed"]
    assert [one["a"] for one in found.problem.space.grid()] == [1.1, 2.2, 3.3, 4.4, 5.5, 6.6]
    first, second, *_, last = (one.id for one in found.problem.space.grid())
    assert found.problem.gaps == {(second, HALF)}
    assert found.measurements[first, FULL] == Measurement({"accuracy": 0.2}, 66.0)
    assert found.measurements[last, FULL].failure == "the table has no accuracy"


def test_rows_that_lack_a_metric_fail(tmp_path: Path) -> None:
    found = table(tmp_path, CSV.replace("20,0.6", "20,nan").replace("30,0.7", ",0.7"))
    assert at(found, 0.1, FULL) == Measurement({}, 20.0, "the table has no accuracy", cost=20 / 3600 * 2 * 0.023)
    assert at(found, 0.01, HALF) == Measurement({}, 0.0, "the table has no time or cost", cost=0.0)
    assert said(found) == [("nan", 2, "2 of 4 rows lack accuracy or time or cost and count as failed runs")]


def test_rows_that_lack_a_metric_are_dropped(tmp_path: Path) -> None:
    found = table(tmp_path, CSV.replace("20,0.6", "20,"), nan="nan: drop")
    assert [one["lr"] for one in found.problem.space.grid()] == [0.01]
    assert said(found) == [
        ("nan", 1, "1 of 4 rows lack accuracy and were dropped"),
        ("missing", 1, "1 of 2 configurations have no run on all the data and were dropped"),
    ]
    with pytest.raises(TableError, match="every row lacks accuracy"):
        table(tmp_path, rows(ONE[1].replace("0.6", "")), nan="nan: drop")


def test_rows_that_lack_a_metric_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="1 of 4 rows lack accuracy") as caught:
        table(tmp_path, CSV.replace("20,0.6", "20,"), nan="nan: refuse")
    assert caught.value.where == f"{tmp_path / 'runs.csv'}, line 3"


@pytest.mark.parametrize(
    ("rule", "seconds", "accuracy", "how"),
    [
        ("mean", 30.0, 0.7, "averaged"),
        ("first", 20.0, 0.6, "the first of each was taken"),
        ("last", 40.0, 0.8, "the last of each was taken"),
    ],
)
def test_duplicates(tmp_path: Path, rule: str, seconds: float, accuracy: float, how: str) -> None:
    csv = rows(*ONE, *TWO, "1e-1,t2.small,2,60,40,0.8")
    found = table(tmp_path, csv, duplicates=f"duplicates: {rule}")
    measured = at(found, 0.1, FULL)
    assert measured.seconds == seconds
    assert measured.metrics["accuracy"] == pytest.approx(accuracy)
    assert measured.cost == pytest.approx(seconds / 3600 * 2 * 0.023)
    assert said(found) == [("duplicates", 1, f"1 rows repeat 1 pairs of configuration and fraction: {how}")]


def test_duplicates_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"the same configuration and fraction as .*line 3") as caught:
        table(tmp_path, rows(*ONE, *TWO, ONE[1]), duplicates="duplicates: refuse")
    assert caught.value.where.endswith("line 6")


def test_a_mean_is_over_rows_that_lack_nothing(tmp_path: Path) -> None:
    found = table(tmp_path, rows(*ONE, *TWO, "0.1,t2.small,2,60,99,"))
    assert at(found, 0.1, FULL).seconds == 20.0


def test_missing_fractions_are_skipped(tmp_path: Path) -> None:
    found = table(tmp_path, rows(*ONE, TWO[1]))
    assert [one["lr"] for one in found.problem.space.grid()] == [0.01, 0.1]
    assert len(found.measurements) == 3
    assert found.problem.testable.tolist() == [[False, True], [True, True]]
    assert said(found) == [("missing", 1, "1 of 2 configurations lack a fraction; never tested: 1 pair")]


def test_without_a_run_on_all_the_data_there_is_nothing_to_recommend(tmp_path: Path) -> None:
    """Fractions that only such configurations have go with them."""
    lines = (*ONE, TWO[0], TWO[0].replace("30,30", "15,30"))
    found = table(tmp_path, rows(*lines))
    assert ([one["lr"] for one in found.problem.space.grid()], found.problem.fractions) == ([0.1], (HALF, FULL))
    assert said(found) == [("missing", 1, "1 of 2 configurations have no run on all the data and were dropped")]
    anywhere = table(tmp_path, rows(*lines), maximize="minimize: cost\nat: anywhere")
    assert len(anywhere.problem.space.grid()) == 2
    assert len(anywhere.problem.gaps) == 2


def test_missing_fractions_are_dropped(tmp_path: Path) -> None:
    found = table(tmp_path, rows(*ONE, TWO[1]), missing="missing: drop")
    assert [one["lr"] for one in found.problem.space.grid()] == [0.1]
    assert len(found.measurements) == 2
    assert said(found) == [("missing", 1, "1 of 2 configurations lack a fraction and were dropped")]
    with pytest.raises(TableError, match="no configuration has all the fractions 1/2, 1") as caught:
        table(tmp_path, rows(ONE[0], TWO[1]), missing="missing: drop")
    assert caught.value.where == str(tmp_path / "runs.csv")


def test_missing_fractions_fail(tmp_path: Path) -> None:
    found = table(tmp_path, rows(*ONE, TWO[1]), missing="missing: fail")
    assert len(found.problem.space.grid()) == 2
    failed = at(found, 0.01, HALF)
    assert failed.failure == "the table has no row of this configuration at this fraction"
    assert (failed.seconds, failed.cost, failed.metrics) == (0.0, 0.0, {})
    assert said(found) == [("missing", 1, "1 of 2 configurations lack a fraction; a test of such a pair fails")]


def test_missing_fractions_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="1 of 2 configurations lack a fraction, such as 1/2 of this one") as caught:
        table(tmp_path, rows(*ONE, TWO[1]), missing="missing: refuse")
    assert caught.value.where.endswith("line 4")


def test_full_data_is_needed(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="no row is on all the data: the largest fraction is 1/2") as caught:
        table(tmp_path, rows(ONE[0], TWO[0]))
    assert caught.value.where.endswith("line 2")


def test_runs_that_reached_the_limit_are_cut(tmp_path: Path) -> None:
    found = table(tmp_path, time_limit="time_limit: 30 s")
    cut = {(lr, share) for lr in (0.1, 0.01) for share in (HALF, FULL) if at(found, lr, share).cut}
    assert cut == {(0.01, HALF), (0.01, FULL)}
    assert at(found, 0.01, FULL).seconds == 40.0, "as measured"
    text = "1 of 2 full-data runs (2 of 4 at all fractions) reached the time limit of 30 s and are censored"
    assert said(found) == [("cut", 2, text)]
    mean = table(tmp_path, rows(*ONE, *TWO, "0.1,t2.small,2,60,40,0.8"), time_limit="time_limit: 35 s")
    assert at(mean, 0.1, FULL).cut, "a mean of 20 s and a lower bound is a lower bound"
