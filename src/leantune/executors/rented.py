"""Runs trials on rented machines that may be taken away: a provider rents and bills, another executor runs programs.

    waiting --launched--> booting --all run--> training --ended--> told
       ^                     |                  |   ^
       +- nothing to be had  |                  |   +-- periodic checkpoint
                             +--- revoked ------+--> told as revoked

On a notice the program is asked to save its checkpoint and end; when the machine is taken it is dead, whatever it did.
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
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Protocol

from leantune.clock import Clock
from leantune.cloud import provider as cloud
from leantune.cloud.billing import Bill
from leantune.cloud.provider import Offer
from leantune.errors import LaunchRefused, MachineGone, ProviderError
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
from leantune.history import History, Observation, Trial, TrialState
from leantune.rent.placement import Need, Placement
from leantune.rent.provisioner import Held, OfferChoice
from leantune.rent.quotes import Forecaster, Quotes, quotes_text
from leantune.store.rows import StayRow
from leantune.units import SECONDS_PER_HOUR, Seconds, Usd

RETRY_SECONDS = 60.0  # of the market, until a launch that was refused everywhere is tried again
REFUSED_SECONDS = 600.0  # how long an offer that was refused is not asked for
HOUR = 3600.0  # of the market, after which a move is considered
LONGEST_WAIT = 30 * 86400.0  # for a machine; then something is wrong that no patience helps against


class MarketClock(Clock, Protocol):
    """The market's clock: `speed` of its seconds pass in one of this world."""

    @property
    def speed(self) -> float: ...


class Phase(StrEnum):
    """Where the run of a trial is."""

    WAITING = "waiting"
    BOOTING = "booting"
    TRAINING = "training"
    SAVING = "saving"  # a periodic checkpoint
    ENDING = "ending"  # asked to save and end


class Purpose(StrEnum):
    """Why a program was asked to save and end."""

    ASKED = "asked"
    NOTICE = "notice"
    MOVE = "move"


class Timer(StrEnum):
    """What is to be looked at later."""

    RETRY = "retry"
    HOUR = "hour"
    SAVE = "save"
    DEADLINE = "deadline"


@dataclass
class _Stay:
    """A trial on one machine; gone_at: when the provider will take it, once it said so."""

    row: StayRow
    offer: int
    gone_at: float | None = None
    booting: bool = True


@dataclass
class _Rental:
    """One run of a trial and its machines.

    renewed: when its lease was (this world). waiting_since: without machines. began: when its machines were launched;
    started: its program. asked_at: when it was asked to save. mark: seconds and step of its last report, or of its
    beginning; None while nobody knows. usd: of the bills so far.
    """

    trial: Trial
    terms: Terms
    renewed: float
    phase: Phase = Phase.WAITING
    version: int = 0  # timers set for an earlier phase of its life are void
    waiting_since: float = 0.0
    began: float = 0.0
    started: float = 0.0
    stays: dict[str, _Stay] = field(default_factory=dict)
    first_stay: _Stay | None = None
    purpose: Purpose | None = None
    mode: EndMode = EndMode.SAVE
    asked_at: float = 0.0
    is_saved: bool = False  # a checkpoint is complete since it was asked
    revoked: str = ""
    mark: tuple[float, float] | None = None
    step_from: float = 0.0
    reached: float = 0.0
    kept: float = 0.0
    saving: float = 0.0
    ready: float | None = None
    usd: float = 0.0
    rows: list[StayRow] = field(default_factory=list)

    @property
    def first(self) -> _Stay:
        """The machine that was launched first."""
        assert self.first_stay is not None
        return self.first_stay


@dataclass
class _CheckpointFacts:
    """What runs so far have shown of a trial's checkpoints: seconds to save one, its step, whether there are any."""

    save: float
    restore: float
    step: float = 0.0
    keeps: bool = True


