"""Runs training programs on this machine, each under a warden of its own that enforces its machine, time and lease."""

from __future__ import annotations

import os
import selectors
import threading
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from leantune.checkpoints.store import CheckpointStore
from leantune.clock import Clock, RealClock
from leantune.executors.base import (
    GATHER_SECONDS,
    BaseExecutor,
    EndMode,
    Event,
    FreeCapacity,
    Terms,
    cores_for,
)
from leantune.executors.keeper import SAVE_EVERY, Checkpoints
from leantune.executors.local_run import LocalHost, LocalRun
from leantune.executors.machine import CoreLocks, RunLocks, check_cluster, this_host
from leantune.executors.registry import Charges, Past, ProgramSettings
from leantune.history import Trial
from leantune.units import NO_SECONDS, Seconds

if TYPE_CHECKING:
    from leantune.executors.remnants import RemnantsEnding

WATCH_SECONDS = 1.0  # between looks at wardens, which may have been stopped


@dataclass(frozen=True)
class LocalPlace:
    """The machine that LeanTune runs on, for a study: paid by the second, at the price that the job file gives."""

    settings: ProgramSettings
    charges: ClassVar[Charges] = Charges()

    def check(self) -> None:
        """Refuse clusters larger than this machine."""
        for cluster in self.settings.clusters:
            check_cluster(cluster)

    def executor(self, clock: Clock, past: Past = Past(), *, save_every: float = SAVE_EVERY) -> LocalExecutor:  # noqa: B008
        """Runs the study's program on this machine."""
        settings = replace(self.settings, store=past.store) if past.store else self.settings
        return LocalExecutor(settings, clock, save_every=save_every)


def place_of(settings: ProgramSettings) -> LocalPlace:
    """The machine that LeanTune runs on, for a study."""
    return LocalPlace(settings)


