"""Runs trials on rented machines that may be taken away: a provider rents and bills, another executor runs programs.

    waiting --launched--> booting --all run--> training --ended--> told
       ^                     |                  |   ^
       +- none available     |                  |   +-- periodic checkpoint
                             +--- revoked ------+--> told as revoked

On a notice the program is asked to save its checkpoint and end; when the machine is taken it is dead in any case.
Either way the trial is revoked: never failed, and queued again with its checkpoint. After an hour the `Placement` is
asked whether the trial stays; if not, it is saved and queued again. A machine whose revocation will cost nothing is
left to the provider, any other is given back as soon as the program has ended.

`step` computes nothing between events, so that the same code runs on a simulated clock, where waiting is a jump, and
under a real one (`watched.py` drives it from a thread). Seconds and time limits are those of the market's clock, which
may run faster than this world's; grace, lease and the timeout of `wait` are this world's.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from leantune.clock import Clock
from leantune.cloud import provider as cloud
from leantune.cloud.provider import Offer
from leantune.errors import ProviderError
from leantune.executors.base import (
    BaseExecutor,
    Begun,
    CheckpointSaved,
    EndMode,
    Event,
    Finished,
    FreeCapacity,
    MachineLaunched,
    MachineUpdate,
    Programs,
    Report,
    Terms,
    cores_for,
)
from leantune.executors.fleet import Fleet, RentalMarket
from leantune.executors.rental import CheckpointFacts, Phase, Purpose, Rental
from leantune.history import History, Trial, TrialState
from leantune.rent.placement import Need, Placement
from leantune.store.rows import StayRow
from leantune.units import NO_SECONDS, Seconds

RETRY_SECONDS = 60.0  # of the market, until a launch that was refused everywhere is tried again
HOUR = 3600.0  # of the market, after which a move is considered
LONGEST_WAIT = 30 * 86400.0  # for a machine; after that, ProviderError
TOO_LARGE = "a model is too large to be saved within the notice: its last periodic checkpoint counts"


class Timer(StrEnum):
    """Kinds of timers."""

    RETRY = "retry"
    HOUR = "hour"
    SAVE = "save"
    DEADLINE = "deadline"


class Timers:
    """Timers of runs: when to look at which run again. Times are the market's."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, int, int, Timer]] = []
        self._count = 0

    @property
    def next_time(self) -> float:
        """When there is something to look at; infinite for never."""
        return self._heap[0][0] if self._heap else math.inf

    def renew(self, rental: Rental) -> None:
        """Earlier timers of the trial are void, also those of its earlier runs."""
        self._count += 1
        rental.version = self._count

    def set(self, rental: Rental, time: float, kind: Timer) -> None:
        """Look at the run then."""
        if time < math.inf:
            self._count += 1
            heapq.heappush(self._heap, (time, self._count, rental.number, rental.version, kind))

    def due(self, now: float) -> Iterator[tuple[int, int, Timer]]:
        """Timers that are due: the trial, the version of its run, the kind."""
        while self.next_time <= now:
            yield heapq.heappop(self._heap)[2:]


def as_it_is(trial: Trial, _offer: Offer) -> Trial:
    """Of a trial whose configuration names its machine."""
    return trial


def _no_disk(_number: int) -> None:
    return None


@dataclass(frozen=True)
class ProgramHooks:
    """How programs differ.

    on_machine: the trial as it is started on a machine (a free machine is added to its configuration). lose_disk:
    forgets what a machine held that was taken. checkpoint: seconds of the market that a trial's checkpoint takes to be
    saved and to be restored, as far as known (None: of any). bills_add_up: the dollars and seconds of a result are
    those of all attempts, with lost work (a free machine); else those of the training that counts. writes_ahead:
    machines are told when they are launched, with what the placement saw, and when a checkpoint is complete, so that a
    process that is killed leaves a trace.
    """

    on_machine: Callable[[Trial, Offer], Trial] = as_it_is
    lose_disk: Callable[[int], None] = _no_disk
    checkpoint: Callable[[Trial | None], tuple[float, float]] = lambda trial: (5.0, 5.0)
    bills_add_up: bool = False
    writes_ahead: bool = True


