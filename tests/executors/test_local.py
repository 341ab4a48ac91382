"""Programs on this machine: every way in which one can end, with real processes."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path

import pytest

from leantune.checkpoints.store import CheckpointStore
from leantune.clock import RealClock
from leantune.errors import InvalidInput, LeanTuneError, SpaceError, UnknownTrial
from leantune.executors import local_run
from leantune.executors.base import GATHER_SECONDS, Begun, CheckpointSaved, EndMode, Executor, Finished, Report, Terms
from leantune.executors.local import LocalExecutor
from leantune.executors.registry import ProgramSettings
from leantune.history import History, ObservationKind, TrialState
from leantune.problem import Problem, maximize
from leantune.space import Space, integer, machine
from leantune.testing.executor_contract import ExecutorContract
from leantune.units import Seconds
from tests.executors.programs import (
    FORKS,
    FULL,
    PROBLEM,
    alive,
    as_root,
    end_of,
    eventually,
    local,
    log_of,
    on,
    pids_in,
    python,
    run,
    told,
    trial_of,
    trials_of,
    until,
    until_ended,
)

GOOD = "print('accuracy=0.9')"
SOON = Terms(grace=Seconds(0.3))
TENTH, HALF = Fraction(1, 10), Fraction(1, 2)


class TestContract(ExecutorContract):
    """Programs that sleep and then report, or fail."""

    second = 0.3

    @pytest.fixture(autouse=True)
    def place(self, tmp_path: Path) -> Iterator[None]:
        self.tmp_path = tmp_path
        self.made: list[LocalExecutor] = []
        yield
        for executor in self.made:
            executor.close()

    def make(self, seconds: Mapping[int, float], failing: frozenset[int] = frozenset()) -> tuple[Executor, History]:
        code = "import sys, time; time.sleep(float(sys.argv[1])); print('accuracy=0.5'); sys.exit(int(sys.argv[2]))"
        settings = ProgramSettings(
            "s",
            PROBLEM,
            lambda trial, _: python(code, str(seconds[trial.number]), "1" if trial.number in failing else "0"),
            folder=self.tmp_path,
            runs=self.tmp_path / "runs",
        )
        executor = LocalExecutor(settings, locks=self.tmp_path / "locks")
        self.made.append(executor)
        return executor, trials_of(PROBLEM, len(seconds))


# -- results


def test_a_last_line_is_enough(tmp_path: Path) -> None:
    end = run(tmp_path, "print('epoch 1'); print('test accuracy: 0.93, loss=2.5e-1')")
    assert (end.state, end.cause) == (TrialState.DONE, "")
    (seen,) = end.observations
    assert seen.kind is ObservationKind.MEASURED
    assert seen.metrics == {"accuracy": 0.93}
    assert seen.seconds == end.seconds
    assert 0.0 < end.seconds < 5.0


def test_json_lines_are_reports_and_the_last_value_counts(tmp_path: Path) -> None:
    code = """
import json
for step in range(3):
    print(json.dumps({"accuracy": step / 10, "step": step, "note": "text", "nested": {"accuracy": 9}}))
print('{"lr": 3}'); print("accuracy=0.7 is not looked at")
"""
    with local(tmp_path, python(code)) as executor:
        executor.start(trial_of())
        (end,), events = until(executor, Finished)
        assert told(executor) == []
    reports = [event for event in events if isinstance(event, Report)]
    assert end.observations[0].metrics == {"accuracy": 0.2}
    assert [(report.step, report.metrics) for report in reports] == [
        (step, {"accuracy": step / 10}) for step in range(3)
    ]
    assert all(0.0 <= report.seconds <= end.seconds and report.number == 0 for report in reports)


def test_reports_wait_for_others_and_an_end_does_not(tmp_path: Path) -> None:
    code = """
import time
for step in range(200):
    print('{"accuracy": 0.5, "step": %d}' % step, flush=True); time.sleep(0.002)
"""
    with local(tmp_path, python(code)) as executor:
        executor.start(trial_of())
        batches = []
        while executor.running:
            executor.wait()
            batches.append(executor.step(0.0))
    events = [event for batch in batches for event in batch]
    assert [event.step for event in events if isinstance(event, Report)] == list(range(200))
    end = events[-1]
    assert isinstance(end, Finished)
    assert len(batches) <= 3 + end.seconds / GATHER_SECONDS


def test_a_program_reports_through_current_trial(tmp_path: Path) -> None:
    code = """
import sys; sys.path.append(sys.argv[1])
from leantune.worker.client import current_trial
trial = current_trial()
assert trial["n"] == 0 and trial.fraction == 1 and trial.attempt == 1 and trial.checkpoint_dir.is_dir()
trial.report(step=1, loss=3.0)
trial.report(accuracy=trial["n"] + 0.25)
"""
    source = str(Path(__file__).parents[2] / "src")
    with local(tmp_path, python(code, source), study="s") as executor:
        executor.start(trial_of())
        (end,), events = until(executor, Finished)
    reports = [event for event in events if isinstance(event, Report)]
    assert (end.state, end.cause) == (TrialState.DONE, "")
    assert end.observations[0].metrics == {"accuracy": 0.25, "loss": 3.0}
    assert [dict(report.metrics) for report in reports] == [{"loss": 3.0}, {"accuracy": 0.25}]


def test_the_program_is_told_its_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = """
import os, sys
print(open(os.environ['LEANTUNE_TRIAL']).read())
print(sys.argv[1], os.getcwd()); print(repr(sys.stdin.read()), os.environ['COLOUR']); print('accuracy=1')
"""

    def command(trial: object, extra: Mapping[str, str]) -> list[str]:
        assert extra["trial"] == "0"
        assert extra["attempt"] == "2"
        assert extra["seed"] == "9"
        assert extra["log"].endswith("trial-0000/attempt-2.log")
        return python(code, extra["checkpoint_dir"])

    monkeypatch.setenv("COLOUR", "red")
    with local(tmp_path, command, study="mine") as executor:
        assert end_of(executor, terms=Terms(attempt=2, seed=9)).state is TrialState.DONE
    text = log_of(tmp_path, attempt=2)
    told, _, rest = text.partition("}\n")
    assert json.loads(told.partition('"configuration"')[0].rstrip(" ,\n") + "}") == {
        "study": "mine", "number": 0, "attempt": 2, "seed": 9,
    }  # fmt: skip
    assert str(tmp_path / "runs/trial-0000/checkpoint") + " " + str(tmp_path) in rest
    assert "'' red" in rest, "its standard input is empty"


def test_snapshots_are_one_run(tmp_path: Path) -> None:
    problem = Problem(PROBLEM.space, maximize("accuracy"), [], [TENTH, HALF, FULL], snapshots=True)
    code = """
