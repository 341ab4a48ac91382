"""Who works on a study, and whether a worker of this machine is still alive.

A lease tells that a worker anywhere has vanished, after a while. Of workers on the same machine we know it at once:
their process is gone, or its number belongs to a process that started at another time.
"""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Iterable
from pathlib import Path

from leantune.clock import Clock
from leantune.store.rows import WorkerRow

PROC = Path("/proc")
ZOMBIE = "Z"


def this_worker(slots: int, clock: Clock) -> WorkerRow:
    """A new worker that is this process."""
    pid, now = os.getpid(), clock.now()
    name = f"{socket.gethostname()}-{pid}-{uuid.uuid4().hex[:8]}"
    return WorkerRow(name, this_host(), pid, process_start(pid) or 0.0, slots, now, now)


def this_host() -> str:
    """Names the place where process numbers mean the same: machine, boot and process namespace."""
    boot, namespace = PROC / "sys/kernel/random/boot_id", PROC / "self/ns/pid"
    started = boot.read_text(encoding="ascii").strip() if boot.exists() else ""
    return f"{socket.gethostname()} {started} {namespace.stat().st_ino if namespace.exists() else ''}".strip()


def process_start(pid: int) -> float | None:
    """When the process started, in clock ticks since boot; None when it is gone, or only waits to be buried."""
    try:
        fields = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None if PROC.is_dir() or not _answers(pid) else 0.0
    return None if fields[0] == ZOMBIE else float(fields[19])


def dead_workers(workers: Iterable[WorkerRow]) -> frozenset[str]:
    """Ids of the workers of this machine whose process is gone; of other machines nothing is known."""
    here = this_host()
    return frozenset(
        worker.id for worker in workers if worker.host == here and process_start(worker.pid) != worker.process_started
    )


def _answers(pid: int) -> bool:
    """For systems without /proc: whether a process of that number exists."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
