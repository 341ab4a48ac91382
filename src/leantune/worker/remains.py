"""What an attempt of a trial left on this host: found by the mark in its environment, by the lock it holds, by its
session and by its ancestors. Standard library only, Linux only.

A process that we may not look into is none of what is found here; the lock that it holds still says that there is one.
"""

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from leantune.worker import tree
from leantune.worker.messages import RUN_VARIABLE, RunMark

WARDEN = b"/worker/warden.py"
_CLOSED_AT_EXEC = 0o2000000  # O_CLOEXEC as /proc/<pid>/fdinfo shows it


class Remains(NamedTuple):
    """Process ids. wardens: those among `processes` that look after the rest of their run; a stopped one does not."""

    processes: frozenset[int]
    wardens: frozenset[int]


def find_remains(mark: RunMark, lock: str, *, is_locked: bool) -> Remains:
    """What is left of an attempt and of those before it.

    is_locked: whether a process holds the trial's lock; then its holder is found as well, also without a mark, unless
    a later attempt is at work, to which the lock belongs.
    """
    spared = {os.getpid(), *tree.ancestors(os.getpid())}
    marked = {pid: own for pid, own in _marks() if own.is_of_same_trial(mark) and pid not in spared}
    roots = {pid for pid, own in marked.items() if own.attempt <= mark.attempt}
    later = {pid for pid in marked if pid not in roots}
    if is_locked and not later:
        roots |= set(_holders(os.path.realpath(lock))) - spared
    sessions = {tree.session(pid) for pid in roots} - {tree.session(pid) for pid in spared | later} - {0}
    roots |= {pid for pid in tree.all_processes() if tree.session(pid) in sessions} if sessions else set()
    children = {child for pid in roots for child in tree.descendants(pid)}
    left = frozenset(pid for pid in (roots | children) - spared - later if tree.is_alive(pid))
    return Remains(left, frozenset(pid for pid in left if _is_warden(pid) and not tree.is_stopped(pid)))


def _marks() -> Iterable[tuple[int, RunMark]]:
    for pid in tree.all_processes():
        with suppress(OSError):  # it has ended, or belongs to another user
            mark = read_mark(tree.read(f"/proc/{pid}/environ"))
            if mark is not None:
                yield pid, mark


def read_mark(environment: bytes) -> RunMark | None:
    """The mark in the text of /proc/<pid>/environ; None without one, and for one that we have not written."""
    start = f"{RUN_VARIABLE}=".encode()
    if start not in environment:
        return None
    for entry in environment.split(b"\0"):
        if entry.startswith(start):
            try:
                store, study, trial, attempt = json.loads(entry[len(start) :])
                return RunMark(str(store), str(study), int(trial), int(attempt))
            except (ValueError, TypeError):
                return None
    return None


def _holders(lock: str) -> Iterable[int]:
    """Processes that inherited the lock's file. A worker that is about to start a run has it closed at exec."""
    for pid in tree.all_processes():
        with suppress(OSError):
            for file in os.listdir(f"/proc/{pid}/fd"):  # noqa: PTH208 - as in tree
                with suppress(OSError):
                    if os.readlink(f"/proc/{pid}/fd/{file}") == lock and _was_inherited(pid, file):  # noqa: PTH115
                        yield pid
                        break


def _was_inherited(pid: int, file: str) -> bool:
    for line in tree.read(f"/proc/{pid}/fdinfo/{file}").splitlines():
        if line.startswith(b"flags:"):
            return not int(line.split()[1], 8) & _CLOSED_AT_EXEC
    return False


def _is_warden(pid: int) -> bool:
    try:
        words = tree.read(f"/proc/{pid}/cmdline").split(b"\0")
    except OSError:
        return False
    return len(words) > 3 and words[1:3] == [b"-I", b"-S"] and words[3].endswith(WARDEN)