import time
for share in ("0.1", "1/2", 1):
    print('{"accuracy": 0.5, "fraction": %s}' % (share if share == 1 else '"%s"' % share), flush=True); time.sleep(0.1)
"""
    with local(tmp_path, python(code), problem=problem) as executor:
        end = end_of(executor, trial_of(problem, (TENTH, HALF, FULL)))
    assert [seen.fraction for seen in end.observations] == [TENTH, HALF, FULL]
    seconds = [seen.seconds or 0.0 for seen in end.observations]
    assert seconds[2] == end.seconds
    assert 0.05 < seconds[1] - seconds[0] < 2.0
    assert seconds[2] - seconds[1] > 0.15


def test_snapshots_before_a_failure_stay(tmp_path: Path) -> None:
    problem = Problem(PROBLEM.space, maximize("accuracy"), [], [TENTH, HALF, FULL], snapshots=True)
    code = 'print(\'{"accuracy": 0.4, "fraction": 0.1}\', flush=True); raise SystemExit(9)'
    with local(tmp_path, python(code), problem=problem) as executor:
        end = end_of(executor, trial_of(problem, (TENTH, HALF, FULL)))
    assert end.state is TrialState.FAILED
    assert [(seen.fraction, seen.kind.value) for seen in end.observations] == [(TENTH, "measured"), (FULL, "failed")]
    History(trials_of(problem, 1, (TENTH, HALF, FULL)).trials).record(
        0, end.observations, time=0.0, state=end.state, cause=end.cause
    )


# -- bad ends


def test_an_exit_code(tmp_path: Path) -> None:
    end = run(tmp_path, "import sys; print('accuracy=0.9'); print('no such file', file=sys.stderr); sys.exit(3)")
    assert end.state is TrialState.FAILED
    assert end.cause == f"exit code 3: no such file (log: {tmp_path}/runs/trial-0000/attempt-1.log)"
    assert end.observations[0].kind is ObservationKind.FAILED
    assert end.observations[0].seconds == end.seconds > 0
    assert "no such file" in log_of(tmp_path)


def test_a_traceback_is_told_by_its_last_line(tmp_path: Path) -> None:
    assert run(tmp_path, "raise ValueError('bad lr')").cause.startswith("exit code 1: ValueError: bad lr (log: ")


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGKILL", "SIGTERM"])
def test_a_signal(tmp_path: Path, name: str) -> None:
    number = int(signal.Signals[name])
    end = run(tmp_path, f"import os; os.kill(os.getpid(), {number})")
    assert end.state is TrialState.FAILED
    assert end.cause.startswith(f"killed by signal {name} ({number}) (log: ")


def test_more_memory_than_its_machine_has(tmp_path: Path) -> None:
    problem = on(machine("tiny", vcpus=1, memory="64 MiB"))
    end = run(tmp_path, "import time; held = bytearray(b'x') * (200 << 20); time.sleep(60)", problem=problem)
    assert end.state is TrialState.FAILED
    assert end.cause.startswith("out of memory: 0.")
    assert "1 x tiny has 0.0625 GiB" in end.cause
    assert end.seconds < 10.0


@pytest.mark.slow
def test_memory_of_all_processes_counts_and_shared_pages_once(tmp_path: Path) -> None:
    problem = on(machine("tiny", vcpus=1, memory="150 MiB"))
    shared = "import os, time; held = bytearray(b'x') * (100 << 20)\nif os.fork(): os.wait()\nelse: time.sleep(1)\n"
    end = run(tmp_path, f"{shared}print('accuracy=1')", problem=problem)
    assert end.state is TrialState.DONE, end.cause
    apart = "import os, time; os.fork(); held = bytearray(b'x') * (100 << 20); time.sleep(60)"
    (tmp_path / "apart").mkdir()
    assert run(tmp_path / "apart", apart, problem=problem).cause.startswith("out of memory")


@pytest.fixture
def memory_group() -> Iterator[Path]:
    """A control group of 60 MB: joining it means to be killed by the kernel for more."""
    for root, limit, members in (
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "cgroup.procs"),
        ("/sys/fs/cgroup", "memory.max", "cgroup.procs"),
    ):
        group = Path(root) / f"leantune-test-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            (group / limit).write_text(str(60_000_000))
        except OSError:
            group.rmdir()
            continue
        yield group / members
        eventually(lambda group=group: (group / "cgroup.procs").read_text() == "")  # type: ignore[misc]
        group.rmdir()
        return
    pytest.skip("no control group with a memory limit can be made here")


def test_memory_that_the_kernel_does_not_have(tmp_path: Path, memory_group: Path) -> None:
    code = f"import os; open({str(memory_group)!r}, 'w').write(str(os.getpid())); held = bytearray(b'x') * (200 << 20)"
    end = run(tmp_path, code)
    assert end.state is TrialState.FAILED
    assert end.cause.startswith("out of memory: the kernel killed it at 0.0")


def test_memory_that_python_cannot_get(tmp_path: Path) -> None:
    code = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (300 << 20, 300 << 20))
held = bytearray(1 << 30)
"""
    assert run(tmp_path, code).cause.startswith("out of memory: exit code 1: MemoryError (log: ")


