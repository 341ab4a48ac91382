"""Differences between kept answers are found; a millionth passes only on another machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.golden.__main__ import main
from tests.golden.kept import Json, differences, written

ANSWER = {"exit_code": 0, "stdout": {"best": 0.5, "trials": [1, 2]}, "mean": (0.1).hex(), "stderr": ["a"]}


@pytest.mark.parametrize(
    ("other", "exact", "close"),
    [
        (ANSWER, [], []),
        ({**ANSWER, "exit_code": 1}, [".exit_code: was 0, is 1"], None),
        ({**ANSWER, "exit_code": False}, [".exit_code: was 0, is False"], None),
        ({**ANSWER, "stderr": ["b"]}, [".stderr[0]: was 'a', is 'b'"], None),
        ({**ANSWER, "stderr": []}, [".stderr: 1 items were ['a'], 0 are []"], None),
        ({**ANSWER, "stdout": {"best": 0.5}}, [".stdout: keys were ['best', 'trials'], are ['best']"], None),
        ({**ANSWER, "mean": (0.1 + 1e-9).hex()}, None, []),
        ({**ANSWER, "stdout": {"best": 0.5 + 1e-9, "trials": [1, 2]}}, [".stdout.best: was 0.5, is 0.500000001"], []),
        ({**ANSWER, "stdout": {"best": 0.51, "trials": [1, 2]}}, [".stdout.best: was 0.5, is 0.51"], None),
    ],
)
def test_differences(other: Json, exact: list[str] | None, close: list[str] | None) -> None:
    found = list(differences(ANSWER, other, exact=True))
    assert found == exact if exact is not None else len(found) == 1
    assert list(differences(ANSWER, other, exact=False)) == (found if close is None else close)


def test_answers_are_written_in_short_lines_and_read_again() -> None:
    long = {"a": [ANSWER, ANSWER], "b": {"words": ["word"] * 50}, "c": {}}
    text = written(long)
    assert json.loads(text) == long
    assert max(map(len, text.splitlines())) <= 140


def test_nothing_is_rewritten_unless_asked(capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.stat().st_mtime_ns for path in Path(__file__).parent.rglob("*.json")}
    with pytest.raises(SystemExit):
        main([])
    assert "give --write" in capsys.readouterr().err
    assert before == {path: path.stat().st_mtime_ns for path in before}
