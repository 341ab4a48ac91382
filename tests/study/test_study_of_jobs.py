"""A job at work with real processes: run, verify, extend, dry run; killed workers; nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import pytest

from leantune.errors import JobError, LeanTuneError, SpaceError, StudyChanged, StudyOver, UnknownStudy
from leantune.history import TrialState
from leantune.jobfile import load_job
from leantune.problem import Budget
from leantune.run.events import Event, RunStarted
from leantune.run.loop import Loop, Outcome
from leantune.store.rows import ReportRow
from leantune.study import Study
from leantune.study.forecast import dry_run
from leantune.study.program import JobProgram

PROGRAM = """
import fcntl, pathlib, sys, time
lr, fraction, marks, slow = float(sys.argv[1]), float(sys.argv[2]), pathlib.Path(sys.argv[3]), float(sys.argv[4])
mine = open(marks / f"trial-{sys.argv[5]}", "w")
try:
    fcntl.flock(mine, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the kernel lets go of it when the process dies
except BlockingIOError:
    (marks / "twice").write_text(sys.argv[5])
time.sleep(slow * fraction)
print(f"accuracy={0.9 - 10 * (lr - 0.01) ** 2 * fraction}")
"""
JOB = """
name: tiny
train: [{python}, train.py, "{{lr}}", "{{fraction}}", {marks}, "{slow}", "{{trial}}"]
maximize: accuracy
subject_to: [cost <= {limit} USD]
space:
  lr: {{linear: [0.0, 0.1]}}
  cluster: {{machines: {{m: {{vcpus: 0.5, memory: 1 GiB, usd_per_hour: 3.6}}}}}}
fractions: [1/4, 1]
budget: {{usd: 1, trials: {trials}}}
strategy: {strategy}
seed: 3
run: {{on: local, grace: 1 s, time_limit: 20 s, lease: {lease} s}}
"""


def write_job(
    folder: Path,
    *,
    trials: int = 3,
    strategy: str = "random",
    limit: float = 0.5,
    slow: float = 0.0,
    lease: float = 60.0,
) -> Path:
    marks = folder / "marks"
    marks.mkdir(exist_ok=True)
    (folder / "train.py").write_text(PROGRAM)
    path = folder / "job.yaml"
    path.write_text(
        JOB.format(
            python=sys.executable, marks=marks, trials=trials, strategy=strategy, limit=limit, slow=slow, lease=lease
        )
    )
    return path


def test_a_job_runs_is_verified_and_extended(tmp_path: Path) -> None:
    path = write_job(tmp_path)
    opened = Study.from_job(load_job(path))
    events: list[Event] = []
    end = opened.run(observer=events.append)
    assert end.outcome is Outcome.OVER
    assert [trial.state for trial in opened.history.trials] == [TrialState.DONE] * 3
    assert sum(isinstance(event, RunStarted) for event in events) == 3
    advice = opened.recommendation()

    verified = opened.verify()
    assert verified.held
    assert verified.trial.verifies
    assert opened.verify().trial == verified.trial  # nothing was tested since: not paid for again
    assert verified.trial.configuration == advice.configuration
    assert [check.text for check in verified.limits] == ["cost <= 0.5 USD"]
    stands = opened.recommendation()
    assert stands.configuration == advice.configuration
    assert stands.why == f"{advice.why} Trial 3 has verified it since."

    assert opened.run().outcome is Outcome.OVER
    assert opened.extend(Budget(trials=6)).trials == 6
    opened.run()
    assert len(opened.history) == 7  # the verification is not one of the six
    opened.close()


def test_the_present_setting_runs_first_and_is_compared_with(tmp_path: Path) -> None:
    path = write_job(tmp_path, trials=2)
    path.write_text(path.read_text() + "baseline: {lr: 0.1}\n")
    job = load_job(path)
    first = dry_run(job).first[0].proposal
    assert (first.configuration, first.fraction) == (job.problem.baseline, Fraction(1))
    opened = Study.from_job(job)
    opened.run()
    trials = opened.history.trials
    assert [trial.configuration == job.problem.baseline for trial in trials] == [True, False]
    beside = opened.comparison(opened.recommendation())
    assert beside is not None and (beside.trial, beside.basis) == (0, "measured" if len(trials) > 1 else "same")
    opened.close()


def test_a_present_setting_may_be_added_and_is_tested_next(tmp_path: Path) -> None:
    path = write_job(tmp_path, trials=2)
    opened = Study.from_job(load_job(path))
    opened.run()
    opened.close()
    path.write_text(path.read_text().replace("trials: 2", "trials: 3") + "baseline: {lr: 0.05}\n")
    opened = Study.from_job(load_job(path))
    opened.run()
    assert [trial.configuration["lr"] == 0.05 for trial in opened.history.trials] == [False, False, True]
    opened.close()
    stored = Study.open(opened.job.store, "tiny", folder=tmp_path)  # other workers know it too
    assert stored.job.problem.baseline == opened.job.problem.baseline
    stored.close()


def test_a_present_setting_that_cannot_be_paid_does_not_end_the_study(tmp_path: Path) -> None:
    path = write_job(tmp_path, trials=2)
    sizes = {
        name: f"{name}: {{vcpus: 0.5, memory: 1 GiB, usd_per_hour: {usd}}}" for name, usd in (("m", 3.6), ("n", 900))
    }
    machines = f"machines: {{{', '.join(sizes.values())}}}"
    text = path.read_text()
    start = text.index("machines:")
    text = text[:start] + machines + text[text.index("}}}", start) + 2 :]
    path.write_text(text.replace("strategy: random", "strategy: random\nbaseline: {lr: 0.1, cluster: 1 x n}"))
    job = load_job(path)
    assert dry_run(job).first[0].proposal.configuration != job.problem.baseline
    opened = Study.from_job(job)
    opened.run()
    tested = [trial.configuration for trial in opened.history.trials]
    assert tested and job.problem.baseline not in tested
    opened.close()


def test_a_verification_beyond_the_budget_must_be_allowed(tmp_path: Path) -> None:
    path = write_job(tmp_path, slow=0.6)  # the first trial spends what the budget has beyond one worst case
    path.write_text(path.read_text().replace("budget: {usd: 1, trials: 3}", "budget: {usd: 0.0221, trials: 3}"))
    opened = Study.from_job(load_job(path))
    opened.run()
    before = opened.store.money()
    with pytest.raises(StudyOver, match="do not cover the worst case") as refused:
        opened.verify()
    assert "--beyond-budget" in refused.value.hint
    assert opened.verify(beyond_budget=True).held
    after = opened.store.money()
    assert after.left >= 0.0
    assert after.budget_usd is not None and before.budget_usd is not None
    assert after.budget_usd - before.budget_usd < 0.022
    opened.close()


@pytest.mark.slow
def test_an_interrupted_verification_beyond_the_budget_goes_on(tmp_path: Path) -> None:
    path = write_job(tmp_path, slow=1.0)
    path.write_text(path.read_text().replace("budget: {usd: 1, trials: 3}", "budget: {usd: 0.0226, trials: 3}"))
    opened = Study.from_job(load_job(path))
    opened.run()
    loops: list[Loop] = []

    def stop(event: Event) -> None:
        if isinstance(event, RunStarted):
            time.sleep(0.3)
            loops[-1].interrupt()

    with pytest.raises(StudyOver, match="did not end"):
        opened.verify(observer=stop, ready=loops.append, beyond_budget=True)
    assert opened.verify(beyond_budget=True).held
    assert opened.store.money().left >= 0.0
    opened.close()


def test_a_dry_run_creates_nothing(tmp_path: Path) -> None:
    job = load_job(write_job(tmp_path, strategy="trimtuner-gp"))
    before = sorted(tmp_path.rglob("*"))
    shown = dry_run(job)
    assert sorted(tmp_path.rglob("*")) == before
    assert shown.size is None
    assert [forecast.time_limit for forecast in shown.first] == [20.0] * 3
    assert shown.first[0].worst_case_usd == pytest.approx(3.6 * (20 + 1 + 1) / 3600)


def test_a_changed_job_is_refused_and_a_raised_budget_taken_over(tmp_path: Path) -> None:
    path = write_job(tmp_path)
    opened = Study.from_job(load_job(path))
    opened.run()
    opened.close()
    path.write_text(path.read_text().replace("seed: 3", "seed: 4"))
    with pytest.raises(StudyChanged, match="seed was 3 and is 4"):
        Study.from_job(load_job(path))
    (tmp_path / "trian.py").write_text(PROGRAM)
    path.write_text(path.read_text().replace("train.py", "trian.py"))
    with pytest.raises(StudyChanged, match="train was"):
        Study.from_job(load_job(path))
    path.write_text(path.read_text().replace("trian.py", "train.py"))
    path.write_text(path.read_text().replace("seed: 4", "seed: 3").replace("trials: 3", "trials: 4"))
    again = Study.from_job(load_job(path))
    again.run()
    assert len(again.history) == 4
    again.close()


def test_a_training_command_may_be_repaired_while_nothing_came_through(tmp_path: Path) -> None:
    path = write_job(tmp_path)
    (tmp_path / "trian.py").write_text("raise SystemExit(3)")
    path.write_text(path.read_text().replace("train.py", "trian.py").replace("trials: 3", "trials: 9"))
    opened = Study.from_job(load_job(path))
    assert opened.run().outcome is Outcome.FAILING
    opened.close()
    path.write_text(path.read_text().replace("trian.py", "train.py"))
    again = Study.from_job(load_job(path))
    assert again.run().outcome is Outcome.OVER
    assert [trial.state for trial in again.history.trials] == [TrialState.DONE] * 9, "the repair cost no trial"
    again.close()
    joined = Study.open(load_job(path).store, "tiny", folder=tmp_path)
    assert joined.job.command == load_job(path).command
    joined.close()


def test_a_study_is_found_by_its_store_alone(tmp_path: Path) -> None:
    job = load_job(write_job(tmp_path))
    with pytest.raises(UnknownStudy, match="tiny"):
        Study.from_job(job, create=False)
    opened = Study.from_job(job)
    opened.run()
    opened.close()
    other = Study.open(job.store, "tiny", folder=tmp_path)
    assert len(other.history) == 3
    other.close()
    with pytest.raises(UnknownStudy, match="tinny"):
        Study.open(job.store, "tinny")


def test_a_place_that_this_machine_is_not_is_refused(tmp_path: Path) -> None:
    path = write_job(tmp_path)
    text = path.read_text()
    path.write_text(text.replace("on: local", "on: ray"))
    with pytest.raises(JobError, match="ray"):
        JobProgram(load_job(path)).check_place()
    path.write_text(text.replace("vcpus: 0.5", "vcpus: 500"))
    with pytest.raises(SpaceError, match="500"):
        Study.from_job(load_job(path)).run()
    assert not (tmp_path / "leantune-runs").exists()


def write_spot_job(folder: Path, run_it: str) -> Path:
    """The tiny job on rented machines."""
    path = write_job(folder, slow=0.4)
    local = "run: {on: local, grace: 1 s, time_limit: 20 s, lease: 60.0 s}"
    text = path.read_text()
    assert local in text
    path.write_text(text.replace(local, run_it).replace("usd: 1,", "usd: 10,"))
    return path


@pytest.mark.slow
def test_a_job_runs_on_spot_machines_of_the_simulated_cloud(tmp_path: Path) -> None:
    job = load_job(
        write_spot_job(tmp_path, "run: {spot: true, grace: 0.5 s, time_limit: 20 min, market: {speed: 300}}")
    )
    assert job.run.on == "simcloud"
    forecast = dry_run(job).first[0]
    assert forecast.worst_case_usd == pytest.approx(3.6 * (1200 + JobProgram(job).rules.overhead) / 3600)
    opened = Study.from_job(job)
    events: list[Event] = []
    end = opened.run(observer=events.append)
    history, money = opened.history, opened.store.money()
    ledger = opened.store.ledger()
    opened.close()
    assert end.outcome is Outcome.OVER
    assert [trial.state for trial in history.trials] == [TrialState.DONE] * 3
    assert money.spent == pytest.approx(history.cost)
    assert all(0.0 <= (row.settled or 0.0) <= row.reserved for row in ledger)
    for trial in history.trials:
        seen = trial.observations[-1]
        assert seen.seconds is not None and seen.cost is not None
        assert seen.seconds >= 300 * 0.4 * float(trial.fraction)
        if len(trial.moves) == 4 and seen.seconds > 100.0:
            assert seen.cost < 3.6 * (seen.seconds + 120.0) / 3600, "spot machines cost less than those on demand"


def test_machines_of_the_simulated_cloud_may_be_on_demand(tmp_path: Path) -> None:
    text = "run: {on: simcloud, grace: 0.5 s, time_limit: 20 min, market: {speed: 600}}"
    opened = Study.from_job(load_job(write_spot_job(tmp_path, text)))
    opened.run()
    (first, *_), spent = opened.store.ledger(), opened.store.money().spent
    opened.close()
    assert first.settled is not None and first.settled >= 3.6 * 120 / 3600
    assert spent <= 10.0


def test_a_spot_job_needs_machines_with_prices(tmp_path: Path) -> None:
    path = write_spot_job(tmp_path, "run: {spot: true}")
    text = path.read_text().replace(", usd_per_hour: 3.6", "").replace("usd: 10, ", "")
    path.write_text(text.replace("subject_to: [cost <= 0.5 USD]\n", ""))
    with pytest.raises(JobError, match="m has no price"):
        JobProgram(load_job(path)).check_place()


def worker(path: Path) -> subprocess.Popen[bytes]:
    program = (
        "import sys; from pathlib import Path; from leantune.jobfile import load_job; "
        "from leantune.study import Study; Study.from_job(load_job(Path(sys.argv[1]))).run()"
    )
    return subprocess.Popen([sys.executable, "-c", program, str(path)])


@pytest.mark.slow
def test_real_workers_killed_again_and_again_lose_nothing(tmp_path: Path) -> None:
    """Two workers share a study and are killed in turn: no trial twice at once, none lost, no process left behind."""
    path = write_job(tmp_path, trials=12, slow=2.0, lease=20.0)
    marks = tmp_path / "marks"
    workers = [worker(path), worker(path)]
    kills, started = 0, time.monotonic()
    while any(process.poll() is None for process in workers):
        if kills < 4 and time.monotonic() - started > 3.0 * (kills + 1):
            workers[kills % 2].send_signal(signal.SIGKILL)
            workers[kills % 2].wait()
            workers[kills % 2] = worker(path)
            kills += 1
        time.sleep(0.02)
        assert time.monotonic() - started < 120
    assert kills == 4
    assert not (marks / "twice").exists()
    assert [process.returncode for process in workers] == [0, 0]
    opened = Study.from_job(load_job(path), create=False)
    history, ledger = opened.history, opened.store.ledger()
    assert [trial.state for trial in history.trials] == [TrialState.DONE] * 12
    assert sum(row.settled or 0.0 for row in ledger) == pytest.approx(history.cost)
    assert opened.store.money().reserved == 0.0
    assert not [row for row in ledger if row.settled is None]
    attempts = [move.state for trial in history.trials for move in trial.moves].count(TrialState.RUNNING)
    assert attempts == len(ledger)
    opened.close()
    assert programs_left(marks) == []


def programs_left(marks: Path) -> list[str]:
    """Command lines of processes that still know the marks folder."""
    left = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                command = (entry / "cmdline").read_bytes().decode(errors="replace")
            except (FileNotFoundError, ProcessLookupError, PermissionError):
                continue
            if str(marks) in command:
                left.append(command)
    return left


@pytest.mark.slow
def test_a_gentle_stop_queues_the_running_trial_and_the_same_command_goes_on(tmp_path: Path) -> None:
    path = write_job(tmp_path, trials=3, slow=1.0)
    opened = Study.from_job(load_job(path))
    loops: list[Loop] = []

    def stop(event: Event) -> None:
        if isinstance(event, RunStarted) and event.trial.number == 1:
            loops[0].interrupt()

    assert opened.run(observer=stop, ready=loops.append).outcome is Outcome.INTERRUPTED
    assert opened.history.trial(1).state is TrialState.QUEUED
    assert opened.store.money().reserved == 0.0
    assert opened.run().outcome is Outcome.OVER
    assert [trial.state for trial in opened.history.trials] == [TrialState.DONE] * 3
    assert [row.attempt for row in opened.store.ledger() if row.number == 1] == [1, 2]
    opened.close()


RESUMABLE = """
import json, pathlib, sys, time
state = pathlib.Path(sys.argv[1]) / "finished"
state.parent.mkdir(exist_ok=True)
if not state.exists():
    print(json.dumps({"accuracy": 0.75}), flush=True)
    state.touch()
    time.sleep(60)
"""


@pytest.mark.slow
@pytest.mark.parametrize("place", ["{checkpoint_dir}", "own-{trial}"])
@pytest.mark.parametrize("strategy", ["lean", "random"])
def test_killed_between_its_last_report_and_its_end_a_run_is_done_with_what_it_reported(
    tmp_path: Path, place: str, strategy: str
) -> None:
    """Resumed, the program finds that it has nothing left to do, wherever it keeps its state, and exits with 0."""
    path = write_job(tmp_path, trials=1, strategy=strategy)
    (tmp_path / "train.py").write_text(RESUMABLE)
    line = next(line for line in path.read_text().splitlines() if line.startswith("train:"))
    command = f'train: [{sys.executable}, train.py, "{place}", "{{lr}}", "{{fraction}}"]'
    path.write_text(path.read_text().replace(line, command))
    process, began = worker(path), time.monotonic()
    while not (tmp_path / "leantune.db").exists() or not reports_of(path):
        assert time.monotonic() - began < 60
        time.sleep(0.1)
    process.kill()
    process.wait()
    with Study.from_job(load_job(path)) as study:
        assert study.run().outcome is Outcome.OVER
        (trial,) = study.history.trials
        assert (trial.state, trial.moves[-1].cause) == (TrialState.DONE, "")
        assert trial.observations[0].metrics == {"accuracy": 0.75}
        assert [row.attempt for row in study.store.ledger()] == [1, 2]
        assert trial.cost == pytest.approx(sum(row.settled or 0.0 for row in study.store.ledger()))


def reports_of(path: Path) -> list[ReportRow]:
    """What has been reported by now, of a study that may not be there yet."""
    try:
        with Study.from_job(load_job(path), create=False) as study:
            return study.store.reports()
    except LeanTuneError:
        return []
