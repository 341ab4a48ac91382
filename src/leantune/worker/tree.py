"""The processes of a training program, however they fork: found through /proc, measured, signalled,
slowed down. Linux only.

The warden is their subreaper (see `adopt_orphans`), so a process whose parent has died becomes its child: a process
that is neither its descendant nor waited for by it is none of ours.
"""

import ctypes
import os
import signal
import time  # noqa: TID251 - reads other processes' CPU clocks
from collections.abc import Iterable
from contextlib import suppress

TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
PERIOD = 0.05  # seconds of one turn of running and standing still, for a part of a processor
SHORTEST = 0.001  # seconds between two looks at it
_SET_PDEATHSIG, _SET_CHILD_SUBREAPER = 1, 36  # of prctl(2)
_LIBC = ctypes.CDLL(None, use_errno=True)
_HAS_CHILDREN = os.path.exists(f"/proc/self/task/{os.getpid()}/children")  # noqa: PTH110 - pathlib takes 5 ms to load


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent dies."""
    _prctl(_SET_CHILD_SUBREAPER, 1)


def die_with_parent() -> None:
    """Be killed when the process that started this one ends."""
    _prctl(_SET_PDEATHSIG, signal.SIGKILL)


def _prctl(option: int, value: int) -> None:
    if _LIBC.prctl(option, value, 0, 0, 0) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), f"prctl({option})")


def descendants(root: int) -> list[int]:
    """Process ids of all children of `root`, their children, and so on; one that forks meanwhile may be missed."""
    children = _children if _HAS_CHILDREN else _children_by_scan()
    pids: dict[int, None] = {}
    unseen = [root]
    while unseen:
        new = [child for child in children(unseen.pop()) if child not in pids]
        pids.update(dict.fromkeys(new))
        unseen += new
    return list(pids)


def _children(pid: int) -> list[int]:
    children: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - as above
            children += map(int, read(f"/proc/{pid}/task/{thread}/children").split())
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        pass  # it has ended, and its children have another parent now; or it is another user's
    return children


class _children_by_scan:  # noqa: N801 - stands for the function above, where the kernel has no list of children
    def __init__(self) -> None:
        self._by_parent: dict[int, list[int]] = {}
        for pid in all_processes():
            if fields := _stat(pid):
                self._by_parent.setdefault(int(fields[1]), []).append(pid)

    def __call__(self, pid: int) -> list[int]:
        return self._by_parent.get(pid, [])


def all_processes() -> list[int]:
    """Ids of all visible processes."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 - as above


def ancestors(pid: int) -> list[int]:
    """The process's parent, its parent, and so on, as far as we may see."""
    parents: list[int] = []
    while (fields := _stat(pid)) and (pid := int(fields[1])) > 0:
        parents.append(pid)
    return parents


def session(pid: int) -> int:
    """The session that the process belongs to; 0 when it has ended, or may not be looked at."""
    fields = _stat(pid)
    return int(fields[3]) if fields else 0


def is_alive(pid: int) -> bool:
    """Whether it has not ended, as far as we may see: one that only waits to be buried has."""
    return (fields := _stat(pid)) != [] and fields[0] not in (b"Z", b"X")


def is_stopped(pid: int) -> bool:
    """Whether it is stopped (SIGSTOP)."""
    return _stat(pid)[:1] == [b"T"]


def usage(pids: Iterable[int]) -> tuple[float, int]:
    """CPU seconds that these processes, and the children they have waited for, used so far; bytes they hold (RSS)."""
    seconds, resident = 0.0, 0
    for pid in pids:
        fields = _stat(pid)
        if fields:
            own, waited_for = sum(map(int, fields[11:13])) / TICKS, sum(map(int, fields[13:15])) / TICKS
            seconds += _cpu_clock(pid, own) + waited_for
            resident += int(fields[21]) * PAGE
    return seconds, resident


def _cpu_clock(pid: int, otherwise: float) -> float:
    """The process's CPU clock (clock_getcpuclockid(3)); /proc tells hundredths of seconds, a throttle needs more."""
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except OSError:  # it is ending
        return otherwise


def proportional_bytes(pids: Iterable[int]) -> int:
    """Bytes that these processes hold, pages shared by n of them counted as 1/n (PSS); RSS where PSS is unknown."""
    total = 0
    for pid in pids:
        try:
            lines = read(f"/proc/{pid}/smaps_rollup").splitlines()
            total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith((b"Pss:", b"SwapPss:")))
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            total += usage([pid])[1]
    return total


def send(pids: Iterable[int], number: int) -> None:
    """Signal every one of these processes that still exists and is ours to signal."""
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def send_group(group: int, number: int) -> None:
    """Signal a process group, unless it is empty."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


class Throttle:
    """A part of a processor, by stopping and continuing; pure arithmetic, so that it can be tested without waiting.

    CPU seconds are earned at `vcpus` a second and spent as the processes use them, on `cores` >= vcpus cores.

    At full load they run for PERIOD * vcpus / cores seconds, then stand still until the debt is paid and as much is
    saved as the next turn spends beyond what it earns. Idle time saves no more than one period's worth.
    """

    def __init__(self, vcpus: float, cores: int, now: float) -> None:
        self._vcpus = vcpus
        share = vcpus / cores
        self._turn = PERIOD * share
        self._saved_to_run = vcpus * PERIOD * (1.0 - share)
        self._balance = self._saved_to_run
        self._time, self._used = now, 0.0
        self.running = True

    def step(self, now: float, used: float) -> float:
        """Account for `used` CPU seconds in all, set `running`, and say after how many seconds to look again."""
        earned = self._vcpus * (now - self._time)
        self._balance = min(self._balance + earned, self._vcpus * PERIOD) - (used - self._used)
        self._time, self._used = now, used
        lacking = (0.0 if self.running else self._saved_to_run) - self._balance
        if self.running and lacking >= 0.0:
            self.running = False
            return max(SHORTEST, (self._saved_to_run + lacking) / self._vcpus)
        if not self.running and lacking > 0.0:
            return max(SHORTEST, lacking / self._vcpus)
        self.running = True
        return self._turn


def _stat(pid: int) -> list[bytes]:
    """Fields 3 and on of /proc/<pid>/stat (state, parent, group, session, ...); empty when the process has ended, or
    may not be looked at.
    """
    try:
        return read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return []


def read(path: str) -> bytes:
    """A file of /proc."""
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - as above
        return file.read() or b""
