"""Files that are written whole or not at all, and rows of CSVs that know their lines."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from leantune.errors import TableError
from leantune.files import csv_records, csv_rows, read_bytes, write_whole

KILLED_WRITER = """
import os, signal, sys
from pathlib import Path
from leantune.files import write_whole
path, kill_at = Path(sys.argv[1]), sys.argv[2]
def killed(*given):
    os.kill(os.getpid(), signal.SIGKILL)
setattr(os, kill_at, killed)
write_whole(path, b"new" * 100_000, durable=True)
"""


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("content", ["später\n", b"\x00\xff", ""])
def test_what_is_written_is_read(tmp_path: Path, content: str | bytes) -> None:
    path = tmp_path / "file"
    for _ in range(2):  # new, then in the place of an old one
        write_whole(path, content)
        assert path.read_bytes() == (content.encode() if isinstance(content, str) else content)
    assert names(tmp_path) == ["file"]


@pytest.mark.parametrize("durable", [False, True])
def test_line_ends_stay_as_they_are(tmp_path: Path, durable: bool) -> None:
    write_whole(tmp_path / "file", "a\r\nb\n", durable=durable)
    assert (tmp_path / "file").read_bytes() == b"a\r\nb\n"


def test_permissions(tmp_path: Path) -> None:
    path, usual = tmp_path / "file", tmp_path / "usual"
    usual.touch()
    write_whole(path, "new")
    assert path.stat().st_mode == usual.stat().st_mode
    path.chmod(0o640)
    write_whole(path, "newer")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.parametrize("kill_at", ["fsync", "replace", "rename"])
def test_a_killed_writer_leaves_the_old_content(tmp_path: Path, kill_at: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    ended = subprocess.run([sys.executable, "-c", KILLED_WRITER, str(path), kill_at], check=False)
    if kill_at != "rename":  # which nobody calls: so that the killing itself is known to work
        assert ended.returncode == -signal.SIGKILL
        assert path.read_bytes() == b"old"
    else:
        assert path.read_bytes() == b"new" * 100_000
    assert all(name.startswith(".file.") for name in names(tmp_path) if name != "file")


def test_a_failure_leaves_the_old_content_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_whole(path, "new", durable=True)
    assert (names(tmp_path), path.read_bytes()) == (["file"], b"old")
    with pytest.raises(FileNotFoundError):
        write_whole(tmp_path / "absent" / "file", "new")
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError):
        write_whole(tmp_path / "folder", "new")
    assert names(tmp_path) == ["file", "folder"]


def test_rows_know_the_lines_they_start_at() -> None:
    raw = '\ufeff# a, "comment\n#b\n\nx, y\r\n1,"two\nlines"\r\n , \r\n2,z'.encode()
    assert list(csv_rows(raw, "t.csv", comment="#")) == [(4, ["x", " y"]), (5, ["1", "two\nlines"]), (8, ["2", "z"])]
    assert list(csv_rows("a;b\r1;2\r", "t.csv", separator=";")) == [(1, ["a", "b"]), (2, ["1", "2"])]
    assert list(csv_rows("a\u2028b,c\n", "t.csv")) == [(1, ["a\u2028b", "c"])], "not every line end of Unicode is one"
    assert list(csv_rows(b"", "t.csv")) == []
    assert list(csv_rows("# only\n# notes", "t.csv", comment="#")) == []


@pytest.mark.parametrize(
    ("raw", "what", "where"),
    [
        (b"a\nb\n\xff", "the file is not UTF-8", "t.csv, line 3"),
        (b'a\n"b', "the row cannot be read: unexpected end of data", "t.csv, line 2"),
        (b'#\na\n"b"c\n', "the row cannot be read: ',' expected after '\"'", "t.csv, line 3"),
    ],
)
def test_what_is_no_csv(raw: bytes, what: str, where: str) -> None:
    with pytest.raises(TableError) as caught:
        list(csv_rows(raw, "t.csv", comment="#"))
    assert (caught.value.what, caught.value.where) == (what, where)
    assert caught.value.hint


def test_records_are_named_by_the_header() -> None:
    found = list(csv_records(b" a ,b,c\n1,2,3\n\n4,5\n6,7,8,9\n", "t.csv", ("c", "a"), "hint"))
    assert found == [
        ("t.csv, line 2", {"a": "1", "b": "2", "c": "3"}),
        ("t.csv, line 4", {"a": "4", "b": "5", "c": None}),
        ("t.csv, line 5", {"a": "6", "b": "7", "c": "8", None: "9"}),
    ]


@pytest.mark.parametrize(("raw", "missing", "line"), [(b"", "a", 1), (b"\na,c\n", "b", 2)])
def test_a_missing_column_is_named(raw: bytes, missing: str, line: int) -> None:
    with pytest.raises(TableError) as caught:
        list(csv_records(raw, "t.csv", ("a", "b"), "Write a,b"))
    told = caught.value
    assert (told.what, told.where) == (f"there is no column {missing!r}", f"t.csv, line {line}")
    assert told.hint == "Write a,b"


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="cannot be read: No such file") as caught:
        read_bytes(tmp_path / "absent", "Name another")
    assert (caught.value.where, caught.value.hint) == (str(tmp_path / "absent"), "Name another")
    with pytest.raises(TableError, match="cannot be read: Is a directory"):
        read_bytes(tmp_path, "")
