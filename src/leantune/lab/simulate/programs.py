"""Recorded runs as programs: they restore, train, report, save and end, on any machine.

Training is a function of time, so that nothing is computed between events:

    elapsed(t) = elapsed at the start + (t - start) / speed of the machine      seconds on the recording machine
    step(t)    = the whole steps that the recorded run had done by then

A program that has reached its last step saves once more and ends. It is an executor like any other (`Programs`), under
a clock that only waiting advances.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from leantune.arrays import FloatArray
from leantune.clock import Clock
from leantune.errors import IllegalMove, InvalidInput, UnknownTrial
from leantune.executors.base import Begun, CheckpointSaved, EndMode, Event, Finished, FreeCapacity, Report, Terms
from leantune.history import Observation, ObservationKind, Trial, TrialState
from leantune.units import NO_SECONDS, NO_USD, Seconds, is_value

_ROUNDING = 1e-6  # seconds and steps: sums of floats that should be whole


@dataclass(frozen=True)
class TrainingRun:
    """A recorded run. steps, values, elapsed (n,): cumulative steps, metric, seconds since the start, at each report.

    slowness: by machine type, seconds on that machine per recorded second.
    """

    steps: FloatArray
    values: FloatArray
    elapsed: FloatArray
    slowness: Mapping[str, float]
    save_seconds: float = 5.0
    restore_seconds: float = 5.0

    def __post_init__(self) -> None:
        if not (len(self.steps) and len(self.steps) == len(self.values) == len(self.elapsed)):
            raise InvalidInput(
                "a run needs reports", where="simulation", hint="Give steps, values, elapsed of one length"
            )
        if (np.diff(self.steps, prepend=0.0) <= 0).any() or (np.diff(self.elapsed, prepend=0.0) <= 0).any():
            raise InvalidInput("steps or seconds of a run do not increase", where="simulation", hint="Sort its reports")

    def elapsed_at(self, step: float) -> float:
        """Recorded seconds until a step."""
        return float(np.interp(step, self._all_steps, self._all_elapsed))

    def step_at(self, elapsed: float) -> float:
        """Whole steps done after so many recorded seconds."""
        return math.floor(float(np.interp(elapsed, self._all_elapsed, self._all_steps)) + _ROUNDING)

    @cached_property
    def points(self) -> list[tuple[float, float, float]]:
        """Step, value and elapsed seconds of each report."""
        return list(zip(self.steps.tolist(), self.values.tolist(), self.elapsed.tolist(), strict=True))

    @cached_property
    def _all_steps(self) -> FloatArray:
        """With the start (n + 1,)."""
        return np.concatenate(([0.0], self.steps))

    @cached_property
    def _all_elapsed(self) -> FloatArray:
        """With the start (n + 1,)."""
        return np.concatenate(([0.0], self.elapsed))


@dataclass(slots=True)
class _Program:
    """A run on a machine. Between events: elapsed = base + (t - since) / slowness while it trains."""

    number: int
    run: TrainingRun
    slowness: float
    trial: Trial
    base: float = 0.0
    since: float | None = None  # None: it does not train (restores, saves, ends)
    report: int = 0  # index of the next one
    started: float = 0.0
    begun: float = 0.0
    save_from: float | None = None
    ending: bool = False
    time_limit: float | None = None
    epoch: int = 0  # events scheduled before the last change are void


_Handler = Callable[[_Program, float], list[Event]]  # the event of a program at that moment


class RecordedPrograms:
    """Plays recorded runs, one for each trial; see the module, and `Programs` for what it promises.

    run_of: the recording of a trial. metric: what its reports are called. checkpoints: the step of each trial's, where
    they are to outlive this object.
    """

    def __init__(
        self,
        run_of: Callable[[Trial], TrainingRun],
        metric: str,
        clock: Clock,
        checkpoints: MutableMapping[int, float] | None = None,
    ) -> None:
        self._run_of, self._metric, self._clock = run_of, metric, clock
        self._programs: dict[int, _Program] = {}
        self._heap: list[tuple[float, int, _Program, int, _Handler]] = []  # time, order, program, its epoch, what then
        self._order = 0
        self._checkpoints: MutableMapping[int, float] = {} if checkpoints is None else checkpoints
        self._unheard: list[Event] = []  # events before a program was asked to save, not returned by `step` yet

    @property
    def running(self) -> frozenset[int]:
        """Numbers of the trials whose programs were started and have not ended."""
        return frozenset(self._programs)

    @property
    def owes(self) -> bool:
        """Nothing is billed here."""
        return False

    def check(self, trial: Trial) -> None:
        """Any recorded run can be played."""
        self._run_of(trial)

    def capacity(self) -> FreeCapacity:
        """Any number at once."""
        return FreeCapacity(self.running)

    def start(self, trial: Trial, terms: Terms = Terms()) -> None:  # noqa: B008 - frozen
        """Restore the checkpoint, if there is one; then train."""
        number = trial.number
        if number in self._programs:
            raise IllegalMove("it is running already", where=f"trial {number}", hint="Start each trial once")
        run, cluster = self._run_of(trial), trial.configuration.cluster
        now = self._clock.now()
        slowness = run.slowness["" if cluster is None else cluster.type]
        program = _Program(number, run, slowness, trial, started=now, time_limit=terms.time_limit)
        self._programs[number] = program
        restore = run.restore_seconds if self._checkpoints.get(number, 0.0) > 0 else 0.0
        self._schedule(now + restore, program, self._on_begun)
        self._schedule_timeout(program)

    def save(self, number: int) -> None:
        """Pause the training, write, go on."""
        program = self._running(number)
        if program.since is not None:
            self._save_now(program)

    def end(self, number: int, mode: EndMode) -> None:
        """Save and end; a program that saves already ends when that is done, one that still restores at once."""
        program = self._running(number)
        program.ending = True
        if mode is EndMode.KILL:
            self._unheard = [event for event in self._unheard if event.number != number]
            self._drop(program)
        elif program.since is not None:
            self._save_now(program)
        elif program.save_from is None:
            program.epoch += 1
            self._schedule(self._clock.now(), program, self._on_ended)

    def renew(self, number: int, ago: Seconds = NO_SECONDS) -> None:
        """A recording has no lease."""

    def forget(self, number: int) -> None:
        """Its checkpoint is not needed any more."""
        if number in self._programs:
            raise IllegalMove("it is running", where=f"trial {number}", hint="End it first")
        self._checkpoints.pop(number, None)

    def remains(self, number: int, attempt: int, grace: Seconds) -> bool:
        """Nothing: nothing runs."""
        return False

    def kept(self, numbers: Iterable[int]) -> frozenset[int]:
        """Those that have saved one."""
        return frozenset(number for number in numbers if self._checkpoints.get(number, 0.0) > 0)

    def close(self) -> None:
        """End all of them."""
        for program in list(self._programs.values()):
            self._drop(program)

    def next_event_time(self) -> float | None:
        """When a program next has an event."""
        if self._unheard:
            return self._clock.now()
        while self._heap and self._heap[0][2].epoch != self._heap[0][3]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def wait(self, timeout: Seconds | None = None) -> None:
        """Let time pass until a program has an event, or for `timeout` seconds."""
        coming = self.next_event_time()
        until = math.inf if coming is None else max(coming - self._clock.now(), 0.0)
        pause = min(until, math.inf if timeout is None else timeout)
        if pause < math.inf:
            self._clock.sleep(pause)

    def step(self, now: float) -> list[Event]:
        """Events of programs until `now`."""
        heap, until, events, self._unheard = self._heap, now + _ROUNDING, self._unheard, []
        while heap and heap[0][0] <= until:
            time, _, program, epoch, handle = heapq.heappop(heap)
            if epoch == program.epoch:
                events += handle(program, time)
        return events

    def _on_begun(self, program: _Program, time: float) -> list[Event]:
        run, step = program.run, self._checkpoints.get(program.number, 0.0)
        program.base, program.begun = run.elapsed_at(step), time
        # The report at the checkpoint's step is repeated: if the program was ended at that very moment, it was
        # lost, and after the last report there would be no other.
        program.report = int(np.searchsorted(run.steps, step, side="left")) if step > 0 else 0
        self._train(program, time)
        return [Begun(program.number, time, step)]

    def _on_report(self, program: _Program, time: float) -> list[Event]:
        step, value, _ = program.run.points[program.report]
        program.report += 1
        metrics = {self._metric: value} if is_value(value) else {}
        self._await_report(program, time)
        return [Report(program.number, time - program.begun, metrics, step)]

    def _on_saved(self, program: _Program, time: float) -> list[Event]:
        assert program.save_from is not None
        step, seconds = self._step(program), time - program.save_from
        self._checkpoints[program.number] = step
        program.save_from = None
        saved = CheckpointSaved(program.number, time, step, seconds)
        if program.ending:
            return [saved, *self._on_ended(program, time)]
        self._train(program, time)
        return [saved]

    @staticmethod
    def _step(program: _Program) -> float:
        """Whole steps done; all of them after the last report, in spite of rounding."""
        points = program.run.points
        return points[-1][0] if program.report >= len(points) else program.run.step_at(program.base)

    def _on_ended(self, program: _Program, time: float) -> list[Event]:
        """It was asked to end, or has come to its end."""
        number, last = program.number, program.run.points[-1]
        self._drop(program)
        seconds = time - program.started
        if self._checkpoints.get(number, 0.0) < last[0]:
            step = self._checkpoints.get(number, 0.0)
            return [Finished(number, (), TrialState.QUEUED, "interrupted", Seconds(seconds), kept_step=step)]
        if not is_value(last[1]):
            return [_failed(program, f"{self._metric} is {last[1]}", seconds)]
        seen = Observation(
            program.trial.fraction, ObservationKind.MEASURED, {self._metric: last[1]}, Seconds(seconds), NO_USD
        )
        return [Finished(number, (seen,), TrialState.DONE, "", Seconds(seconds), resumed=True, kept_step=last[0])]

    def _on_timeout(self, program: _Program, time: float) -> list[Event]:
        self._drop(program)
        cause = f"timeout: not ended after {program.time_limit:.4g} s"
        return [_failed(program, cause, time - program.started)._replace(timed_out=True)]

    def _save_now(self, program: _Program) -> None:
        """It was asked to save: what it has said until now was said before, heard or not."""
        now = self._clock.now()
        while program.since is not None and (due := self._report_time(program)) <= now + _ROUNDING:
            self._unheard += self._on_report(program, due)
        if program.since is not None:
            self._begin_saving(program, now)

    def _begin_saving(self, program: _Program, time: float) -> None:
        assert program.since is not None
        program.base += max(time - program.since, 0.0) / program.slowness
        program.since, program.save_from = None, time
        program.epoch += 1
        self._schedule(time + program.run.save_seconds, program, self._on_saved)
        self._schedule_timeout(program)

    def _train(self, program: _Program, time: float) -> None:
        program.since = time
        self._await_report(program, time)

    def _await_report(self, program: _Program, time: float) -> None:
        """Schedule the next one; after the last, save once more and end."""
        if program.report < len(program.run.points):
            self._schedule(self._report_time(program), program, self._on_report)
        else:
            program.ending = True
            self._begin_saving(program, time)

    def _report_time(self, program: _Program) -> float:
        """The time of its next event."""
        assert program.since is not None
        seconds = (program.run.points[program.report][2] - program.base) * program.slowness
        return program.since + max(seconds, 0.0)

    def _schedule_timeout(self, program: _Program) -> None:
        if program.time_limit is not None:
            self._schedule(program.started + program.time_limit, program, self._on_timeout)

    def _schedule(self, time: float, program: _Program, handle: _Handler) -> None:
        self._order += 1
        heapq.heappush(self._heap, (time, self._order, program, program.epoch, handle))

    def _drop(self, program: _Program) -> None:
        program.since = None
        program.epoch += 1
        del self._programs[program.number]

    def _running(self, number: int) -> _Program:
        if number not in self._programs:
            running = ", ".join(map(str, sorted(self._programs))) or "none"
            raise UnknownTrial(f"trial {number} is not running", where="RecordedPrograms", hint=f"Running: {running}")
        return self._programs[number]


def _failed(program: _Program, cause: str, seconds: float) -> Finished:
    seen = Observation(program.trial.fraction, ObservationKind.FAILED, {}, Seconds(seconds), NO_USD, cause)
    return Finished(program.number, (seen,), TrialState.FAILED, cause, Seconds(seconds))
