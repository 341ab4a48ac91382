"""The shape of a CSV, and the rows that count; rows that are left out may hold anything."""

from fractions import Fraction
from pathlib import Path

import pytest

from leantune.errors import InvalidInput, TableError
from leantune.lab.replay.tables.sheet import parse_sheet, read_bytes, select
from tests.lab.replay.made import described, table


def refused(raw: bytes, separator: str = ",") -> TableError:
    with pytest.raises(TableError) as caught:
        parse_sheet(raw, "runs.csv", separator)
    assert caught.value.hint
    return caught.value


def test_rows_know_their_lines() -> None:
    sheet = parse_sheet(b'a, b \r\n1,"x\ny"\r\n\r\n , \r\n2, z \r\n', "runs.csv")
    assert sheet.header == ("a", "b")
    assert (sheet.cells("a"), sheet.cells("b")) == (["1", "2"], ["x\ny", "z"])
    assert sheet.lines == (2, 6)
    assert sheet.place(1, "b") == "runs.csv, line 6, column 'b'"
    assert len(sheet) == 2
    assert not sheet.byte_order_mark


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\r"])
def test_line_endings(ending: bytes) -> None:
    sheet = parse_sheet(ending.join([b"a;b", b"1;2", b"3;4"]), "runs.csv", ";")
    assert sheet.cells("b") == ["2", "4"]


def test_a_byte_order_mark_is_no_part_of_the_first_name() -> None:
    sheet = parse_sheet("\ufeffa,b\n1,2\n".encode(), "runs.csv")
    assert sheet.header == ("a", "b")
    assert sheet.byte_order_mark


@pytest.mark.parametrize(
    ("raw", "says", "where"),
    [
        (b"", "the file is empty", "runs.csv"),
        (b"\xef\xbb\xbf \n\n", "the file is empty", "runs.csv"),
        (b"a,b\n", "a header and no rows", "runs.csv"),
        (b"a,b\n1,2\n\n3\n", "the row has 1 cell, the header 2", "runs.csv, line 4"),
        (b"a,b\n1,2,3\n", "the row has 3 cells, the header 2", "runs.csv, line 2"),
        (b"a,b\n1,\xff\n", "the file is not UTF-8", "runs.csv, line 2"),
        ("a,b\n1,2\n".encode("utf-16"), "the file is not UTF-8", "runs.csv, line 1"),
        (b'a,b\n1,2\n3,"4\n5,6\n', "the row cannot be read", "runs.csv, line 3"),
        (b"a,a\n1,2\n", "two columns are called 'a'", "runs.csv, line 1"),
        (b"a,b\n1," + b"x" * 200_000 + b"\n", "the row cannot be read: field larger", "runs.csv, line 2"),
    ],
)
def test_what_is_no_table(raw: bytes, says: str, where: str) -> None:
    error = refused(raw)
    assert says in error.what
    assert error.where == where


def test_another_separator_is_proposed() -> None:
    assert refused(b"a;b\n1;2\n").hint == 'Write separator: ";"'
    assert refused(b"a\tb\n1\t2\n").hint == "Write separator: tab"
    assert parse_sheet(b"a\n1\n", "runs.csv").cells("a") == ["1"]


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="the file of measurements is absent") as caught:
        read_bytes(tmp_path / "none.csv", "Look elsewhere")
    assert (caught.value.where, caught.value.hint) == (str(tmp_path / "none.csv"), "Look elsewhere")
    with pytest.raises(TableError, match="this is a folder"):
        read_bytes(tmp_path, "")
    with pytest.raises(TableError, match="cannot be read"):
        read_bytes(tmp_path / "a\0b", "")


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
