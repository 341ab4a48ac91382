"""A fleet of rented machines on which real training programs run, here: this machine stands in for all of them.

    place -> (a turn) -> launch -> boot -> program starts -> Ready -> Reported* -> save: SIGTERM, checkpoint -> Saved

At most `parallel` programs run at once. A job that is placed beyond that waits for its turn with nothing rented; then
its placement ends (Revoked, never billed) and SpotTune places it again, by the prices of that moment. To save, a
program is asked to end; it is started again, from its checkpoint, where training goes on. What a program does when it
ends by itself: before its last step, its last value counts for the rest; with a failure, its metric is not a number.
The provider's clock may run faster than this world's (`ScaledClock`).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from leantune.checkpoints.store import CheckpointStore
from leantune.clock import Clock, ScaledClock
from leantune.cloud import provider as cloud
from leantune.cloud.billing import Bill
from leantune.cloud.provider import Cause, Offer
from leantune.errors import InvalidInput, MachineGone
from leantune.executors.base import Executor, Finished, How, Report, Terms
from leantune.history import Trial, TrialKind, TrialState
from leantune.run.fleet import FleetEvent, Ready, Reported, Revoked, Saved, Warned
from leantune.space import Configuration
from leantune.units import Seconds

LOOK_SECONDS = 0.05  # of this world, between looks at programs and machines
TURN = "turn-"  # how the ids of placements begin that wait for their turn
Training = Callable[[int, Offer], Configuration]  # what to train: a job's setting on a machine


@dataclass(frozen=True)
class Place:
    """Who runs programs and where their checkpoints are; forget: of a machine that was taken, what its disk held."""

    executor: Executor
    checkpoints: CheckpointStore
    forget: Callable[[int], None]
    key: Callable[[int], str]
    grace: float = 30.0


@dataclass
class _Aboard:
    """A job on a machine, or waiting for its turn. saving: since when (market), None while nobody asked for it."""

    machine: str
    job: int
    offer: int
    running: bool = False  # its program
    saving: float | None = None
    paused: bool = False  # saved and told; goes on unless it is given up
    mark: float | None = None  # seconds at the last report; None: it has told nothing since it was started
    mark_step: float = 0.0  # of the last report or start


class LocalFleet:
    """See the module, and `Fleet` for the promises. jobs: how many. last_step, metric: of every job.

    failures: why programs failed, by job. notes: what else is worth telling.
    """

    def __init__(
        self,
        provider: cloud.Provider,
        clock: ScaledClock,
        base: Clock,
        place: Place,
        *,
        training: Training,
        last_step: float,
        metric: str,
        parallel: int = 1,
    ) -> None:
        self._provider, self._clock, self._base, self._place = provider, clock, base, place
        self._training, self._last_step, self._metric, self._parallel = training, last_step, metric, parallel
        self._offers = tuple(provider.offers())
        self._aboard: dict[str, _Aboard] = {}
        self._on: dict[int, str] = {}  # job -> the machine, or the turn, that it is on
        self._turns: deque[str] = deque()
        self._turn_count = 0
        self._attempts: dict[int, int] = {}
        self._saved: dict[int, float] = {}  # job -> step of its checkpoint
        self._highest: dict[int, tuple[float, float]] = {}  # job -> its largest step so far, and the value there
        self.revoked: dict[str, Cause] = {}
        self.failures: dict[int, str] = {}
        self.notes: dict[str, None] = {}

    # -- what SpotTune asks for

    @property
    def offers(self) -> Sequence[Offer]:
        """What the provider rents out."""
        return self._offers

    def now(self) -> float:
        """The market's time."""
        return self._clock.now()

    def place(self, job: int, offer: int, max_price: float | None) -> str:
        """Launch a machine for a job, or let it wait for its turn where enough programs run."""
        if job in self._on:
            raise InvalidInput(f"job {job} is on {self._on[job]}", where="local fleet", hint="Leave that one first")
        if self._busy < self._parallel:
            machine = self._provider.launch(self._offers[offer], max_price, f"job {job}")
        else:
            self._turn_count += 1
            machine = f"{TURN}{self._turn_count:06d}"
            self._turns.append(machine)
        self._aboard[machine] = _Aboard(machine, job, offer)
        self._on[job] = machine
        return machine

    def save(self, machine: str) -> None:
        """Ask the program to save and end; Saved follows its end."""
        aboard = self._aboard[machine]
        aboard.saving, aboard.paused = self.now(), False  # one that was just saved is not started before it is told
        if aboard.running and aboard.job in self._place.executor.running:
            self._place.executor.end(aboard.job, How.SAVE)

    def leave(self, machine: str) -> None:
        """Stop the program; the provider takes the machine when it said."""
        self._stop(machine)

    def terminate(self, machine: str) -> None:
        """Stop the program and give the machine back, unless the provider was faster."""
        self._stop(machine)
        try:
            self._provider.terminate(machine)
        except MachineGone:
            return  # billed as revoked

    def wait(self, until: float | None) -> Sequence[FleetEvent]:
        """Look at programs and machines until something has happened, or the market's time is `until`."""
        self._go_on()
        while not (events := self._events()):
            now = self.now()
            if (until is not None and now >= until) or (until is None and not self._on):
                break
            pause = LOOK_SECONDS if until is None else min(LOOK_SECONDS, (until - now) / self._clock.speed)
            self._base.sleep(max(pause, 0.0))
        return events

    # -- the end

    def drain(self) -> None:
        """Wait until the provider has taken every machine that was left to it."""
        while self._provider.machines():
            self._events()
            self._base.sleep(LOOK_SECONDS)
        self._events()

    def close(self) -> None:
        """End whatever runs and give every machine back."""
        self._place.executor.close()
        for machine in self._provider.machines():
            self._provider.terminate(machine.id)

    def bills(self) -> Mapping[str, Bill]:
        """Of every machine that has ended, by id."""
        return self._provider.bills()

    # -- what happens

    @property
    def _busy(self) -> int:
        """Jobs that are on a machine."""
        return sum(not machine.startswith(TURN) for machine in self._on.values())

    def _events(self) -> list[FleetEvent]:
        """What has happened since the last call, in the order of time: machines first, which tell when it was."""
        found: list[FleetEvent] = []
        heard = self._place.executor.step(self._base.now())
        for event in self._provider.poll():
            found += self._from_provider(event)
        for said in heard:
            if isinstance(said, Report):
                found += self._from_report(said)
        for ended in heard:
            if isinstance(ended, Finished):
                found += self._from_program(ended)
        for machine in self._on.values():
            if self._aboard[machine].saving is not None and not self._aboard[machine].running:
                found += self._saved_events(self._aboard[machine])
        return found + self._turn()

    def _turn(self) -> list[FleetEvent]:
        """End the placements of those whose turn it is, so that they are placed anew."""
        free, found = self._parallel - self._busy, list[FleetEvent]()
        while free > len(found) and self._turns:
            aboard = self._aboard[self._turns.popleft()]
            if self._on.get(aboard.job) == aboard.machine:
                self._stop(aboard.machine)
                found.append(Revoked(self.now(), aboard.machine, aboard.job, capacity=True))
        return found

    def _from_provider(self, event: cloud.Event) -> list[FleetEvent]:
        if isinstance(event, cloud.Revoked):
            self.revoked[event.machine_id] = event.cause
        aboard = self._aboard[event.machine_id]
        if self._on.get(aboard.job) != aboard.machine:
            return []  # the job has left it
        if isinstance(event, cloud.Running):
            self._start(aboard)
            return [Ready(event.time, aboard.machine, aboard.job, aboard.mark_step)]
        if isinstance(event, cloud.Noticed):
            return [Warned(event.time, aboard.machine, aboard.job, event.gone_at)]
        if aboard.running:
            self._stop(aboard.machine)
            self._place.forget(aboard.job)
        self._stop(aboard.machine)
        return [Revoked(event.time, aboard.machine, aboard.job, event.cause is Cause.CAPACITY)]

    def _from_report(self, said: Report) -> list[FleetEvent]:
        aboard = self._aboard.get(self._on.get(said.number, ""))
        if aboard is None or said.step is None or (said.metrics and self._metric not in said.metrics):
            return []
        value = said.metrics.get(self._metric, math.nan)  # a report of nothing but NaN comes without any
        seconds = steps = 0.0
        if aboard.mark is not None:  # a program may have started from a later checkpoint than the last that was told
            seconds, steps = (said.seconds - aboard.mark) * self._clock.speed, said.step - aboard.mark_step
        aboard.mark, aboard.mark_step = said.seconds, said.step
        if said.step > self._highest.get(aboard.job, (-math.inf, 0.0))[0]:
            self._highest[aboard.job] = (said.step, value)
        return [Reported(self.now(), aboard.machine, aboard.job, said.step, value, seconds, steps)]

    def _from_program(self, finished: Finished) -> list[FleetEvent]:
        """A program has ended: because it was asked to save, by itself, or with a failure."""
        aboard = self._aboard.get(self._on.get(finished.number, ""))
        if aboard is None:
            return []
        aboard.running = False
        if finished.state is TrialState.LOST:
            self.terminate(aboard.machine)
            return [Revoked(self.now(), aboard.machine, aboard.job, capacity=True)]
        if finished.state is TrialState.FAILED:
            self.failures[aboard.job] = finished.cause
            step, _ = self._highest.get(aboard.job, (0.0, math.nan))
            return [self._said(aboard, math.nextafter(step, math.inf), math.nan)]
        if finished.state is TrialState.DONE and aboard.saving is None:
            return [self._at_its_end(aboard)]
        return []

    def _at_its_end(self, aboard: _Aboard) -> Reported:
        """A program has ended by itself and well; told again where its machine was taken before that was saved."""
        if aboard.job not in self._highest:
            example = f'{{"step": 1, "{self._metric}": 0.5}}'
            self.failures[aboard.job] = f"no step was reported: print JSON lines with step and the metric, {example}"
            return self._said(aboard, math.nextafter(0.0, math.inf), math.nan)
        step, value = self._highest[aboard.job]
        if step < self._last_step:
            self.notes[f"a program ended by itself after step {step:g} of {self._last_step:g}"] = None
        self._saved[aboard.job] = aboard.mark_step
        self._highest[aboard.job] = (self._last_step, value)
        return self._said(aboard, self._last_step, value)

    def _said(self, aboard: _Aboard, step: float, value: float) -> Reported:
        """A report in the name of a program that has ended."""
        return Reported(self.now(), aboard.machine, aboard.job, step, value, 0.0, 0.0)

    def _saved_events(self, aboard: _Aboard) -> list[FleetEvent]:
        """The program has ended, and with it its checkpoint is complete; without any, it will start over."""
        assert aboard.saving is not None
        now, kept = self.now(), self._place.checkpoints.generation(self._place.key(aboard.job)) > 0
        if not kept:
            self.notes["a program saved no checkpoint in its folder: it starts over each time"] = None
        self._saved[aboard.job] = aboard.mark_step if kept else 0.0
        seconds, aboard.saving, aboard.paused = now - aboard.saving, None, True
        return [Saved(now, aboard.machine, aboard.job, self._saved[aboard.job], seconds)]

    # -- programs

    def _go_on(self) -> None:
        """Start again what was only to be saved."""
        for machine in list(self._on.values()):
            aboard = self._aboard[machine]
            if aboard.paused:
                aboard.paused = False
                self._start(aboard)

    def _start(self, aboard: _Aboard) -> None:
        job = aboard.job
        self._attempts[job] = self._attempts.get(job, 0) + 1
        trial = Trial(
            job,
            self._training(job, self._offers[aboard.offer]),
            Fraction(1),
            (Fraction(1),),
            TrialState.RUNNING,
            kind=TrialKind.VERIFICATION,  # so that the checkpoint outlives the end of the program
        )
        aboard.running, aboard.mark, aboard.mark_step = True, None, self._saved.get(job, 0.0)
        self._place.executor.start(trial, Terms(self._attempts[job], grace=Seconds(self._place.grace)))

    def _stop(self, machine: str) -> None:
        aboard = self._aboard[machine]
        if aboard.running and aboard.job in self._place.executor.running:
            self._place.executor.end(aboard.job, How.KILL)
        aboard.running = aboard.paused = False
        aboard.saving = None
        if self._on.get(aboard.job) == machine:
            del self._on[aboard.job]
