"""A driver from our side: a process with pipes, asked one thing at a time, with a time-out.

One process of each library serves all replays of this process, one after the other: loading a library takes seconds.
A session is what was opened last; whoever opened before finds its session over, and opens again.
"""

from __future__ import annotations

import atexit
import json
import os
import selectors
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.arena.peers.drivers.wire import ASK, OPEN, TELL, Result, Suggestion, Task, as_message
from leantune.errors import LeanTuneError
from leantune.lab.replay.pool import ONE_THREAD

ROOT = Path(__file__).resolve().parents[3]
SECONDS = 120.0  # for one answer: the slowest libraries take some seconds
ERROR_LINES = 6  # of the error output, in a message
END_SECONDS = 2.0
_SEE = "Run its module by hand to see more"


class DriverProcess:
    """One driver, started at once. name: for messages. seconds: the longest that an answer may take."""

    def __init__(self, name: str, command: Sequence[str], *, seconds: float = SECONDS) -> None:
        self.name, self.seconds, self.session = name, seconds, 0
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 - see close
        environment = {**os.environ, **dict.fromkeys(ONE_THREAD, "1"), "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "0"}
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env=environment,
                start_new_session=True,  # Ctrl-C is ours to handle
            )
        except OSError as error:
            self._errors.close()
            hint = "python -m benchmarks.arena.peers install"
            raise LeanTuneError(f"it cannot be started: {error}", where=name, hint=hint) from error
        self._rest = b""

    @property
    def alive(self) -> bool:
        """Whether it can be asked."""
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    def open(self, task: Task) -> int:
        """Begin a task; the number of the session."""
        self._request(as_message(OPEN, task))
        self.session += 1
        return self.session

    def ask(self) -> Suggestion | None:
        """What the library wants to test; None: nothing any more."""
        answer = self._request(as_message(ASK))
        if "over" in answer:
            return None
        try:
            return Suggestion(str(answer["key"]), answer["point"], int(answer["level"]))
        except (KeyError, TypeError, ValueError):
            raise self._failure(f"its suggestion is {answer}", "It has key, point and level") from None

    def tell(self, result: Result) -> None:
        """What a test showed."""
        self._request(as_message(TELL, result))

    def close(self) -> None:
        """End it: its input ends; if that does not help, it is killed."""
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):  # it has died already
                self._process.stdin.close()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._errors.close()

    def _request(self, message: Mapping[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
        except (BrokenPipeError, ValueError):
            raise self._failure("it died", _SEE, dead=True) from None
        line = self._line()
        try:
            answer = json.loads(line)
        except ValueError:
            raise self._failure(f"its answer is no JSON: {line[:80]!r}", "One JSON object a line") from None
        if not isinstance(answer, dict):
            raise self._failure(f"its answer is {line[:80]!r}", "One JSON object a line")
        if "error" in answer:
            raise self._failure(str(answer["error"]), f"Asked to {message['do']}")
        return answer

    def _line(self) -> bytes:
        assert self._process.stdout is not None
        end = time.monotonic() + self.seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._rest:
                if not selector.select(max(0.0, end - time.monotonic())):
                    self._process.kill()
                    raise self._failure(f"no answer within {self.seconds:g} s", "It was ended", dead=True)
                read = os.read(self._process.stdout.fileno(), 65536)
                if not read:
                    raise self._failure("it died", _SEE, dead=True)
                self._rest += read
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def _failure(self, what: str, hint: str, *, dead: bool = False) -> LeanTuneError:
        """With what it last wrote on its error output; its session is over. dead: wait until its last words are out."""
        if dead:
            self._process.wait(END_SECONDS)
        self._errors.seek(0)
        last = " | ".join(line.strip() for line in self._errors.read().splitlines()[-ERROR_LINES:])
        self.session += 1
        return LeanTuneError(f"{what}{f'; it wrote: {last}' if last else ''}", where=self.name, hint=hint)


_RUNNING: dict[tuple[str, ...], DriverProcess] = {}


def shared_driver(name: str, command: Sequence[str]) -> DriverProcess:
    """The process of that command; started where none is alive."""
    known = _RUNNING.get(tuple(command))
    if known is not None and known.alive:
        return known
    if known is not None:
        known.close()
    _RUNNING[tuple(command)] = DriverProcess(name, command)
    return _RUNNING[tuple(command)]


@atexit.register
def close_drivers() -> None:
    """End all that this process started."""
    while _RUNNING:
        _RUNNING.popitem()[1].close()
