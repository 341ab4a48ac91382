"""The worker's end of a warden: starts the process, sends orders, and reads messages."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from leantune import worker
from leantune.errors import LeanTuneError
from leantune.worker.messages import LONGEST_KILL, Orders

SCRIPT = Path(worker.__file__).with_name("warden.py")
PATIENCE = LONGEST_KILL + 5.0  # seconds in which a warden that was told to has killed everything
PATIENT_LOOKS = 5  # at a warden that is stopped again and again, before it is killed
_CHUNK = 1 << 20
_NOISE = 2000  # characters that are kept of a warden's own errors


class WardenProcess:
    """A warden with the run it supervises. It holds the files `held` (locks) until everything has ended.

    over: it said its last word, or died. was_thorough: it ended by itself, when all of its run had ended. Only `send`
    and `watch` may be called from another thread.
    """

    def __init__(self, orders: Orders, environment: Mapping[str, str], held: Sequence[int]) -> None:
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(SCRIPT)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=dict(environment),
                pass_fds=held,
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            raise LeanTuneError(
                f"no process can be started: {error.strerror}",
                where=sys.executable,
                hint="Look at the limits of this user",
            ) from None
        assert self._process.stdin is not None and self._process.stdout is not None
        self._in, self._out = self._process.stdin, self._process.stdout
        self._sending = threading.Lock()
        self._unread = b""
        self.noise = ""
        self.over = False
        self.was_thorough = False
        self._stopped = 0  # looks in a row that found it standing still
        unsent = memoryview(json.dumps(orders).encode() + b"\n")
        with suppress(BrokenPipeError):
            while unsent:
                unsent = unsent[self._in.write(unsent) :]
        os.set_blocking(self._in.fileno(), False)
        os.set_blocking(self._out.fileno(), False)

    def fileno(self) -> int:
        """Readable when the warden has sent a message."""
        return self._out.fileno()

    @property
    def pid(self) -> int:
        """Of the warden, not of the program."""
        return self._process.pid

    def send(self, message: Mapping[str, object]) -> None:
        """Send an order; a warden that has ended, or reads no more, is not waited for."""
        with self._sending, suppress(BrokenPipeError, BlockingIOError):
            if not self._in.closed:
                self._in.write(json.dumps(message).encode() + b"\n")

    def watch(self) -> None:
        """Let a warden go on that was stopped; one that is stopped every time is killed, and its run ended."""
        if not _is_stopped(self.pid):
            self._stopped = 0
            return
        self._stopped += 1
        self._process.send_signal(signal.SIGKILL if self._stopped > PATIENT_LOOKS else signal.SIGCONT)

    def events(self) -> list[dict[str, Any]]:
        """Its messages since the last call."""
        data = self._read()
        *lines, self._unread = (self._unread + data).split(b"\n")
        events = []
        for line in lines:
            try:
                events.append(json.loads(line))
            except ValueError:  # a traceback
                self.noise = f"{self.noise}{line.decode(errors='replace')}\n"[-_NOISE:]
        return events

    def _read(self) -> bytes:
        parts = []
        with suppress(BlockingIOError):
            while part := os.read(self._out.fileno(), _CHUNK):
                parts.append(part)
            self.over = True
        return b"".join(parts)

    def end(self) -> None:
        """Wait for a warden that has sent its last message, so that its locks are free."""
        try:
            self.was_thorough = self._process.wait(PATIENCE) == 0
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._close()

    def kill(self) -> None:
        """End the run at once, and wait until everything has ended; nothing it says is heard any more."""
        self.send({"stop": "kill"})
        self._process.send_signal(signal.SIGCONT)
        self._out.close()  # so that it does not wait for a reader
        self.end()

    def _close(self) -> None:
        self.over = True
        with self._sending:
            with suppress(BrokenPipeError):
                self._in.close()
            self._out.close()


def _is_stopped(pid: int) -> bool:
    """Whether the process is stopped; no where that cannot be asked."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[:1] == [b"T"]
    except OSError:
        return False
