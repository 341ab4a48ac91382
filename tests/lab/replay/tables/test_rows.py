"""Rows as runs: shares, seconds, dollars."""

from fractions import Fraction

import pytest

from leantune.errors import InvalidInput
from leantune.lab.replay.tables.rows import Rows, read_rows
from leantune.space import Clusters
from tests.lab.replay.made import CSV, columns, described


def read(csv: str = CSV, **lines: str) -> Rows:
    return read_rows(described(**lines), columns(csv, "refuse", **lines), ["accuracy"])


def refused(csv: str, **lines: str) -> InvalidInput:
    with pytest.raises(InvalidInput) as caught:
        read(csv, **lines)
    assert caught.value.hint
    return caught.value


def test_a_run() -> None:
    first = read().runs[0]
    assert (first.place, first.key, first.share) == ("runs.csv, line 2", (0.1, ("t2.small", 2)), Fraction(1, 2))
    assert (first.seconds, first.metrics, first.lacking) == (10.0, {"accuracy": 0.5}, ())
    assert first.cost == 10 / 3600 * 2 * 0.023


@pytest.mark.parametrize(
    ("cells", "full", "shares"),
    [
        (["1000", "60000"], "60000", ["1/60", "1"]),
        (["0.016666666666666666", "1"], "1", ["1/60", "1"]),
        (["0.1", "1.0"], "1", ["1/10", "1"]),
        (["1/60", "1"], "1", ["1/60", "1"]),
        (["10%", "100 %"], "7", ["1/10", "1"]),
        (["1e3", "6e4"], "60000.0", ["1/60", "1"]),
        (["0.5", "2.5"], "2.5", ["1/5", "1"]),
    ],
)
def test_shares_are_exact(cells: list[str], full: str, shares: list[str]) -> None:
    csv = "x,t,s,a\n" + "".join(f"1,9,{cell},0.5\n" for cell in cells)
    lines = {
        "parameters": "parameters: {x: ordinal}",
        "cluster": "",
        "time": "time: t",
        "metrics": "metrics: {accuracy: a}",
    }
    found = read(csv, fraction=f"fraction: {{column: s, full: {full}}}", **lines).runs
    assert [str(run.share) for run in found] == shares


def test_dollars_by_expression_or_column() -> None:
    told = read(usd_per_hour="usd_per_hour: workers * 36")
    assert [run.cost for run in told.runs] == pytest.approx([0.2, 0.4, 0.3, 0.4])
    clusters = told.parameters["cluster"]
    assert isinstance(clusters, Clusters)
    assert [option.usd_per_hour for option in clusters.options] == pytest.approx([72.0, 36.0])
    column = read(cost="cost: acc")
    assert [run.cost for run in column.runs] == [0.5, 0.6, 0.7, 0.8]
    varying = column.parameters["cluster"]
    assert isinstance(varying, Clusters)
    assert varying.rates is None


def test_without_prices_there_are_no_dollars() -> None:
    rows = read(cluster="")
    assert [run.cost for run in rows.runs] == [None] * 4
    assert not rows.has_dollars
    assert all(not run.lacking for run in rows.runs)


def test_what_a_run_lacks() -> None:
    csv = CSV.replace("20,0.6", "20,").replace("40,0.8", ",0.8")
    assert [run.lacking for run in read(csv).runs] == [(), ("accuracy",), (), ("time", "cost")]


@pytest.mark.parametrize(
    ("old", "new", "says", "where"),
    [
        ("60,20,", "60,0,", "the time is 0 s", "line 3, column 'seconds'"),
        ("60,20,", "60,-5,", "the time is -5 s", "line 3, column 'seconds'"),
        ("60,20,", "61,20,", "the fraction 61 is above full, which is 60", "line 3, column 'images'"),
        ("60,20,", "0,20,", "the fraction is 0", "line 3, column 'images'"),
        ("60,20,", ",20,", "the fraction is missing", "line 3, column 'images'"),
        ("60,20,", "all,20,", "'all' is not a number", "line 3, column 'images'"),
        ("60,20,", "1/0,20,", "'1/0' is not a number", "line 3, column 'images'"),
        ("60,20,", "1e999999999,20,", "'1e999999999' is not a number", "line 3, column 'images'"),
        ("20,0.6", "20,good", "'good' is not a number", "line 3, column 'acc'"),
    ],
)
def test_wrong_rows(old: str, new: str, says: str, where: str) -> None:
    error = refused(CSV.replace(old, new))
    assert (error.what, error.where) == (says, f"runs.csv, {where}")


def test_dollars_are_above_zero() -> None:
    assert refused(CSV, usd_per_hour="usd_per_hour: workers - 1").what == "the rate is 0 USD"
    assert refused(CSV, cost="cost: 0.5 - acc").what == "the run costs 0 USD"


def test_metrics_that_the_problem_is_not_about_may_be_absent() -> None:
    csv = "".join(
        f"{line},{more}\n" for line, more in zip(CSV.splitlines(), ["f1", "", "nan", "0.4", "?"], strict=True)
    )
    runs = read(csv, metrics="metrics: {accuracy: acc, f1: f1}", deviations="deviations: {f1: f1}").runs
    assert [run.lacking for run in runs] == [()] * 4
    assert [run.metrics for run in runs] == [
        {"accuracy": 0.5},
        {"accuracy": 0.6},
        {"accuracy": 0.7, "f1": 0.4},
        {"accuracy": 0.8},
    ]
    assert [run.deviations for run in runs] == [{}, {}, {"f1": 0.4}, {}]
    missing = refused(csv, deviations="deviations: {accuracy: f1}")
    assert (missing.what, missing.where) == (
        "the standard deviation of accuracy is missing",
        "runs.csv, line 2, column 'f1'",
    )


@pytest.mark.parametrize("price", ["usd_per_hour: 7.2", "cost: seconds * 0.002"])
def test_one_rate_without_a_cluster_is_one_machine(price: str) -> None:
    """Dollars follow the seconds, which strategies then need not learn."""
    found = read(cluster="", price=price)
    clusters = found.parameters["cluster"]
    assert isinstance(clusters, Clusters)
    (machine,) = clusters.options
    assert str(machine) == "1 x machine"
    assert machine.usd_per_hour == pytest.approx(7.2)
    assert [run.cost for run in found.runs] == pytest.approx([0.02, 0.04, 0.06, 0.08])
    assert "cluster" not in read(cluster="", price="usd_per_hour: workers").parameters
