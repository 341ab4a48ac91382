"""Which checkpoints outlive their trials: by history alone, and whoever is killed while others are removed."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leantune.checkpoints import Keep
from leantune.checkpoints.store import CheckpointStore
from leantune.clock import SimulatedClock
from leantune.executors.replay import ReplayExecutor
from leantune.history import History, TrialKind, TrialState
from leantune.jobfile import load_job
from leantune.problem import Problem
from leantune.run.keeping import KeptCheckpoints, kept_trials, may_be_kept
from leantune.study import Study
from tests.toy import FRACTIONS, LIMIT, measure, seconds, told, toy_problem

TENTH, HALF, FULL = FRACTIONS
PROBLEM = toy_problem()
# Rows of the grid on all data: accuracy 0.8, then 0.95 (the best that keeps the limit), then 0.95 beyond the limit.
FAIR, GOOD, DEAR = 0, 8, 11


def verified(history: History, row: int) -> History:
    history, trial = history.propose(PROBLEM.space.grid()[row], FULL, kind=TrialKind.VERIFICATION)
    return history.record(trial.number, measure(PROBLEM, trial), time=0.0)


def test_the_rows_are_what_they_are_called() -> None:
    rate = PROBLEM.space.grid()[DEAR].usd_per_hour
    assert rate is not None and seconds(PROBLEM.space.grid()[DEAR], FULL) * rate / 3600 > LIMIT


def test_the_best_on_all_data_that_keeps_the_limits_and_what_was_verified() -> None:
    history = told(PROBLEM, [(GOOD, 1), (DEAR, 2), (FAIR, 2)])
    assert kept_trials(PROBLEM, history, Keep.BEST) == {2}
    history = verified(history, DEAR)
    better, trial = history.propose(PROBLEM.space.grid()[GOOD], FULL)
    assert kept_trials(PROBLEM, better, Keep.BEST) == {2, 3}
    better = better.record(trial.number, measure(PROBLEM, trial), time=0.0)
    assert kept_trials(PROBLEM, better, Keep.BEST) == {3, 4}
    assert kept_trials(PROBLEM, better, Keep.NONE) == {3}
    assert kept_trials(PROBLEM, better, Keep.ALL) == {0, 1, 2, 3, 4}


def test_before_there_is_one_that_keeps_the_limits_the_nearest_is_kept() -> None:
    assert kept_trials(PROBLEM, told(PROBLEM, [(GOOD, 0), (DEAR, 2)]), Keep.BEST) == {1}
    assert kept_trials(PROBLEM, told(PROBLEM, [(GOOD, 0)]), Keep.BEST) == frozenset()


def test_what_could_be_kept_has_to_be_saved() -> None:
    history, part = History().propose(PROBLEM.space.grid()[0], HALF)
    history, whole = history.propose(PROBLEM.space.grid()[0], FULL)
    history, check = history.propose(PROBLEM.space.grid()[0], FULL, kind=TrialKind.VERIFICATION)
    saved = {keep: [may_be_kept(PROBLEM, trial, keep) for trial in (part, whole, check)] for keep in Keep}
    assert saved == {Keep.BEST: [False, True, True], Keep.ALL: [True, True, True], Keep.NONE: [False, False, True]}
    anywhere = toy_problem(anywhere=True)
    assert may_be_kept(anywhere, part, Keep.BEST)


EPOCHS = toy_problem(fidelity="epochs")


def test_what_a_larger_share_may_go_on_from_is_kept_until_the_study_is_over() -> None:
    history = told(EPOCHS, [(FAIR, 0), (GOOD, 1), (DEAR, 2)])
    assert kept_trials(EPOCHS, history, Keep.BEST) == {0, 1, 2}
    assert kept_trials(EPOCHS, history, Keep.BEST, over=True) == {2}
    later = told(EPOCHS, [(FAIR, 0), (FAIR, 1), (GOOD, 0), (GOOD, 2)])
    assert kept_trials(EPOCHS, later, Keep.BEST) == {1, 2, 3}, "nothing goes on from 0; from 2 a half may"
    _, part = History().propose(EPOCHS.space.grid()[0], HALF)
    assert may_be_kept(EPOCHS, part, Keep.BEST)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=12))
def test_all_that_history_would_go_on_from_is_kept(pairs: list[tuple[int, int]]) -> None:
    history = told(EPOCHS, pairs)
    done = {(trial.configuration.id, trial.fraction) for trial in history.trials}
    wanted = {
        smaller[0].number
        for configuration in EPOCHS.space.grid()
        for share in FRACTIONS
        if (configuration.id, share) not in done and (smaller := history.continued(configuration.id, share))
    }
    best = kept_trials(EPOCHS, history, Keep.BEST, over=True)
    assert kept_trials(EPOCHS, history, Keep.BEST) == wanted | best


class Folders(ReplayExecutor):
    """Keeps what it is told to, by number."""

    def __init__(self) -> None:
        super().__init__({}, SimulatedClock(), problem=PROBLEM)
        self.here: set[int] = set()

    def forget(self, number: int) -> None:
        self.here.discard(number)

    def kept(self, numbers: Iterable[int]) -> frozenset[int]:
        return frozenset(numbers) & self.here


PAIRS = st.lists(st.tuples(st.integers(0, 23), st.integers(0, 2)), min_size=1, max_size=12)


def followed(problem: Problem, pairs: list[tuple[int, int]], keep: Keep, die_after: int = -1) -> Folders:
    """A study trial by trial; one worker dies before it tidies up after a trial, and another goes on."""
    executor, history = Folders(), History()
    checkpoints = KeptCheckpoints(problem, keep, executor)
    checkpoints.begin(history)
    for number, (row, level) in enumerate(pairs):
        history, trial = history.propose(problem.space.grid()[row], problem.fractions[level])
        executor.here.add(number)
        history = history.record(number, measure(problem, trial), time=0.0)
        if number == die_after:
            checkpoints = KeptCheckpoints(problem, keep, executor)
            checkpoints.begin(history)
        else:
            checkpoints.ended(history.trial(number), lambda history=history: history)  # type: ignore[misc]
    return executor


@given(st.sampled_from([PROBLEM, EPOCHS]), PAIRS, st.sampled_from(Keep), st.integers(-1, 11))
def test_what_is_left_is_what_the_history_says_whoever_died(
    problem: Problem, pairs: list[tuple[int, int]], keep: Keep, die_after: int
) -> None:
    history = told(problem, pairs)
    assert followed(problem, pairs, keep, die_after).here == kept_trials(problem, history, keep)


@given(st.sampled_from([PROBLEM, EPOCHS]), PAIRS)
def test_what_was_surpassed_stays_so(problem: Problem, pairs: list[tuple[int, int]]) -> None:
    """So that a worker that knows less removes nothing that another still wants."""
    history = told(problem, pairs)
    kept = [kept_trials(problem, History(history.trials[:count]), Keep.BEST) for count in range(len(pairs) + 1)]
    for count, now in enumerate(kept):
        gone = set(range(count)) - now
        assert all(not (gone & later) for later in kept[count:])


# -- with real programs

PROGRAM = """
import pathlib, sys
lr, fraction, folder = float(sys.argv[1]), float(sys.argv[2]), pathlib.Path(sys.argv[3])
(folder / "model").write_text(f"{lr}")
print(f"accuracy={0.9 - 10 * (lr - 0.01) ** 2 * fraction}")
"""
JOB = """
name: tiny
train: [{python}, train.py, "{{lr}}", "{{fraction}}", "{{checkpoint_dir}}"]
maximize: accuracy
space: {{lr: {{linear: [0.0, 0.1]}}}}
fractions: [1/4, 1]
budget: {{trials: {trials}}}
strategy: random
seed: 3
run: {{grace: 1 s}}
checkpoints: {{at: ./kept, keep: {keep}}}
"""


def write_job(folder: Path, keep: Keep, trials: int = 8) -> Path:
    (folder / "train.py").write_text(PROGRAM)
    (folder / "job.yaml").write_text(JOB.format(python=sys.executable, keep=keep, trials=trials))
    return folder / "job.yaml"


def keys(folder: Path) -> list[str]:
    """What is in the store, and in the folders of the runs: the same."""
    stored = CheckpointStore(folder / "kept", "tiny").places()
    runs = sorted(path.parent.name for path in folder.glob("leantune-runs/tiny/*/checkpoint"))
    assert stored == runs
    return stored


@pytest.mark.parametrize("keep", list(Keep))
def test_a_study_keeps_what_it_was_told_to(tmp_path: Path, keep: Keep) -> None:
    opened = Study.from_job(load_job(write_job(tmp_path, keep)))
    opened.run()
    kept = kept_trials(opened.problem, opened.history, keep)
    assert len(kept) == {Keep.BEST: 1, Keep.ALL: 8, Keep.NONE: 0}[keep]
    assert keys(tmp_path) == [f"trial-{number:04d}" for number in sorted(kept)]
    opened.verify()
    assert "trial-0008" in keys(tmp_path)
    opened.close()


KILLED = """
import os, signal, sys
from pathlib import Path
from leantune.checkpoints import store as module
from leantune.executors import keeper
from leantune.jobfile import load_job
from leantune.study import Study

