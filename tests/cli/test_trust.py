"""Commands that come from a store: shown, and not started before this user has accepted them."""

from __future__ import annotations

import shutil
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from leantune.cli import studies as trust
from leantune.jobfile import Job, load_job
from tests.cli.tiny import PRICED, invoke, make_job, told

EVIL = "sh evil.sh {lr}"


@pytest.fixture
def stranger(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """Another user's account, in the study's folder, where it may go on for a trial more."""
    told("extend", finished, "--trials", 5)
    monkeypatch.chdir(finished.parent)
    monkeypatch.setenv("LEANTUNE_HOME", str(tmp_path / "home"))
    return ("--store", f"sqlite:///{finished.parent}/leantune.db", "--study", "digits")


def change_command(folder: Path) -> None:
    """As anybody can who may write to the database."""
    (folder / "evil.sh").write_text("touch evil\necho accuracy=1\n", encoding="utf-8")
    with closing(sqlite3.connect(folder / "leantune.db")) as database:
        for column in ("job", "definition"):
            database.execute(f"UPDATE studies SET {column} = replace({column}, 'train.sh', 'evil.sh')")
        database.commit()


@pytest.mark.parametrize("command", ["worker", "verify"])
def test_a_command_from_a_store_is_shown_and_refused(stranger: tuple[str, ...], tmp_path: Path, command: str) -> None:
    sha = trust.sha_of(load_job(tmp_path / "job.yaml"))
    refused = invoke(command, *stranger)
    assert refused.exit_code == 2
    assert f"command: sh train.sh '{{lr}}'\nSHA-256: {sha}\n" in refused.stderr
    assert "you have not accepted this command before" in refused.stderr
    assert f"--trust {sha}" in refused.stderr
    assert told("status", *stranger)["trials"]["done"] == 4
    assert invoke(command, *stranger, "--trust", "0" * 64).exit_code == 2
    assert invoke(command, *stranger, "--trust", sha.upper()).exit_code == 0
    assert invoke(command, *stranger).exit_code == 0, "what was accepted once is accepted"
    (accepted,) = (tmp_path / "home" / "accepted").iterdir()
    assert accepted.name == sha
    assert stat.S_IMODE(accepted.parent.stat().st_mode) == 0o700
    accepted.unlink()
    assert invoke(command, *stranger).exit_code == 2, "and no longer when the word was taken back"


def test_a_changed_command_must_be_accepted_again(stranger: tuple[str, ...], tmp_path: Path) -> None:
    sha = trust.sha_of(load_job(tmp_path / "job.yaml"))
    change_command(tmp_path)
    changed = invoke("worker", *stranger, "--trust", sha)
    assert changed.exit_code == 2
    assert "command: sh evil.sh" in changed.stderr
    assert "somebody has changed it" in changed.stderr
    assert not (tmp_path / "evil").exists()


def test_who_runs_a_job_file_accepts_it(stranger: tuple[str, ...], finished: Path, tmp_path: Path) -> None:
    assert invoke("run", finished).exit_code == 0
    told("extend", *stranger, "--trials", 6)
    assert invoke("worker", *stranger).exit_code == 0
    change_command(tmp_path)
    assert invoke("worker", *stranger).exit_code == 2
    assert not (tmp_path / "evil").exists()


def test_a_home_that_cannot_be_written(stranger: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "home").write_text("no folder", encoding="utf-8")
    sha = trust.sha_of(load_job(tmp_path / "job.yaml"))
    accepted = invoke("worker", *stranger, "--trust", sha)
    assert accepted.exit_code == 0
    assert "that you accept it cannot be kept" in accepted.stderr


def test_trust_is_about_stores(finished: Path) -> None:
    refused = invoke("worker", finished, "--trust", "0" * 64)
    assert refused.exit_code == 2
    assert "--trust is about a job that comes from a store" in refused.stderr


def job_of(folder: Path, **changes: object) -> Job:
    shutil.rmtree(folder, ignore_errors=True)
    return load_job(make_job(folder, **changes))


NAMED = {"lr": {"log": [0.1, 1]}, "tool": ["adam", "sgd"]}
MACHINES = {"one": {"vcpus": 1, "memory": "1 GiB"}}


@pytest.mark.parametrize(
    "changes",
    [
        {"train": "sh train.sh {lr} more"},
        {"run": {"logs": "/root/.ssh"}},
        {"run": {"environment": {"keep": ["PGPASSWORD"]}}},
        {"checkpoints": "../elsewhere"},
        {"space": {**NAMED, "tool": ["adam", "--config=evil"]}},
        {"space": {**NAMED, "cluster": {"machines": MACHINES}}},
    ],
)
def test_what_decides_what_is_started_is_part_of_the_text(tmp_path: Path, changes: dict[str, object]) -> None:
    assert trust.sha_of(job_of(tmp_path / "a", space=NAMED)) != trust.sha_of(
        job_of(tmp_path / "b", **{"space": NAMED, **changes})
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"budget": {"trials": 99}},
        {"train": "sh   'train.sh' {lr}"},
        {"space": {"lr": {"log": [0.01, 10]}, "tool": ["sgd", "adam"]}},
        {"subject_to": ["latency <= 3"], "run": {"parallel": 2}},
    ],
)
def test_everything_else_is_not(tmp_path: Path, changes: dict[str, object]) -> None:
    one, other = job_of(tmp_path / "a", space=NAMED), job_of(tmp_path / "b", **{"space": NAMED, **changes})
    assert trust.started_text(one) == trust.started_text(other)


def test_machines_are_named(tmp_path: Path) -> None:
    assert '"cluster": ["one"]' in trust.started_text(job_of(tmp_path / "a", **PRICED))
