"""Runs training programs on this machine, each under a warden of its own that enforces its machine, time and lease."""

from __future__ import annotations

import os
import selectors
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

from leantune.checkpoints.store import CheckpointStore
from leantune.clock import Clock, RealClock
from leantune.errors import IllegalMove, UnknownTrial
from leantune.executors.base import Finished, Report, Terms
from leantune.executors.keeper import SAVE_EVERY, Background
from leantune.executors.local_run import Arguments, LocalRun, Setting
from leantune.executors.machine import CoreLocks, check_cluster, cores_for, this_host
from leantune.history import Trial
from leantune.problem import Problem
from leantune.units import Seconds

LOG_LIMIT = 10 * 2**20  # bytes


class LocalExecutor:
    """Every trial is one process tree under a warden; see `Executor` for the promises.

    A configuration's cluster is stood in for by this machine: its vCPUs by cores that no other trial of this user gets
    meanwhile (a part of one by stopping and continuing), its memory by a limit. Without a cluster nothing is enforced.
    `start` raises LeanTuneError where this machine is at fault (a full disk), and `wait` where that shows later.
    """

    def __init__(  # noqa: PLR0913 - two places, a clock, and what has a default, all by name
        self,
        problem: Problem,
        arguments: Arguments,
        *,
        folder: Path,
        runs: Path,
        checkpoints: CheckpointStore | None = None,
        clock: Clock | None = None,
        study: str = "",
        log_limit: int = LOG_LIMIT,
        environment: Mapping[str, str] = MappingProxyType({}),
        save_every: float = SAVE_EVERY,
        locks: Path | None = None,
    ) -> None:
        """arguments: the command line of a trial. folder: where programs start. runs: gets a folder for each trial.

        environment: variables besides this process's own. locks: the folder in which cores are locked; all of a user's
        processes share one unless a test says otherwise.
        """
        self._host = this_host()
        self._clock = clock or RealClock()
        self._awake, self._wake_file = os.pipe()
        self._closing, self._closed = threading.Lock(), False
        self._selector = selectors.DefaultSelector()
        for file in (self._awake, self._wake_file):
            os.set_blocking(file, False)
        self._selector.register(self._awake, selectors.EVENT_READ)
        self._background = Background(self._wake)
        self._cores = CoreLocks(self._host.cores, locks)
        self._setting = Setting(
            problem=problem,
            arguments=arguments,
            folder=folder,
            runs=runs,
            checkpoints=checkpoints,
            clock=self._clock,
            study=study,
            log_limit=log_limit,
            environment=dict(environment),
            save_every=save_every,
            cores=self._cores,
            background=self._background,
            wake=self._wake,
        )
        self._runs: dict[int, LocalRun] = {}
        self._reports: list[Report] = []

    @property
    def running(self) -> frozenset[int]:
        """Numbers of the trials that are started and not yet reported."""
        return frozenset(self._runs)

    def check(self, trial: Trial) -> None:
        """Refuse a cluster that this machine cannot stand in for."""
        cluster = trial.configuration.cluster
        if cluster is not None:
            check_cluster(cluster, self._host)

    def room_for(self, trial: Trial) -> bool:
        """Whether enough cores are free, also of other processes' trials, and enough memory is promised to nobody."""
        cluster = trial.configuration.cluster
        if cluster is None or trial.number in self._runs:
            return trial.number not in self._runs
        others = (run.trial.configuration.cluster for run in self._runs.values())
        promised = sum(other.memory_gib for other in others if other is not None)
        fits = promised + cluster.memory_gib <= self._host.memory_gib
        return fits and self._cores.free(cores_for(cluster.vcpus))

    def start(self, trial: Trial, terms: Terms = Terms()) -> None:  # noqa: B008 - frozen
        """Start the program; one whose locks are held, or whose checkpoint is elsewhere, begins when it can."""
        if trial.number in self._runs:
            raise IllegalMove("it is running already", where=f"trial {trial.number}", hint="Start each trial once")
        self.check(trial)
        run = LocalRun(self._setting, trial, terms)
        run.begin()
        self._runs[trial.number] = run

    def wait(self, timeout: Seconds | None = None) -> list[Finished]:
        """Wait until a trial ends, or for `timeout` seconds."""
        until = float("inf") if timeout is None else self._clock.now() + timeout
        self._look(0.0)
        while not (ended := self._take_ended()) and self._runs:
            now = self._clock.now()
            if now >= until:
                break
            self._look(min(until, *(run.next_look for run in self._runs.values())) - now)
        return ended

    def reports(self) -> list[Report]:
        """What trials reported since the last call."""
        reports, self._reports = self._reports, []
        return reports

    def renew(self, number: int) -> None:
        """Pass it on to the warden. May be called from another thread; a trial that has ended needs no lease."""
        run = self._runs.get(number)
        if run is not None:
            run.renew()

    def interrupt(self, number: int) -> None:
        """Ask the program to save a checkpoint and end."""
        self._running(number).interrupt()

    def evict(self, number: int) -> None:
        """As `interrupt`, and whatever it says then, it is not done: its machine is about to go, and it must leave."""
        self._running(number).evict()

    def stop(self, number: int) -> None:
        """Kill everything that the program started, and forget the trial."""
        run = self._running(number)
        self._forget(run)
        run.kill()

    def close(self) -> None:
        """Kill whatever runs; saving that has begun is finished."""
        if self._closed:
            return
        runs = list(self._runs.values())
        for run in runs:
            if run.warden is not None:
                run.warden.send({"stop": "kill"})  # all at once, before waiting for each
        for run in runs:
            self._forget(run)
            run.kill()
        self._background.close()
        with self._closing:
            self._closed = True
            self._selector.close()
            os.close(self._awake)
            os.close(self._wake_file)

    def _running(self, number: int) -> LocalRun:
        if number not in self._runs:
            running = ", ".join(map(str, sorted(self._runs))) or "none"
            raise UnknownTrial(f"trial {number} is not running", where="LocalExecutor", hint=f"Running: {running}")
        return self._runs[number]

    def _look(self, pause: float) -> None:
        """Sleep until somebody has something to say, then hear everybody."""
        if not self._runs:
            return
        registered = self._selector.get_map()
        for run in self._runs.values():
            if run.warden is not None and not run.warden.over and run.warden.fileno() not in registered:
                self._selector.register(run.warden, selectors.EVENT_READ)
        self._selector.select(None if pause == float("inf") else max(0.0, pause))
        with suppress(BlockingIOError):
            while os.read(self._awake, 4096):
                pass
        now = self._clock.now()
        for run in self._runs.values():
            file = run.warden.fileno() if run.warden is not None and not run.warden.over else None
            self._reports += run.look(now)
            if file is not None and run.warden is not None and run.warden.over:
                with suppress(KeyError):  # one that began and ended since the last look was never registered
                    self._selector.unregister(file)

    def _take_ended(self) -> list[Finished]:
        """In the order of their ends; of equal ones, of their starts."""
        for run in self._runs.values():
            if run.error is not None:
                self._forget(run)
                raise run.error
        ended = sorted((run for run in self._runs.values() if run.finished is not None), key=lambda run: run.ended)
        for run in ended:
            del self._runs[run.trial.number]
        return [run.finished for run in ended if run.finished is not None]

    def _forget(self, run: LocalRun) -> None:
        del self._runs[run.trial.number]
        if run.warden is not None and not run.warden.over:
            with suppress(KeyError):
                self._selector.unregister(run.warden)

    def _wake(self) -> None:
        """From any thread: end the sleep of `wait`."""
        with self._closing, suppress(BlockingIOError):  # full: it is awake already
            if not self._closed:
                os.write(self._wake_file, b"!")
