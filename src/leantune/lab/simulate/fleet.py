"""A fleet that plays recorded runs on a simulated provider: machines boot, train, save, are warned and revoked.

Training is a function of time, so that nothing is computed between events:

    elapsed(t) = elapsed at the start + (t - start) / slowness        seconds on the recording machine
    step(t)    = the whole steps that the recorded run had done by then

The orchestrator looks every `poll` seconds: an event is told at the next look after it has happened, while the machine
goes on (or is gone) meanwhile. Works under a simulated clock, where waiting is a jump, and under a real one.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

import numpy as np

from leantune.arrays import FloatArray
from leantune.clock import Clock
from leantune.cloud import provider as cloud
from leantune.cloud.provider import Cause, Offer
from leantune.cloud.simcloud import SimCloud
from leantune.errors import InvalidInput, MachineGone
from leantune.run.fleet import FleetEvent, Ready, Reported, Revoked, Saved, Warned

_ROUNDING = 1e-6  # seconds and steps: sums of floats that should be whole


@dataclass(frozen=True)
class TrainingRun:
    """A recorded run. steps, values, elapsed (n,): cumulative steps, metric, seconds since the start, at each report.

    slowness (offers,): seconds on that offer's machine per recorded second.
    """

    steps: FloatArray
    values: FloatArray
    elapsed: FloatArray
    slowness: FloatArray
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
    def _all_steps(self) -> FloatArray:
        """With the start (n + 1,)."""
        return np.concatenate(([0.0], self.steps))

    @cached_property
    def _all_elapsed(self) -> FloatArray:
        """With the start (n + 1,)."""
        return np.concatenate(([0.0], self.elapsed))


@dataclass(frozen=True)
class MachineEnding:
    """When and how a machine ended, and its bill."""

    time: float
    gross_usd: float
    refund_usd: float
    revoked: bool


class _Kind(IntEnum):
    READY = 0
    REPORT = 1
    SAVED = 2


@dataclass
class _Aboard:
    """A job on a machine. Between events: elapsed = base + (t - since) / slowness while it trains."""

    machine: str
    job: int
    offer: int
    slowness: float
    base: float = 0.0
    since: float | None = None  # None: it does not train (boots, restores, saves, was stopped)
    report: int = 0  # index of the next one
    mark: float = 0.0  # elapsed and step at the last report or start
    mark_step: float = 0.0
    save_from: float = 0.0
    epoch: int = 0  # events scheduled before the last change are void
    stopped: bool = False


class SimulatedFleet:
    """Recorded runs on a simulated provider; see `run.fleet.Fleet` for what it promises."""

    def __init__(self, runs: Sequence[TrainingRun], cloud_: SimCloud, clock: Clock, *, poll: float = 10.0) -> None:
        self._runs, self._cloud, self._clock, self._poll = tuple(runs), cloud_, clock, poll
        self._offers = tuple(cloud_.offers())
        self._began = clock.now()
        self._aboard: dict[str, _Aboard] = {}
        self._on: dict[int, str] = {}  # job -> the machine that it trains on
        self._heap: list[tuple[float, int, str, int, _Kind]] = []
        self._order = 0
        self._checkpoints = [0.0] * len(runs)
        self._ended: dict[str, float] = {}
        self._revoked_at: dict[str, float] = {}

    @property
    def offers(self) -> Sequence[Offer]:
        """What the provider rents out."""
        return self._offers

    @property
    def launches(self) -> int:
        """Machines launched so far."""
        return self._cloud.launches

    def now(self) -> float:
        """The clock's time."""
        return self._clock.now()

    def place(self, job: int, offer: int, max_price: float | None) -> str:
        """Launch a machine; the job's checkpoint is restored once it has booted."""
        if job in self._on:
            raise InvalidInput(f"job {job} is on {self._on[job]}", where="simulated fleet", hint="Leave that one first")
        machine = self._cloud.launch(self._offers[offer], max_price, f"job {job}")
        self._aboard[machine] = _Aboard(machine, job, offer, float(self._runs[job].slowness[offer]))
        self._on[job] = machine
        return machine

    def save(self, machine: str) -> None:
        """Pause the training, write, go on."""
        aboard = self._aboard[machine]
        if aboard.stopped:  # taken meanwhile: Revoked is among the events that were told together
            return
        if aboard.since is None:
            raise InvalidInput(
                f"{machine} does not train", where="simulated fleet", hint="Save only where a job trains"
            )
        now = self.now()
        aboard.base = self._elapsed(aboard, now)
        aboard.since, aboard.save_from = None, now
        aboard.epoch += 1
        self._schedule(now + self._runs[aboard.job].save_seconds, aboard, _Kind.SAVED)

    def leave(self, machine: str) -> None:
        """Stop training; the provider takes the machine when it said."""
        self._stop(machine)

    def terminate(self, machine: str) -> None:
        """Stop training and give it back, unless the provider was faster."""
        self._stop(machine)
        try:
            self._cloud.terminate(machine)
        except MachineGone:
            return  # the provider was faster: billed as revoked
        self._ended[machine] = self.now()

    def drain(self) -> None:
        """Wait until the provider has taken every machine that was left to it."""
        while (coming := self._cloud.next_event_time()) is not None:
            self._clock.sleep(max(coming - self._clock.now(), 0.0))
            self._collect()

    def endings(self) -> dict[str, MachineEnding]:
        """How every machine that has ended did, by id."""
        return {
            machine: MachineEnding(
                self._ended.get(machine, self._revoked_at.get(machine, math.nan)),
                bill.gross_usd,
                bill.refund_usd,
                machine in self._revoked_at,
            )
            for machine, bill in self._cloud.bills().items()
        }

    def wait(self, until: float | None) -> Sequence[FleetEvent]:
        """Sleep until the look after the next event, or `until`, and tell what has happened."""
        while True:
            next_time = self._next_time()
            if next_time is None and until is None:
                return []
            look = math.inf if next_time is None else self._look_after(next_time)
            wanted = min(look, math.inf if until is None else until)
            self._clock.sleep(max(wanted - self._clock.now(), 0.0))
            if look > wanted:
                return []
            if told := self._collect():  # a machine that has booted is nobody's event
                return told

    def _look_after(self, time: float) -> float:
        if self._poll <= 0:
            return time
        return self._began + math.ceil((time - self._began) / self._poll - 1e-9) * self._poll

    def _next_time(self) -> float | None:
        while self._heap and self._aboard[self._heap[0][2]].epoch != self._heap[0][3]:
            heapq.heappop(self._heap)
        told = self._cloud.next_event_time()
        if not self._heap:
            return told
        return self._heap[0][0] if told is None else min(self._heap[0][0], told)

    def _collect(self) -> list[FleetEvent]:
        """All events until now, the provider's and the programs', in the order of their times."""
        now = self._clock.now() + _ROUNDING
        found: list[FleetEvent] = []
        for event in self._cloud.poll():
            found.extend(self._from_programs(event.time))
            found.extend(self._from_provider(event))
        found.extend(self._from_programs(now))
        return found

    def _from_provider(self, event: cloud.Event) -> Iterable[FleetEvent]:
        aboard = self._aboard[event.machine_id]
        if isinstance(event, cloud.Running):
            if aboard.stopped:
                return
            self._schedule(event.time + self._restore_seconds(aboard.job), aboard, _Kind.READY)
            return
        if isinstance(event, cloud.Noticed):
            if not aboard.stopped:
                yield Warned(event.time, aboard.machine, aboard.job, event.gone_at)
            return
        self._revoked_at[aboard.machine] = event.time
        if not aboard.stopped:
            self._stop(aboard.machine)
            yield Revoked(event.time, aboard.machine, aboard.job, event.cause is Cause.CAPACITY)

    def _restore_seconds(self, job: int) -> float:
        return self._runs[job].restore_seconds if self._checkpoints[job] > 0 else 0.0

    def _from_programs(self, until: float) -> Iterable[FleetEvent]:
        while self._heap and self._heap[0][0] <= until:
            time, _, machine, epoch, kind = heapq.heappop(self._heap)
            aboard = self._aboard[machine]
            if epoch != aboard.epoch:
                continue
            if kind is _Kind.READY:
                yield self._on_ready(aboard, time)
            elif kind is _Kind.SAVED:
                yield self._on_saved(aboard, time)
            else:
                yield self._on_report(aboard, time)

    def _on_ready(self, aboard: _Aboard, time: float) -> Ready:
        run, step = self._runs[aboard.job], self._checkpoints[aboard.job]
        aboard.base = aboard.mark = run.elapsed_at(step)
        aboard.mark_step = step
        # The report at which a checkpoint stands is told again: if it came while the job was saving for another reason,
        # nobody looked at it, and after the last one there would be no other.
        aboard.report = int(np.searchsorted(run.steps, step, side="left")) if step > 0 else 0
        self._train(aboard, time)
        return Ready(time, aboard.machine, aboard.job, step)

    def _on_saved(self, aboard: _Aboard, time: float) -> Saved:
        step = self._runs[aboard.job].step_at(aboard.base)
        self._checkpoints[aboard.job] = step
        self._train(aboard, time)
        return Saved(time, aboard.machine, aboard.job, step, time - aboard.save_from)

    def _on_report(self, aboard: _Aboard, time: float) -> Reported:
        run, index = self._runs[aboard.job], aboard.report
        step, elapsed = float(run.steps[index]), float(run.elapsed[index])
        told = Reported(
            time,
            aboard.machine,
            aboard.job,
            step,
            float(run.values[index]),
            (elapsed - aboard.mark) * aboard.slowness,
            step - aboard.mark_step,
        )
        aboard.report, aboard.mark, aboard.mark_step = index + 1, elapsed, step
        self._schedule_report(aboard)
        return told

    def _train(self, aboard: _Aboard, time: float) -> None:
        aboard.since = time
        self._schedule_report(aboard)

    def _schedule_report(self, aboard: _Aboard) -> None:
        run = self._runs[aboard.job]
        if aboard.since is not None and aboard.report < len(run.steps):
            seconds = (float(run.elapsed[aboard.report]) - aboard.base) * aboard.slowness
            self._schedule(aboard.since + max(seconds, 0.0), aboard, _Kind.REPORT)

    def _elapsed(self, aboard: _Aboard, time: float) -> float:
        assert aboard.since is not None
        return aboard.base + max(time - aboard.since, 0.0) / aboard.slowness

    def _schedule(self, time: float, aboard: _Aboard, kind: _Kind) -> None:
        self._order += 1
        heapq.heappush(self._heap, (time, self._order, aboard.machine, aboard.epoch, kind))

    def _stop(self, machine: str) -> None:
        aboard = self._aboard[machine]
        aboard.since, aboard.stopped = None, True
        aboard.epoch += 1
        if self._on.get(aboard.job) == machine:
            del self._on[aboard.job]
