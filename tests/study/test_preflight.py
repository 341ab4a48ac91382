"""What a job needs of this machine: each fault by a real one, and what is no fault."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from leantune.errors import InvalidInput, JobError, LeanTuneError, StoreError
from leantune.jobfile import load_job
from leantune.study import Study
from leantune.study.forecast import dry_run
from leantune.study.preflight import preflight, script_of

JOB = """
name: tiny
train: {train}
maximize: accuracy
space: {{lr: [0.1, 0.2]}}
budget: {{trials: 2}}
strategy: random
"""


def job_file(folder: Path, train: str, more: str = "") -> Path:
    (folder / "train.py").write_text("print('accuracy=0.5')\n")
    path = folder / "job.yaml"
    path.write_text(JOB.format(train=train) + more)
    return path


def refused(path: Path) -> LeanTuneError:
    """By `run` and by `--dry-run` alike, and nothing is made."""
    before = sorted(path.parent.iterdir())
    with pytest.raises(LeanTuneError) as by_dry_run:
        dry_run(load_job(path))
    with pytest.raises(LeanTuneError) as by_run:
        Study.from_job(path)
    assert str(by_dry_run.value) == str(by_run.value)
    assert sorted(path.parent.iterdir()) == before
    return by_run.value


@pytest.mark.parametrize(
    ("train", "what", "hint"),
    [
        ("python tarin.py {lr}", "there is no file 'tarin.py'", "Did you mean train.py?"),
        ("python -u -W ignore tarin.py {lr}", "there is no file 'tarin.py'", "Did you mean train.py?"),
        ("env A=1 python3 tarin.py {lr}", "there is no file 'tarin.py'", "Did you mean train.py?"),
        ("sh -e tarin.sh {lr}", "there is no file 'tarin.sh'", "Correct the name"),
        ("python . {lr} x", "'.' is a folder", "Correct the name"),
        ("pyhton train.py {lr}", "there is no program 'pyhton' on the PATH", "write its whole path"),
        ("./train.sh {lr}", "there is no program './train.sh'", "Correct the name"),
        ("./train.py {lr}", "'./train.py' is not executable", "chmod +x ./train.py"),
    ],
)
def test_a_program_that_cannot_start_is_refused(tmp_path: Path, train: str, what: str, hint: str) -> None:
    error = refused(job_file(tmp_path, train))
    assert isinstance(error, JobError)
    assert what in error.what
    assert hint in error.hint
    assert error.where == "train"


@pytest.mark.parametrize(
    "train",
    [
        "python train.py {lr}",
        "python -c 'print(1)' {lr}",
        "python -uc 'print(1)' {lr}",
        "python -m timeit {lr}",
        "sh -c 'exit 0' {lr}",
        "python {lr} tarin.py",
        "env A=1 python train.py {lr}",
        "env -i python tarin.py {lr}",
        f"{sys.executable} train.py {{lr}}",
        "echo tarin.py {lr}",
    ],
)
def test_a_program_that_may_start_is_not_refused(tmp_path: Path, train: str) -> None:
    preflight(load_job(job_file(tmp_path, train)))


def test_a_placeholder_that_no_trial_has_is_refused_where_the_file_is_read(tmp_path: Path) -> None:
    with pytest.raises(JobError, match=r"unknown placeholder \{rate\}"):
        load_job(job_file(tmp_path, "python train.py {rate}"))


def test_places_that_cannot_be_written_are_refused_all_at_once(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    more = "checkpoints: {at: taken/here}\nrun: {logs: taken}\nstore: sqlite:///taken/study.db\n"
    error = refused(job_file(tmp_path, "python tarin.py {lr}", more))
    assert isinstance(error, InvalidInput)
    for part in ("train: there is no file 'tarin.py'", "checkpoints.at: ", "run.logs: ", "store: ", "is a file"):
        assert part in error.what
    assert "Did you mean train.py?" in error.hint
    assert "checkpoints: {at: ./checkpoints}" in error.hint


@pytest.mark.parametrize(
    ("closed", "kind", "where"), [("out", JobError, "checkpoints.at"), ("leantune.db", StoreError, "leantune.db")]
)
def test_what_may_not_be_written_to_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, closed: str, kind: type[LeanTuneError], where: str
) -> None:
    """By what the system says; root, which runs the tests in containers, may write everywhere."""
    path = job_file(tmp_path, "python train.py {lr}", "checkpoints: {at: out/here}\n")
    (tmp_path / "out").mkdir()
    Study.from_job(path).close()
    access = os.access

    def denied(file: str | Path, mode: int) -> bool:
        return not (Path(file).name == closed and mode & os.W_OK) and access(file, mode)

    monkeypatch.setattr(os, "access", denied)
    error = refused(path)
    assert isinstance(error, kind)
    assert where in error.where
    assert "cannot be written to" in error.what


def test_a_predictor_that_is_not_there_is_refused_before_a_run(tmp_path: Path) -> None:
    path = job_file(tmp_path, "python train.py {lr}", "run: {on: simcloud, predictor: mine.safetensors}\n")
    machine = "{machines: {m: {vcpus: 1, memory: 1 GiB, usd_per_hour: 0.1}}}"
    path.write_text(path.read_text().replace("{lr: [0.1, 0.2]}", f"{{lr: [0.1, 0.2], cluster: {machine}}}"))
    assert "there is no such file" in refused(path).what


@pytest.mark.parametrize(
    ("words", "script"),
    [
        (["python3.12", "-X", "dev", "a.py"], "a.py"),
        (["/usr/bin/python", None], None),
        (["bash", "-o", "pipefail", "a.sh"], "a.sh"),
        (["torchrun", "--nproc", "2", "a.py"], None),
        (["python", "--version"], None),
    ],
)
def test_which_file_an_interpreter_runs(words: list[str | None], script: str | None) -> None:
    assert script_of(words) == script
