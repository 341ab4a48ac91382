"""A worker of a study: its settings, its tools, its leases, and whether other workers are still alive.

A lease tells that a worker anywhere has vanished, after a while. Of workers on the same machine we know it at once:
their process is gone, or its number belongs to a process that started at another time.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from leantune.checkpoints import Keep
from leantune.clock import Clock
from leantune.executors.base import Executor
from leantune.history import History
from leantune.problem import Problem
from leantune.run.events import Observer
from leantune.run.ledger import TimeRules
from leantune.store.rows import WorkerRow
from leantune.strategies.tuner import Tuner
from leantune.units import Seconds

if TYPE_CHECKING:
    from leantune.store.base import Store

PROC = Path("/proc")
ZOMBIE = "Z"
UNKNOWN = 0.0  # ticks, where a process exists and its start is unknown
RENEWALS = 4  # in one lease: three may be missed


@dataclass(frozen=True)
class LoopSettings:
    """How a worker works.

    lease: seconds after which a vanished worker's trial is given to another; None where the study is not shared.
    poll: seconds after which a wait for running trials looks up again; None: only when something happens.
    deterministic: propose in whole batches of `batch`. max_failures: give up when so many trials have failed and none
    succeeded. false_start: seconds within which a failure before any report may be that of the program rather than of
    its configuration; None: it never is. alone: no other worker ever works on the study, so none can vanish. due: by
    when the best of the paused must be chosen, where there is a deadline; infinite while none has paused. keep: whose
    checkpoints outlive their trials.
    """

    problem: Problem
    tuner: Tuner
    seed: int
    rules: TimeRules
    lease: float | None = 60.0
    poll: float | None = 0.25
    deterministic: bool = False
    batch: int = 1
    max_failures: int | None = 5
    false_start: float | None = None
    alone: bool = False
    due: Callable[[History], float] | None = None
    keep: Keep = Keep.NONE


@dataclass(frozen=True)
class Workplace:
    """What a worker uses: the study, its settings, the executor, the clock, and the observer."""

    store: Store
    settings: LoopSettings
    executor: Executor
    clock: Clock
    observer: Observer


class Heartbeat:
    """Renews a worker's leases from a thread of its own, so that a long proposal, or a training function in this
    process, does not cost it its trials: every trial it was told to `hold` keeps its lease.
    """

    def __init__(self, store: Store, executor: Executor, worker: str, lease: float, clock: Clock) -> None:
        self._store, self._executor, self._worker, self._lease, self._clock = store, executor, worker, lease, clock
        self._lock = threading.Lock()
        self._held: set[int] = set()
        self._lost: set[int] = set()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="leantune-heartbeat", daemon=True)
        self._failure: Exception | None = None

    def hold(self, number: int) -> None:
        """Renew this trial's lease from now on."""
        with self._lock:
            self._held.add(number)
            self._lost.discard(number)

    def release(self, number: int) -> None:
        """Its run has ended."""
        with self._lock:
            self._held.discard(number)

    def take_lost(self) -> frozenset[int]:
        """Trials that another worker has taken over; each is returned once. Raises the thread's error."""
        if self._failure is not None:
            raise self._failure
        with self._lock:
            lost, self._lost = frozenset(self._lost), set()
        return lost

    def __enter__(self) -> Heartbeat:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def _beat(self) -> None:
        if hasattr(signal, "pthread_sigmask"):  # where threads get signals, they are for the main thread
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
        period, due = self._lease / RENEWALS, self._clock.monotonic()
        try:
            while not self._over.wait(max(0.0, due + period - self._clock.monotonic())):
                due = self._clock.monotonic()  # a renewal that took longer than the period is followed by one at once
                self._renew(due)
                self._store.seen(self._worker, self._clock.now())
        except Exception as error:  # noqa: BLE001 - raised again in the loop's own thread, by take_lost
            self._failure = error

    def _renew(self, began: float) -> None:
        """The store counts the lease from when the renewal began; the run is told how long ago that was."""
        with self._lock:
            held = frozenset(self._held)
        kept = self._store.renew(self._worker, held, time=self._clock.now(), lease=self._lease)
        ago = Seconds(self._clock.monotonic() - began)
        for number in kept:
            self._executor.renew(number, ago)
        with self._lock:
            self._lost |= (held - kept) & self._held
            self._held -= self._lost


def this_worker(slots: int, clock: Clock) -> WorkerRow:
    """A new worker that is this process."""
    pid, now = os.getpid(), clock.now()
    name = f"{socket.gethostname()}-{pid}-{uuid.uuid4().hex[:8]}"
    return WorkerRow(name, this_host(), pid, process_start(pid) or UNKNOWN, slots, now, now)


def this_host() -> str:
    """Names the place where process numbers mean the same: machine, boot and process namespace."""
    boot, namespace = PROC / "sys/kernel/random/boot_id", PROC / "self/ns/pid"
    started = boot.read_text(encoding="ascii").strip() if boot.exists() else ""
    return f"{socket.gethostname()} {started} {namespace.stat().st_ino if namespace.exists() else ''}".strip()


def process_start(pid: int) -> float | None:
    """When the process started, in clock ticks since boot; None when it is gone, or a zombie; UNKNOWN
    where it exists and we may not know more (another user's under hidepid, a system without /proc).
    """
    try:
        fields = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return UNKNOWN if _exists(pid) else None
    return None if fields[0] == ZOMBIE else float(fields[19])


def dead_workers(workers: Iterable[WorkerRow]) -> frozenset[str]:
    """Ids of the workers of this machine whose process is gone; of other machines nothing is known, and a process that
    we may not look at is not taken to be gone.
    """
    here = this_host()
    return frozenset(worker.id for worker in workers if worker.host == here and _is_gone(worker))


def _is_gone(worker: WorkerRow) -> bool:
    started = process_start(worker.pid)
    return started is None or (started != worker.process_started and UNKNOWN not in (started, worker.process_started))


def _exists(pid: int) -> bool:
    """Asked of the kernel, which hides no process."""
    if sys.platform == "win32":
        return True  # os.kill(pid, 0) would send it Ctrl-C
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
