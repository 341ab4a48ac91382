"""The command: its help, its examples, its exit codes."""

import io
import json
import re
import resource
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from typer.main import get_group
from typer.testing import CliRunner

import leantune
from leantune.cli.app import GROUPS, LaterGroup, app, main
from leantune.cli.command import ExitCode
from leantune.lab.replay.tables import default_data, preset_names, preset_text
from leantune.lab.replay.tables.description import parse_description
from tests.cli.tiny import invoke
from tests.data import needs
from tests.lab.replay.small import write as write_table

COMMANDS = [command.callback.__name__ for command in app.registered_commands if command.callback is not None]
OF_GROUPS = [
    f"{name} {command}"
    for name, group in get_group(app).commands.items()
    if isinstance(group, LaterGroup)
    for command in group.list_commands(None)
]
LONG = ("spot train", "spot simulate", "spot run")  # their examples have tests of their own, smaller and quicker


@cache
def help_pages() -> dict[str, str]:
    """The help text of the command itself and of each of its commands."""
    pages = {"": CliRunner().invoke(app, ["--help"]).output}
    return pages | {name: CliRunner().invoke(app, [*name.split(), "-h"]).output for name in [*COMMANDS, *OF_GROUPS]}


def examples() -> list[str]:
    """Every line of a help page that a reader would type."""
    lines = [line.strip() for page in help_pages().values() for line in page.splitlines()]
    typed = {line.removeprefix("$ ") for line in lines if line.startswith("$ ")}
    return sorted(line for line in typed if not line.removeprefix("leantune ").startswith(LONG))


def test_the_commands_are_those_of_the_product() -> None:
    of_studies = ["run", "status", "recommend", "verify", "extend", "retry", "report"]
    assert [*of_studies, "clean", "worker", "logs", "replay", "doctor", "schema"] == COMMANDS
    assert OF_GROUPS == [
        "spot prices",
        "spot train",
        "spot simulate",
        "spot run",
        "catalog show",
        "catalog refresh",
    ]


@pytest.mark.parametrize("name", help_pages())
def test_every_help_page_has_an_example_on_a_line_of_its_own_and_exit_codes(name: str) -> None:
    page = help_pages()[name]
    assert f"$ leantune {name}".rstrip() in page
    assert "Examples:" in page
    codes = re.findall(r"^    (\d+) +\S", page.partition("Exit codes:\n")[2], flags=re.MULTILINE)
    assert {0, 2} <= {int(code) for code in codes} <= set(ExitCode)


@pytest.mark.parametrize("example", examples())
def test_examples_of_the_help_pages_run(example: str, finished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, *arguments = shlex.split(example)
    assert program == "leantune"
    monkeypatch.chdir(finished.parent)
    if arguments[0] == "replay":
        write_table(finished.parent)
        skip_without_data(arguments[1:2])
    if arguments[0] in GROUPS:
        monkeypatch.setenv("LEANTUNE_HOME", str(finished.parent / "home"))
        write_market_files(finished.parent)
        if "--undo" in arguments:
            invoke("catalog", "refresh", "--csv", "prices.csv")
        if "aws" in arguments:
            pytest.skip("needs an account with AWS; tests/cloud/test_aws.py asks a server that speaks its protocol")
    result = invoke(*arguments)
    assert result.exit_code == 0, result.output
    assert result.output.strip()
    if "--json" in arguments:
        assert isinstance(json.loads(result.stdout), dict)


def write_market_files(folder: Path) -> None:
    """The files that examples of prices and catalogues name."""
    rows = [f"2026-01-0{day}T00:00:00Z,m5.large,us-east-1a,Linux/UNIX,0.0{day + 3}" for day in range(1, 7)]
    (folder / "history.csv").write_text("\n".join(["timestamp,instance_type,availability_zone,product,price", *rows]))
    header = "instance_type,vcpus,memory_gib,accelerator,accelerators,usd_per_hour,spot_usd_per_hour,availability_zone"
    invoke("spot", "prices", "history.csv")  # an example shows what is kept
    (folder / "prices.csv").write_text(f"{header}\nm5.large,2,8,,,0.096,0.04,use1-az2\n")


def skip_without_data(named: list[str]) -> None:
    """Published tables are not shipped."""
    for table in set(named) & set(preset_names()):
        needs(default_data() / parse_description(preset_text(table), table).file)


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
    assert {*COMMANDS, *GROUPS} <= set(run.stdout.split())


def test_help_loads_no_numeric_library() -> None:
    program = (
        "import sys; from typer.testing import CliRunner; from leantune.cli.app import app;"
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0;"
        "heavy = {'numpy', 'scipy', 'numba', 'rich', 'plotly', 'sqlalchemy', 'pydantic', 'ruamel'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert run.stdout.strip() == "[]"


def test_help_is_quick() -> None:
    """In time of the processor, and the best of several: a busy machine does not turn it red."""
    command, seconds = [sys.executable, "-m", "leantune", "--help"], []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, capture_output=True, check=True, timeout=60)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(seconds) < 0.3


def test_a_stream_that_cannot_show_a_sign_does_not_end_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(shown, encoding="latin-1"))
    monkeypatch.setattr(sys, "argv", ["leantune", "--version"])
    with pytest.raises(SystemExit):
        main()
    print("cost ≤ 1", flush=True)
    assert shown.getvalue().endswith(b"cost ? 1\n")