def test_a_metric_that_is_no_number(tmp_path: Path) -> None:
    assert run(tmp_path, "print('{\"accuracy\": NaN}')").cause.startswith("accuracy is nan (log: ")


def test_a_missing_metric(tmp_path: Path) -> None:
    assert run(tmp_path, "pass").cause.startswith("metric 'accuracy' was not reported (log: ")


def test_a_misspelt_metric(tmp_path: Path) -> None:
    end = run(tmp_path, "print('{\"acuracy\": 0.5}')")
    assert end.cause.startswith("metric 'accuracy' was not reported (did you mean 'acuracy'?) (log: ")


def test_a_metric_out_of_range(tmp_path: Path) -> None:
    problem = Problem(Space(n=integer(0, 99)), maximize("accuracy", scale="share"))
    end = run(tmp_path, "print('accuracy=93')", problem=problem)
    assert end.cause.startswith("accuracy is 93: declared as a share, 0 to 1 (log: ")


def test_garbage_on_standard_output(tmp_path: Path) -> None:
    code = """
import os
os.write(1, bytes(range(256)) * 4000 + b'\\n{"accuracy": \\n{' + b'[' * 60000 + b'\\n{"accuracy": "x"}\\n\\xff\\xfe\\n')
os.write(1, b'{"accuracy": 0.5}\\n{"a": 1e999}\\n\\x00\\x1b[31m')
"""
    end = run(tmp_path, code)
    assert (end.state, end.cause) == (TrialState.DONE, "")
    assert end.observations[0].metrics["accuracy"] == 0.5


def test_garbage_in_an_error_is_shown_as_plain_text(tmp_path: Path) -> None:
    code = "import os; os.write(2, b'\\x1b[31mred\\x00\\xff' + b'y' * 5000 + b'\\n'); os._exit(4)"
    cause = run(tmp_path, code).cause
    assert cause.startswith("exit code 4: red \N{REPLACEMENT CHARACTER}yyyy")
    assert cause.isprintable()
    assert len(cause) < 600


def test_a_line_of_ten_megabytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = """
import os
line = b'{"accuracy": 0.1, "x": "' + b'x' * (10 << 20)
while line: line = line[os.write(1, line):]
os.write(1, b'"}\\naccuracy=0.6\\n')
"""
    monkeypatch.setattr(local_run, "LOG_LIMIT", 1 << 20)
    end = run(tmp_path, code)
    assert end.state is TrialState.DONE
    assert end.observations[0].metrics == {"accuracy": 0.6}
    text = log_of(tmp_path)
    assert len(text) < (1 << 20) + 200
    assert text.startswith('{"accuracy": 0.1')
    assert text.endswith("accuracy=0.6\n")
    assert "bytes are left out here" in text


def test_a_program_that_is_asked_to_end_and_does_not(tmp_path: Path) -> None:
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
    end = run(tmp_path, code, Terms(time_limit=Seconds(0.4), grace=Seconds(0.3)))
    assert end.state is TrialState.FAILED
    assert end.cause.startswith("timeout: not ended after 0.4 s; it did not end when asked to and was killed (log: ")
    assert 0.7 <= end.seconds < 4.0


