"""The warden: one small process for each running trial, which owns the training program and outlives nothing.

It starts the program, enforces its machine (cores, a part of a core, memory), its time limit and its lease, keeps its
log, passes its reports on, and at the end kills leftover processes. It is told what to do by JSON lines on its
standard input, and answers by JSON lines on its standard output, never waiting for a reader:

    in   {"argv": [...], ...}            the orders (`Orders`), first and once
         {"renewed": 123.4}              the lease began anew at that moment (monotonic), however late this is read
         {"stop": "term" | "kill"}       end the run, with its grace period or at once
    out  {"event": "started", "pid": 1}
         {"event": "report", "at": 1.5, "line": "{...}", "told": true}     told: through LEANTUNE_REPORTS
         {"event": "exit", ...}                                            (`Exit`), last and once

The end of its standard input means that the worker has died. Standard library only: it must start in milliseconds, and
no library's trouble may be the end of it.
"""

import json
import os
import resource
import select
import signal
import time  # noqa: TID251 - measures a run in the process that must not wait for others
from collections.abc import Callable
from contextlib import suppress
from math import inf

from leantune.worker import tree
from leantune.worker.messages import LONGEST_KILL, EndReason, Exit, Orders, Outbox
from leantune.worker.output import LONGEST_LINE, LineSplitter, LogFile
from leantune.worker.program import CHUNK, Program

MEMORY_PERIOD = 0.1  # seconds between looks at the memory of a machine
LONGEST_POLL = 86400.0  # seconds; the kernel counts milliseconds to 24 days
PARENT_PERIOD = 1.0  # seconds between looks whether the worker still exists
MOST_LEFTOVER = 16 << 20  # bytes read from a program's pipes after its end
LINE_SHOWN = 4096  # bytes of the last lines


def main() -> None:
    """Read the orders, carry them out, and end without ceremony."""
    text = b""
    while b"\n" not in text:
        more = os.read(0, CHUNK)
        if not more:
            os._exit(0)  # the worker died before it said what to do
        text += more
    orders, _, rest = text.partition(b"\n")
    Supervision(json.loads(orders), rest).run()
    os._exit(0)


def lease_deadlines(renewed: float, lease: float, grace: float) -> tuple[float, float]:
    """When to ask a run without renewals to end, and when to kill it: dead before the lease is over, by a margin."""
    usable = lease - min(1.0, 0.1 * lease)
    return renewed + max(usable - grace, lease / 2.0), renewed + usable


