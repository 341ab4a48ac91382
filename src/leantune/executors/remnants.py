"""Ends the unattended remains of a run: its worker or its warden was killed."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress

from leantune.clock import Clock
from leantune.executors.machine import RunLocks
from leantune.worker import tree
from leantune.worker.messages import LONGEST_KILL, RunMark
from leantune.worker.remains import Remains, find_remains

WARDEN_MARGIN = 2.0  # seconds that a warden has, beyond the grace, to end what it looks after
_SHORTEST, _LONGEST = 0.01, 0.1  # seconds between looks


class Remnants:
    """What is left on this host of an attempt of a trial and of those before it."""

    def __init__(self, locks: RunLocks, mark: RunMark, clock: Clock) -> None:
        self._locks, self._mark, self._clock = locks, mark, clock

    def find(self) -> Remains:
        """All of it that we may see."""
        held = self._locks.is_held(self._mark)
        return find_remains(self._mark, str(self._locks.path(self._mark)), is_locked=held)

    @property
    def exist(self) -> bool:
        """Whether there is anything; an invisible process may hold the lock."""
        return self._locks.is_held(self._mark) or bool(self.find().processes)

    def end(self, grace: float, hurry: Callable[[], bool] = lambda: False) -> frozenset[int]:
        """SIGTERM, the grace, SIGKILL, until nothing is left that we may see; what cannot be killed is returned.

        A warden that lives is asked to do it: it has asked its program already where its worker died. hurry: whether
        the grace is over before its time.
        """
        asked: set[int] = set()
        now, pause = self._clock.monotonic(), _SHORTEST
        give_up = kill_at = now
        killing = False
        while remains := self.find():
            if not remains.processes:
                break
            now = self._clock.monotonic()
            new = (remains.wardens or remains.processes) - asked
            if not asked:
                kill_at = now + grace + (WARDEN_MARGIN if remains.wardens else 0.0)
            if not killing and (hurry() or (asked and now >= kill_at)):
                killing, give_up = True, now + LONGEST_KILL
            if killing:
                tree.send(remains.processes, signal.SIGKILL)
            else:
                tree.send(new, signal.SIGTERM)
                tree.send(remains.processes, signal.SIGCONT)
            asked |= new
            if killing and now >= give_up:
                return remains.processes
            self._clock.sleep(pause)
            pause = min(2 * pause, _LONGEST)
            _bury(remains.processes)
        return frozenset()


class RemnantsEnding:
    """`Remnants.end` in a thread of its own. left: what could not be killed, once it is over."""

    def __init__(self, remnants: Remnants, grace: float, done: Callable[[], None] = lambda: None) -> None:
        self._remnants, self._grace, self._done = remnants, grace, done
        self._hurry, self._over = threading.Event(), threading.Event()
        self.left: frozenset[int] = frozenset()
        self._thread = threading.Thread(target=self._end, name="leantune-remnants", daemon=True)
        self._thread.start()

    @property
    def over(self) -> bool:
        """Whether nothing is left, or nothing that can be killed."""
        return self._over.is_set()

    def kill(self) -> None:
        """Give no more time, and wait."""
        self._hurry.set()
        self._thread.join()

    def _end(self) -> None:
        try:
            self.left = self._remnants.end(self._grace, self._hurry.is_set)
        finally:
            self._over.set()
            self._done()


def _bury(pids: frozenset[int]) -> None:
    """Take note of the end of those that are children of this process, if any."""
    for pid in pids:
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
