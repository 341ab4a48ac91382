"""What is left when wardens and workers are killed or stopped is found and ended, by real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from leantune.executors.base import Terms
from leantune.executors.local import LocalExecutor
from leantune.history import TrialState
from leantune.units import Seconds
from leantune.worker import tree
from tests.executors.programs import (
    FORKS,
    alive,
    as_root,
    eventually,
    local,
    pids_in,
    python,
    trial_of,
    until_ended,
)

GRACE = Seconds(0.5)
IGNORES = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)"
# The program has a child without the mark, which holds the lock, and one with the mark that holds no lock.
HALVES = """
import os, sys, time
def note():
    with open("pids", "a") as file: file.write(f"{os.getpid()}\\n")
note()
if os.fork() == 0:
    os.setsid(); note_it = "import os, time; open('pids', 'a').write(f'{os.getpid()}\\\\n'); time.sleep(60)"
    os.execve(sys.executable, [sys.executable, "-I", "-S", "-c", note_it], {})
if os.fork() == 0:
    os.setsid(); os.closerange(3, 4096); note(); time.sleep(60)
time.sleep(60)
"""
# A worker of another folder, which runs one trial on the store of `place`.
WORKER = """
import sys, time
from pathlib import Path
from leantune.executors.base import Terms
from leantune.units import Seconds
from tests.executors.programs import local, python, trial_of
place = Path(sys.argv[1])
with local(place / "other", python(sys.argv[2]), folder=place, locks=place / "locks", store=str(place)) as executor:
    executor.start(trial_of(), Terms(grace=Seconds(float(sys.argv[3])), lease=Seconds(60.0)))
    while True: executor.wait(Seconds(1.0)); executor.step(0.0)