class Supervision:
    """The life of one run, from the orders to the exit event."""

    def __init__(self, orders: Orders, unread: bytes = b"") -> None:
        """unread: what the worker said after its orders."""
        self._orders, self._unread = orders, unread
        self._worker = os.getppid()
        self._renewed = time.monotonic() - orders["renewed_ago"]
        self._limit_at = self._ended = inf
        self._why = EndReason.NONE
        self._grace_until, self._killed, self._all_asked = inf, False, False
        self._cpu_seconds, self._peak_bytes, self._oom_kills = 0.0, 0, _oom_kills()
        self._asked_by_signal, self._long_lines = False, 0
        self._outbox = Outbox(1)
        self._splitters = {"out": LineSplitter(), "err": LineSplitter(), "told": LineSplitter()}

    def run(self) -> None:
        """Start the program, watch it to its end, and tell how it ended."""
        tree.adopt_orphans()
        self._log = LogFile(self._orders["log"], self._orders["log_limit"])
        self._fifo, fifo_path = _reports_fifo(self._orders["reports"], self._orders["temporary"])
        self._wake = self._wake_on_signals()
        self._program = Program(self._orders["argv"], self._orders["folder"], self._orders["cores"])
        if not self._program.failure:
            self._outbox.put({"event": "started", "pid": self._program.pid})
            if self._orders["time_limit"] is not None:
                self._limit_at = self._program.started + self._orders["time_limit"]
            self._read_orders(self._unread)
            self._watch()
        left = self._kill_everything()
        self._ended = time.monotonic()
        self._read_leftovers()
        self._log.close()
        with suppress(OSError):
            os.unlink(fifo_path)  # noqa: PTH108 - pathlib takes 5 ms to load
        for file in self._orders["held"]:
            os.close(file)
        self._outbox.put(self._exit(left), last=True)
        self._outbox.flush_to_the_end()

    # -- watching

    def _watch(self) -> None:
        """Until the program has ended or, once it was asked to, everything that it started, or its time is over."""
        poll, readers = select.poll(), self._readers()
        for file in readers:
            poll.register(file, select.POLLIN)
        looks = self._looks()
        while True:
            now = time.monotonic()
            wake = self._end_where_due(now)
            if self._why and now >= wake:
                self._killed = True
                return
            for index, (at, look) in enumerate(looks):
                if now >= at:
                    looks[index] = (now + look(now), look)
                wake = min(wake, looks[index][0])
            if self._outbox.waiting:
                poll.register(1, select.POLLOUT)
            for file, _ in poll.poll(None if wake == inf else min(max(0.0, wake - now), LONGEST_POLL) * 1000.0):
                if file == 1:
                    poll.unregister(1)
                elif not readers[file](file):
                    poll.unregister(file)
            self._outbox.flush()
            others = self._program.reap()
            if self._program.status is not None and not (self._why and others):
                return
            if self._program.status is not None and not self._all_asked:
                self._all_asked = True  # also those outside of the program's group, now that it cannot tell them
                tree.send(tree.descendants(os.getpid()), signal.SIGTERM)

    def _readers(self) -> dict[int, Callable[[int], bool]]:
        """What to read from, and how; a reader says whether there can be more."""
        return {
            0: self._read_worker,
            self._wake: lambda file: bool(os.read(file, CHUNK)),
            self._program.out: lambda file: self._read_stream(file, "out"),
            self._program.err: lambda file: self._read_stream(file, "err"),
            self._fifo: lambda file: self._read_stream(file, "told"),
        }

    def _looks(self) -> list[tuple[float, Callable[[float], float]]]:
        """What to look at again and again: when, and how; a look says after how many seconds the next one is due."""
        now, vcpus, cores = time.monotonic(), self._orders["vcpus"], len(self._orders["cores"])
        looks: list[tuple[float, Callable[[float], float]]] = [(now + PARENT_PERIOD, self._look_at_parent)]
        if self._orders["memory"]:
            looks.append((now + MEMORY_PERIOD, self._look_at_memory))
        if cores and vcpus < cores:
            self._throttle = tree.Throttle(vcpus, cores, self._program.started)
            looks.append((now, self._look_at_cpu))
        return looks

    def _end_where_due(self, now: float) -> float:
        """Ask the program to end where its time limit or lease is over; the time of the next such event."""
        lease_over = dead_by = inf
        if self._orders["lease"] is not None:
            lease_over, dead_by = lease_deadlines(self._renewed, self._orders["lease"], self._orders["grace"])
        if now >= lease_over:
            self._end(EndReason.LEASE)
        elif now >= self._limit_at:
            self._end(EndReason.TIMEOUT)
        elif self._asked_by_signal:
            self._end(EndReason.SIGNAL)
        return min(self._grace_until, dead_by) if self._why else min(lease_over, self._limit_at)

    def _end(self, why: EndReason) -> None:
        """SIGTERM to the program's group; what stands still must go on to notice it. The first reason counts."""
        if not self._why:
            self._why, self._grace_until = why, time.monotonic() + self._orders["grace"]
            tree.send_group(self._program.pid, signal.SIGTERM)
            tree.send(tree.descendants(os.getpid()), signal.SIGCONT)

    def _end_at_once(self, why: EndReason) -> None:
        self._why, self._grace_until = self._why or why, -inf

    def _look_at_parent(self, now: float) -> float:
        if os.getppid() != self._worker:
            self._end(EndReason.ORPHANED)
        return PARENT_PERIOD

    def _look_at_memory(self, now: float) -> float:
        """Summing RSS is cheap and counts shared pages more than once; only where that is too much, look closely."""
        pids, limit, period = tree.descendants(os.getpid()), self._orders["memory"], MEMORY_PERIOD
        held = tree.usage(pids)[1]
        if held > limit:
            held, period = tree.proportional_bytes(pids), 5 * MEMORY_PERIOD
        self._peak_bytes = max(self._peak_bytes, held)
        if held > limit:
            self._end_at_once(EndReason.MEMORY)
            return 0.0
        return period

    def _look_at_cpu(self, now: float) -> float:
        """Let the program run, or stand still, as its part of a processor says; one that is to end runs freely."""
        if self._why:
            return inf
        pids, was_running = tree.descendants(os.getpid()), self._throttle.running
        pause = self._throttle.step(now, tree.usage(pids)[0] + _reaped_cpu_seconds())
        if self._throttle.running != was_running:
            tree.send(pids, signal.SIGCONT if self._throttle.running else signal.SIGSTOP)
        return pause

    def _wake_on_signals(self) -> int:
        """A pipe that can be read when a child has ended, or when this process is asked to end."""
        readable, writable = os.pipe()
        for file in (readable, writable):
            os.set_blocking(file, False)
        signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._ask_by_signal)
        return readable

    def _ask_by_signal(self, number: int, frame: object) -> None:
        self._asked_by_signal = True

    # -- reading

    def _read_worker(self, file: int) -> bool:
        data = os.read(file, CHUNK)
        if not data:
            self._end(EndReason.ORPHANED)
        self._read_orders(data)
        return bool(data)

    def _read_orders(self, data: bytes) -> None:
        *lines, self._unread = (self._unread + data).split(b"\n")
        for line in lines:
            order = json.loads(line)
            if "renewed" in order:
                self._renewed = max(self._renewed, order["renewed"])
            elif order["stop"] == "kill":
                self._end_at_once(EndReason.STOP)
            else:
                self._end(EndReason.STOP)

    def _read_stream(self, file: int, name: str) -> bool:
        try:
            data = os.read(file, CHUNK)
        except BlockingIOError:
            return True
        if name != "told":
            self._log.write(data)
        self._pass_on(self._splitters[name].feed(data), name)
        return bool(data)

    def _pass_on(self, lines: list[bytes], name: str) -> None:
        """What may be a report goes to the worker, stamped with its arrival; what is read late came before the end."""
        if name == "err":
            return
        at = min(time.monotonic(), self._ended) - self._program.started
        for line in lines:
            if line.lstrip().startswith(b"{") and len(line) == LONGEST_LINE:
                self._long_lines += 1  # its end is missing
            elif line.lstrip().startswith(b"{"):
                self._outbox.put({"event": "report", "at": at, "line": _text(line), "told": name == "told"})

    def _read_leftovers(self) -> None:
        """What is still in the pipes; a process that cannot be killed may hold them open, so end where they are dry."""
        for file, name in ((self._program.out, "out"), (self._program.err, "err"), (self._fifo, "told")):
            for _ in range(MOST_LEFTOVER // CHUNK):
                ready, _, _ = select.select([file], [], [], 0)
                if not ready or not self._read_stream(file, name):
                    break
            self._pass_on(self._splitters[name].end(), name)

    # -- the end

    def _kill_everything(self) -> list[int]:
        """Kill every descendant until there is none; those that do not die are returned."""
        give_up, pause = time.monotonic() + LONGEST_KILL, 0.0005
        while self._program.reap():
            pids = tree.descendants(os.getpid())
            if time.monotonic() > give_up:
                return pids
            self._cpu_seconds = max(self._cpu_seconds, tree.usage(pids)[0] + _reaped_cpu_seconds())
            tree.send(pids, signal.SIGKILL)
            time.sleep(pause)
            pause = min(2 * pause, 0.02)
        return []

    def _exit(self, left: list[int]) -> Exit:
        out, err = self._splitters["out"], self._splitters["err"]
        code = -signal.SIGKILL if self._program.status is None else self._program.status
        return {
            "event": "exit",
            "error": self._program.failure,
            "code": code,
            "why": self._why,
            "killed": self._killed,
            "seconds": self._ended - self._program.started,
            "ended": self._ended,
            "cpu_seconds": max(self._cpu_seconds, _reaped_cpu_seconds()),
            "peak_bytes": max(self._peak_bytes, self._program.peak_bytes),
            "kernel_oom": code in (-signal.SIGKILL, 128 + signal.SIGKILL) and _oom_kills() > self._oom_kills,
            "log_cut": self._log.cut,
            "log_error": self._log.error,
            "dropped": self._outbox.dropped,
            "long_lines": self._long_lines,
            "left": left,
            "last_line": _text(out.last[:LINE_SHOWN]),
            "last_error": _text(err.last[:LINE_SHOWN]),
            "tail": f"{_text(out.tail)}\n{_text(err.tail)}",
        }


def _reports_fifo(path: str, elsewhere: str) -> tuple[int, str]:
    """A named pipe for reports, open at both ends so that it never ends; the program finds it by LEANTUNE_REPORTS.

    It lies among temporary files where the folder's file system knows no such pipes.
    """
    try:
        _make_fifo(path)
    except OSError:
        path = f"{elsewhere}/leantune-reports-{os.getuid()}-{os.getpid()}"
        _make_fifo(path)
    os.environ["LEANTUNE_REPORTS"] = path
    return os.open(path, os.O_RDWR | os.O_NONBLOCK), path


def _make_fifo(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)  # noqa: PTH108 - a killed warden left it behind
    os.mkfifo(path, 0o600)


def _reaped_cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _oom_kills() -> int:
    """How often the kernel has killed for want of memory since it was started; 0 where it does not say."""
    try:
        with open("/proc/vmstat", "rb") as file:  # noqa: PTH123 - pathlib takes 5 ms to load
            return sum(int(line.split()[1]) for line in file if line.startswith(b"oom_kill "))
    except OSError:
        return 0


def _text(data: bytes) -> str:
    return data.decode("utf-8", errors="replace")
