"""What this machine can give to trials: its cores, held one by one against every other LeanTune process, its memory;
and the locks by which no trial runs twice on it.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import stat
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from leantune.errors import LeanTuneError, SpaceError
from leantune.executors.base import cores_for
from leantune.space import Cluster
from leantune.worker.messages import RunMark

LOCKS_VARIABLE = "LEANTUNE_LOCKS"  # a folder for the locks of trials, in place of the host's
_LOCK_PLACES = ("/run/lock", "/tmp")  # the first that every user may write to
_CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
# One variable for each library; without it a library starts a thread for every processor of the machine.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMEXPR_MAX_THREADS",
    "NUMBA_NUM_THREADS",
    "POLARS_MAX_THREADS",
    "RAYON_NUM_THREADS",
    "JULIA_NUM_THREADS",
    "GOMAXPROCS",
    "LOKY_MAX_CPU_COUNT",
    "TF_NUM_INTRAOP_THREADS",
)


@dataclass(frozen=True)
class Host:
    """cores: numbers of the processors that this process may use. memory_gib: of the machine, or of its container."""

    cores: tuple[int, ...]
    memory_gib: float


def this_host() -> Host:
    """Cores and memory of this process."""
    if not hasattr(os, "sched_getaffinity"):
        hint = "Use Linux (also in a container or WSL), or study.optimize(train) with a Python function"
        raise LeanTuneError("training programs are run on Linux only", where=sys.platform, hint=hint)
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for path in map(Path, _CGROUP_LIMITS):
        with suppress(OSError, ValueError):  # no such control group, or "max"
            memory = min(memory, int(path.read_text(encoding="ascii")))
    return Host(tuple(sorted(os.sched_getaffinity(0))), memory / 2**30)


def check_cluster(cluster: Cluster, host: Host | None = None) -> None:
    """Refuse (SpaceError) a cluster larger than this machine."""
    host = host or this_host()
    wanted = ""
    if cluster.accelerators:
        wanted = f"{cluster.accelerators} accelerators, which LeanTune cannot give on the local machine"
    elif cores_for(cluster.vcpus) > len(host.cores):
        wanted = f"{cluster.vcpus:g} vCPUs, and this machine has {len(host.cores)}"
    elif cluster.memory_gib > host.memory_gib:
        wanted = f"{cluster.memory_gib:g} GiB of memory, and this machine has {host.memory_gib:.3g}"
    if wanted:
        hint = "Leave it out of the space, or run where such machines are"
        raise SpaceError(f"{cluster} has {wanted}", where=f"machine {cluster.type!r}", hint=hint)


def thread_environment(vcpus: float) -> dict[str, str]:
    """As many threads as cores: of 1.5 vCPUs, two, which both stand still for a quarter of the time."""
    return dict.fromkeys(THREAD_VARIABLES, str(cores_for(vcpus)))


@dataclass
class HeldLocks:
    """Locks that are held as long as one of their files is open, here or in a process that inherited it."""

    cores: tuple[int, ...] = ()
    files: list[int] = field(default_factory=list)

    def release(self) -> None:
        """Close this process's own files."""
        while self.files:
            os.close(self.files.pop())


class CoreLocks:
    """The processors of this machine, each held by at most one trial of this user's LeanTune processes."""

    def __init__(self, cores: Sequence[int], folder: Path | None = None) -> None:
        self._cores = tuple(cores)
        self._folder = folder or Path(tempfile.gettempdir()) / f"leantune-{os.getuid()}"

    def take(self, count: int) -> HeldLocks | None:
        """Hold so many cores; None when fewer are free."""
        self._make_folder()
        held = HeldLocks()
        with ExitStack() as undo:
            undo.callback(held.release)
            for core, file in self._free():
                held.cores += (core,)
                held.files.append(file)
                if len(held.files) == count:
                    undo.pop_all()
                    return held
        return None

    def free(self) -> int:
        """How many are free now. Processes that look at the same time do not disturb each other."""
        self._make_folder()
        return sum(_is_free(self._folder / f"cpu-{core}.lock") for core in self._cores)

    def _free(self) -> Iterator[tuple[int, int]]:
        for core in self._cores:
            file = try_lock(self._folder / f"cpu-{core}.lock")
            if file is not None:
                yield core, file

    def _make_folder(self) -> None:
        with _lock_errors(self._folder), suppress(FileExistsError):
            self._folder.mkdir(mode=0o700)
        status = self._folder.lstat()
        if status.st_uid != os.getuid() or not self._folder.is_dir() or self._folder.is_symlink():
            raise LeanTuneError(
                f"{str(self._folder)!r} belongs to another user",
                where="locks of processors",
                hint="Remove it, or set TMPDIR to a folder of your own",
            )