"""


@contextmanager
def worker(place: Path, code: str, grace: float = GRACE, processes: int = 1) -> Iterator[subprocess.Popen[bytes]]:
    """A worker in a process of its own whose program has noted so many processes."""
    (place / "other").mkdir()
    process = subprocess.Popen([sys.executable, "-c", WORKER, str(place), code, str(grace)], cwd=Path.cwd())
    try:
        eventually(lambda: len(pids_in(place / "pids")) >= processes)
        yield process
    finally:
        process.kill()
        process.wait()
        for pid in pids_in(place / "pids"):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def warden_of(executor: LocalExecutor) -> int:
    (run,) = executor._runs.values()
    assert run.warden is not None
    return run.warden.pid


def noting(code: str) -> str:
    """The program writes down who it is, and then does what the code says."""
    return f"import os, time\n{code}\nopen('pids', 'a').write(f'{{os.getpid()}}\\n')\ntime.sleep(60)"


def until_nothing_remains(executor: LocalExecutor, attempt: int = 1, grace: Seconds = GRACE) -> float:
    """Seconds for which something was left."""
    began = time.monotonic()
    eventually(lambda: not executor.remains(0, attempt, grace))
    return time.monotonic() - began


@pytest.mark.parametrize("code", [f"{FORKS}time.sleep(60)", HALVES], ids=["forks", "halves"])
def test_a_run_whose_warden_is_killed_is_over_when_all_of_it_is(tmp_path: Path, code: str) -> None:
    with local(tmp_path, python(code)) as executor:
        executor.start(trial_of(), Terms(grace=GRACE))
        eventually(lambda: len(pids_in(tmp_path / "pids")) >= (4 if code is not HALVES else 3))
        os.kill(warden_of(executor), signal.SIGKILL)
        (end,) = until_ended(executor)
        assert not any(map(alive, pids_in(tmp_path / "pids")))
        assert end.state is TrialState.LOST
        assert "its warden was killed" in end.cause


def test_killing_a_run_whose_warden_is_dead_leaves_nothing(tmp_path: Path) -> None:
    with local(tmp_path, python(f"{FORKS}time.sleep(60)")) as executor:
        executor.start(trial_of(), Terms(grace=Seconds(60.0)))
        eventually(lambda: len(pids_in(tmp_path / "pids")) == 4)
        os.kill(warden_of(executor), signal.SIGKILL)
    assert not any(map(alive, pids_in(tmp_path / "pids")))  # closed, without waiting for the grace


@pytest.mark.slow
def test_a_killed_workers_program_that_ignores_to_be_asked_remains_until_its_grace_is_over(tmp_path: Path) -> None:
    with local(tmp_path, python("")) as executor, worker(tmp_path, noting(IGNORES), grace=1.0) as other:
        (pid,) = pids_in(tmp_path / "pids")
        other.kill()
        assert executor.remains(0, 1, Seconds(1.0))
        assert alive(pid)
        assert 0.5 < until_nothing_remains(executor, grace=Seconds(1.0)) < 10.0
        assert not alive(pid)


@pytest.mark.slow
def test_a_program_that_saves_when_asked_is_given_its_grace(tmp_path: Path) -> None:
    code = noting(
        "import signal, sys\ndef save(*_): time.sleep(0.3); open('saved', 'w').close(); sys.exit()\n"
        "signal.signal(signal.SIGTERM, save)"
    )
    with local(tmp_path, python("")) as executor, worker(tmp_path, code, grace=10.0) as other:
        other.kill()
        assert until_nothing_remains(executor, grace=Seconds(10.0)) < 5.0
    assert (tmp_path / "saved").exists()


@pytest.mark.slow
@pytest.mark.parametrize("code", [f"{FORKS}time.sleep(60)", HALVES], ids=["forks", "halves"])
def test_what_a_killed_worker_and_a_killed_warden_left_is_ended_by_another_folders_worker(
    tmp_path: Path, code: str
) -> None:
    count = 4 if code is not HALVES else 3
    with local(tmp_path, python("")) as executor, worker(tmp_path, code, processes=count) as other:
        (warden,) = tree._children(other.pid)
        os.kill(other.pid, signal.SIGSTOP)  # so that it cannot end what is left itself
        os.kill(warden, signal.SIGKILL)
        other.kill()
        assert executor.remains(0, 1, GRACE)
        until_nothing_remains(executor)
        assert not any(map(alive, pids_in(tmp_path / "pids")))


@pytest.mark.slow
@pytest.mark.parametrize("stopped_too", [False, True], ids=["worker", "worker and warden"])
def test_what_a_stopped_worker_runs_is_ended_once_its_lease_is_over(tmp_path: Path, stopped_too: bool) -> None:
    """The loop asks when the lease is over; here at once."""
    with local(tmp_path, python("")) as executor, worker(tmp_path, noting("")) as other:
        (warden,) = tree._children(other.pid)
        os.kill(other.pid, signal.SIGSTOP)
        if stopped_too:
            os.kill(warden, signal.SIGSTOP)
        until_nothing_remains(executor)
        assert not any(map(alive, [warden, *pids_in(tmp_path / "pids")]))
        assert alive(other.pid)  # only its run is ended


@pytest.mark.slow
def test_a_later_attempt_begins_when_what_is_left_of_the_earlier_one_has_ended(tmp_path: Path) -> None:
    """As when a worker of another host had queued the trial again."""
    good = "print('accuracy=1')"
    with local(tmp_path, python(good)) as executor, worker(tmp_path, f"{FORKS}time.sleep(60)", processes=4) as other:
        (warden,) = tree._children(other.pid)
        os.kill(other.pid, signal.SIGSTOP)
        os.kill(warden, signal.SIGKILL)
        executor.start(trial_of(), Terms(attempt=2, grace=GRACE))
        (end,) = until_ended(executor)
        assert end.state is TrialState.DONE
        assert not any(map(alive, pids_in(tmp_path / "pids")))


@pytest.mark.slow
def test_a_later_attempt_and_other_trials_are_left_alone(tmp_path: Path) -> None:
    with local(tmp_path, python("")) as executor, worker(tmp_path, noting("")) as other:
        assert not executor.remains(1, 1, GRACE)
        assert executor.remains(0, 0, GRACE)  # somebody holds the lock, who is none of that attempt
        time.sleep(0.5)
        assert all(map(alive, [other.pid, *pids_in(tmp_path / "pids")]))


def test_somebody_whom_we_may_not_see_remains_as_long_as_he_holds_the_lock(tmp_path: Path) -> None:
    """A process of another user: it is not signalled, and not taken for dead."""
    with local(tmp_path, python("")) as executor:
        place = executor._workplace
        lock = place.locks.take(place.mark(0, 1))
        assert lock is not None  # this process is none that may be ended, as little as one that cannot be seen
        assert executor.remains(0, 1, Seconds(0.0))
        assert executor.remains(0, 1, Seconds(0.0))
        os.close(lock)
        until_nothing_remains(executor)


# -- wardens that are stopped


@pytest.mark.slow
def test_a_stopped_warden_goes_on_and_keeps_the_time_limit(tmp_path: Path) -> None:
    with local(tmp_path, python(noting(""))) as executor:
        executor.start(trial_of(), Terms(time_limit=Seconds(0.5), grace=GRACE))
        os.kill(warden_of(executor), signal.SIGSTOP)
        (end,) = until_ended(executor)
    assert end.timed_out
    assert end.seconds < 5.0


@pytest.mark.slow
def test_a_program_that_stops_its_warden_again_and_again_is_ended(tmp_path: Path) -> None:
    code = (
        "import os, signal, time\nopen('pids', 'a').write(f'{os.getpid()}\\n'); warden = os.getppid()\n"
        "if os.fork(): time.sleep(60)\n"
        "os.setsid(); open('pids', 'a').write(f'{os.getpid()}\\n')\n"
        "while True:\n try: os.kill(warden, signal.SIGSTOP)\n except ProcessLookupError: time.sleep(60)"
    )
    with local(tmp_path, python(code)) as executor:
        executor.start(trial_of(), Terms(time_limit=Seconds(0.5), grace=GRACE))
        (end,) = until_ended(executor)
        assert end.state in (TrialState.LOST, TrialState.FAILED)  # where its warden had a moment, it ended it itself
        assert end.seconds < 15.0
        assert not any(map(alive, pids_in(tmp_path / "pids")))


# -- two users


TAKE = """
import os, sys
from pathlib import Path
from leantune.executors.machine import RunLocks
from leantune.worker.messages import RunMark
os.umask(0o077)
os.setgroups([])
os.setuid(int(sys.argv[2]))
locks, mark = RunLocks(Path(sys.argv[1])), RunMark("store", "study", 3, 1)
print(locks.is_held(mark), locks.take(mark) is not None, flush=True)
input()
"""


@pytest.mark.slow
@pytest.mark.parametrize("users", [(65534, 0), (0, 65534)])
def test_two_users_share_the_lock_of_a_trial(users: tuple[int, int]) -> None:
    if not as_root():
        pytest.skip("only root may act for two users")
    answers, processes = [], []
    with tempfile.TemporaryDirectory(dir="/tmp") as place:
        Path(place).chmod(0o777)
        for user in users:
            command = [sys.executable, "-c", TAKE, f"{place}/locks", str(user)]
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            assert process.stdout is not None
            answers.append(process.stdout.readline().split())
            processes.append(process)
        for process in processes:
            process.communicate("\n")
    assert answers == [["False", "True"], ["True", "False"]]
