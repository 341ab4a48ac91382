"""What a long command says meanwhile."""

import os
import pty
import subprocess
import sys

import pytest

from leantune.cli.activity import QUIET_SECONDS, activity
from leantune.clock import SimulatedClock

SCRIPT = "from leantune.cli.activity import activity\nwith activity('reading') as tell: tell('[7] rows\\x1b[2J')"


def test_plain_lines_come_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    clock = SimulatedClock(5.0)
    with activity("reading", clock) as tell:
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
