"""What this machine can give."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from leantune.errors import LeanTuneError, SpaceError
from leantune.executors import machine as machine_module
from leantune.executors.machine import (
    CoreLocks,
    Host,
    RunLocks,
    check_cluster,
    this_host,
    thread_environment,
    try_lock,
)
from leantune.space import Cluster, machine
from leantune.worker.messages import RunMark

HOST = Host((0, 1), 8.0)


def cluster(vcpus: float = 1, memory: float = 1, nodes: int = 1, accelerators: int = 0) -> Cluster:
    return Cluster(machine("m", vcpus=vcpus, memory=memory, accelerators=accelerators), nodes)


def test_this_host_has_something() -> None:
    host = this_host()
    assert host.cores == tuple(sorted(os.sched_getaffinity(0)))
    assert 0.1 < host.memory_gib <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30


@pytest.mark.parametrize(
    "fits", [cluster(), cluster(2, 8), cluster(0.25), cluster(1, 4, nodes=2), cluster(1.5), cluster(0.1, 1, nodes=7)]
)
def test_what_fits(fits: Cluster) -> None:
    check_cluster(fits, HOST)


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (cluster(4), "1 x m has 4 vCPUs, and this machine has 2"),
        (cluster(1, nodes=3), "3 x m has 3 vCPUs, and this machine has 2"),
        (cluster(1, 9), "1 x m has 9 GiB of memory, and this machine has 8"),
        (cluster(accelerators=1), "1 x m has 1 accelerators, which LeanTune cannot give on the local machine"),
    ],
)
def test_what_does_not(wanted: Cluster, words: str) -> None:
    with pytest.raises(SpaceError) as caught:
        check_cluster(wanted, HOST)
    assert caught.value.what == words
    assert caught.value.where == "machine 'm'"
    assert "Leave it out of the space" in caught.value.hint


@pytest.mark.parametrize(("vcpus", "cores"), [(0.1, 1), (1.5, 2), (2, 2)])
def test_as_many_threads_as_cores(vcpus: float, cores: int) -> None:
    assert thread_environment(vcpus)["OMP_NUM_THREADS"] == str(cores)


def test_cores_are_taken_one_by_one_and_given_back(tmp_path: Path) -> None:
    one, other = CoreLocks((0, 1, 2), tmp_path / "locks"), CoreLocks((0, 1, 2), tmp_path / "locks")
    first = one.take(2)
    assert first is not None
    assert first.cores == (0, 1)
    assert other.free() == 1
    assert other.take(2) is None
    second = other.take(1)
    assert second is not None
    assert second.cores == (2,), "a failed attempt holds nothing"
    assert one.free() == 0
    first.release()
    first.release()
    assert one.free() == 2
    second.release()


def test_looking_takes_nothing_and_disturbs_nobody(tmp_path: Path) -> None:
    locks = CoreLocks((0, 1), tmp_path / "locks")
    assert locks.free() == 2
    assert list((tmp_path / "locks").iterdir()) == [], "no file is made"
    held = locks.take(1)
    assert held is not None
    with (tmp_path / "locks" / "cpu-1.lock").open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_SH)  # as somebody else who looks at this moment
        assert locks.free() == 1
    held.release()


def test_a_process_that_inherits_a_lock_holds_it(tmp_path: Path) -> None:
    locks = CoreLocks((0,), tmp_path / "locks")
    held = locks.take(1)
    assert held is not None
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", "input()"], stdin=subprocess.PIPE, pass_fds=held.files
    )
    held.release()
    assert locks.free() == 0
    process.communicate(b"\n")
    assert locks.free() == 1


def test_locks_of_somebody_else_are_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "file").touch()
    for name in ("link", "file"):
        with pytest.raises(LeanTuneError, match="belongs to another user"):
            CoreLocks((0,), tmp_path / name).take(1)
    if os.geteuid() == 0:
        (tmp_path / "other").mkdir()
        os.chown(tmp_path / "other", 12345, -1)
        with pytest.raises(LeanTuneError, match="belongs to another user"):
            CoreLocks((0,), tmp_path / "other").take(1)


def test_the_usual_place_is_private() -> None:
    CoreLocks(this_host().cores).free()
    (place,) = Path(os.environ.get("TMPDIR", "/tmp")).glob(f"leantune-{os.getuid()}")
    assert place.stat().st_mode & 0o777 == 0o700


MARK = RunMark("store", "study", 3, 1)


def test_a_trials_lock_is_named_by_store_study_and_trial(tmp_path: Path) -> None:
    locks = RunLocks(tmp_path / "locks")
    others = [MARK._replace(store="other"), MARK._replace(study="other"), MARK._replace(trial=4)]
    assert len({locks.path(mark) for mark in [MARK, *others]}) == 4
    assert locks.path(MARK._replace(attempt=2)) == locks.path(MARK)
    assert not locks.is_held(MARK)
    held = locks.take(MARK)
    assert held is not None
    assert (tmp_path / "locks").stat().st_mode & 0o7777 == 0o1777
    assert RunLocks(tmp_path / "locks").take(MARK._replace(attempt=2)) is None
    assert locks.is_held(MARK)
    assert not any(map(locks.is_held, others))
    os.close(held)
    assert not locks.is_held(MARK)


def test_trials_are_locked_in_one_place_for_all_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("LEANTUNE_LOCKS", raising=False)
    assert RunLocks().path(MARK).parent in (Path("/run/lock/leantune-locks"), Path("/tmp/leantune-locks"))
    monkeypatch.setattr(machine_module, "_LOCK_PLACES", (str(tmp_path / "absent"), "/tmp"))
    assert RunLocks().path(MARK).parent == Path("/tmp/leantune-locks")
    monkeypatch.setenv("LEANTUNE_LOCKS", str(tmp_path))
    assert RunLocks().path(MARK).parent == tmp_path


def test_a_place_where_not_everybody_may_lock_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "file").touch()
    names = ["link", "file"]
    if os.geteuid() == 0:
        (tmp_path / "other").mkdir(mode=0o755)
        os.chown(tmp_path / "other", 12345, -1)
        names.append("other")
    for name in names:
        with pytest.raises(LeanTuneError, match="is not a folder that all users may lock trials in") as caught:
            RunLocks(tmp_path / name).take(MARK)
        assert "LEANTUNE_LOCKS" in str(caught.value)


def test_a_lock_is_held_once(tmp_path: Path) -> None:
    file = try_lock(tmp_path / "lock")
    assert file is not None
    assert try_lock(tmp_path / "lock") is None
    os.close(file)
    again = try_lock(tmp_path / "lock")
    assert again is not None
    os.close(again)


def test_locks_that_cannot_be_made(tmp_path: Path) -> None:
    with pytest.raises(LeanTuneError, match="a lock cannot be made: No such file or directory"):
        try_lock(tmp_path / "away" / "lock")
    with pytest.raises(LeanTuneError, match="a lock cannot be made: No such file or directory"):
        CoreLocks((0,), tmp_path / "away" / "locks").free()


def test_another_system_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")
    with pytest.raises(LeanTuneError, match="on Linux only"):
        this_host()
