"""What a worker and its warden say to each other (`supervision` has the protocol), and how the warden sends it: by
JSON lines that never wait for their reader; and the name of a run, which all its processes carry. Standard library
only.
"""

import json
import os
import select
import time  # noqa: TID251 - in the warden, which measures for itself
from collections import deque
from enum import StrEnum
from typing import NamedTuple, TypedDict

LONGEST_KILL = 10.0  # seconds after which a process that SIGKILL does not end (waiting for a dead disk) is left alone
RUN_VARIABLE = "LEANTUNE_RUN"  # the environment variable of a `RunMark`
MOST_UNREAD = 8 << 20  # bytes kept for a worker that does not read; the oldest lines are dropped
LONGEST_GOODBYE = 600.0  # seconds that a stopped worker has to read the last messages


class EndReason(StrEnum):
    """Why a run was ended by us; NONE where it ended by itself."""

    NONE = ""
    TIMEOUT = "timeout"
    STOP = "stop"  # its worker asked for it
    LEASE = "lease"  # it was not renewed in time
    ORPHANED = "orphaned"  # its worker has died
    MEMORY = "memory"
    SIGNAL = "signal"  # the warden received a signal


class RunMark(NamedTuple):
    """The name of a run, which all its processes have in their environment.

    store: names the study's store on this host (`StudyStore.key`). trial, attempt: numbers.
    """

    store: str
    study: str
    trial: int
    attempt: int

    @property
    def text(self) -> str:
        """As it stands in the environment."""
        return json.dumps(self)

    @property
    def environment(self) -> dict[str, str]:
        """What a process of the run has in its environment."""
        return {RUN_VARIABLE: self.text}

    def is_of_same_trial(self, other: "RunMark") -> bool:
        """Whether both are runs of one trial."""
        return self[:3] == other[:3]


class Orders(TypedDict):
    """A run and its terms.

    lease, renewed_ago: seconds, None for no lease. cores: to run on, empty for all. vcpus: at most the cores. memory:
    bytes, 0 for any. reports: where to make the named pipe; temporary: the folder to make it in otherwise. held: file
    descriptors of locks, held by every process of the run, and by the warden until all has ended.
    """

    argv: list[str]
    folder: str
    log: str
    log_limit: int
    reports: str
    temporary: str
    time_limit: float | None
    grace: float
    lease: float | None
    renewed_ago: float
    cores: list[int]
    vcpus: float
    memory: int
    held: list[int]


class Exit(TypedDict):
    """How a run ended.

    error: why it could not be started. code: exit code, or minus the signal. why: an `EndReason`. killed: SIGTERM was
    not enough. long_lines: that began as reports and were too long to be read. left: processes that did not die. tail:
    the last bytes of output and errors.
    """

    event: str
    error: str
    code: int
    why: str
    killed: bool
    seconds: float
    ended: float
    cpu_seconds: float
    peak_bytes: int
    kernel_oom: bool
    log_cut: int
    log_error: str
    dropped: int
    long_lines: int
    left: list[int]
    last_line: str
    last_error: str
    tail: str


class Outbox:
    """Written as far as the worker reads; a bounded amount is kept for one that does not. dropped: lines it lost."""

    def __init__(self, file: int, most_unread: int = MOST_UNREAD) -> None:
        self._file, self._most_unread = file, most_unread
        self._lines: deque[bytes] = deque()
        self._size = 0
        self._partly = memoryview(b"")  # the line that is under way
        self.dropped = 0
        os.set_blocking(file, False)

    @property
    def waiting(self) -> bool:
        """Whether something could not be written yet."""
        return bool(self._partly or self._lines)

    def put(self, message: object, *, last: bool = False) -> None:
        """Send a message, now or when there is room; the last one costs no other its place."""
        line = json.dumps(message).encode() + b"\n"
        self._lines.append(line)
        self._size += len(line)
        while not last and self._size > self._most_unread and len(self._lines) > 1:
            self._size -= len(self._lines.popleft())
            self.dropped += 1
        self.flush()

    def flush(self) -> None:
        """Write what the pipe takes; a worker that is gone takes everything."""
        try:
            while self.waiting:
                if not self._partly:
                    line = self._lines.popleft()
                    self._size -= len(line)
                    self._partly = memoryview(line)
                self._partly = self._partly[os.write(self._file, self._partly) :]
        except BlockingIOError:
            pass
        except OSError:
            self._lines.clear()
            self._size, self._partly = 0, memoryview(b"")

    def flush_to_the_end(self) -> None:
        """Wait for a reader that is only slow."""
        poll = select.poll()
        poll.register(self._file, select.POLLOUT)
        end = time.monotonic() + LONGEST_GOODBYE
        while self.waiting and time.monotonic() < end:
            poll.poll(1000)
            self.flush()