left, at = int(sys.argv[2]), sys.argv[3]

def dying(original):
    def call(*arguments):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(*arguments)
    return call

if at == "folder":
    module.CheckpointStore._remove_folder = dying(module.CheckpointStore._remove_folder)
elif at == "delete":
    module.CheckpointStore.delete = dying(module.CheckpointStore.delete)
else:
    keeper.RunFolder.remove_checkpoint = dying(keeper.RunFolder.remove_checkpoint)
Study.from_job(load_job(Path(sys.argv[1]))).run()
"""


@pytest.mark.slow
@pytest.mark.parametrize("at", ["run", "delete", "folder"])
def test_killed_while_a_checkpoint_is_removed(tmp_path: Path, at: str) -> None:
    """Once at every removal: in a run's folder, before the store's manifests go, and after them."""
    path = write_job(tmp_path, Keep.BEST, trials=5)
    deaths = 0
    for left in range(40):
        command = [sys.executable, "-c", KILLED, str(path), str(left % 4), at]
        ended = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False, timeout=60)
        if ended.returncode == 0:
            break
        assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()
        deaths += 1
    assert deaths >= 2
    opened = Study.from_job(load_job(path))
    opened.run()  # nothing is left to do but to look around
    assert all(trial.state is TrialState.DONE for trial in opened.history.trials)
    kept = kept_trials(opened.problem, opened.history, Keep.BEST)
    assert keys(tmp_path) == [f"trial-{number:04d}" for number in sorted(kept)]
    opened.close()


@pytest.mark.slow
def test_two_workers_remove_what_neither_wants(tmp_path: Path) -> None:
    path = write_job(tmp_path, Keep.BEST, trials=16)
    Study.from_job(load_job(path)).close()
    code = "import sys; from pathlib import Path; from leantune.jobfile import load_job\n"
    code += "from leantune.study import Study; Study.from_job(load_job(Path(sys.argv[1]))).run()"
    workers = [
        subprocess.Popen([sys.executable, "-c", code, str(path)], cwd=tmp_path, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    for worker in workers:
        _, said = worker.communicate(timeout=120)
        assert worker.returncode == 0, said.decode()
    opened = Study.from_job(load_job(path))
    opened.run()  # what one of them held of a trial that the other one surpassed is removed by now
    assert len(opened.history) == 16
    kept = kept_trials(opened.problem, opened.history, Keep.BEST)
    assert keys(tmp_path) == [f"trial-{number:04d}" for number in sorted(kept)]
    model = tmp_path / "leantune-runs/tiny" / keys(tmp_path)[0] / "checkpoint/model"
    assert float(model.read_text()) == opened.history.trial(min(kept)).configuration["lr"]
    opened.close()
