"""Runs trials on rented machines that may be taken away: a provider rents and bills, another executor runs programs.

    waiting --launched--> booting --all run--> training --ended--> leaving --all billed--> told
       ^                     |                    |
       +- nothing to be had  +----- revoked ------+--> leaving

On a notice the program is asked to save its checkpoint and end; when the machine is taken it is dead, whatever it did.
Either way the trial is revoked: never failed, and queued again with its checkpoint. A machine whose revocation will
cost nothing is left to the provider, any other is given back as soon as the program has ended.

Seconds and time limits are those of the market's clock, which may run faster than this world's; grace, lease and the
timeout of `wait` are this world's. Machines are watched by a thread of its own, so that nobody pays for idle ones, and
no notice is missed, while the tuner thinks.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum

from leantune.clock import Clock, ScaledClock
from leantune.cloud import provider as cloud
from leantune.errors import IllegalMove, MachineGone, UnknownTrial
from leantune.executors.base import GATHER_SECONDS, Capacity, Event, Executor, Finished, How, Report, Terms, cores_for
from leantune.executors.machine import this_host
from leantune.executors.renting import Renter
from leantune.history import Observation, Trial, TrialState
from leantune.units import SECONDS_PER_HOUR, Seconds

LOOK_SECONDS = 0.02  # of this world, between looks at machines and programs
RETRY_SECONDS = 60.0  # of the market, until a launch that was refused everywhere is tried again


class Phase(StrEnum):
    """Where the run of a trial is."""

    WAITING = "waiting"
    BOOTING = "booting"
    TRAINING = "training"
    LEAVING = "leaving"


@dataclass
class Rental:
    """One run of a trial and its machines. machines, booting: ids that are paid for. warned: when they will be gone.

    began: when the first machine was launched, by the market's clock. usd: of the bills so far.
    """

    trial: Trial
    terms: Terms
    renewed: float
    phase: Phase = Phase.WAITING
    retry_at: float = 0.0
    began: float = 0.0
    machines: set[str] = field(default_factory=set)
    booting: set[str] = field(default_factory=set)
    warned: dict[str, float] = field(default_factory=dict)
    usd: float = 0.0
    revoked: str = ""  # why, once the provider has announced it or done it
    interrupted: bool = False
    finished: Finished | None = None


class RentedExecutor:
    """See the module, and `Executor` for the promises.

    lose_disk: forgets what a machine held that was taken before its checkpoint was saved. Only `renew` may be called
    from another thread; machines carry the renter's tag. A simulated provider forgets its machines with this process.
    """

    def __init__(
        self,
        inner: Executor,
        provider: cloud.Provider,
        renter: Renter,
        clock: ScaledClock,
        base: Clock,
        lose_disk: Callable[[int], None] = lambda number: None,
    ) -> None:
        self._inner, self._provider, self._renter = inner, provider, renter
        self._clock, self._base, self._lose_disk = clock, base, lose_disk
        self._rentals: dict[int, Rental] = {}
        self._launched: dict[str, float] = {}
        self._ended: list[Finished] = []
        self._news: list[Event] = []
        self._error: BaseException | None = None
        self._news_or_end = threading.Condition()
        self._closing = False
        self._watch = threading.Thread(target=self._watching, name="leantune-machines", daemon=True)
        self._watch.start()

    # -- what is asked of it

    @property
    def running(self) -> frozenset[int]:
        """Numbers of the trials that are started and not yet told as finished."""
        with self._news_or_end:
            return frozenset(self._rentals) | {ended.number for ended in self._ended}

    def check(self, trial: Trial) -> None:
        """Refuse a cluster that nobody rents out, or that this machine cannot stand in for."""
        with self._news_or_end:
            self._renter.cluster_of(trial)
            self._inner.check(trial)

    def capacity(self) -> Capacity:
        """What this machine can stand in for, besides those that still boot."""
        with self._news_or_end:
            inner = self._inner.capacity()
            clusters = [one.trial.configuration.cluster for one in self._rentals.values()]
            held = sum(cores_for(cluster.vcpus) for cluster in clusters if cluster is not None)
            left = len(this_host().cores) - held
            cores = left if inner.cores is None else min(left, inner.cores)
            return Capacity(self.running, cores=cores, memory_gib=inner.memory_gib)

    def start(self, trial: Trial, terms: Terms = Terms()) -> None:  # noqa: B008 - frozen
        """Ask for machines; the program begins once they have booted."""
        with self._news_or_end:
            if trial.number in self.running:
                raise IllegalMove("it is running already", where=f"trial {trial.number}", hint="Start each trial once")
            self.check(trial)
            rental = Rental(trial, terms, self._base.monotonic())
            self._rentals[trial.number] = rental
            self._launch(rental)
            self._news_or_end.notify_all()

    def step(self, now: float) -> list[Event]:
        """What was heard since the last call; seconds are the market's."""
        with self._news_or_end:
            if self._error is not None:
                raise self._error
            events, self._news, self._ended = [*self._news, *self._ended], [], []
            return events

    def next_event_time(self) -> float | None:
        """Nobody knows."""
        return None

    def wait(self, timeout: Seconds | None = None) -> None:
        """Wait until a trial ends, for `timeout` seconds of this world at most, and not long once there is news."""
        began = self._base.monotonic()
        until = float("inf") if timeout is None else began + timeout
        with self._news_or_end:
            while not self._ended and self._rentals and self._error is None:
                if self._news:
                    until = min(until, began + GATHER_SECONDS)
                pause = until - self._base.monotonic()
                if pause <= 0:
                    break
                self._news_or_end.wait(None if pause == float("inf") else pause)

    def renew(self, number: int) -> None:
        """Pass it on to the program, or to when it begins."""
        with self._news_or_end:
            rental = self._rentals.get(number)
            if rental is not None:
                rental.renewed = self._base.monotonic()
                self._inner.renew(number)

    def end(self, number: int, how: How) -> None:
        """Ask the program to save a checkpoint and end, or kill it; its machines are given back."""
        with self._news_or_end:
            rental = self._running(number)
            if how is How.KILL:
                self._kill(number, rental)
            elif rental is not None:  # else it has ended: `step` tells how
                rental.interrupted = True
                if rental.phase is Phase.TRAINING:
                    self._inner.end(number, how)
                elif rental.phase is not Phase.LEAVING:
                    self._leave(rental, Finished(number, (), TrialState.QUEUED, "interrupted"))

    def _kill(self, number: int, rental: Rental | None) -> None:
        if number in self._inner.running:
            self._inner.end(number, How.KILL)
        if rental is not None:
            self._give_back(rental, list(rental.machines))
            del self._rentals[number]
        self._ended = [ended for ended in self._ended if ended.number != number]
        self._news = [event for event in self._news if event.number != number]

    def forget(self, number: int) -> None:
        """Pass it on to who keeps checkpoints."""
        with self._news_or_end:
            if number in self.running:
                raise IllegalMove("it is running", where=f"trial {number}", hint="End it first")
            self._inner.forget(number)

    def close(self) -> None:
        """Kill whatever runs and give every machine back."""
        with self._news_or_end:
            self._closing = True
            self._news_or_end.notify_all()
        if self._watch is not threading.current_thread():
            self._watch.join()
        with self._news_or_end:
            self._inner.close()
            for rental in self._rentals.values():
                self._give_back(rental, list(rental.machines))
            self._rentals.clear()
            self._ended.clear()
            self._news.clear()

    def _running(self, number: int) -> Rental | None:
        """The run of a trial; None when it has ended and nobody was told yet."""
        if number not in self.running:
            running = ", ".join(map(str, sorted(self.running))) or "none"
            raise UnknownTrial(f"trial {number} is not running", where="RentedExecutor", hint=f"Running: {running}")
        return self._rentals.get(number)

    # -- the thread that watches

    def _watching(self) -> None:
        with self._news_or_end:
            while not self._closing and self._error is None:
                try:
                    self._look()
                except BaseException as error:  # noqa: BLE001 - raised again in the executor's own thread, by step
                    self._error = error
                if self._ended or self._news or self._error is not None:
                    self._news_or_end.notify_all()
                self._news_or_end.wait(LOOK_SECONDS if self._rentals else None)

    def _look(self) -> None:
        """Hear the provider and the programs, and do what follows."""
        for heard in self._inner.step(self._base.now()):  # first: what has ended cannot be taken away any more
            if isinstance(heard, Finished):
                own = self._rentals[heard.number]
                self._leave(own, self._scaled(heard, own))
            elif isinstance(heard, Report):
                self._news.append(replace(heard, seconds=heard.seconds * self._clock.speed))
            else:
                self._news.append(heard)
        for event in self._provider.poll():
            rental = next((one for one in self._rentals.values() if event.machine_id in one.machines), None)
            if rental is not None:
                self._hear(rental, event)
        for rental in list(self._rentals.values()):
            if rental.phase is Phase.WAITING and self._clock.now() >= rental.retry_at:
                self._launch(rental)
            if rental.phase is Phase.LEAVING:
                self._settle(rental)

    def _hear(self, rental: Rental, event: cloud.Event) -> None:
        number = rental.trial.number
        match event:
            case cloud.Running():
                rental.booting.discard(event.machine_id)
                if rental.phase is Phase.BOOTING and not rental.booting:
                    self._begin(rental)
            case cloud.Noticed():
                rental.warned[event.machine_id] = event.gone_at
                rental.revoked = rental.revoked or f"revoked: a notice for {event.machine_id}"
                if rental.phase is Phase.BOOTING:
                    self._leave(rental, Finished(number, (), TrialState.REVOKED, rental.revoked))
                elif rental.phase is Phase.TRAINING:
                    self._inner.end(number, How.EVICT)
            case cloud.Revoked():
                rental.machines.discard(event.machine_id)
                rental.usd += self._provider.bills()[event.machine_id].net_usd
                rental.revoked = f"revoked: {event.machine_id} was taken ({event.cause})"
                if rental.phase is Phase.TRAINING:
                    self._inner.end(number, How.KILL)
                    self._lose_disk(number)
                if rental.phase in (Phase.BOOTING, Phase.TRAINING):
                    self._leave(rental, Finished(number, (), TrialState.REVOKED, rental.revoked))

    # -- the life of a run

    def _launch(self, rental: Rental) -> None:
        cluster = self._renter.cluster_of(rental.trial)
        rented = self._renter.rent(rental.trial, rental.terms.time_limit)
        rental.machines, rental.booting = set(rented), set(rented)
        launched = {one.id: one.launched_at for one in self._provider.machines() if one.id in rental.machines}
        self._launched |= launched
        rental.began = min(launched.values(), default=self._clock.now())
        if len(rented) == cluster.nodes + cluster.extra_nodes:
            rental.phase = Phase.BOOTING
        elif rented:
            cause = f"revoked: only {len(rented)} machines of {cluster} were to be had"
            self._leave(rental, Finished(rental.trial.number, (), TrialState.REVOKED, cause))
        else:
            rental.retry_at = rental.began + RETRY_SECONDS

    def _begin(self, rental: Rental) -> None:
        """All machines have booted: the program starts, with what is left of its lease."""
        terms, speed = rental.terms, self._clock.speed
        lease = None if terms.lease is None else terms.lease - (self._base.monotonic() - rental.renewed)
        if lease is not None and lease <= 0:
            cause = "its lease was over before it could begin"
            self._leave(rental, Finished(rental.trial.number, (), TrialState.LOST, cause))
            return
        limit = None if terms.time_limit is None else Seconds(terms.time_limit / speed)
        rental.phase = Phase.TRAINING
        here = replace(
            terms,
            time_limit=limit,
            lease=None if lease is None else Seconds(lease),
            earlier_seconds=terms.earlier_seconds / speed,
        )
        self._inner.start(rental.trial, here)

    def _leave(self, rental: Rental, finished: Finished) -> None:
        rental.phase, rental.finished = Phase.LEAVING, finished
        self._settle(rental)

    def _settle(self, rental: Rental) -> None:
        """Give machines back, but for those that will cost nothing; once all are billed, tell the end."""
        window = self._provider.policy.refund_window_seconds
        free = {
            machine
            for machine, gone_at in rental.warned.items()
            if machine in rental.machines and gone_at - self._launched[machine] < window
        }
        self._give_back(rental, [machine for machine in rental.machines if machine not in free])
        if not rental.machines:
            del self._rentals[rental.trial.number]
            self._ended.append(self._told(rental))
            self._news_or_end.notify_all()

    def _give_back(self, rental: Rental, machines: list[str]) -> None:
        for machine in machines:
            try:
                bill = self._provider.terminate(machine)
            except MachineGone:
                bill = self._provider.bills()[machine]  # the provider was faster
            rental.usd += bill.net_usd
            rental.machines.discard(machine)

    # -- how it ended

    def _scaled(self, finished: Finished, rental: Rental) -> Finished:
        """In seconds of the market; an end that the provider asked for is a revocation."""
        speed, limit, state, cause = self._clock.speed, rental.terms.time_limit, finished.state, finished.cause
        if state is TrialState.QUEUED and rental.revoked and not rental.interrupted:
            state, cause = TrialState.REVOKED, f"{rental.revoked}; {cause}"
        shown = tuple(
            replace(seen, seconds=None if seen.seconds is None else seen.seconds * speed, cause=seen.cause)
            for seen in finished.observations
        )
        if limit is not None and cause.startswith("timeout"):
            here, there = f"after {limit / speed:.4g} s", f"after {limit:.4g} s"
            cause = cause.replace(here, there, 1)
            shown = tuple(replace(seen, cause=seen.cause.replace(here, there, 1)) for seen in shown)
        return replace(finished, observations=shown, state=state, cause=cause)

    def _told(self, rental: Rental) -> Finished:
        finished = rental.finished
        assert finished is not None
        cluster, seconds = self._renter.cluster_of(rental.trial), self._clock.now() - rental.began
        usd = rental.usd + cluster.overhead_usd_per_hour * seconds / SECONDS_PER_HOUR
        total = usd + (rental.terms.earlier_usd if finished.resumed else 0.0)
        shown = tuple(_billed(seen, finished.observations[-1], total) for seen in finished.observations)
        return replace(finished, observations=shown, seconds=seconds, usd=usd)


def _billed(seen: Observation, last: Observation, total: float) -> Observation:
    """The bill of the whole run, shared out by the seconds until each snapshot."""
    share = seen.seconds / last.seconds if seen.seconds is not None and last.seconds else 1.0
    return replace(seen, cost=total * min(share, 1.0))
