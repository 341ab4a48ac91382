"""Every command answers as it did: exit code, text and JSON are compared with the files in tests/golden/outputs.

Where a change is meant, `python -m tests.golden --write` keeps the new answers, and git shows the difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from leantune.cli.app import app
from tests.golden.commands import COMMANDS, OUTPUTS, SCENARIOS, answers
from tests.golden.kept import differences, read, same_machine

NAMES = [pytest.param(name, marks=pytest.mark.slow if one.slow else ()) for name, one in SCENARIOS.items()]


@pytest.mark.parametrize("name", NAMES)
def test_commands_answer_as_they_did(name: str, tmp_path: Path) -> None:
    if name == "spot":
        pytest.importorskip("pyarrow")
        pytest.importorskip("safetensors")
    now = answers(name, tmp_path)
    assert sorted((OUTPUTS / name).iterdir()) == sorted(now)
    told = [
        line
        for path, answer in now.items()
        for line in differences(read(path), answer, exact=same_machine(), where=f"{name}/{path.stem}")
    ]
    assert not told, "\n".join(told)


def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Each command that does something, as it is typed."""
    names = command.list_commands(None) if hasattr(command, "list_commands") else []  # some are imported when asked for
    if not names:
        yield path
    for name in names:
        yield from leaves(command.get_command(None, name), (*path, name))


def test_every_command_has_an_answer_and_a_help_that_are_kept() -> None:
    found = set(leaves(get_command(app)))
    assert {("run",), ("spot", "simulate")} < found <= {tuple(name.split()) for name in COMMANDS}
    tried = [step.arguments for name, one in SCENARIOS.items() if name not in ("help", "errors") for step in one.steps]
    assert {command for command in found if not any(each[: len(command)] == command for each in tried)} == set()
