"""What a person sees: rows in columns, and what a long command says meanwhile."""

import os
import pty
import subprocess
import sys

import pytest

from leantune.cli.terminal import QUIET_SECONDS, activity, columned
from leantune.clock import SimulatedClock

SCRIPT = "from leantune.cli.terminal import activity\nwith activity('reading') as tell: tell('[7] rows\\x1b[2J')"


def test_plain_lines_come_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    clock = SimulatedClock(5.0)
    with activity("reading", clock=clock) as tell:
        for number in range(5):
            tell(f"{number} rows")
            clock.sleep(0.6 * QUIET_SECONDS)
    shown = capsys.readouterr()
    assert shown.err.splitlines() == ["reading: 2 rows", "reading: 4 rows"]
    assert shown.out == "", "standard output belongs to the result"


def test_a_terminal_shows_one_line_and_no_control_of_others() -> None:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], stderr=theirs, stdout=subprocess.PIPE, env=environment, check=True
    )
    os.close(theirs)
    shown = os.read(ours, 65536).decode()
    os.close(ours)
    assert "reading" in shown
    assert "\x1b[2J" not in shown
    assert done.stdout == b""


def test_words_begin_together_and_numbers_end_together() -> None:
    lines = columned(("name", "kind", "n"), [("a", "long one", "1"), ("bcdef", "", "1,000")], left=2)
    assert lines == [
        "  name   kind          n",
        "  a      long one      1",
        "  bcdef            1,000",
    ]


def test_no_rows_and_no_trailing_spaces() -> None:
    assert columned(("a", "b"), []) == ["  a  b"]
    assert columned(("a", "bb"), [("x", "")]) == ["  a  bb", "  x"]