ENDS_WELL = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(print('accuracy=0.4')))
print('up', flush=True)
time.sleep(60)
"""


def test_a_time_limit_counts_even_if_the_program_then_ends_well(tmp_path: Path) -> None:
    end = run(tmp_path, ENDS_WELL, Terms(time_limit=Seconds(0.4), grace=Seconds(5)))
    assert end.cause.startswith("timeout: not ended after 0.4 s (log: ")
    assert end.seconds < 4.0


def test_whatever_a_program_leaves_behind_is_killed_at_its_end(tmp_path: Path) -> None:
    end = run(tmp_path, FORKS + "print('accuracy=1')")
    assert (end.state, end.cause) == (TrialState.DONE, "")
    pids = pids_in(tmp_path / "pids")
    assert len(pids) == 4
    assert [pid for pid in pids if alive(pid)] == []
    assert end.seconds < 5.0


def test_whatever_a_program_started_is_killed_at_its_time_limit(tmp_path: Path) -> None:
    end = run(tmp_path, FORKS + "time.sleep(60)", Terms(time_limit=Seconds(0.6), grace=Seconds(0.3)))
    assert end.cause.startswith("timeout")
    pids = pids_in(tmp_path / "pids")
    assert len(pids) == 4
    assert [pid for pid in pids if alive(pid)] == []
    assert end.seconds < 10.0


def test_a_stopped_trial_leaves_no_process(tmp_path: Path) -> None:
    with local(tmp_path, python(FORKS + "time.sleep(60)")) as executor:
        executor.start(trial_of())
        eventually(lambda: len(pids_in(tmp_path / "pids")) == 4)
        executor.end(0, EndMode.KILL)
        assert [pid for pid in pids_in(tmp_path / "pids") if alive(pid)] == []


def test_a_child_of_a_shell_has_its_grace_too(tmp_path: Path) -> None:
    """The shell dies of SIGTERM at once; what it started may still save a checkpoint."""
    (tmp_path / "train.py").write_text(
        "import signal, sys, time\n"
        "def save(*_): time.sleep(0.3); open('saved', 'w').close(); sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, save); open('up', 'w').close(); time.sleep(60)\n"
    )
    with local(tmp_path, ["/bin/sh", "-c", f"{sys.executable} -I -S train.py; true"]) as executor:
        executor.start(trial_of(), Terms(grace=Seconds(10)))
        eventually((tmp_path / "up").exists)
        executor.end(0, EndMode.SAVE)
        (end,) = until_ended(executor)
    assert end.state is TrialState.QUEUED
    assert (tmp_path / "saved").exists()
    assert end.seconds < 5.0, "the grace is not waited for when all have ended"


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["no-such-program-anywhere"], "there is no program 'no-such-program-anywhere' on the PATH"),
        (["./train.sh"], "'./train.sh' is not executable: chmod +x it, or name its interpreter first"),
        (["./empty"], "'./empty' does not say how to run it"),
        (["./missing.py"], "there is no program './missing.py'"),
        (["./lost"], "there is no program './lost' (seen from "),
        (["tr\0ue"], "embedded null"),
    ],
)
def test_a_program_that_cannot_be_started(tmp_path: Path, command: list[str], words: str) -> None:
    (tmp_path / "train.sh").write_text("#!/bin/sh\n")
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "lost").write_text("#!/no/such/interpreter\n")
    for name in ("empty", "lost"):
        (tmp_path / name).chmod(0o755)
    with local(tmp_path, command) as executor:
        end = end_of(executor)
    assert end.state is TrialState.FAILED
    assert end.cause.startswith("cannot start: ")
    assert words in end.cause
    assert end.observations[0].kind is ObservationKind.FAILED


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with local(tmp_path, ["true"], folder=tmp_path / "away") as executor:
        assert end_of(executor).cause.startswith(f"cannot start: its folder '{tmp_path}/away': No such file")


def test_a_command_of_nothing_is_refused(tmp_path: Path) -> None:
    with local(tmp_path, []) as executor:
        with pytest.raises(InvalidInput, match="the command is empty"):
            executor.start(trial_of())
        assert executor.running == frozenset()


def test_a_python_that_only_leantune_has_is_found(tmp_path: Path) -> None:
    name = Path(sys.executable).name
    with local(tmp_path, [name, "-c", GOOD]) as executor:
        before = os.environ["PATH"]
        os.environ["PATH"] = "/nowhere"
        try:
            end = end_of(executor)
        finally:
            os.environ["PATH"] = before
    assert end.state is TrialState.DONE, end.cause


# -- a full disk


CHATTY = "for _ in range(20000): print('x' * 99)\nprint('accuracy=0.8')"


def full_disk_is_survived(place: Path, reason: str) -> None:
    end = run(place, CHATTY)
    assert end.state is TrialState.DONE
    assert end.observations[0].metrics == {"accuracy": 0.8}
    assert end.cause == f"its log stops early: {reason}"


def test_links_in_place_of_our_files_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "runs/trial-0000").mkdir(parents=True)
    (tmp_path / "precious").write_text("mine")
    for name in ("attempt-1.log", "attempt-1.log.end", "attempt-1.json"):
        (tmp_path / "runs/trial-0000" / name).symlink_to(tmp_path / "precious")
    assert run(tmp_path, GOOD).state is TrialState.DONE
    assert (tmp_path / "precious").read_text() == "mine"
    assert "accuracy" in log_of(tmp_path)


def test_a_log_that_may_not_grow(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, hard))
    try:
        full_disk_is_survived(tmp_path, "File too large")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (tmp_path / "runs/trial-0000/attempt-1.log").stat().st_size == 1 << 20


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 512 KiB."""
    if not as_root():
        pytest.skip("only root can mount a file system")
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=512k", "none", disk], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.decode().strip()}")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_full_disk(small_disk: Path) -> None:
    full_disk_is_survived(small_disk, "No space left on device")


def test_a_disk_that_is_full_before_the_start(
    small_disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    (small_disk / "runs").mkdir()
    (small_disk / "locks").mkdir()
    with pytest.raises(OSError, match="No space"), (small_disk / "fill").open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)
    reads = "import json, os; json.load(open(os.environ['LEANTUNE_TRIAL'])); "
    with local(small_disk, python(reads + GOOD)) as executor:
        end = end_of(executor)
    assert (end.state, end.cause) == (TrialState.DONE, "its log stops early: No space left on device")
    assert list(temporary.iterdir()) == []


def test_a_disk_that_is_full_and_no_room_elsewhere(small_disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(small_disk))
    for name in ("runs", "locks"):
        (small_disk / name).mkdir()
    with pytest.raises(OSError, match="No space"), (small_disk / "fill").open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)
    with local(small_disk, python(GOOD)) as executor:
        with pytest.raises(LeanTuneError, match="No space left on device") as caught:
            executor.start(trial_of())
        assert "trial-0000" in caught.value.where
        assert executor.running == frozenset()


# -- a worker that dies


ROOT = Path(__file__).parents[2]
WORKER = """
import sys
from pathlib import Path
from leantune.executors.base import Finished, Terms
from leantune.units import Seconds
from tests.executors.programs import FORKS, local, python, trial_of
place, lease, grace = Path(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
with local(place, python(FORKS + "time.sleep(600)")) as executor:
    executor.start(trial_of(), Terms(lease=Seconds(lease) if lease else None, grace=Seconds(grace)))
    while True:
        executor.renew(0)
        executor.wait(Seconds(0.05))
        for end in executor.step(0.0):
            if isinstance(end, Finished):
                print(end.state, end.cause, flush=True)
                sys.exit(0)
"""