class RunLocks:
    """One lock for each trial of a study on this host: a process that holds it, or inherited it, belongs to its run.

    It is named by store and study and lies where every user and every folder finds the same one.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or _host_locks()

    def path(self, mark: RunMark) -> Path:
        """The lock of the trial."""
        study = hashlib.sha256(json.dumps([mark.store, mark.study]).encode()).hexdigest()[:24]
        return self._folder / f"{study}-{mark.trial}.lock"

    def take(self, mark: RunMark) -> int | None:
        """The open file, or None when another process holds it."""
        self._make_folder()
        return try_lock(self.path(mark), shared=True)

    def is_held(self, mark: RunMark) -> bool:
        """Whether a process holds it, also an invisible one."""
        return not _is_free(self.path(mark))

    def _make_folder(self) -> None:
        with _lock_errors(self._folder):
            try:
                self._folder.mkdir()
                self._folder.chmod(0o1777)  # for every user, whatever the umask
            except FileExistsError:
                pass
            status = self._folder.lstat()
            if not stat.S_ISDIR(status.st_mode) or status.st_uid not in (os.getuid(), 0):
                _check_open_to_all(self._folder, status)


def _check_open_to_all(folder: Path, status: os.stat_result) -> None:
    """Another user's folder will do where every user may make locks in it and only their owner may remove them."""
    if not stat.S_ISDIR(status.st_mode) or status.st_mode & 0o1777 != 0o1777:
        raise LeanTuneError(
            f"{str(folder)!r} is not a folder that all users may lock trials in",
            where="locks of trials",
            hint=f"Make it one (chmod 1777), or set {LOCKS_VARIABLE} to a folder that all workers of the study share",
        )


def _host_locks() -> Path:
    """Where trials are locked: the same for all users of the host."""
    chosen = os.environ.get(LOCKS_VARIABLE)
    if chosen:
        return Path(chosen).absolute()
    open_to_all = (place for place in map(Path, _LOCK_PLACES) if place.is_dir() and place.stat().st_mode & stat.S_IWOTH)
    return next(open_to_all, Path(_LOCK_PLACES[-1])) / "leantune-locks"


def try_lock(path: Path, *, shared: bool = False) -> int | None:
    """The open file when no other process holds the lock; None otherwise. Closing it everywhere gives the lock back.

    shared: other users may hold it another time.
    """
    with _lock_errors(path):
        file = _open_lock(path, 0o666 if shared else 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        return None
    return file


def _open_lock(path: Path, mode: int) -> int:
    """Opened where it exists, and created only where it does not: in a folder for all, Linux refuses to create another
    user's file (fs.protected_regular).
    """
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
    while True:
        with suppress(FileNotFoundError):
            return os.open(path, flags)
        with suppress(FileExistsError):
            file = os.open(path, flags | os.O_CREAT | os.O_EXCL, mode)
            os.fchmod(file, mode)  # whatever the umask
            return file


def _is_free(path: Path) -> bool:
    """Whether the lock is free; looks by a short shared lock, and makes no file."""
    with _lock_errors(path):
        try:
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return True
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(file)
    return True


@contextmanager
def _lock_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        hint = "Look at its permissions and its free space"
        raise LeanTuneError(f"a lock cannot be made: {error.strerror}", where=str(path), hint=hint) from None
