"""Rows that count: by text, number or truth value; what is left out may be as odd as it likes."""

from fractions import Fraction
from pathlib import Path

import pytest

from leantune.errors import InvalidInput
from leantune.lab.replay.tables.selection import select
from leantune.lab.replay.tables.sheet import parse_sheet
from tests.lab.replay.made import described, table

CSV = """\
set,epoch,size,tuned,seconds,acc
adult,1,0.5,True,1,0.1
adult,2,0.5,true,2,0.2
adult,2.0,1,False,4,0.4
higgs,2,1,TRUE,soon,none of these
,2,1,,8,0.8
"""
LINES = {"cluster": "", "parameters": "parameters: {set: choice}", "fraction": "fraction: {column: epoch, full: 2}"}


def kept(where: str) -> list[int]:
    sheet, _ = select(parse_sheet(CSV.encode(), "runs.csv"), described(where=f"where: {where}", **LINES).where)
    return list(sheet.lines)


@pytest.mark.parametrize(
    ("where", "lines"),
    [
        ("{}", [2, 3, 4, 5, 6]),
        ("{set: adult}", [2, 3, 4]),
        ("{set: [adult, higgs]}", [2, 3, 4, 5]),
        ("{set: adult, epoch: 2}", [3, 4]),
        ("{epoch: 2.0, size: 1e0}", [4, 5, 6]),
        ("{tuned: true}", [2, 3, 5]),
        ("{set: ''}", [6]),
    ],
)
def test_rows_that_count(where: str, lines: list[int]) -> None:
    assert kept(where) == lines


@pytest.mark.parametrize(
    ("where", "says", "place", "hint"),
    [
        ("{sets: adult}", "there is no column 'sets'", "line 7, where.sets", "Did you mean 'set'? The columns of the"),
        ("{set: adults}", "no row has adults in the column 'set'", "line 7, where.set", "are adult, higgs, "),
        ("{set: higgs, epoch: [1, 3]}", "no row has 1 or 3 in the column 'epoch'", "where.epoch", "left are 2"),
        ("{set: []}", "no value is given", "where.set", "Write where: "),
        ("{set: {is: adult}}", "a mapping where a value is expected", "where.set", "Write where: "),
        ("adult", "'adult' where", "line 7, where", "Write where: "),
    ],
)
def test_wrong_filters(where: str, says: str, place: str, hint: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        kept(where)
    assert says in caught.value.what and place in caught.value.where and hint in caught.value.hint


def test_a_table_of_some_rows(tmp_path: Path) -> None:
    """Two fidelities: one is chosen, the other fixed; each problem may choose for itself."""
    problems = """\
problems:
  all: {maximize: accuracy, where: {epoch: 2}, fraction: {column: size}, fidelity: data, snapshots: false}
"""
    more = {"where": "where: {set: adult}", "fidelity": "fidelity: epochs", "snapshots": "snapshots: true"}
    lines = {**LINES, **more, "problems": problems}
    by_epoch = table(tmp_path, CSV, **lines)
    assert by_epoch.problem.fractions == (Fraction(1, 2), Fraction(1))
    assert (by_epoch.problem.fidelity, by_epoch.problem.snapshots) == ("epochs", True)
    assert [one.text for one in by_epoch.remarks][:1] == ["3 of 5 rows count: set = adult"]
    by_size = table(tmp_path, CSV, problem="all", **lines)
    assert (by_size.problem.fidelity, by_size.problem.snapshots, by_size.rows) == ("data", False, 2)
    assert [one.text for one in by_size.remarks] == ["2 of 5 rows count: set = adult, epoch = 2"]
    assert sorted(one.seconds for one in by_size.measurements.values()) == [2.0, 4.0]
