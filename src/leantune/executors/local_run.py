"""One trial on this machine, from the locks it needs to the end that is told."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from leantune.clock import Clock
from leantune.errors import InvalidInput
from leantune.executors.base import Begun, Event, Finished, Report, Terms, cores_for, inherited
from leantune.executors.keeper import Checkpoints, Keeper
from leantune.executors.machine import CoreLocks, HeldLocks, RunLocks, thread_environment
from leantune.executors.outcome import Ending, ReportLog, Restored, outcome
from leantune.executors.registry import ProgramSettings
from leantune.executors.warden_process import WardenProcess
from leantune.history import Trial, TrialState
from leantune.units import Seconds
from leantune.worker.client import TRIAL_VARIABLE
from leantune.worker.lines import plain, read_json
from leantune.worker.messages import EndReason, Exit, Orders, RunMark

if TYPE_CHECKING:
    from leantune.executors.remnants import Remnants, RemnantsEnding

LOG_LIMIT = 10 * 2**20  # bytes
LOCK_PERIOD = 0.02  # seconds between tries to take a lock that is held
ABANDONED_PERIOD = 1.0  # seconds between looks whether those who hold it are still looked after
LOCK_PATIENCE = 60.0  # seconds beyond the lease and grace of its holder


@dataclass(frozen=True)
class LocalHost:
    """What all runs of an executor share. wake: from any thread, makes the executor look at its runs."""

    settings: ProgramSettings
    checkpoints: Checkpoints
    cores: CoreLocks
    locks: RunLocks
    clock: Clock
    wake: Callable[[], None]

    def mark(self, number: int, attempt: int) -> RunMark:
        """The name of a run."""
        return RunMark(self.settings.store, self.settings.study, number, attempt)

    def remnants(self, number: int, attempt: int) -> Remnants:
        """What that attempt and those before it left here."""
        from leantune.executors.remnants import Remnants

        return Remnants(self.locks, self.mark(number, attempt), self.clock)


class LocalRun:
    """Begins at once where its locks are free and no checkpoint is to be brought back, else in a thread of its own.

    finished: how it ended, once that is known. error: what kept it from beginning, to be raised. ended: when, not
    before anything that was told of it. has_locks: whether its cores are held by now. Times are by `Clock.monotonic`.
    Only `renew` may be called from another thread.
    """

    def __init__(self, place: LocalHost, trial: Trial, terms: Terms) -> None:
        self.trial, self.terms, self._place, self._clock = trial, terms, place, place.clock
        self._keeper = Keeper(place.checkpoints, trial.number)
        self._folder = self._keeper.folder
        self._log = ReportLog(place.settings.problem, trial)
        self._argv = self._arguments()
        self._mark = place.mark(trial.number, terms.attempt)
        self._restored = Restored()
        self._renewed = self._clock.monotonic() - terms.renewed_ago
        self._guard = threading.Lock()  # of the three lines below
        self._cancelled = False
        self._begun: Begun | None = None  # until it is told
        self.warden: WardenProcess | None = None
        self._evicted = False
        self.has_locks = False
        self._began = 0.0
        self._ended: Finished | None = None
        self._remnants: RemnantsEnding | None = None  # of a run whose warden was killed
        self.finished: Finished | None = None
        self.error: BaseException | None = None
        self.ended = 0.0

    def begin(self) -> None:
        """Start the program, or wait in a thread for its locks and checkpoint."""
        self._folder.make()
        locks = self._try_locks() if self._abandoned is None else None
        self.has_locks = locks is not None
        if locks is not None and not self._has_to_restore:
            self._launch(locks)
        else:
            threading.Thread(target=self._begin_later, args=(locks,), daemon=True).start()

    def renew(self, ago: Seconds) -> None:
        """The lease began anew `ago` seconds ago."""
        self._renewed = max(self._renewed, self._clock.monotonic() - ago)
        warden = self.warden
        if warden is not None:
            warden.send({"renewed": self._renewed})

    def interrupt(self, *, evict: bool) -> None:
        """Ask it to save a checkpoint and end; evict: before it is done."""
        self._evicted = self._evicted or evict
        if self._cancel():
            self.ended = self._clock.monotonic()
            self.finished = Finished(self.trial.number, (), TrialState.QUEUED, "interrupted")
        elif self.warden is not None:
            self.warden.send({"stop": "term"})

    def kill(self) -> None:
        """End it at once."""
        if self._cancel() or self.warden is None or self._ended is not None:
            return
        if not self.warden.over:
            self.warden.kill()
        if not self.warden.was_thorough:
            (self._remnants or self._end_remnants()).kill()

    def save(self) -> None:
        """Have the checkpoint saved as it is now."""
        self._keeper.ask(self._clock.monotonic())

    @property
    def listening_to(self) -> WardenProcess | None:
        """Its warden, while that may still send messages."""
        return None if self.warden is None or self.warden.over else self.warden

    @property
    def next_look(self) -> float:
        """When `look` is to be called."""
        return self._keeper.next_look if self._ended is None else float("inf")

    def look(self, now: float) -> list[tuple[float, Event]]:
        """Read the warden's messages, save the checkpoint; returns events with their times."""
        news: list[tuple[float, Event]] = []
        if self._begun is not None:  # and then its thread has set it for good
            news.append((self._began, self._begun))
            self._begun = None
        if self.warden is not None and not self.warden.over:
            for event in self.warden.events():
                self._take(event, news)
            if self.warden.over and self._ended is None:
                self.warden.end()
                self._remnants = self._end_remnants()
        if self._remnants is not None and self._remnants.over and self._ended is None:
            self._lost(self._remnants)
        if self._ended is None:
            news += self._keeper.look(now, self._log.step)
        elif self.finished is None and self._keeper.is_settled:
            self.finished = self._keeper.with_checkpoint(self._ended, self._log.step)
        self.ended = max([self.ended, *(time for time, _ in news)])
        return news

    # -- the beginning

    @property
    def _abandoned(self) -> Remnants | None:
        """The unattended remains of an earlier attempt here."""
        if self.terms.attempt == 1:
            return None
        remnants = self._place.remnants(self.trial.number, self.terms.attempt - 1)
        remains = remnants.find()
        return remnants if remains.processes and not remains.wardens else None

    @property
    def _has_to_restore(self) -> bool:
        """Whether a checkpoint is to be brought here, which may take a while."""
        again = self.terms.attempt > 1 and self._place.checkpoints.store is not None
        return again or self.terms.continues is not None

    def _arguments(self) -> list[str]:
        extra = {
            "checkpoint_dir": str(self._folder.checkpoint),
            "trial": str(self.trial.number),
            "attempt": str(self.terms.attempt),
            "log": str(self._folder.log(self.terms.attempt)),
            "study": self._place.settings.study,
            "seed": str(self.terms.seed),
        }
        argv = [str(part) for part in self._place.settings.arguments(self.trial, extra)]
        if not argv:
            raise InvalidInput("the command is empty", where=f"trial {self.trial.number}", hint="Name a program")
        return argv

    def _try_locks(self) -> HeldLocks | None:
        """The trial's own lock, so that it never runs twice on this host, and the cores of its machine."""
        own = self._place.locks.take(self._mark)
        if own is None:
            return None
        cluster = self.trial.configuration.cluster
        cores = HeldLocks() if cluster is None else self._place.cores.take(cores_for(cluster.vcpus))
        if cores is None:
            os.close(own)
            return None
        cores.files.append(own)
        return cores

    def _begin_later(self, locks: HeldLocks | None) -> None:
        """In a thread: wait for the locks, bring the checkpoint back, start the program."""
        clock = self._clock
        next_look = clock.monotonic()
        until = next_look + LOCK_PATIENCE + self.terms.grace + (self.terms.lease or 0.0)
        try:
            while locks is None and clock.monotonic() < until and not self._cancelled:
                if clock.monotonic() >= next_look:
                    if abandoned := self._abandoned:
                        abandoned.end(self.terms.grace, lambda: self._cancelled)
                    next_look = clock.monotonic() + ABANDONED_PERIOD
                clock.sleep(LOCK_PERIOD)
                locks = self._try_locks()
                self.has_locks = locks is not None
            if locks is not None:
                self._launch(locks)
            elif self._cancel():
                self.ended = clock.monotonic()
                self._ended = Finished(
                    self.trial.number, (), TrialState.QUEUED, "another run of it, or of its cores, has not ended here"
                )
        except BaseException as error:  # noqa: BLE001 - raised again in the executor's own thread, by step
            self.error = error
        self._place.wake()

    def _launch(self, locks: HeldLocks) -> None:
        """With the locks held: the checkpoint, then the warden, which holds them from then on."""
        try:
            if self._cancelled:
                return
            self._restored = self._keeper.restore(self.terms.attempt, self.terms.smaller)
            if self._restored.own:
                self._folder.recall(self._log)
            trial_file = self._folder.write_trial(self.trial, self.terms, self._place.settings.study)
            with self._guard:
                self._began = self.ended = self._clock.monotonic()
                if self._lease_is_over():
                    cause = "its lease was over before it could begin"
                    self._ended = Finished(self.trial.number, (), TrialState.LOST, cause)
                if self._cancelled or self._ended is not None:
                    return
                self._keeper.begin(self._began)
                warden = WardenProcess(self._orders(locks), self._environment(trial_file), locks.files)
                step = None if any(self._restored) else 0.0
                self._begun = Begun(self.trial.number, self._clock.now(), step)
                self.warden = warden
        finally:
            locks.release()

    def _lease_is_over(self) -> bool:
        return self.terms.lease is not None and self._began - self._renewed >= self.terms.lease

    def _orders(self, locks: HeldLocks) -> Orders:
        cluster, terms, attempt = self.trial.configuration.cluster, self.terms, self.terms.attempt
        return {
            "argv": self._argv,
            "folder": str(self._place.settings.folder.absolute()),
            "log": str(self._folder.log(attempt)),
            "log_limit": LOG_LIMIT,
            "reports": str(self._folder.reports(attempt)),
            "temporary": tempfile.gettempdir(),
            "time_limit": terms.time_limit,
            "grace": terms.grace,
            "lease": terms.lease,
            "renewed_ago": max(0.0, self._began - self._renewed),
            "cores": list(locks.cores),
            "vcpus": 0.0 if cluster is None else cluster.vcpus,
            "memory": 0 if cluster is None else int(cluster.memory_gib * 2**30),
            "held": locks.files,
        }

    def _environment(self, trial_file: Path) -> dict[str, str]:
        cluster = self.trial.configuration.cluster
        own = inherited(os.environ, self._place.settings.kept_variables)
        variables = {"PYTHONUNBUFFERED": "1", **own}  # reports are stamped when they arrive, not when it flushes
        if cluster is not None:
            variables |= thread_environment(cluster.vcpus)
        # A command that nothing else provides may come from the environment that LeanTune itself is installed in.
        path = [variables.get("PATH", os.defpath), str(Path(sys.executable).parent)]
        return {
            **variables,
            "PATH": os.pathsep.join(path),
            **self._mark.environment,
            TRIAL_VARIABLE: str(trial_file),
        }

    def _cancel(self) -> bool:
        """Whether it had not begun, and will not."""
        with self._guard:
            self._cancelled = self._cancelled or self.warden is None
            return self.warden is None

    # -- the end

    def _take(self, event: dict[str, Any], news: list[tuple[float, Event]]) -> None:
        if event["event"] == "report":
            said = read_json(event["line"])
            report = said and self._log.hear(said, event["at"], on_purpose=event["told"])
            if report:
                news.append((self._began + report.seconds, report))
                self._remember(report)
        elif event["event"] == "exit":
            self._settle(cast(Exit, event))

    def _remember(self, report: Report) -> None:
        """Snapshots outlive their attempt, counted from the beginning of the training."""
        if report.fraction is None or len(self.trial.snapshots) == 1:
            return
        result = self._log.results.get(report.fraction)
        if result is not None:
            result.seconds = report.seconds + self._restored.earlier_seconds(self.terms)
            self._folder.remember(self._log)

    def _settle(self, event: Exit) -> None:
        assert self.warden is not None
        self.warden.end()
        self._folder.remove_temporary()
        self.ended = max(self.ended, event["ended"])
        ending = Ending(
            seconds=Seconds(event["seconds"]),
            code=event["code"],
            why=EndReason(event["why"]),
            failure=f"cannot start: {plain(event['error'])}" if event["error"] else "",
            kernel_oom=event["kernel_oom"],
            peak_bytes=event["peak_bytes"],
            last_line=event["last_line"],
            last_error=event["last_error"],
            tail=event["tail"],
            log=str(self._folder.log(self.terms.attempt)),
            notes=(*self._keeper.notes, *_notes(event)),
        )
        if self._log.limits.notes:
            from leantune.worker.output import append_notes

            append_notes(ending.log, self._log.limits.notes)
        self._ended = outcome(self._log, ending, self._restored, self.terms, evicted=self._evicted)
        self._keeper.settle(self._ended.state, keep=self.terms.keep)

    def _end_remnants(self) -> RemnantsEnding:
        """The warden died, and its program with it; what that has started may live."""
        from leantune.executors.remnants import RemnantsEnding

        remnants = self._place.remnants(self.trial.number, self.terms.attempt)
        return RemnantsEnding(remnants, self.terms.grace, self._place.wake)

    def _lost(self, remnants: RemnantsEnding) -> None:
        """Nothing is left of a run whose warden died: how it would have ended is unknown."""
        assert self.warden is not None
        noise = plain(self.warden.noise.strip().rpartition("\n")[2])
        cause = f"its warden was killed{f': {noise}' if noise else ''} (log: {self._folder.log(self.terms.attempt)})"
        if remnants.left:
            cause += f"; processes that could not be killed: {', '.join(map(str, sorted(remnants.left)))}"
        self.ended = self._clock.monotonic()
        seconds = max(0.0, self.ended - self._began)
        self._ended = Finished(self.trial.number, (), TrialState.LOST, cause, Seconds(seconds), self._restored.own)


def _notes(event: Exit) -> list[str]:
    """Errors outside of the program."""
    notes = []
    if event["killed"] and event["why"] != EndReason.MEMORY:
        notes.append("it did not end when asked to and was killed")
    if event["log_error"]:
        notes.append(f"its log stops early: {event['log_error']}")
    if event["long_lines"]:
        notes.append(f"lines that began as reports and were too long to be read: {event['long_lines']}")
    if event["dropped"]:
        notes.append(f"{event['dropped']} reports were lost")
    if event["left"]:
        notes.append(f"processes that could not be killed: {', '.join(map(str, event['left']))}")
    return notes
