"""Lines out of bytes."""

from hypothesis import given
from hypothesis import strategies as st

from leantune.worker.streams import LONGEST_LINE, TAIL, LineSplitter

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
