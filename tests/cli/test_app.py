"""The command: its help, its examples, its exit codes."""

import json
import shlex
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import leantune
from leantune.cli.app import app


def help_pages() -> dict[str, str]:
    """The help text of the command itself and of each of its commands."""
    names = [command.callback.__name__ for command in app.registered_commands if command.callback is not None]
    pages = {"": CliRunner().invoke(app, ["--help"]).output}
    return pages | {name: CliRunner().invoke(app, [name, "-h"]).output for name in names}


def examples() -> list[str]:
    """Every line of a help page that a reader would type."""
    lines = [line.strip() for page in help_pages().values() for line in page.splitlines()]
    return sorted({line.removeprefix("$ ") for line in lines if line.startswith("$ ")})


@pytest.mark.parametrize("name", help_pages())
def test_every_help_page_has_an_example_on_a_line_of_its_own(name: str) -> None:
    page = help_pages()[name]
    assert f"$ leantune {name}".rstrip() in page
    assert "Examples:" in page


@pytest.mark.parametrize("example", examples())
def test_examples_of_the_help_pages_run(example: str) -> None:
    program, *arguments = shlex.split(example)
    assert program == "leantune"
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert result.output.strip()


def test_version_is_the_packages() -> None:
    assert CliRunner().invoke(app, ["--version"]).output == f"leantune {leantune.__version__}\n"


def test_json_is_one_object_and_nothing_else() -> None:
    told = json.loads(CliRunner().invoke(app, ["doctor", "--json"]).output)
    assert told["leantune"] == leantune.__version__
    assert told["healthy"] is True


@pytest.mark.parametrize("arguments", [["no-such-command"], ["doctor", "--no-such-option"]])
def test_a_wrong_command_line_exits_with_2(arguments: list[str]) -> None:
    assert CliRunner().invoke(app, arguments).exit_code == 2


def test_module_and_script_are_the_same_command() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "leantune", "--help"], capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stdout.startswith("Usage: leantune ")
    assert set(help_pages()) - {""} <= set(run.stdout.split())


def test_help_loads_no_numeric_library() -> None:
    program = (
        "import sys; from typer.testing import CliRunner; from leantune.cli.app import app;"
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0;"
        "print(sorted({'numpy', 'scipy', 'numba', 'rich', 'plotly', 'sqlalchemy'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert run.stdout.strip() == "[]"