class RentedExecutor(BaseExecutor):
    """See the module, and `Executor` for the promises. Only `renew` may be called from another thread.

    Machines carry the market's tag. A simulated provider forgets its machines with this process. notes: what could not
    be done, counted.
    """

    def __init__(
        self,
        programs: Programs,
        market: RentalMarket,
        placement: Placement,
        base: Clock,
        hooks: ProgramHooks = ProgramHooks(),  # noqa: B008
    ) -> None:
        self._programs, self._placement, self._hooks = programs, placement, hooks
        self._base, self._clock, self._speed = base, market.clock, market.clock.speed
        self._provider, self._poll, self._began = market.provider, market.poll, market.clock.now()
        self.notes: Counter[str] = Counter()
        self._fleet = Fleet(market, self.notes, keeps_quotes=hooks.writes_ahead)
        self._timers = Timers()
        self._rentals: dict[int, Rental] = {}
        self._checkpoints: dict[int, CheckpointFacts] = {}
        self._out: list[Event] = []

    # -- the executor

    @property
    def running(self) -> frozenset[int]:
        """Numbers of the trials that are started and not yet told."""
        return frozenset(self._rentals) | {event.number for event in self._out if isinstance(event, Finished)}

    @property
    def owes(self) -> bool:
        """Whether machines are left that the provider has still to take and to bill."""
        return self._fleet.owes

    def check(self, trial: Trial) -> None:
        """Refuse a trial without rented machines, or one that its programs cannot run."""
        self._placement.check(trial)
        for offer in self._fleet.offers_of(trial):
            self._programs.check(self._hooks.on_machine(trial, offer))

    def capacity(self) -> FreeCapacity:
        """Room where the programs run, less what is promised to machines that still boot."""
        inner, most = self._programs.capacity(), self._fleet.most_cores
        if inner.cores is None:
            return FreeCapacity(frozenset(self._rentals), inner.slots)
        booting = [rental.trial.configuration.cluster for n, rental in self._rentals.items() if n not in inner.running]
        # A machine that is chosen for a trial may be the largest.
        held = sum(most if cluster is None else cores_for(cluster.vcpus) for cluster in booting)
        return FreeCapacity(self.running, inner.slots, inner.cores - held, inner.memory_gib, most)

    def start(self, trial: Trial, terms: Terms = Terms()) -> None:  # noqa: B008 - frozen
        """Ask for machines; the program begins once they have booted."""
        self._refuse_twice(trial.number, self._rentals)
        self._placement.check(trial)
        facts = self._checkpoints.get(trial.number)
        if facts is None:
            facts = self._checkpoints[trial.number] = CheckpointFacts(*self._hooks.checkpoint(trial))
        rental = Rental(trial, terms, facts, self._base.monotonic() - terms.renewed_ago, self._clock.now())
        self._timers.renew(rental)
        self._rentals[trial.number] = rental
        self._place(rental)

    def renew(self, number: int, ago: Seconds = NO_SECONDS) -> None:
        """Pass it on to the program, or to when it begins."""
        rental = self._rentals.get(number)
        if rental is not None:
            rental.renewed = max(rental.renewed, self._base.monotonic() - ago)
            self._programs.renew(number, ago)

    def end(self, number: int, mode: EndMode) -> None:
        """Ask the program to save and end, or kill it; its machines are given back."""
        rental = self._rentals.get(number)
        if rental is None:  # it has ended; its end is still to be returned, unless it is killed
            self._check_running(number)
        if mode is EndMode.KILL:
            if rental is not None:
                self._kill(rental)
                self._fleet.give_back(rental, "ended")
                del self._rentals[number]
            # Of a run that was killed nothing is told; bills of earlier machines are.
            self._out = [event for event in self._out if event.number != number or isinstance(event, MachineUpdate)]
        elif rental is None:
            return
        elif rental.phase in (Phase.WAITING, Phase.BOOTING):
            self._leave(rental, Finished(number, (), TrialState.QUEUED, "interrupted"))
        elif rental.purpose is None or rental.mode is not mode:
            self._ask_to_end(rental, Purpose.ASKED, mode)
        else:
            rental.purpose = Purpose.ASKED

    def forget(self, number: int) -> None:
        """A trial will not go on: its checkpoint only takes space."""
        self._refuse_running(number)
        self._checkpoints.pop(number, None)
        self._programs.forget(number)

    def kept(self, numbers: Iterable[int]) -> frozenset[int]:
        """As where the programs run."""
        return self._programs.kept(numbers)

    def remains(self, number: int, attempt: int, grace: Seconds) -> bool:
        """As where the programs run."""
        return self._programs.remains(number, attempt, grace)

    def close(self) -> None:
        """Kill all runs and give every machine back; those that cost nothing are left to the provider."""
        self._programs.close()
        for rental in self._rentals.values():
            self._fleet.give_back(rental, "closed")
        self._rentals.clear()
        self._out.clear()

    def next_event_time(self) -> float | None:
        """When something happens next, by this world's clock; None where unknown."""
        trained, seen = self._programs.next_event_time(), self._fleet.next_event_time
        if trained is not None:
            seen = min(seen, self._there(trained))
        next_time = min(self._look_after(seen), self._timers.next_time)
        return None if next_time == math.inf else self._here(next_time)

    def wait(self, timeout: Seconds | None = None) -> None:
        """Wait for the programs, but not beyond what the market will do."""
        if self._out or not (self._rentals or self.owes):
            return  # there is news already, or nothing runs: timers of ended runs do not count
        coming = self.next_event_time()
        if coming is not None:
            until = max(coming - self._base.now(), 0.0)
            timeout = Seconds(until if timeout is None else min(until, timeout))
        if timeout is not None and self._poll > 0:
            self._base.sleep(timeout)  # to the next look
        elif timeout is None or timeout > 0:
            self._programs.wait(timeout)

    def step(self, now: float) -> list[Event]:
        """Handle events of the provider and the programs in the order of their times."""
        for event in self._provider.poll():
            self._hear_programs(self._here(event.time))
            self._hear_provider(event)
        self._hear_programs(now)
        if self._timers.next_time <= self._clock.now():
            self._fire_timers()
        out, self._out = self._out, []
        return out

    def recall(self, stays: Sequence[StayRow]) -> None:
        """Go on from stored facts of earlier machines: where checkpoints are, and how long saving took."""
        for stay in stays:
            facts = self._checkpoints.get(stay.number) or CheckpointFacts(*self._hooks.checkpoint(None))
            facts.step = stay.kept
            if stay.saving_seconds > 0:
                facts.save = stay.saving_seconds
            self._checkpoints[stay.number] = facts

    def due(self, history: History) -> float:
        """When the first of the paused trials must go on at the latest, or miss the deadline; by this world's clock."""
        now, moments = self._clock.now(), []
        for trial in history.trials:
            if trial.state is TrialState.PAUSED:
                facts = self._checkpoints[trial.number]
                moments.append(self._placement.last_moment(Need(trial, now, facts.step, facts.save, facts.restore)))
        return self._here(min(moments, default=math.inf))

    # -- two clocks

    def _there(self, here: float) -> float:
        """The market's time of a moment of this world."""
        if self._clock is self._base:
            return here
        return self._clock.now() + (here - self._base.now()) * self._speed

    def _here(self, there: float) -> float:
        if self._clock is self._base:
            return there
        return self._base.now() + (there - self._clock.now()) / self._speed

    def _look_after(self, time: float) -> float:
        """The first look at a simulated market that is not before a moment."""
        if self._poll <= 0 or time == math.inf:
            return time
        return self._began + math.ceil((time - self._began) / self._poll - 1e-9) * self._poll

    # -- events of programs

    def _hear_programs(self, now: float) -> None:
        for event in self._programs.step(now):
            rental = self._rentals.get(event.number)
            if rental is None:
                continue
            if isinstance(event, Report):
                self._on_report(rental, event)
            elif isinstance(event, Begun):
                self._on_begun(rental, event)
            elif isinstance(event, CheckpointSaved):
                self._on_saved(rental, event)
            elif isinstance(event, Finished):
                self._on_finished(rental, event)

    def _on_begun(self, rental: Rental, event: Begun) -> None:
        ready = self._there(event.time)
        rental.begin(ready, event.step)
        # Reconsider one hour after launch, and at least 30 minutes into training.
        self._timers.set(rental, max(rental.began + HOUR, ready + HOUR / 2), Timer.HOUR)
        self._set_periodic(rental, ready)
        self._out.append(event)

    def _on_report(self, rental: Rental, report: Report) -> None:
        seconds = report.seconds * self._speed
        self._out.append(report if self._speed == 1.0 else replace(report, seconds=seconds))
        progress = None if report.step is None else rental.report(seconds, report.step)
        if progress is not None:
            self._placement.measured(self._fleet.offer_of(rental).machine.name, rental.number, *progress)

    def _on_saved(self, rental: Rental, event: CheckpointSaved) -> None:
        """A checkpoint is complete: what is stored of the machine says so, should this process be killed."""
        step, seconds = rental.reached if event.step is None else event.step, event.seconds * self._speed
        rental.take_checkpoint(step, seconds)
        rental.is_saved = True
        if rental.mark is not None:
            rental.mark = (rental.mark[0] + seconds, rental.mark[1])
        if self._hooks.writes_ahead:
            row = rental.first.row
            row = rental.first.row = replace(row, kept=rental.kept, reached=rental.reached, ready=rental.ready)
            self._out.append(MachineUpdate(rental.number, row))
        if rental.phase is Phase.SAVING:
            rental.phase = Phase.TRAINING
            self._set_periodic(rental, self._there(event.time))

    def _on_finished(self, rental: Rental, finished: Finished) -> None:
        kept = finished.kept_step
        if finished.state is TrialState.QUEUED and kept is not None and rental.ready is not None:
            if not (rental.is_saved and kept == rental.kept):  # else `CheckpointSaved` has told, and how long it took
                ended = rental.started + finished.seconds * self._speed  # when it did, not when that was heard
                rental.take_checkpoint(kept, max(ended - rental.asked_at, 0.0))
        elif finished.state is TrialState.DONE:
            rental.kept = rental.reached
        self._leave(rental, rental.end_of_program(finished, self._speed))

    # -- events of the provider

    def _hear_provider(self, event: cloud.Event) -> None:
        rental = self._fleet.rental_on(event.machine_id)
        if rental is None:
            update = self._fleet.take_left(event) if isinstance(event, cloud.Revoked) else None
            if update is not None:
                self._out.append(update)
        elif isinstance(event, cloud.Running):
            rental.stays[event.machine_id].booting = False
            if rental.phase is Phase.BOOTING and not any(stay.booting for stay in rental.stays.values()):
                self._begin(rental)
        elif isinstance(event, cloud.Noticed):
            self._on_notice(rental, event)
        else:
            self._on_revoked(rental, event)

    def _on_notice(self, rental: Rental, event: cloud.Noticed) -> None:
        rental.revoked = rental.revoked or f"revoked: a notice for {event.machine_id}"
        self._fleet.heed_notice(rental.stays[event.machine_id], event)
        if rental.phase is Phase.BOOTING:
            self._leave(rental, Finished(rental.number, (), TrialState.REVOKED, rental.revoked))
        elif rental.phase is Phase.SAVING:
            self._ask_to_end(rental, Purpose.NOTICE, EndMode.EVICT)
        elif rental.phase is Phase.TRAINING:
            if rental.facts.save <= event.gone_at - self._clock.now():
                self._ask_to_end(rental, Purpose.NOTICE, EndMode.EVICT)
            else:
                self.notes[TOO_LARGE] += 1

    def _on_revoked(self, rental: Rental, event: cloud.Revoked) -> None:
        rental.revoked = f"revoked: {event.machine_id} was taken ({event.cause})"
        if rental.phase not in (Phase.WAITING, Phase.BOOTING):
            self._kill(rental)
            self._hooks.lose_disk(rental.number)
        self._fleet.take(rental, event)
        self._leave(rental, Finished(rental.number, (), TrialState.REVOKED, rental.revoked))

    # -- the life of a run

    def _place(self, rental: Rental) -> None:
        """Launch machines, or wait for them."""
        trial, now = rental.trial, self._clock.now()
        need, quotes, nodes = self._need(rental), self._fleet.open_quotes(), self._placement.nodes(trial)
        self._fleet.launch(rental, self._placement.choose(need, quotes), quotes, nodes)
        if not rental.stays:
            self._wait_for_machines(rental, now)
            return
        if self._hooks.writes_ahead:
            self._out += [MachineLaunched(rental.number, stay.row) for stay in rental.stays.values()]
        rental.began, rental.phase = now, Phase.BOOTING
        self._timers.renew(rental)
        if len(rental.stays) < nodes:
            cause = f"revoked: only {len(rental.stays)} machines of {trial.configuration.cluster} available"
            self._leave(rental, Finished(trial.number, (), TrialState.REVOKED, cause))
            return
        self._timers.set(rental, self._placement.move_by(need, rental.held(self._clock.now())), Timer.DEADLINE)

    def _wait_for_machines(self, rental: Rental, now: float) -> None:
        """Try again later; ProviderError after LONGEST_WAIT."""
        waited = now - rental.waiting_since
        if waited > LONGEST_WAIT:
            raise ProviderError(
                f"no machine available for {waited / 86400:.0f} days",
                where=f"trial {rental.number}",
                hint="Add markets, or machines on demand",
            )
        self.notes["no machine available for a while"] += 1
        rental.phase = Phase.WAITING
        self._timers.set(rental, now + RETRY_SECONDS, Timer.RETRY)

    def _begin(self, rental: Rental) -> None:
        """All machines have booted: the program starts, with what is left of its lease."""
        terms = rental.program_terms(self._base.monotonic(), self._speed)
        if terms is None:
            cause = "its lease was over before it could begin"
            self._leave(rental, Finished(rental.number, (), TrialState.LOST, cause))
            return
        rental.phase, rental.started = Phase.TRAINING, self._clock.now()
        self._programs.start(self._hooks.on_machine(rental.trial, self._fleet.offer_of(rental)), terms)

    def _ask_to_end(self, rental: Rental, purpose: Purpose, mode: EndMode) -> None:
        rental.phase, rental.purpose, rental.mode, rental.asked_at = Phase.ENDING, purpose, mode, self._clock.now()
        rental.is_saved = False
        self._programs.end(rental.number, mode)

    def _kill(self, rental: Rental) -> None:
        if rental.number in self._programs.running:
            self._programs.end(rental.number, EndMode.KILL)

    def _leave(self, rental: Rental, finished: Finished) -> None:
        """Give machines back, but for those that will cost nothing, and tell the end."""
        now = self._clock.now()
        self._fleet.give_back(rental, finished.cause if rental.purpose is None else rental.purpose.value)
        self._out.append(rental.billed_end(finished, now, bills_add_up=self._hooks.bills_add_up))
        del self._rentals[rental.number]

    # -- timers

    def _set_periodic(self, rental: Rental, now: float) -> None:
        if rental.first.row.on_demand or rental.facts.save <= self._placement.notice:
            return  # it can be saved when the provider says that the machine goes
        held = rental.held(self._clock.now())
        every = self._placement.save_every(self._need(rental), held, self._fleet.quotes())
        self._timers.set(rental, now + every, Timer.SAVE)

    def _fire_timers(self) -> None:
        now = self._clock.now()
        for number, version, kind in self._timers.due(now):
            rental = self._rentals.get(number)
            if rental is None or rental.version != version:
                continue
            if kind is Timer.RETRY:
                if rental.phase is Phase.WAITING:
                    self._place(rental)
            elif rental.revoked or rental.phase is Phase.ENDING:
                continue
            elif rental.phase is not Phase.TRAINING or rental.ready is None:  # look again when it trains
                self._timers.set(rental, now + RETRY_SECONDS, kind)
            elif kind is Timer.SAVE:
                rental.phase, rental.asked_at = Phase.SAVING, now
                self._programs.save(number)
            else:
                self._consider_moving(rental, kind)

    def _consider_moving(self, rental: Rental, kind: Timer) -> None:
        need, held = self._need(rental), rental.held(self._clock.now())
        if kind is Timer.DEADLINE:
            stays, again = not self._placement.must_move(need), self._placement.move_by(need, held)
        else:
            stays, again = self._placement.keep(need, held, self._fleet.quotes()), need.now + HOUR
        if stays:
            self._timers.set(rental, again, kind)
        else:
            self._ask_to_end(rental, Purpose.MOVE, EndMode.EVICT)

    def _need(self, rental: Rental) -> Need:
        facts, now = rental.facts, self._clock.now()
        waited = now - rental.waiting_since if not rental.stays else 0.0
        done = max(facts.step, rental.reached)
        return Need(rental.trial, now, done, facts.save, facts.restore, rental.terms.time_limit, waited, facts.keeps)