@pytest.fixture
def worker(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[bytes]]:
    """Another process that runs a trial of four processes; the parameters are its lease and its grace period."""
    lease, grace = request.param
    process = subprocess.Popen(
        [sys.executable, "-c", WORKER, str(tmp_path), str(lease), str(grace)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])},
        stdout=subprocess.PIPE,
    )
    try:
        eventually(lambda: len(pids_in(tmp_path / "pids")) == 4 or process.poll() is not None)
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("worker", [(0, 0.4), (60, 0.4)], indirect=True)
def test_no_process_outlives_a_killed_worker(tmp_path: Path, worker: subprocess.Popen[bytes]) -> None:
    pids = pids_in(tmp_path / "pids")
    assert all(alive(pid) for pid in pids)
    worker.kill()
    worker.wait()
    eventually(lambda: not any(alive(pid) for pid in pids))


@pytest.mark.slow
@pytest.mark.parametrize("worker", [(3.0, 0.5)], indirect=True)
def test_a_worker_that_stands_still_loses_its_run_within_the_lease(
    tmp_path: Path, worker: subprocess.Popen[bytes]
) -> None:
    pids = pids_in(tmp_path / "pids")
    time.sleep(3.1)  # more than the lease: it was renewed
    assert all(alive(pid) for pid in pids)
    worker.send_signal(signal.SIGSTOP)
    stopped = time.monotonic()
    eventually(lambda: not any(alive(pid) for pid in pids))
    assert 1.0 < time.monotonic() - stopped < 3.0
    worker.send_signal(signal.SIGCONT)
    out, _ = worker.communicate(timeout=15)
    assert out.decode().startswith("lost its lease was not renewed in time"), "it learns what has happened"


@pytest.mark.parametrize("worker", [(60, 1.0)], indirect=True)
def test_a_trial_waits_for_what_a_killed_worker_left(tmp_path: Path, worker: subprocess.Popen[bytes]) -> None:
    """The same trial is started elsewhere on this host while the killed worker's program has its grace period."""
    pids = pids_in(tmp_path / "pids")
    worker.kill()
    worker.wait()
    code = f"import os\nfor pid in {pids}: assert not os.path.exists(f'/proc/{{pid}}')\nprint('accuracy=1')"
    with local(tmp_path, python(code)) as executor:
        end = end_of(executor, terms=Terms(attempt=2))
    assert (end.state, end.cause) == (TrialState.DONE, "")


def test_a_killed_warden_takes_its_program_along(tmp_path: Path) -> None:
    code = "import os, time; print(os.getpid(), file=open('pids', 'w'), flush=True); time.sleep(60)"
    with local(tmp_path, python(code)) as executor:
        executor.start(trial_of())
        eventually(lambda: pids_in(tmp_path / "pids"))
        (pid,) = pids_in(tmp_path / "pids")
        warden = executor._runs[0].warden
        assert warden is not None
        os.kill(warden.pid, signal.SIGKILL)
        (end,) = until_ended(executor)
        eventually(lambda: not alive(pid))
    assert end.state is TrialState.LOST
    assert end.cause.startswith("its warden was killed")
    assert end.seconds > 0.0


def test_a_lease_that_nobody_renews_ends_the_run(tmp_path: Path) -> None:
    end = run(tmp_path, "import time; time.sleep(60)", Terms(lease=Seconds(2.0), grace=Seconds(0.5)))
    assert end.state is TrialState.LOST
    assert end.observations == ()
    assert 1.0 <= end.seconds < 2.0


# -- the same trial twice, and cores


def test_the_same_trial_never_runs_twice_at_once(tmp_path: Path) -> None:
    code = "import time\nprint(time.monotonic()); time.sleep(0.4); print(time.monotonic()); print('accuracy=1')"
    with local(tmp_path, python(code)) as first, local(tmp_path, python(code)) as second:
        first.start(trial_of())
        second.start(trial_of(), Terms(attempt=2))
        assert second.running == {0}
        until_ended(first)
        until_ended(second)
    spans = [[float(line) for line in log_of(tmp_path, attempt=n).splitlines()[:2]] for n in (1, 2)]
    assert spans[0][1] < spans[1][0]


def test_a_trial_that_waits_for_another_can_be_taken_back(tmp_path: Path) -> None:
    with local(tmp_path, python("import time; time.sleep(60)")) as first, local(tmp_path, python(GOOD)) as second:
        first.start(trial_of())
        second.start(trial_of(), Terms(attempt=2))
        second.end(0, EndMode.SAVE)
        (end,) = until_ended(second)
        assert (end.state, end.cause, end.seconds) == (TrialState.QUEUED, "interrupted", 0.0)
        second.start(trial_of(), Terms(attempt=3))
        second.end(0, EndMode.KILL)
        assert second.running == frozenset()
        assert told(second, 0.1) == []
        first.end(0, EndMode.KILL)
    assert not (tmp_path / "runs/trial-0000/attempt-2.log").exists()


def test_a_trial_does_not_wait_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_run, "LOCK_PATIENCE", 0.1)
    with local(tmp_path, python("import time; time.sleep(60)")) as first, local(tmp_path, python(GOOD)) as second:
        first.start(trial_of())
        end = end_of(second, terms=Terms(attempt=2, grace=Seconds(0.0)))
        first.end(0, EndMode.KILL)
    assert (end.state, end.seconds) == (TrialState.QUEUED, 0.0)
    assert "has not ended here" in end.cause


