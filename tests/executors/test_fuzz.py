"""2,000 seeded outputs of programs: whatever is written, the run has one end, and every number that is kept is one."""

from __future__ import annotations

import json
import random
from fractions import Fraction

import pytest

from leantune.executors.base import Report
from leantune.executors.outcome import Ending, ReportLog, outcome
from leantune.history import History, TrialState
from leantune.problem import Problem, maximize
from leantune.space import Space, integer
from leantune.units import Seconds, is_value
from leantune.worker.lines import read_json
from leantune.worker.output import LineSplitter

SHARES = (Fraction(1, 10), Fraction(1))
PROBLEM = Problem(Space(n=integer(0, 9)), maximize("accuracy"), ["latency <= 20"], SHARES)
NAMES = ("accuracy", "latency", "step", "fraction", "cost", "time", "", "x" * 200, "é\0", "\ud800")
VALUES = (
    0,
    0.5,
    -1,
    1e100,
    1e160,
    10**400,
    float("nan"),
    float("inf"),
    None,
    True,
    "0.5",
    "1/10",
    "1/0",
    [1],
    {"a": 1},
)
PIECES = (b"\n", b"\r", b"\0", b"\xff\xfe", b"{", b"}", b"[" * 2000, b"accuracy=", b"1e999", b"\x1b[31m", b"x" * 70_000)


def _output(draw: random.Random) -> bytes:
    """Reports, halves of reports, garbage, and lines that look like results."""
    parts = [b'{"accuracy": 0.5, "latency": 1}\n'] if draw.random() < 0.5 else []
    for _ in range(draw.randrange(8)):
        report = {draw.choice(NAMES): draw.choice(VALUES) for _ in range(draw.randrange(5))}
        line = json.dumps(report).encode() + b"\n"
        parts.append(draw.choice((line, line, line[: draw.randrange(len(line))], draw.choice(PIECES))))
    draw.shuffle(parts)
    return b"".join(parts) + draw.choice((b"", b"accuracy=0.7 latency: 3", b"accuracy=nan", b"accuracy: 1e300\n"))


@pytest.mark.parametrize("block", range(4))
def test_any_output_has_one_end(block: int) -> None:
    states = set()
    for number in range(500):
        draw = random.Random(f"{block}-{number}")
        splitter = LineSplitter()
        shares = SHARES[draw.randrange(2) :]
        log = ReportLog(PROBLEM, History().propose(PROBLEM.space.grid()[0], SHARES[-1], shares)[1])
        data = _output(draw)
        at = draw.randrange(len(data) + 1)
        lines = splitter.feed(data[:at]) + splitter.feed(data[at:]) + splitter.end()
        said = [read_json(line.decode("utf-8", errors="replace")) for line in lines]
        heard = [log.hear(report, 1.0, on_purpose=draw.random() < 0.2) for report in said if report is not None]
        last = splitter.last.decode("utf-8", errors="replace")
        end = outcome(log, Ending(Seconds(2.0), code=draw.choice((0, 0, 0, 1, -9)), last_line=last))
        states.add(end.state)
        for report in heard:
            assert report is None or isinstance(report, Report)
            assert report is None or all(map(is_value, report.metrics.values()))
        History((log.trial,)).record(end.number, end.observations, time=0.0, state=end.state, cause=end.cause)
    assert states == {TrialState.DONE, TrialState.FAILED}