class LocalExecutor(BaseExecutor):
    """Every trial is one process tree under a warden; see `Programs` for the promises.

    This machine plays a configuration's cluster: its vCPUs by cores that no other trial of this user gets
    meanwhile (a part of one by stopping and continuing), its memory by a limit. Without a cluster nothing is enforced.
    `start` raises LeanTuneError where this machine is at fault (a full disk), and `step` where that shows later.
    """

    def __init__(
        self,
        settings: ProgramSettings,
        clock: Clock | None = None,
        *,
        save_every: float = SAVE_EVERY,
        locks: Path | None = None,
    ) -> None:
        """locks: where cores and trials are locked. Unless a test says otherwise, a user's processes share one folder
        for cores, and all processes of this host another one for trials.
        """
        store = None if settings.checkpoints is None else CheckpointStore(settings.checkpoints, settings.study)
        self._host = this_host()
        self._clock = clock or RealClock()
        self._awake, self._wake_file = os.pipe()
        self._closing, self._closed = threading.Lock(), False
        self._selector = selectors.DefaultSelector()
        for file in (self._awake, self._wake_file):
            os.set_blocking(file, False)
        self._selector.register(self._awake, selectors.EVENT_READ)
        self._cores = CoreLocks(self._host.cores, locks)
        self._checkpoints = Checkpoints(settings.runs, store, self._clock, self._wake, save_every)
        self._workplace = LocalHost(settings, self._checkpoints, self._cores, RunLocks(locks), self._clock, self._wake)
        self._runs: dict[int, LocalRun] = {}
        self._news: list[tuple[float, Event]] = []  # heard and not told yet
        self._endings: dict[tuple[int, int], RemnantsEnding] = {}  # of earlier workers' runs
        self._watch_over = threading.Event()
        self._watch = threading.Thread(target=self._watch_wardens, name="leantune-watchdog", daemon=True)

    @property
    def running(self) -> frozenset[int]:
        """Numbers of the trials that are started and not yet told as finished."""
        return frozenset(self._runs)

    def check(self, trial: Trial) -> None:
        """Refuse a cluster larger than this machine."""
        cluster = trial.configuration.cluster
        if cluster is not None:
            check_cluster(cluster, self._host)

    def capacity(self) -> FreeCapacity:
        """Cores that no trial of any process holds, and memory that is not promised to a trial."""
        cores, memory = self._cores.free(), self._host.memory_gib
        for run in self._runs.values():
            cluster = run.trial.configuration.cluster
            if cluster is not None:
                cores -= 0 if run.has_locks else cores_for(cluster.vcpus)
                memory -= cluster.memory_gib
        return FreeCapacity(self.running, cores=cores, memory_gib=memory)

    def start(self, trial: Trial, terms: Terms = Terms()) -> None:  # noqa: B008 - frozen
        """Start the program; one whose locks are held, or whose checkpoint is elsewhere, begins when it can."""
        self._refuse_twice(trial.number, self._runs)
        self.check(trial)
        if not self._watch.is_alive():
            self._watch.start()
        run = LocalRun(self._workplace, trial, terms)
        run.begin()
        self._runs[trial.number] = run

    def step(self, now: float) -> list[Event]:
        """Events of all runs, in the order of time."""
        self._hear()
        for run in self._runs.values():
            if run.error is not None:
                self._remove(run)
                raise run.error
        for run in sorted(self._runs.values(), key=lambda run: run.ended):  # of equal ends, in the order of starts
            if run.finished is not None:
                del self._runs[run.trial.number]
                self._news.append((run.ended, run.finished))
        news, self._news = sorted(self._news, key=lambda item: item[0]), []
        return [event for _, event in news]

    def wait(self, timeout: Seconds | None = None) -> None:
        """Sleep until a trial ends, for `timeout` seconds at most, and only for a moment once there is other news."""
        began = self._clock.monotonic()
        until = float("inf") if timeout is None else began + timeout
        self._hear()
        while self._runs and not any(run.finished or run.error for run in self._runs.values()):
            if self._news:
                until = min(until, began + GATHER_SECONDS)
            now = self._clock.monotonic()
            if now >= until:
                break
            self._sleep(min(until, *(run.next_look for run in self._runs.values())) - now)
            self._hear()

    def renew(self, number: int, ago: Seconds = NO_SECONDS) -> None:
        """Pass it on to the warden. May be called from another thread; a trial that has ended needs no lease."""
        run = self._runs.get(number)
        if run is not None:
            run.renew(ago)

    def end(self, number: int, mode: EndMode) -> None:
        """Ask the program to save a checkpoint and end, or kill everything that it started."""
        run = self._running(number)
        if mode is EndMode.KILL:
            self._remove(run)
            run.kill()
        else:
            run.interrupt(evict=mode is EndMode.EVICT)

    def save(self, number: int) -> None:
        """Have the checkpoint saved as soon as it is complete."""
        self._running(number).save()

    def forget(self, number: int) -> None:
        """Remove the trial's checkpoint, here and in the store, in the background."""
        self._refuse_running(number)
        self._checkpoints.forget(number)

    def kept(self, numbers: Iterable[int]) -> frozenset[int]:
        """Those whose folder, or place in the store, holds something."""
        return self._checkpoints.kept(numbers)

    def remains(self, number: int, attempt: int, grace: Seconds) -> bool:
        """Found by the mark in its environment and by the trial's lock, and ended in a thread."""
        from leantune.executors.remnants import RemnantsEnding

        ending = self._endings.get((number, attempt))
        if ending is not None and not ending.over:
            return True
        remnants = self._workplace.remnants(number, attempt)
        if not remnants.exist:
            self._endings.pop((number, attempt), None)
            return False
        self._endings[number, attempt] = RemnantsEnding(remnants, grace, self._wake)
        return True

    def close(self) -> None:
        """Kill all runs; saving that has begun is finished."""
        if self._closed:
            return
        self._watch_over.set()
        runs = list(self._runs.values())
        for run in runs:
            if run.warden is not None:
                run.warden.send({"stop": "kill"})  # all at once, before waiting for each
        for run in runs:
            self._remove(run)
            run.kill()
        self._checkpoints.close()
        with self._closing:
            self._closed = True
            self._selector.close()
            os.close(self._awake)
            os.close(self._wake_file)

    def _watch_wardens(self) -> None:
        """In a thread, as the worker may be busy for long: stopping a warden outlives no limit."""
        while not self._watch_over.wait(WATCH_SECONDS):
            for run in tuple(self._runs.values()):
                warden = run.listening_to
                if warden is not None:
                    warden.watch()

    def _running(self, number: int) -> LocalRun:
        self._check_running(number)
        return self._runs[number]

    def _sleep(self, seconds: float) -> None:
        """Until a run has news, or the time is over."""
        registered = self._selector.get_map()
        for run in self._runs.values():
            warden = run.listening_to
            if warden is not None and warden.fileno() not in registered:
                self._selector.register(warden, selectors.EVENT_READ)
        self._selector.select(None if seconds == float("inf") else max(0.0, seconds))

    def _hear(self) -> None:
        """Read the events of all runs."""
        if not self._runs:
            return
        with suppress(BlockingIOError):
            while os.read(self._awake, 4096):
                pass
        now = self._clock.monotonic()
        for run in self._runs.values():
            warden = run.listening_to
            file = None if warden is None else warden.fileno()
            self._news += run.look(now)
            if file is not None and run.listening_to is None:
                with suppress(KeyError):  # one that began and ended since the last sleep was never registered
                    self._selector.unregister(file)

    def _remove(self, run: LocalRun) -> None:
        """Nothing more is told of it."""
        del self._runs[run.trial.number]
        self._news = [(time, event) for time, event in self._news if event.number != run.trial.number]
        if run.listening_to is not None:
            with suppress(KeyError):
                self._selector.unregister(run.listening_to)

    def _wake(self) -> None:
        """From any thread: end the sleep."""
        with self._closing, suppress(BlockingIOError):  # full: it is awake already
            if not self._closed:
                os.write(self._wake_file, b"!")
