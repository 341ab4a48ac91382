"""Folders of trials."""

from __future__ import annotations

import json
import os
import shutil
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest

from leantune.errors import LeanTuneError
from leantune.executors.base import Terms
from leantune.executors.outcome import ReportLog
from leantune.executors.run_folder import RunFolder
from leantune.problem import Problem, maximize
from leantune.space import machine
from tests.executors.programs import FULL, PROBLEM, on, trial_of

TENTH = Fraction(1, 10)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    made = RunFolder(tmp_path / "runs", 3)
    made.make()
    return made


def test_names(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path, 12345)
    assert folder.key == "trial-12345"
    assert folder.log(2) == tmp_path / "trial-12345" / "attempt-2.log"
    assert RunFolder(Path("runs"), 1).path == Path.cwd() / "runs" / "trial-0001"


def test_what_the_program_is_told(folder: RunFolder) -> None:
    problem = on(machine("m", vcpus=0.5, memory=1, usd_per_hour=0.5), nodes=2)
    told = json.loads(folder.write_trial(trial_of(problem), Terms(attempt=4, seed=7), "s").read_text())
    assert told == {
        "study": "s",
        "number": 0,
        "attempt": 4,
        "seed": 7,
        "configuration": {
            "n": 0,
            "cluster": {
                "type": "m", "nodes": 2, "vcpus": 1.0, "memory_gib": 2.0, "accelerators": 0, "usd_per_hour": 1.0,
            },
        },
        "fraction": "1",
        "snapshots": ["1"],
        "checkpoint_dir": str(folder.checkpoint),
    }  # fmt: skip


def test_a_first_attempt_finds_nothing_and_a_second_what_was_left(folder: RunFolder) -> None:
    folder.prepare_checkpoint(empty=True)
    assert folder.fingerprint() == ()
    (folder.checkpoint / "deep").mkdir()
    (folder.checkpoint / "deep" / "w").write_text("1")
    (folder.path / ".checkpoint.generation").write_text("x")
    folder.prepare_checkpoint(empty=False)
    assert len(folder.fingerprint()) == 1
    folder.prepare_checkpoint(empty=True)
    assert folder.fingerprint() == ()
    assert not (folder.path / ".checkpoint.generation").exists(), "what is noted beside it goes with it"


def test_it_begins_with_all_of_another_checkpoint_or_with_nothing(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = RunFolder(folder.path.parent, 2)
    other.make()
    other.prepare_checkpoint(empty=True)
    for name in ("a", "b"):
        (other.checkpoint / name).write_text(name)

    def killed(source: str, target: str, **_: object) -> None:
        Path(target).write_text(Path(source).read_text())
        raise KeyboardInterrupt

    folder.prepare_checkpoint(empty=True)
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "copytree", partial(shutil.copytree, copy_function=killed))
        with pytest.raises(KeyboardInterrupt):
            folder.begin_with(other)
    assert not folder.has_checkpoint
    folder.prepare_checkpoint(empty=True)
    folder.begin_with(other)
    assert sorted(path.name for path in folder.checkpoint.iterdir()) == ["a", "b"]
    assert not list(folder.path.glob(".checkpoint.*"))


def test_fingerprints_tell_changes(folder: RunFolder) -> None:
    folder.prepare_checkpoint(empty=True)
    file = folder.checkpoint / "w"
    file.write_text("1")
    seen = [folder.fingerprint()]
    os.utime(file, ns=(1, 1))
    seen.append(folder.fingerprint())
    file.write_text("12")
    seen.append(folder.fingerprint())
    file.rename(folder.checkpoint / "v")
    seen.append(folder.fingerprint())
    assert len(set(seen)) == 4
    assert folder.fingerprint() == seen[-1]


def test_snapshots_are_remembered(folder: RunFolder) -> None:
    problem = Problem(PROBLEM.space, maximize("accuracy"), [], [TENTH, FULL], snapshots=True)
    trial = trial_of(problem, (TENTH, FULL))
    log, again = ReportLog(problem, trial), ReportLog(problem, trial)
    folder.recall(again)
    assert again.results == {}
    log.take(TENTH, {"accuracy": 0.5}, 3.0)
    log.take(FULL, {"accuracy": 0.6}, 4.0)
    folder.remember(log)
    folder.recall(again)
    assert list(again.results) == [TENTH], "the last share is always the attempt's own"
    assert (again.results[TENTH].metrics, again.results[TENTH].seconds) == ({"accuracy": 0.5}, 3.0)
    (folder.path / "snapshots.json").write_text("{")
    folder.recall(again)


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(LeanTuneError, match="the folder of a run cannot be made") as caught:
        RunFolder(tmp_path / "file", 1).make()
    assert str(tmp_path / "file" / "trial-0001") == caught.value.where