def test_a_lease_that_ended_while_it_waited_is_not_used(tmp_path: Path) -> None:
    """As when this process stood still: another worker may have started the trial elsewhere."""
    with local(tmp_path, python("import time; time.sleep(0.5)")) as first, local(tmp_path, python(GOOD)) as second:
        first.start(trial_of())
        second.start(trial_of(), Terms(attempt=2, lease=Seconds(0.2)))
        until_ended(first)
        (end,) = until_ended(second)
    assert (end.state, end.cause) == (TrialState.LOST, "its lease was over before it could begin")
    assert not (tmp_path / "runs/trial-0000/attempt-2.log").exists()


def test_trouble_while_it_waited_comes_out_of_step(tmp_path: Path) -> None:
    with local(tmp_path, python("import time; time.sleep(60)")) as first, local(tmp_path, python(GOOD)) as second:
        first.start(trial_of())
        second.start(trial_of(), Terms(attempt=2))
        (tmp_path / "locks").rename(tmp_path / "gone")
        (tmp_path / "locks").touch()
        with pytest.raises(
            LeanTuneError, match=r"a lock cannot be made|not a folder that all users may lock trials in"
        ):
            until_ended(second)
        assert second.running == frozenset()
        first.end(0, EndMode.KILL)


def test_cores_are_held_against_other_executors(tmp_path: Path) -> None:
    cores = sorted(os.sched_getaffinity(0))
    problem = on(machine("m", vcpus=1, memory="64 MiB"))
    trials = trials_of(problem, len(cores) + 1).trials
    code = "import os, time; print(os.sched_getaffinity(0)); print(os.environ['OMP_NUM_THREADS']); time.sleep(60)"
    others = tmp_path / "other"
    others.mkdir()
    with (
        local(tmp_path, python(code), problem=problem) as one,
        local(others, python(GOOD), problem=problem, locks=tmp_path / "locks") as other,
    ):
        for trial in trials[:-1]:
            assert one.capacity().fits(trial)
            one.start(trial)
        assert not one.capacity().fits(trials[-1])
        assert not other.capacity().fits(trials[-1])
        other.start(trials[-1])  # another process was faster between the two calls: it begins when a core is free
        assert told(other, 0.1) == []
        eventually(lambda: all(log_of(tmp_path, n).count("\n") == 2 for n in range(len(cores))))
        lines = [log_of(tmp_path, n).splitlines() for n in range(len(cores))]
        assert sorted(line[0] for line in lines) == sorted(f"{{{core}}}" for core in cores)
        assert {line[1] for line in lines} == {"1"}
        one.end(0, EndMode.KILL)
        (end,) = until_ended(other)
        assert end.state is TrialState.DONE
        assert one.capacity().fits(trials[0])


def test_a_machine_that_this_host_is_not_is_refused(tmp_path: Path) -> None:
    problem = on(machine("huge", vcpus=1000, memory=1))
    with local(tmp_path, ["true"], problem=problem) as executor:
        with pytest.raises(SpaceError, match="1 x huge has 1000 vCPUs, and this machine has"):
            executor.check(trial_of(problem))
        with pytest.raises(SpaceError):
            executor.start(trial_of(problem))


def test_memory_is_not_promised_twice(tmp_path: Path) -> None:
    most = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    problem = on(machine("half", vcpus=0.5, memory=0.6 * most))
    first, second = trials_of(problem, 2).trials
    with local(tmp_path, ["sleep", "60"], problem=problem) as executor:
        executor.start(first)
        assert not executor.capacity().fits(second)
        executor.end(0, EndMode.KILL)
        assert executor.capacity().fits(second)


BUSY = """
import json, time
wall, cpu = time.monotonic(), time.process_time()
for _ in range(4_000_000): pass
print(json.dumps({"accuracy": 1, "wall": time.monotonic() - wall, "cpu": time.process_time() - cpu}))
"""


def busy_seconds(place: Path, vcpus: float) -> tuple[float, float]:
    """Wall and CPU seconds of the same work on so much of a processor."""
    place.mkdir()
    end = run(place, BUSY, problem=on(machine("m", vcpus=vcpus, memory=1)))
    assert end.state is TrialState.DONE
    metrics = end.observations[0].metrics
    return metrics["wall"], metrics["cpu"]


@pytest.mark.slow
def test_a_quarter_of_a_processor_takes_four_times_as_long(tmp_path: Path) -> None:
    """Where others keep the machine busy nothing can be said of a whole processor, but of a quarter of one."""
    for attempt in range(8):
        wall, cpu = busy_seconds(tmp_path / f"whole-{attempt}", 1.0)
        slow_wall, slow_cpu = busy_seconds(tmp_path / f"quarter-{attempt}", 0.25)
        assert slow_wall > 2.5 * slow_cpu
        if cpu / wall > 0.8 and slow_wall / slow_cpu < 5.0:  # undisturbed
            assert 2.5 < slow_wall / wall < 6.0
            return
    pytest.skip("this machine is too busy to compare speeds")


def test_a_slowed_program_is_ended_in_time(tmp_path: Path) -> None:
    """It stands still most of the time, and SIGTERM must reach it all the same."""
    problem = on(machine("m", vcpus=0.1, memory=1))
    end = run(tmp_path, "while True: pass", Terms(time_limit=Seconds(0.6), grace=Seconds(5)), problem=problem)
    assert end.cause.startswith("timeout: not ended after 0.6 s (log: ")
    assert end.seconds < 4.0


# -- interruption and checkpoints


SAVES = """
import os, signal, sys, time
folder = sys.argv[1]
done = sorted(os.listdir(folder))
print("found", done, flush=True)
if done: print("accuracy=0.5"); sys.exit()
def save(*_):
    with open(os.path.join(folder, "epoch-1"), "w") as file: file.write("weights")
    sys.exit(0)
signal.signal(signal.SIGTERM, save)
print("up", flush=True); time.sleep(60)
"""


