"""How commands end: every error has its exit code and is one line; an answer is lines or JSON."""

import json
import math
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from leantune import errors
from leantune.cli.command import (
    MEANINGS,
    Answer,
    ExitCode,
    command,
    encoded,
    exit_code_of,
    explained,
    picked,
    print_json,
    reported_errors,
)
from leantune.cli.terminal import printable, say, warn
from leantune.errors import JobError, StudyOver


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.JobError("x"), 2),
        (errors.SpaceError("x"), 2),
        (errors.InvalidInput("x"), 2),
        (errors.StudyChanged("x"), 2),
        (errors.StudyOver("x"), 3),
        (errors.StoreError("x"), 4),
        (errors.UnknownStudy("x"), 4),
        (errors.IncompatibleStore("x"), 4),
        (errors.CheckpointError("x"), 4),
        (errors.MissingExtra("x"), 4),
        (errors.LaunchRefused("x"), 1),
        (errors.MachineGone("x"), 1),
        (errors.IllegalMove("x"), 2),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_code_of_each_error(error: errors.LeanTuneError, code: int) -> None:
    assert exit_code_of(error) == code


def test_every_code_has_a_meaning() -> None:
    assert set(MEANINGS) == set(ExitCode)
    assert [code.value for code in ExitCode] == [0, 1, 2, 3, 4, 130]


def test_a_command_may_say_in_its_own_words_what_a_code_means() -> None:
    page = explained(ExitCode.BAD_NEWS, ExitCode.WELL, bad_news="a limit broke")
    assert page.splitlines() == ["\b", "Exit codes:", "  0    all is well", "  1    a limit broke"]


def test_an_error_is_one_line_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as ended, reported_errors():
        raise JobError("lr is missing", where="job.yaml, line 3", hint="Add it")
    assert ended.value.exit_code == 2
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "error: lr is missing (job.yaml, line 3). Add it\n")


def test_with_json_the_error_is_also_the_one_object_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as ended, reported_errors(as_json=True):
        raise StudyOver("nothing yet", where="recommendation", hint="Run it")
    assert ended.value.exit_code == 3
    said = capsys.readouterr()
    assert said.err.startswith("error: nothing yet")
    told = {"what": "nothing yet", "where": "recommendation", "hint": "Run it", "exit_code": 3}
    assert json.loads(said.out) == {"error": told}


def test_ctrl_c_is_130(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as ended, reported_errors():
        raise KeyboardInterrupt
    assert ended.value.exit_code == 130
    assert "interrupted" in capsys.readouterr().err


def test_a_bug_keeps_its_traceback() -> None:
    with pytest.raises(ZeroDivisionError), reported_errors():
        raise ZeroDivisionError


def test_no_escape_sequence_of_a_training_program_reaches_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    say("exit code 1: \x1b[2J\x1b]0;owned\x07\x9b31m\rboom\nnext line")
    said = capsys.readouterr().out
    assert not any(ord(character) < 32 and character != "\n" for character in said)
    assert "\x9b" not in said
    assert said.endswith("boom\nnext line\n")
    assert printable("accuracy ≤ 0.9 ± 0.1") == "accuracy ≤ 0.9 ± 0.1"


def test_warnings_leave_standard_output_to_the_result(capsys: pytest.CaptureFixture[str]) -> None:
    warn("'lr' is never used")
    assert capsys.readouterr() == ("", "warning: 'lr' is never used\n")


@dataclass
class Bill:
    usd: float
    share: Fraction = Fraction(1, 4)
    code: ExitCode = ExitCode.BAD_NEWS
    file: Path = Path("bill.csv")


def test_results_are_told_as_json_has_them() -> None:
    told = encoded({"bills": iter([Bill(1.5), Bill(math.inf)]), 7: (datetime(2026, 1, 2, tzinfo=UTC), None)})
    bill = {"usd": 1.5, "share": "1/4", "code": 1, "file": "bill.csv"}
    assert told == {"bills": [bill, {**bill, "usd": None}], "7": ["2026-01-02T00:00:00+00:00", None]}
    assert list(picked(Bill(2.0), "cost=usd half=share.numerator usd").items()) == [
        ("cost", 2.0),
        ("half", 1),
        ("usd", 2.0),
    ]


def test_json_that_is_none_is_a_bug_and_not_printed() -> None:
    with pytest.raises(TypeError, match="JSON"):
        print_json({"cost": object()})


def test_a_function_becomes_a_command() -> None:
    app = typer.Typer()

    @command(app, ExitCode.WELL, ExitCode.BAD_NEWS)
    def weigh(*, pounds: int = 1, as_json: bool = False) -> Answer:
        if not pounds:
            raise StudyOver("nothing to weigh")
        return Answer({"pounds": pounds}, [f"{pounds} pounds"], ExitCode.BAD_NEWS)

    for arguments, code, shown in (
        (["--pounds", "2"], 1, "2 pounds\n"),
        (["--as-json"], 1, '{\n  "pounds": 1\n}\n'),
        (["--pounds", "0"], 3, ""),
    ):
        result = CliRunner().invoke(app, arguments)
        assert (result.exit_code, result.stdout) == (code, shown)
    assert "Exit codes:" in CliRunner().invoke(app, ["--help"]).output


@pytest.mark.parametrize(("as_json", "shown"), [(True, '{\n  "a": 1\n}\n'), (False, "one\ntwo\n")])
def test_a_result_is_one_object_or_lines(capsys: pytest.CaptureFixture[str], as_json: bool, shown: str) -> None:
    Answer({"a": 1}, ["one", "two"]).print(as_json=as_json)
    assert capsys.readouterr() == (shown, "")