@dataclass(frozen=True)
class RentalMarket:
    """Where machines are rented. clock: the market's. offers: what it rents out, in the order of the forecaster's.

    source: where its prices come from, for the ledger. poll: seconds of the market between two looks at machines and
    programs, where these are simulated; 0: they are seen at once.
    """

    provider: cloud.Provider
    clock: MarketClock
    offers: Sequence[Offer]
    forecaster: Forecaster
    tag: str = ""
    source: str = ""
    poll: float = 0.0


def as_it_is(trial: Trial, _offer: Offer) -> Trial:
    """Of a trial whose configuration names its machine."""
    return trial


def _no_disk(_number: int) -> None:
    return None


@dataclass(frozen=True)
class ProgramHooks:
    """What differs between programs.

    on_machine: the trial as it is started on a machine (a free machine is added to its configuration). lose_disk:
    forgets what a machine held that was taken. checkpoint: seconds of the market that a trial's checkpoint takes to be
    saved and to be restored, as far as known (None: of any). bills_add_up: the dollars and seconds of a result are
    those of all attempts, whatever was lost (a free machine); else those of the training that counts. writes_ahead:
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
    be done as wished, counted.
    """

    def __init__(
        self,
        programs: Programs,
        market: RentalMarket,
        placement: Placement,
        base: Clock,
        hooks: ProgramHooks = ProgramHooks(),  # noqa: B008
    ) -> None:
        self._programs, self._market, self._placement, self._base, self._hooks = (
            programs,
            market,
            placement,
            base,
            hooks,
        )
        self._provider, self._clock, self._offers = market.provider, market.clock, market.offers
        self._foreseeing = market.provider if isinstance(market.provider, cloud.Foreseeing) else None
        self._speed = market.clock.speed
        self._window = market.provider.policy.refund_window_seconds
        self._began = market.clock.now()
        self._rentals: dict[int, _Rental] = {}
        self._by_machine: dict[str, _Rental] = {}
        self._left: dict[str, StayRow] = {}  # machines that the provider is about to take, for nothing
        self._checkpoints: dict[int, _CheckpointFacts] = {}
        self._refused: dict[int, float] = {}  # offer -> until when it is not asked for again
        self._calling_back: dict[int, float] = {}  # offer -> until when its machines are being taken
        self._timers: list[tuple[float, int, int, int, Timer]] = []
        self._count = 0
        self._out: list[Event] = []
        self._quoted: tuple[float, Quotes] | None = None
        self._largest = max((cores_for(offer.machine.vcpus) for offer in market.offers), default=0)
        self.notes: dict[str, int] = {}

    # -- what is asked of it

    @property
    def running(self) -> frozenset[int]:
        """Numbers of the trials that are started and not yet told."""
        return frozenset(self._rentals) | {event.number for event in self._out if isinstance(event, Finished)}

    @property
    def owes(self) -> bool:
        """Whether machines are left that the provider has still to take and to bill."""
        return bool(self._left)

    def check(self, trial: Trial) -> None:
        """Refuse a trial that nobody rents machines for, or that its programs cannot run."""
        self._placement.check(trial)
        for offer in self._offers_of(trial):
            self._programs.check(self._hooks.on_machine(trial, offer))

    def capacity(self) -> FreeCapacity:
        """Room where the programs run, less what is promised to machines that still boot."""
        inner = self._programs.capacity()
        if inner.cores is None:
            return FreeCapacity(frozenset(self._rentals), inner.slots)
        held = sum(self._cores(rental) for rental in self._rentals.values() if rental.trial.number not in inner.running)
        # A machine that is chosen for a trial may be the largest.
        return FreeCapacity(self.running, inner.slots, inner.cores - held, inner.memory_gib, self._largest)

    def start(self, trial: Trial, terms: Terms = Terms()) -> None:  # noqa: B008 - frozen
        """Ask for machines; the program begins once they have booted."""
        self._refuse_twice(trial.number, self._rentals)
        self._placement.check(trial)
        rental = _Rental(trial, terms, self._base.now(), waiting_since=self._clock.now())
        self._renew_timers(rental)
        self._rentals[trial.number] = rental
        if trial.number not in self._checkpoints:
            self._checkpoints[trial.number] = _CheckpointFacts(*self._hooks.checkpoint(trial))
        self._place(rental)

    def renew(self, number: int) -> None:
        """Pass it on to the program, or to when it begins."""
        rental = self._rentals.get(number)
        if rental is not None:
            rental.renewed = self._base.now()
            self._programs.renew(number)

    def end(self, number: int, mode: EndMode) -> None:
        """Ask the program to save and end, or kill it; its machines are given back."""
        rental = self._rentals.get(number)
        if rental is None:
            self._end_ended(number, mode)
            return
        if mode is EndMode.KILL:
            self._kill(rental)
            self._give_back(rental, "ended")
            self._forget(rental)
            self._drop_events(number)
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

    def close(self) -> None:
        """Kill whatever runs and give every machine back; those that cost nothing are left to the provider."""
        self._programs.close()
        for rental in list(self._rentals.values()):
            self._give_back(rental, "closed")
            self._forget(rental)
        self._out.clear()

    def next_event_time(self) -> float | None:
        """When something happens next, by this world's clock; None where nobody knows."""
        coming = None if self._foreseeing is None else self._foreseeing.next_event_time()
        trained = self._programs.next_event_time()
        seen = math.inf if coming is None else coming
        if trained is not None:
            seen = min(seen, self._there(trained))
        next_time = min(self._look_after(seen), self._timers[0][0] if self._timers else math.inf)
        return None if next_time == math.inf else self._here(next_time)

    def wait(self, timeout: Seconds | None = None) -> None:
        """Wait for the programs, but not beyond what the market will do."""
        if self._out or not (self._rentals or self._left):
            return  # there is something to say, or nobody who could: timers of ended runs do not count
        coming = self.next_event_time()
        if coming is not None:
            until = max(coming - self._base.now(), 0.0)
            timeout = Seconds(until if timeout is None else min(until, timeout))
        if timeout is not None and self._market.poll > 0:
            self._base.sleep(timeout)  # to the next look, whatever happens before
        elif timeout is None or timeout > 0:
            self._programs.wait(timeout)

    def step(self, now: float) -> list[Event]:
        """Hear the provider and the programs in the order of their times, and do what follows."""
        for event in self._provider.poll():
            self._hear_programs(self._here(event.time))
            self._hear_provider(event)
        self._hear_programs(now)
        if self._timers and self._timers[0][0] <= self._clock.now():
            self._fire_timers()
        out, self._out = self._out, []
        return out

    def recall(self, stays: Sequence[StayRow]) -> None:
        """Go on from what is stored of earlier machines: where checkpoints are, and how long saving took."""
        for stay in stays:
            facts = self._checkpoints.get(stay.number) or _CheckpointFacts(*self._hooks.checkpoint(None))
            facts.step = stay.kept
            if stay.saving_seconds > 0:
                facts.save = stay.saving_seconds
            self._checkpoints[stay.number] = facts

    def due(self, history: History) -> float:
        """When the first of the paused trials must go on at the latest, or miss the deadline; by this world's clock."""
        now = self._clock.now()
        paused = [trial for trial in history.trials if trial.state is TrialState.PAUSED]
        checkpoints = [self._checkpoints[trial.number] for trial in paused]
        needs = [
            Need(trial, now, facts.step, facts.save, facts.restore)
            for trial, facts in zip(paused, checkpoints, strict=True)
        ]
        return self._here(min(map(self._placement.last_moment, needs), default=math.inf))

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
        poll = self._market.poll
        if poll <= 0 or time == math.inf:
            return time
        return self._began + math.ceil((time - self._began) / poll - 1e-9) * poll

    # -- what programs say

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

    def _on_begun(self, rental: _Rental, event: Begun) -> None:
        facts, ready = self._checkpoints[rental.trial.number], self._there(event.time)
        step = facts.step if event.step is None else event.step
        rental.ready, rental.phase = ready, Phase.TRAINING
        rental.step_from = rental.kept = rental.reached = step
        rental.mark = None if event.step is None else (0.0, step)
        # Whoever needs most of the hour to get going has half an hour to get on.
        self._set_timer(rental, max(rental.began + HOUR, ready + HOUR / 2), Timer.HOUR)
        self._set_periodic(rental, ready)
        self._out.append(event)

    def _on_report(self, rental: _Rental, said: Report) -> None:
        seconds = said.seconds * self._speed
        self._out.append(said if self._speed == 1.0 else replace(said, seconds=seconds))
        if said.step is None:
            return
        rental.reached = said.step
        if rental.mark is not None:
            took, steps = seconds - rental.mark[0], said.step - rental.mark[1]
            if took > 0 and steps > 0:
                self._placement.measured(self._type(rental), rental.trial.number, took, steps)
        rental.mark = (seconds, said.step)

    def _on_saved(self, rental: _Rental, event: CheckpointSaved) -> None:
        """A checkpoint is complete: what is stored of the machine says so, should this process be killed."""
        step, seconds = rental.reached if event.step is None else event.step, event.seconds * self._speed
        self._take_checkpoint(rental, step, seconds)
        rental.is_saved = True
        if rental.mark is not None:
            rental.mark = (rental.mark[0] + seconds, rental.mark[1])
        if self._hooks.writes_ahead:
            row = rental.first.row
            row = rental.first.row = replace(row, kept=rental.kept, reached=rental.reached, ready=rental.ready)
            self._out.append(MachineUpdate(rental.trial.number, row))
        if rental.phase is Phase.SAVING:
            rental.phase = Phase.TRAINING
            self._set_periodic(rental, self._there(event.time))

    def _take_checkpoint(self, rental: _Rental, step: float, seconds: float) -> None:
        facts = self._checkpoints[rental.trial.number]
        facts.keeps = not (step <= rental.step_from and step < rental.reached)
        facts.step = rental.kept = step
        facts.save = seconds
        rental.reached = max(rental.reached, step)
        rental.saving += seconds

    def _on_finished(self, rental: _Rental, finished: Finished) -> None:
        kept = finished.kept_step
        if finished.state is TrialState.QUEUED and kept is not None and rental.ready is not None:
            if not (rental.is_saved and kept == rental.kept):  # else `CheckpointSaved` has told, and how long it took
                ended = rental.started + finished.seconds * self._speed  # when it did, not when that was heard
                self._take_checkpoint(rental, kept, max(ended - rental.asked_at, 0.0))
        elif finished.state is TrialState.DONE:
            rental.kept = rental.reached
        self._leave(rental, self._scaled(finished, rental))

    # -- what the provider says

    def _hear_provider(self, event: cloud.Event) -> None:
        rental = self._by_machine.get(event.machine_id)
        if rental is None:
            if isinstance(event, cloud.Revoked) and event.machine_id in self._left:
                self._bill_left(event)
            return
        stay = rental.stays[event.machine_id]
        if isinstance(event, cloud.Running):
            stay.booting = False
            if rental.phase is Phase.BOOTING and not any(stay.booting for stay in rental.stays.values()):
                self._begin(rental)
        elif isinstance(event, cloud.Noticed):
            stay.gone_at = event.gone_at
            self._on_notice(rental, event)
        else:
            self._on_revoked(rental, event)

    def _on_notice(self, rental: _Rental, event: cloud.Noticed) -> None:
        rental.revoked = rental.revoked or f"revoked: a notice for {event.machine_id}"
        stay = rental.stays[event.machine_id]
        if event.time < stay.row.launched + 1.0:  # the next machine of that offer would be called back at once, too
            self._calling_back[stay.offer] = event.gone_at
        if rental.phase is Phase.BOOTING:
            self._leave(rental, Finished(rental.trial.number, (), TrialState.REVOKED, rental.revoked))
        elif rental.phase is Phase.SAVING:
            self._ask_to_end(rental, Purpose.NOTICE, EndMode.EVICT)
        elif rental.phase is Phase.TRAINING:
            if self._checkpoints[rental.trial.number].save <= event.gone_at - self._clock.now():
                self._ask_to_end(rental, Purpose.NOTICE, EndMode.EVICT)
            else:
                self._note("a model is too large to be saved within the notice: its last periodic checkpoint counts")

    def _on_revoked(self, rental: _Rental, event: cloud.Revoked) -> None:
        number = rental.trial.number
        rental.revoked = f"revoked: {event.machine_id} was taken ({event.cause})"
        if rental.phase not in (Phase.WAITING, Phase.BOOTING):
            self._kill(rental)
            self._hooks.lose_disk(number)
        self._close_stay(rental, event.machine_id, "revoked", revoked_at=event.time)
        self._leave(rental, Finished(number, (), TrialState.REVOKED, rental.revoked))

    def _bill_left(self, event: cloud.Revoked) -> None:
        """A machine that was left has been taken: what it would have cost, and that it was given back."""
        row, bill = self._left.pop(event.machine_id), self._provider.bills()[event.machine_id]
        left = event.time if row.left is None else min(row.left, event.time)
        taken = _with(
            row, gross_usd=bill.gross_usd, refund_usd=bill.refund_usd, left=left, ended=event.time, revoked=True
        )
        self._out.append(MachineUpdate(row.number, taken))

    # -- the life of a run

    def _place(self, rental: _Rental) -> None:
        """Launch machines, or wait for some."""
        trial, now = rental.trial, self._clock.now()
        need, quotes = self._need(rental), self._quotes_without_refused(now)
        nodes = self._placement.nodes(trial)
        choices = iter(self._placement.choose(need, quotes))
        choice = next(choices, None)
        while choice is not None and len(rental.stays) < nodes:
            if not self._launch(rental, choice, quotes if not rental.stays else None):
                choice = next(choices, None)
        if not rental.stays:
            self._wait_for_machines(rental, now)
            return
        rental.began, rental.phase = now, Phase.BOOTING
        self._renew_timers(rental)
        if len(rental.stays) < nodes:
            cause = f"revoked: only {len(rental.stays)} machines of {trial.configuration.cluster} were to be had"
            self._leave(rental, Finished(trial.number, (), TrialState.REVOKED, cause))
            return
        self._set_timer(rental, self._placement.move_by(need, self._held(rental)), Timer.DEADLINE)

    def _launch(self, rental: _Rental, choice: OfferChoice, quotes: Quotes | None) -> bool:
        offer, now = self._offers[choice.offer], self._clock.now()
        if self._calling_back.get(choice.offer, -math.inf) > now:
            return False
        try:
            machine = self._provider.launch(offer, choice.max_price, self._market.tag)
        except LaunchRefused:
            self._refused[choice.offer] = now + REFUSED_SECONDS
            self._note("a launch was refused")
            return False
        ahead = self._hooks.writes_ahead
        seen = quotes_text(quotes) if quotes is not None and ahead else ""
        step = self._checkpoints[rental.trial.number].step
        price = offer.usd_per_hour if quotes is None else float(quotes.price[choice.offer])
        row = StayRow(
            rental.trial.number,
            rental.terms.attempt,
            machine,
            str(offer.market),
            offer.on_demand,
            choice.max_price,
            price,
            self._market.source,
            now,
            seen,
            step,
            kept=step,
            reached=step,
        )
        stay = rental.stays[machine] = _Stay(row, choice.offer)
        rental.first_stay = rental.first_stay or stay
        rental.step_from = rental.kept = rental.reached = step
        self._by_machine[machine] = rental
        if ahead:
            self._out.append(MachineLaunched(rental.trial.number, row))
        return True

    def _wait_for_machines(self, rental: _Rental, now: float) -> None:
        """Try again in a while; not for ever."""
        waited = now - rental.waiting_since
        if waited > LONGEST_WAIT:
            raise ProviderError(
                f"no machine was to be had for {waited / 86400:.0f} days",
                where=f"trial {rental.trial.number}",
                hint="Add markets, or machines on demand",
            )
        self._note("no machine was to be had for a while")
        rental.phase = Phase.WAITING
        self._set_timer(rental, now + RETRY_SECONDS, Timer.RETRY)

    def _begin(self, rental: _Rental) -> None:
        """All machines have booted: the program starts, with what is left of its lease."""
        terms = rental.terms
        lease = None if terms.lease is None else terms.lease - (self._base.now() - rental.renewed)
        if lease is not None and lease <= 0:
            cause = "its lease was over before it could begin"
            self._leave(rental, Finished(rental.trial.number, (), TrialState.LOST, cause))
            return
        if self._speed != 1.0 or lease is not None:
            limit = None if terms.time_limit is None else Seconds(terms.time_limit / self._speed)
            terms = replace(
                terms,
                time_limit=limit,
                market_limit=terms.time_limit,
                lease=None if lease is None else Seconds(lease),
                earlier_seconds=Seconds(terms.earlier_seconds / self._speed),
                continues=_faster(terms.continues, self._speed),
            )
        rental.phase, rental.started = Phase.TRAINING, self._clock.now()
        self._programs.start(self._hooks.on_machine(rental.trial, self._offers[rental.first.offer]), terms)

    def _ask_to_end(self, rental: _Rental, purpose: Purpose, mode: EndMode) -> None:
        rental.phase, rental.purpose, rental.mode, rental.asked_at = Phase.ENDING, purpose, mode, self._clock.now()
        rental.is_saved = False
        self._programs.end(rental.trial.number, mode)

    def _kill(self, rental: _Rental) -> None:
        if rental.trial.number in self._programs.running:
            self._programs.end(rental.trial.number, EndMode.KILL)

    # -- timers

    def _renew_timers(self, rental: _Rental) -> None:
        """Those that were set before are void, also those of earlier runs of the trial."""
        self._count += 1
        rental.version = self._count

    def _set_timer(self, rental: _Rental, time: float, kind: Timer) -> None:
        if time < math.inf:
            self._count += 1
            heapq.heappush(self._timers, (time, self._count, rental.trial.number, rental.version, kind))

    def _set_periodic(self, rental: _Rental, now: float) -> None:
        if rental.first.row.on_demand or self._checkpoints[rental.trial.number].save <= self._placement.notice:
            return  # it can be saved when the provider says that the machine goes
        every = self._placement.save_every(self._need(rental), self._held(rental), self._quotes())
        self._set_timer(rental, now + every, Timer.SAVE)

    def _fire_timers(self) -> None:
        now = self._clock.now()
        while self._timers and self._timers[0][0] <= now:
            _, _, number, version, kind = heapq.heappop(self._timers)
            rental = self._rentals.get(number)
            if rental is None or rental.version != version:
                continue
            if kind is Timer.RETRY:
                if rental.phase is Phase.WAITING:
                    self._place(rental)
            elif rental.revoked or rental.phase is Phase.ENDING:
                continue
            elif rental.phase is not Phase.TRAINING or rental.ready is None:  # look again when it trains
                self._set_timer(rental, now + RETRY_SECONDS, kind)
            elif kind is Timer.SAVE:
                rental.phase, rental.asked_at = Phase.SAVING, now
                self._programs.save(number)
            else:
                self._consider_moving(rental, kind)

    def _consider_moving(self, rental: _Rental, kind: Timer) -> None:
        need, held = self._need(rental), self._held(rental)
        if kind is Timer.DEADLINE:
            stays, again = not self._placement.must_move(need), self._placement.move_by(need, held)
        else:
            stays, again = self._placement.keep(need, held, self._quotes()), need.now + HOUR
        if stays:
            self._set_timer(rental, again, kind)
        else:
            self._ask_to_end(rental, Purpose.MOVE, EndMode.EVICT)

    # -- what the placement is asked

    def _need(self, rental: _Rental) -> Need:
        facts, now = self._checkpoints[rental.trial.number], self._clock.now()
        waited = now - rental.waiting_since if not rental.stays else 0.0
        done = max(facts.step, rental.reached)
        limit = rental.terms.time_limit
        return Need(rental.trial, now, done, facts.save, facts.restore, limit, waited, facts.keeps)

    def _held(self, rental: _Rental) -> Held:
        first = rental.first
        return Held(first.offer, first.row.max_price, self._clock.now() - first.row.launched)

    def _quotes(self) -> Quotes:
        """What is known now; asked once while the time stands still, for all trials that move together."""
        now = self._clock.now()
        if self._quoted is None or self._quoted[0] != now:
            self._quoted = (now, self._market.forecaster.quotes(now))
        return self._quoted[1]

    def _quotes_without_refused(self, now: float) -> Quotes:
        quotes = self._quotes()
        if not self._refused:
            return quotes
        return quotes.closed([offer for offer, until in self._refused.items() if until > now])

    # -- the end of a run

    def _leave(self, rental: _Rental, finished: Finished) -> None:
        """Give machines back, but for those that will cost nothing, and tell the end."""
        seconds = max(self._clock.now() - rental.began, 0.0) if rental.stays or rental.rows else 0.0
        self._give_back(rental, finished.cause if rental.purpose is None else rental.purpose.value)
        self._out.append(self._billed_end(rental, finished, seconds))
        self._forget(rental)

    def _give_back(self, rental: _Rental, why: str) -> None:
        for machine in list(rental.stays):
            self._close_stay(rental, machine, why)

    def _close_stay(self, rental: _Rental, machine: str, why: str, *, revoked_at: float | None = None) -> None:
        """End a trial's stay: the machine is gone, or left to the provider, or given back now."""
        stay, now = rental.stays.pop(machine), self._clock.now()
        del self._by_machine[machine]
        free = revoked_at is None and stay.gone_at is not None and stay.gone_at - stay.row.launched < self._window
        ended, revoked, bill = now, revoked_at is not None, None
        if not free:
            ended = now if revoked_at is None else revoked_at
            bill, gone = self._bill(machine, gone=revoked)
            revoked = revoked or gone
        row = _with(
            stay.row,
            step_from=rental.step_from,
            ready=rental.ready,
            left=ended,
            ended=None if bill is None else ended,
            kept=rental.kept,
            reached=rental.reached,
            saving_seconds=rental.saving,
            gross_usd=None if bill is None else bill.gross_usd,
            refund_usd=None if bill is None else bill.refund_usd,
            revoked=revoked,
            why=why,
        )
        rental.rows.append(row)
        if bill is not None:
            rental.usd += bill.net_usd
        if bill is None or (revoked and revoked_at is None):  # the provider has still to say when it took it
            self._left[machine] = row

    def _bill(self, machine: str, *, gone: bool) -> tuple[Bill, bool]:
        """What a machine costs, and whether the provider was faster than we."""
        if not gone:
            try:
                return self._provider.terminate(machine), False
            except MachineGone:
                pass
        return self._provider.bills()[machine], True

    def _forget(self, rental: _Rental) -> None:
        del self._rentals[rental.trial.number]

    def _scaled(self, finished: Finished, rental: _Rental) -> Finished:
        """In seconds of the market; an end that the provider asked for is a revocation."""
        speed, state, cause = self._speed, finished.state, finished.cause
        if state is TrialState.QUEUED and rental.purpose is not Purpose.ASKED:
            if rental.revoked:
                return Finished(finished.number, (), TrialState.REVOKED, f"{rental.revoked}; {cause}")
            if rental.purpose is Purpose.MOVE:
                return Finished(finished.number, (), TrialState.QUEUED, "moved to another machine")
        shown = finished.observations
        if speed != 1.0:
            shown = tuple(
                replace(seen, seconds=None if seen.seconds is None else Seconds(seen.seconds * speed)) for seen in shown
            )
        return finished._replace(observations=shown)

    def _billed_end(self, rental: _Rental, finished: Finished, seconds: float) -> Finished:
        terms, cluster = rental.terms, rental.trial.configuration.cluster
        usd = rental.usd
        if cluster is not None:
            usd += cluster.overhead_usd_per_hour * seconds / SECONDS_PER_HOUR
        shown = finished.observations
        if shown:
            adds_up = self._hooks.bills_add_up
            total = usd + (terms.earlier_usd if finished.resumed or adds_up else 0.0)
            whole = terms.earlier_seconds + seconds
            if finished.continued and terms.continues is not None:
                smaller = terms.continues[1]
                total, whole = total + (smaller.cost or 0.0), whole + (smaller.seconds or 0.0)
            shown = tuple(_billed(seen, shown[-1], total, whole if adds_up else None) for seen in shown)
        return finished._replace(
            observations=shown,
            seconds=Seconds(seconds),
            usd=Usd(usd),
            kept_step=rental.kept,
            stays=tuple(rental.rows),
        )

    # -- small things

    def _cores(self, rental: _Rental) -> int:
        """What its machine takes of the host that stands in for it."""
        cluster = rental.trial.configuration.cluster
        return self._largest if cluster is None else cores_for(cluster.vcpus)

    def _type(self, rental: _Rental) -> str:
        return self._offers[rental.first.offer].machine.name

    def _offers_of(self, trial: Trial) -> list[Offer]:
        """One offer of each machine type that the trial may be on."""
        cluster = trial.configuration.cluster
        names = {offer.machine.name: offer for offer in self._offers}
        return [offer for name, offer in names.items() if cluster is None or name == cluster.type]

    def _end_ended(self, number: int, mode: EndMode) -> None:
        """Of a trial that has ended and was not told yet: it is told as it ended, unless nobody wants to know."""
        self._check_running(number)
        if mode is EndMode.KILL:
            self._drop_events(number)

    def _drop_events(self, number: int) -> None:
        """Of a run that was killed nothing is told; bills of earlier machines are."""
        self._out = [event for event in self._out if event.number != number or isinstance(event, MachineUpdate)]

    def _note(self, text: str) -> None:
        self.notes[text] = self.notes.get(text, 0) + 1


def _with(row: StayRow, **changes: object) -> StayRow:
    """dataclasses.replace without its checks: a simulation changes 200,000 rows."""
    made = object.__new__(StayRow)
    made.__dict__.update(row.__dict__)
    made.__dict__.update(changes)
    return made


def _faster(continues: tuple[Trial, Observation] | None, speed: float) -> tuple[Trial, Observation] | None:
    """What a run goes on from, in seconds of this world."""
    if continues is None or continues[1].seconds is None:
        return continues
    return continues[0], replace(continues[1], seconds=Seconds(continues[1].seconds / speed))


def _billed(seen: Observation, last: Observation, total: float, whole: float | None) -> Observation:
    """The bill of the whole run, shared out by the seconds until each snapshot; whole: its seconds, where other ones
    count than those of the program.
    """
    share = min(seen.seconds / last.seconds, 1.0) if seen.seconds is not None and last.seconds else 1.0
    return replace(seen, cost=Usd(total * share), seconds=seen.seconds if whole is None else Seconds(whole * share))
