"""What programs inherit: everything but what only our store uses."""

from __future__ import annotations

import json
import stat
from contextlib import closing
from pathlib import Path

import pytest

from leantune.executors.base import inherited
from leantune.executors.local import LocalExecutor
from leantune.executors.registry import ProgramSettings
from leantune.history import TrialState
from tests.executors.programs import PROBLEM, end_of, python

TELL = """
import json, os
parent = dict(line.split("=", 1) for line in open(f"/proc/{os.getppid()}/environ").read().split("\\0") if "=" in line)
json.dump([dict(os.environ), parent], open("seen.json", "w")); print("accuracy=0.5")
"""
SECRET = "s3cr3t"


def test_all_but_the_stores_own() -> None:
    variables = {
        "PGPASSWORD": SECRET,
        "PGHOST": "h",
        "AWS_SECRET_ACCESS_KEY": "k",
        "HF_TOKEN": "t",
        "WANDB_API_KEY": "w",
    }
    assert list(inherited(variables)) == ["AWS_SECRET_ACCESS_KEY", "HF_TOKEN", "WANDB_API_KEY"]
    assert inherited(variables, ["PGHOST"])["PGHOST"] == "h"
    assert "PGPASSWORD" not in inherited(variables, ["PGHOST", "PGDATABASE"])


@pytest.mark.parametrize("kept", [(), ("PGHOST",), ("PGHOST", "PGPASSWORD")])
def test_a_program_and_its_warden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: tuple[str, ...]) -> None:
    monkeypatch.setenv("PGPASSWORD", SECRET)
    monkeypatch.setenv("PGHOST", "localhost")
    monkeypatch.setenv("WANDB_API_KEY", "w")
    settings = ProgramSettings("s", PROBLEM, lambda *_: python(TELL), tmp_path, tmp_path / "runs", kept_variables=kept)
    with closing(LocalExecutor(settings, locks=tmp_path / "locks")) as executor:
        assert end_of(executor).state is TrialState.DONE
    for seen in json.loads((tmp_path / "seen.json").read_text()):
        assert {name for name in seen if name.startswith("PG")} == set(kept)
        assert seen["WANDB_API_KEY"] == "w"
    (log,) = (tmp_path / "runs").rglob("attempt-1.log")
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