def interrupted(executor: LocalExecutor, place: Path, attempt: int = 1) -> None:
    executor.start(trial_of(), Terms(attempt=attempt, grace=Seconds(10)))
    eventually(lambda: "up\n" in log_of(place, 0, attempt))
    executor.end(0, EndMode.SAVE)
    (end,) = until_ended(executor)
    assert end.state is TrialState.QUEUED
    assert end.observations == ()
    assert end.cause.startswith("interrupted (log: ")


def test_a_trial_that_is_run_again_finds_its_checkpoint(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    store = CheckpointStore(kept, "s")
    (tmp_path / "elsewhere").mkdir()
    code, stale = python(SAVES), tmp_path / "runs/trial-0000/checkpoint/stale"
    stale.parent.mkdir(parents=True)
    stale.write_text("of an older study of the same name")
    with local(tmp_path, lambda _, extra: [*code, extra["checkpoint_dir"]], checkpoints=kept) as executor:
        interrupted(executor, tmp_path)
        assert store.generation("trial-0000") == 1
    assert log_of(tmp_path).startswith("found []")
    terms = Terms(attempt=2, earlier_seconds=Seconds(100.0))
    with local(tmp_path / "elsewhere", lambda _, extra: [*code, extra["checkpoint_dir"]], checkpoints=kept) as another:
        end = end_of(another, terms=terms)
        assert store.generation("trial-0000") == 1, "until the study knows that it is over"
        another.forget(0)
    assert log_of(tmp_path / "elsewhere", attempt=2).startswith("found ['epoch-1']")
    assert end.state is TrialState.DONE
    assert end.resumed
    assert end.observations[0].seconds == pytest.approx(100.0 + end.seconds)
    assert store.generation("trial-0000") == 0, "a trial that is over needs none"
    assert not (tmp_path / "elsewhere/runs/trial-0000/checkpoint").exists()


def test_without_a_checkpoint_a_second_attempt_starts_over(tmp_path: Path) -> None:
    with local(tmp_path, python(GOOD), checkpoints=tmp_path / "kept") as executor:
        end = end_of(executor, terms=Terms(attempt=2, earlier_seconds=Seconds(100.0)))
    assert not end.resumed
    assert end.observations[0].seconds == end.seconds < 10.0


def test_a_damaged_checkpoint_is_not_used_and_that_is_told(tmp_path: Path) -> None:
    kept, folder = tmp_path / "kept", tmp_path / "old"
    store = CheckpointStore(kept, "s")
    folder.mkdir()
    (folder / "epoch-1").write_text("weights")
    store.save("trial-0000", folder)
    (data,) = (tmp_path / "kept").rglob("000000")
    data.write_text("damaged")
    with local(tmp_path, lambda _, extra: [*python(SAVES), extra["checkpoint_dir"]], checkpoints=kept) as executor:
        executor.start(trial_of(), Terms(attempt=2, time_limit=Seconds(0.5)))
        (end,) = until_ended(executor)
    assert "started over, because checkpoint file 'epoch-1'" in end.cause
    assert log_of(tmp_path, attempt=2).startswith("found []")


def test_a_running_trials_checkpoint_is_saved_when_it_is_quiet(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    store = CheckpointStore(kept, "s")
    code = "import sys, time; open(sys.argv[1] + '/w', 'w').write('weights'); time.sleep(60)"
    command = lambda _, extra: python(code, extra["checkpoint_dir"])  # noqa: E731
    with local(tmp_path, command, checkpoints=kept, save_every=0.1) as executor:
        executor.start(trial_of())
        (saved,), events = until(executor, CheckpointSaved)
        assert [type(event) for event in events] == [Begun, CheckpointSaved]
        assert (saved.number, saved.step) == (0, None), "it has reported none"
        assert saved.seconds > 0.0
        executor.end(0, EndMode.KILL)
    assert store.generation("trial-0000") == 1
    assert store.restore("trial-0000", tmp_path / "back") == 1
    assert (tmp_path / "back/w").read_text() == "weights"


STEPS = """
import sys, time
file = sys.argv[1] + '/w'
print('{"accuracy": 0.5, "step": 7}', flush=True)
open(file, 'w').write('weights')
time.sleep(60)
"""


@pytest.mark.parametrize("stored", [True, False])
def test_a_checkpoint_is_saved_when_it_is_asked_for(tmp_path: Path, stored: bool) -> None:
    kept = tmp_path / "kept"
    store = CheckpointStore(kept, "s")
    command = lambda _, extra: python(STEPS, extra["checkpoint_dir"])  # noqa: E731
    file = tmp_path / "runs/trial-0000/checkpoint/w"
    with local(tmp_path, command, checkpoints=kept if stored else None, save_every=600.0) as executor:
        executor.start(trial_of())
        until(executor, Report)
        eventually(file.exists)
        executor.save(0)
        (first,), _ = until(executor, CheckpointSaved)
        executor.save(0)
        (again,), events = until(executor, CheckpointSaved)
        assert executor.running == {0}, "it goes on"
        executor.end(0, EndMode.KILL)
        with pytest.raises(UnknownTrial):
            executor.save(0)
    assert (first.step, again.step) == (7.0, 7.0)
    assert again.seconds == 0.0, "nothing has changed"
    assert events == [again]
    assert store.generation("trial-0000") == int(stored)


def test_a_program_that_leaves_nothing_to_save_is_told_as_saved_at_nothing(tmp_path: Path) -> None:
    with local(tmp_path, python("import time; time.sleep(60)")) as executor:
        executor.start(trial_of())
        executor.save(0)
        (saved,), _ = until(executor, CheckpointSaved)
    assert saved.step == 0.0


@pytest.mark.parametrize(("leaves", "kept"), [(True, 7.0), (False, 0.0)])
def test_the_step_that_is_kept_is_the_last_reported(tmp_path: Path, leaves: bool, kept: float) -> None:
    code = STEPS if leaves else STEPS.replace("open(file", "#")
    with local(tmp_path, lambda _, extra: python(code, extra["checkpoint_dir"])) as executor:
        executor.start(trial_of(), SOON)
        _, (begun, *_) = until(executor, Report)
        assert isinstance(begun, Begun)
        eventually(lambda: not leaves or (tmp_path / "runs/trial-0000/checkpoint/w").exists())
        executor.end(0, EndMode.EVICT)
        (end,) = until_ended(executor)
        assert (begun.step, end.state, end.kept_step) == (0.0, TrialState.QUEUED, kept)
        executor.start(trial_of(), Terms(attempt=2))
        (begun,), _ = until(executor, Begun)
        assert begun.step == (None if leaves else 0.0), "nobody knows where a program goes on"


def test_what_was_stopped_leaves_no_checkpoint(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    store = CheckpointStore(kept, "s")
    with local(tmp_path, lambda _, extra: [*python(SAVES), extra["checkpoint_dir"]], checkpoints=kept) as executor:
        interrupted(executor, tmp_path)
        assert store.generation("trial-0000") == 1
        executor.forget(0)
    assert store.keys() == []
    assert not (tmp_path / "runs/trial-0000/checkpoint").exists()
    assert log_of(tmp_path).startswith("found []"), "its log stays"


def test_a_checkpoint_is_saved_where_it_is_to_be_kept(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    store = CheckpointStore(kept, "s")
    code = "import sys; open(sys.argv[1] + '/model', 'w').write('weights'); print('accuracy=1')"
    trials = trials_of(PROBLEM, 2)
    with local(tmp_path, lambda _, extra: python(code, extra["checkpoint_dir"]), checkpoints=kept) as executor:
        executor.start(trials.trial(0), Terms(keep=True))
        assert [end.state for end in until_ended(executor)] == [TrialState.DONE]
        assert end_of(executor, trials.trial(1)).state is TrialState.DONE
        assert store.keys() == ["trial-0000"]
        assert executor.kept(range(9)) == {0, 1}, "removed when the study knows that it is over"
        executor.forget(1)
    assert (tmp_path / "runs/trial-0000/checkpoint/model").exists()
    assert not (tmp_path / "runs/trial-0001/checkpoint").exists()


def test_a_run_that_ends_well_while_it_is_interrupted_is_done(tmp_path: Path) -> None:
    with local(tmp_path, python(ENDS_WELL)) as executor:
        executor.start(trial_of(), Terms(grace=Seconds(10)))
        eventually(lambda: "up\n" in log_of(tmp_path))
        executor.end(0, EndMode.SAVE)
        (end,) = until_ended(executor)
    assert end.state is TrialState.DONE
    assert end.observations[0].metrics == {"accuracy": 0.4}


def test_a_run_that_ends_well_while_it_is_evicted_is_queued_with_its_checkpoint(tmp_path: Path) -> None:
    leaves = ENDS_WELL.replace("print('up'", "open(sys.argv[1] + '/w', 'w').write('x'); print('up'")
    kept = tmp_path / "store"
    store = CheckpointStore(kept, "s")
    with local(tmp_path, lambda _, extra: python(leaves, extra["checkpoint_dir"]), checkpoints=kept) as executor:
        executor.start(trial_of(), Terms(grace=Seconds(10)))
        eventually(lambda: "up\n" in log_of(tmp_path))
        executor.end(0, EndMode.EVICT)
        (end,) = until_ended(executor)
    assert (end.state, end.observations) == (TrialState.QUEUED, ())
    assert store.generation("trial-0000") == 1
    with local(tmp_path, python(GOOD)) as executor:
        executor.start(trial_of())
        until_ended(executor)  # one that has ended is done


def test_snapshots_of_earlier_attempts_count(tmp_path: Path) -> None:
    problem = Problem(PROBLEM.space, maximize("accuracy"), [], [TENTH, FULL], snapshots=True)
    code = """
import os, sys, time
if os.path.exists(sys.argv[1] + "/w"):
    print('{"accuracy": 0.9, "fraction": 1}'); sys.exit()
open(sys.argv[1] + "/w", "w").write("weights")
print('{"accuracy": 0.3, "fraction": 0.1}', flush=True); time.sleep(60)
"""
    trial = trial_of(problem, (TENTH, FULL))
    with local(tmp_path, lambda _, extra: python(code, extra["checkpoint_dir"]), problem=problem) as executor:
        executor.start(trial, SOON)
        until(executor, Report)
        executor.end(0, EndMode.SAVE)
        until_ended(executor)
        end = end_of(executor, trial, Terms(attempt=2, earlier_seconds=Seconds(50.0)))
    assert end.state is TrialState.DONE, end.cause
    assert [(seen.fraction, seen.metrics["accuracy"]) for seen in end.observations] == [(TENTH, 0.3), (FULL, 0.9)]
    first, last = (seen.seconds or 0.0 for seen in end.observations)
    assert 0.0 < first < 20.0
    assert last > 50.0


# -- the price of it


def test_what_a_run_costs_besides_its_program(tmp_path: Path) -> None:
    """Aim: under 60 ms; a busy machine gets ten times that."""
    clock, seconds = RealClock(), []
    problem = Problem(PROBLEM.space, maximize("accuracy"))
    with local(tmp_path, ["echo", "accuracy=1"], problem=problem) as executor:
        for trial in trials_of(problem, 5).trials:
            began = clock.now()
            executor.start(trial)
            until_ended(executor)
            seconds.append(clock.now() - began)
    assert min(seconds) < 0.6, seconds
