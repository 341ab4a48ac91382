"""Lines out of bytes; logs: the beginning and the end, and full disks."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leantune.worker import output
from leantune.worker.output import LONGEST_LINE, TAIL, LineSplitter, LogFile, append_notes

PIECES = st.lists(st.text("ab {\r\n").map(str.encode), max_size=12)


@given(PIECES)
def test_lines_do_not_depend_on_how_the_bytes_arrive(pieces: list[bytes]) -> None:
    splitter = LineSplitter()
    lines = [line for piece in pieces for line in splitter.feed(piece)] + splitter.end()
    whole = b"".join(pieces)
    expected = [line for line in whole.replace(b"\r", b"\n").split(b"\n") if line.strip()]
    assert lines == expected
    assert splitter.last == (expected[-1] if expected else b"")
    assert splitter.tail == whole[-TAIL:]


def test_a_line_comes_when_its_end_does() -> None:
    splitter = LineSplitter()
    assert splitter.feed(b"acc") == []
    assert splitter.feed(b"uracy=1\nnext") == [b"accuracy=1"]
    assert splitter.last == b"accuracy=1"
    assert splitter.end() == [b"next"]
    assert splitter.end() == []


def test_progress_bars_are_many_lines() -> None:
    assert LineSplitter().feed(b" 10%\r 20%\raccuracy=0.9\r\n") == [b" 10%", b" 20%", b"accuracy=0.9"]


def test_of_a_long_line_only_the_beginning_is_held() -> None:
    splitter = LineSplitter()
    for _ in range(200):
        assert splitter.feed(b"x" * 65_536) == []
        assert len(splitter._open) <= LONGEST_LINE
    assert splitter.feed(b"y\nz\n") == [b"x" * LONGEST_LINE, b"z"]
    (line,) = splitter.feed(b"w" * 1_000_000 + b"\n")
    assert len(line) == LONGEST_LINE


@given(st.lists(st.binary(max_size=40), max_size=20), st.integers(2, 60))
def test_keeps_the_beginning_and_the_end(
    tmp_path_factory: pytest.TempPathFactory, parts: list[bytes], limit: int
) -> None:
    path = tmp_path_factory.mktemp("log") / "log"
    log = LogFile(str(path), limit)
    for part in parts:
        log.write(part)
    log.close()
    written, whole = path.read_bytes(), b"".join(parts)
    assert log.error == ""
    assert log.cut == max(0, len(whole) - limit)
    if not log.cut:
        assert written == whole
    else:
        note = f"\n[leantune: {log.cut:,} bytes are left out here; the log keeps {limit:,}]\n".encode()
        assert written == whole[: limit // 2] + note + whole[len(whole) - (limit - limit // 2) :]
    assert [entry.name for entry in path.parent.iterdir()] == ["log"]


def test_a_full_disk_ends_the_log_and_nothing_else() -> None:
    log = LogFile("/dev/full", 100)
    log.write(b"lost")
    assert log.error == "No space left on device"
    log.write(b"more")
    log.close()
    assert log.error == "No space left on device"


def test_no_room_for_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = output._open_new
    monkeypatch.setattr(output, "_open_new", lambda path: real("/dev/full" if path.endswith(".end") else path))
    log = LogFile(str(tmp_path / "log"), 20)
    log.write(b"0123456789 and more")
    log.close()
    assert log.error == "No space left on device"
    assert (tmp_path / "log").read_bytes() == b"0123456789\n[leantune: the log stops here: No space left on device]\n"


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_links_are_not_followed(tmp_path: Path, link: Callable[[Path, Path], None]) -> None:
    precious = tmp_path / "precious"
    precious.write_bytes(b"mine")
    for name in ("log", "log.end"):
        link(precious, tmp_path / name)
    log = LogFile(str(tmp_path / "log"), 20)
    log.write(b"0123456789 and much more than that")
    log.close()
    assert (log.error, precious.read_bytes()) == ("", b"mine")
    assert not (tmp_path / "log").is_symlink()
    assert (tmp_path / "log").read_bytes().startswith(b"0123456789")
    assert (tmp_path / "log").stat().st_mode & 0o777 == 0o600
    (tmp_path / "log").unlink()
    (tmp_path / "log").symlink_to(precious)
    append_notes(str(tmp_path / "log"), ["a note"])
    assert precious.read_bytes() == b"mine"


def test_a_log_that_cannot_be_opened(tmp_path: Path) -> None:
    log = LogFile(str(tmp_path / "away" / "log"), 20)
    log.write(b"x")
    log.close()
    assert log.error == "No such file or directory"


def test_only_the_owner_may_read_a_log(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.touch(mode=0o644)
    log = LogFile(str(path), 20)
    log.write(b"0123456789 and more than fits")
    assert {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()} == {0o600}
    assert len(list(tmp_path.iterdir())) == 2
    log.close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
