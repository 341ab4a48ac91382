"""What a person sees of an error."""

import json

import pytest
import typer

from leantune.cli.failures import print_json, print_result, printable, say, told_errors, warn
from leantune.errors import JobError, StudyOver


def test_an_error_is_one_line_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as ended, told_errors():
        raise JobError("lr is missing", where="job.yaml, line 3", hint="Add it")
    assert ended.value.exit_code == 2
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "error: lr is missing (job.yaml, line 3). Add it\n")


def test_with_json_the_error_is_also_the_one_object_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as ended, told_errors(as_json=True):
        raise StudyOver("nothing yet", where="recommendation", hint="Run it")
    assert ended.value.exit_code == 3
    said = capsys.readouterr()
    assert said.err.startswith("error: nothing yet")
    told = {"what": "nothing yet", "where": "recommendation", "hint": "Run it", "exit_code": 3}
    assert json.loads(said.out) == {"error": told}


def test_ctrl_c_is_130(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as ended, told_errors():
        raise KeyboardInterrupt
    assert ended.value.exit_code == 130
    assert "interrupted" in capsys.readouterr().err


def test_a_bug_keeps_its_traceback() -> None:
    with pytest.raises(ZeroDivisionError), told_errors():
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


def test_json_that_is_none_is_a_bug_and_not_printed() -> None:
    with pytest.raises(ValueError, match="JSON"):
        print_json({"cost": float("nan")})


@pytest.mark.parametrize(("as_json", "shown"), [(True, '{\n  "a": 1\n}\n'), (False, "one\ntwo\n")])
def test_a_result_is_one_object_or_lines(capsys: pytest.CaptureFixture[str], as_json: bool, shown: str) -> None:
    print_result({"a": 1}, ["one", "two"], as_json=as_json)
    assert capsys.readouterr() == (shown, "")
