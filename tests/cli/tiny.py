"""A tiny real job: a shell script that takes milliseconds, run by the real command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from leantune.cli.app import app

TRAIN = """\
# $1: lr, which is the accuracy
test -e broken && { echo "no such data" >&2; exit 3; }
echo "accuracy=$1 latency=2"
"""
JOB: Mapping[str, object] = {
    "name": "digits",
    "train": "sh train.sh {lr}",
    "maximize": "accuracy",
    "space": {"lr": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]},
    "budget": {"trials": 4},
    "strategy": "random",
    "run": {"time_limit": "60 s", "grace": "1 s"},
}
PRICED: Mapping[str, object] = {
    "space": {
        "lr": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8],
        "cluster": {"machines": {"one": {"vcpus": 1, "memory": "1 GiB", "usd_per_hour": 36}}},
    },
    "budget": {"usd": 100, "trials": 2},
}


def make_job(folder: Path, program: str = TRAIN, /, **changes: object) -> Path:
    """Write a job file (JSON is YAML) and its training program."""
    folder.mkdir(exist_ok=True)
    (folder / "train.sh").write_text(program, encoding="utf-8")
    job = folder / "job.yaml"
    lines = [f"{key}: {json.dumps(value)}" for key, value in {**JOB, **changes}.items()]
    job.write_text("\n".join(["# a tiny job", *lines, ""]), encoding="utf-8")
    return job


def invoke(*arguments: object) -> Result:
    """Run the command in this process; a bug shows its traceback."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def told(*arguments: object, code: int = 0) -> Any:
    """The one JSON object that the command prints."""
    result = invoke(*arguments, "--json")
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


def start(*arguments: object, cwd: Path, **options: Any) -> subprocess.Popen[str]:
    """Start the command as a process of its own."""
    command = [sys.executable, "-m", "leantune", *(str(argument) for argument in arguments)]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(
        command, cwd=cwd, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options
    )


def left_behind(folder: Path) -> list[str]:
    """Processes that still live in the folder, or were told of it."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            where = f"{(process / 'cwd').readlink()} {(process / 'cmdline').read_bytes().decode(errors='replace')}"
        except OSError:  # it has ended meanwhile, or only waits to be buried
            continue
        if process.name != str(os.getpid()) and str(folder) in where:
            found.append(f"{process.name}: {where}")
    return found
