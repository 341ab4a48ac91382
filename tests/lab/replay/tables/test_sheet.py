"""The shape of a CSV."""

from pathlib import Path

import pytest

from leantune.errors import TableError
from leantune.lab.replay.tables.sheet import parse_sheet, read_bytes


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
