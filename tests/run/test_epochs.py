"""fidelity: epochs with real programs: a larger share goes on from a smaller one and pays the difference; kills."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from leantune.checkpoints.store import CheckpointStore
from leantune.errors import JobError
from leantune.history import Trial, TrialKind, TrialState
from leantune.jobfile import load_job
from leantune.run.events import Event, RunStarted
from leantune.run.ledger import smaller_result
from leantune.study import Study
from tests.toy import told, toy_problem

EPOCHS = 8
# Notes every epoch that it trains, and goes on from the checkpoint that it finds.
PROGRAM = """
import pathlib, sys, time
last, folder, trial = round(8 * float(sys.argv[1])), pathlib.Path(sys.argv[2]), sys.argv[3]
saved = folder / "epoch"
for epoch in range(int(saved.read_text()) if saved.exists() else 0, last):
    time.sleep(0.05)
    with open("trained", "a") as log:
        log.write(f"{trial} {epoch + 1}\\n")
    saved.write_text(str(epoch + 1))
    print('{"step": %d, "accuracy": %g}' % (epoch + 1, (epoch + 1) / 10), flush=True)
"""
# One setting: TrimTuner starts with its smaller shares, one run each, and all that is left then is the largest.
JOB = """
name: longer
train: [{python}, train.py, "{{fraction}}", "{{checkpoint_dir}}", "{{trial}}", "{{lr}}"]
maximize: accuracy
space: {{lr: [0.1], cluster: {{machines: {{m: {{vcpus: 0.5, memory: 1 GiB, usd_per_hour: 3.6}}}}}}}}
fractions: [1/4, 1/2, 1]
fidelity: {fidelity}
budget: {{trials: 3}}
strategy: trimtuner
run: {{grace: 1 s}}
checkpoints: {{at: ./kept}}
"""


def write_job(folder: Path, fidelity: str = "epochs") -> Path:
    (folder / "train.py").write_text(PROGRAM)
    (folder / "job.yaml").write_text(JOB.format(python=sys.executable, fidelity=fidelity))
    return folder / "job.yaml"


def trained(folder: Path) -> list[tuple[int, int]]:
    """(trial, epoch), as they were trained."""
    lines = (folder / "trained").read_text().split("\n")[:-1]
    return [(int(trial), int(epoch)) for trial, epoch in map(str.split, lines)]


def check_books(opened: Study) -> None:
    """Results are those of whole runs, and what was paid is in the ledger once."""
    trials = opened.history.trials
    assert [(trial.fraction, trial.state) for trial in trials] == [
        (share, TrialState.DONE) for share in (Fraction(1, 4), Fraction(1, 2), Fraction(1))
    ]
    for trial, share in zip(trials, (2, 4, 8), strict=True):
        seen = trial.observations[-1]
        assert seen.metrics == {"accuracy": share / 10}
        assert seen.seconds is not None and seen.seconds >= 0.05 * share
        assert seen.cost == pytest.approx(seen.seconds / 1000)
    paid = sum(row.settled or 0.0 for row in opened.store.ledger())
    assert opened.history.cost == pytest.approx(paid)


def whole(trial: Trial) -> float:
    return trial.observations[-1].seconds or 0.0


def test_more_epochs_go_on_from_fewer_and_pay_the_difference(tmp_path: Path) -> None:
    opened = Study.from_job(load_job(write_job(tmp_path)))
    events: list[Event] = []
    opened.run(observer=events.append)
    assert trained(tmp_path) == [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (2, 6), (2, 7), (2, 8)]
    assert [event.continues for event in events if isinstance(event, RunStarted)] == [None, 0, 1]
    check_books(opened)
    first, second, third = opened.history.trials
    assert whole(second) == pytest.approx(whole(first) + second.seconds)
    assert whole(third) == pytest.approx(whole(second) + third.seconds)
    assert third.cost == pytest.approx(third.seconds / 1000)
    opened.close()
    # What may be gone on from was kept while the study ran; it is over now, and the best is left.
    assert CheckpointStore(tmp_path / "kept", "longer").places() == ["trial-0002"]


def test_a_run_that_repeats_another_starts_from_nothing() -> None:
    problem = toy_problem(fidelity="epochs")
    history = told(problem, [(0, 0), (0, 2)])
    first, (history, again) = history.trials[1], history.propose(problem.space.grid()[0], Fraction(1))
    smaller = smaller_result(problem, lambda: history, first)
    assert smaller is not None
    assert smaller[0].number == 0
    assert smaller_result(problem, lambda: history, again) is None
    history, verifying = history.propose(problem.space.grid()[0], Fraction(1), kind=TrialKind.VERIFICATION)
    assert smaller_result(problem, lambda: history, verifying) == smaller


def test_with_shares_of_the_data_every_run_starts_from_nothing(tmp_path: Path) -> None:
    opened = Study.from_job(load_job(write_job(tmp_path, "data")))
    opened.run()
    assert [epoch for _, epoch in trained(tmp_path)] == [1, 2, *range(1, 5), *range(1, 9)]
    check_books(opened)
    opened.close()


def test_a_checkpoint_that_is_gone_is_missed_aloud(tmp_path: Path) -> None:
    opened = Study.from_job(load_job(write_job(tmp_path)))

    def vandal(event: Event) -> None:
        if isinstance(event, RunStarted) and event.trial.number == 0:
            return
        shutil.rmtree(tmp_path / "kept/longer/trial-0000", ignore_errors=True)

    opened.run(observer=vandal)
    assert [epoch for trial, epoch in trained(tmp_path) if trial == 1] == [1, 2, 3, 4]
    assert "started from nothing, as trial 0 left no checkpoint" in opened.history.trial(1).moves[-1].cause
    second = opened.history.trial(1)
    assert whole(second) == pytest.approx(second.seconds), "nothing was gone on from"
    check_books(opened)
    opened.close()


def test_keeping_nothing_contradicts_it(tmp_path: Path) -> None:
    path = write_job(tmp_path)
    path.write_text(path.read_text().replace("{at: ./kept}", "{at: ./kept, keep: none}"))
    with pytest.raises(JobError, match="nothing is kept") as refused:
        load_job(path)
    assert "checkpoints.keep" in refused.value.where and "line 11" in refused.value.where


KILLED = """
import os, signal, sys
from pathlib import Path
from leantune.checkpoints.store import CheckpointStore
from leantune.executors.local import LocalExecutor
from leantune.jobfile import load_job
from leantune.store.study import StudyStore
from leantune.study import Study

