"""The training program as a child of its warden: how it is started, and how its end is noticed."""

import errno
import os
import signal
import time  # noqa: TID251 - in the warden, which measures for itself
from collections.abc import Sequence
from typing import NoReturn

from leantune.worker import tree

CHUNK = 1 << 16
NOT_STARTED = 127  # the exit code of a shell that finds no program


class Program:
    """In a session of its own, its input empty, its output and errors in pipes (`out`, `err`).

    failure: why it could not be started, or empty. status: as `os.waitstatus_to_exitcode` says it, None while it runs.
    started: by the monotonic clock. peak_bytes: the most that one of its processes held, of those that have ended.
    """

    def __init__(self, argv: list[str], folder: str, cores: Sequence[int]) -> None:
        self.out, out = os.pipe()
        self.err, err = os.pipe()
        failure, tell_failure = os.pipe()
        self.started = time.monotonic()
        warden = os.getpid()
        self.pid = os.fork()
        if self.pid == 0:
            _become_program(argv, folder, cores, warden, (out, err, tell_failure))
        for file in (out, err, tell_failure):
            os.close(file)
        for file in (self.out, self.err):
            os.set_blocking(file, False)
        self.status: int | None = None
        self.peak_bytes = 0
        self.failure = os.read(failure, CHUNK).decode(errors="replace")  # ends when the program begins
        os.close(failure)

    def reap(self) -> bool:
        """Take note of every process that has ended; whether any is left."""
        while True:
            try:
                pid, status, used = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            self.peak_bytes = max(self.peak_bytes, used.ru_maxrss * 1024)
            if pid == self.pid:
                self.status = os.waitstatus_to_exitcode(status)


def _become_program(
    argv: list[str], folder: str, cores: Sequence[int], warden: int, pipes: tuple[int, int, int]
) -> NoReturn:
    """In the new process: everything that is to be different before the program begins. Never returns."""
    out, err, tell_failure = pipes
    place = folder
    try:
        os.setsid()
        tree.die_with_parent()
        if os.getppid() != warden:
            os._exit(NOT_STARTED)  # the warden died before it could take us along
        if cores:
            os.sched_setaffinity(0, cores)
        _die_before_others()
        for source, target in ((os.open(os.devnull, os.O_RDONLY), 0), (out, 1), (err, 2)):
            os.dup2(source, target)
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # which Python ignores, and programs expect to die of
            signal.signal(number, signal.SIG_DFL)
        os.chdir(folder)
        place = argv[0]
        os.execvpe(place, argv, os.environ)
    except (OSError, ValueError) as error:
        os.write(tell_failure, _reason(error, place, folder).encode(errors="replace"))
    finally:
        os._exit(NOT_STARTED)


def _reason(error: OSError | ValueError, place: str, folder: str) -> str:
    """In words, for the two places where a start goes wrong: the folder and the program."""
    if isinstance(error, ValueError):  # no text that can be an argument
        return f"{place!r}: {error}"
    if place == folder:
        return f"its folder {folder!r}: {error.strerror}"
    missing = f"there is no program {place!r} (seen from {folder!r}), or the interpreter it names is missing"
    reasons = {
        errno.ENOENT: missing if "/" in place else f"there is no program {place!r} on the PATH",
        errno.EACCES: f"{place!r} is not executable: chmod +x it, or name its interpreter first",
        errno.ENOEXEC: f"{place!r} does not say how to run it: begin it with #!/bin/sh, or name its interpreter first",
    }
    return reasons.get(error.errno or 0, f"{place!r}: {error.strerror}")


def _die_before_others() -> None:
    """Where the kernel runs out of memory, the training program is to go before its warden and its worker."""
    try:
        with open("/proc/self/oom_score_adj", "r+b", buffering=0) as file:  # noqa: PTH123 - pathlib takes 5 ms
            file.write(str(max(300, int(file.read()))).encode())
    except OSError:
        pass  # some sandboxes do not allow it