left, at = int(sys.argv[2]), sys.argv[3]
place, name, before = {
    "before-start": (LocalExecutor, "start", True),
    "after-end": (StudyStore, "finish", False),
    "before-end": (StudyStore, "finish", True),
    "before-copy": (CheckpointStore, "borrow", True),
    "after-copy": (CheckpointStore, "borrow", False),
    "before-removal": (CheckpointStore, "delete", True),
}[at]
original = getattr(place, name)

def dying(*arguments, **named):
    global left
    left -= 1
    if left < 0 and before:
        os.kill(os.getpid(), signal.SIGKILL)
    found = original(*arguments, **named)
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return found

setattr(place, name, dying)
Study.from_job(load_job(Path(sys.argv[1]))).run()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("at", "times"),
    [
        ("before-start", 3),
        ("after-end", 3),
        ("before-end", 3),
        ("before-copy", 2),
        ("after-copy", 2),
        ("before-removal", 3),
    ],
)
def test_killed_between_a_smaller_share_and_a_larger(tmp_path: Path, at: str, times: int) -> None:
    """At each such moment once: every epoch is trained once all the same, and paid once."""
    for left in range(times):
        folder = tmp_path / str(left)
        folder.mkdir()
        path = write_job(folder)
        command = [sys.executable, "-c", KILLED, str(path), str(left), at]
        ended = subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=60)
        assert ended.returncode == -signal.SIGKILL, (left, ended.stderr.decode())
        opened = Study.from_job(load_job(path))
        opened.run()
        epochs = [epoch for _, epoch in trained(folder)]
        assert epochs == list(range(1, EPOCHS + 1)), (at, left)
        check_books(opened)
        opened.close()
        assert CheckpointStore(folder / "kept", "longer").places() == ["trial-0002"]
