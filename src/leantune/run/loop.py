"""The loop: recover what was lost, start what is queued, propose what is missing, record what has ended.

Every worker of a study runs the same loop; they meet only in the store. Nothing that matters is kept in memory: killed
at any moment, another worker, or the same command started again, goes on from what the store holds, with the same next
proposal. A trial is claimed for a while (a lease) and run by nobody else as long; a worker that lost its lease ends its
run and may not record it.
"""

from __future__ import annotations

import math
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from leantune.clock import Clock
from leantune.errors import LeanTuneError, LeaseLost, Outdated
from leantune.executors.base import Capacity, Executor, Finished, How, Report, Terms
from leantune.history import History, Trial, TrialState
from leantune.problem import Problem
from leantune.run.batches import before_batch
from leantune.run.events import (
    Ended,
    Observer,
    Proposed,
    Recovered,
    Reported,
    Started,
    Stopping,
    Waiting,
    nobody,
)
from leantune.run.heartbeat import Heartbeat
from leantune.run.ledger import TimeRules, dollars
from leantune.run.workers import dead_workers, this_worker
from leantune.store.study import Booking, Claim, Look, Money, ReportRow, StudyStore
from leantune.strategies.tuner import Over, Tuner, View, Wait
from leantune.units import SECONDS_PER_HOUR, Seconds

PROPOSAL_SECONDS = 120.0  # after which a worker that went away while proposing is not waited for any more
OTHERS_PROPOSE, OTHERS_RUN = "another worker's proposal", "other workers' trials"
QUICK_PROPOSAL = 0.05  # seconds: computing one in vain costs less than waiting for one's turn
FIRST_RUN = 3  # moves of a trial that runs for the first time: proposed, queued, running
FOREVER = 1e12  # the lease of a worker whose clock is not the wall's, or that shares its study with nobody
RECOVERY_SECONDS = 1.0  # between looks for vanished workers
SHORTEST_PAUSE, LONGEST_PAUSE = 0.02, 0.5  # seconds between looks at the store while others work


@dataclass(frozen=True)
class Plan:
    """How a worker works.

    lease: seconds after which a vanished worker's trial is given to another; None where nobody shares the study.
    poll: seconds after which a wait for running trials looks up again; None: only when one ends. deterministic: propose
    in whole batches of `batch`. max_failures: give up when so many trials have failed and none came through.
    """

    problem: Problem
    strategy: Tuner
    seed: int
    rules: TimeRules
    lease: float | None = 60.0
    poll: float | None = 0.25
    deterministic: bool = False
    batch: int = 1
    max_failures: int | None = 5


class Outcome(StrEnum):
    """Why a loop has ended."""

    OVER = "over"  # the strategy's stop rule, the budget, or nothing left to test
    ENOUGH = "enough"  # as many trials as this call was to propose
    INTERRUPTED = "interrupted"  # by the user; everything resumes
    FAILING = "failing"  # trial after trial fails


@dataclass(frozen=True)
class End:
    """Why a loop has ended, and in words."""

    outcome: Outcome
    reason: str


ONLY_ONE_HAS_RUN = End(Outcome.ENOUGH, "the trial has run")


class Loop:
    """One worker of a study."""

    def __init__(
        self, store: StudyStore, plan: Plan, executor: Executor, clock: Clock, observer: Observer = nobody
    ) -> None:
        self._store, self._plan, self._executor, self._clock, self._observer = store, plan, executor, clock, observer
        self._worker = this_worker(plan.rules.parallel, clock)
        self._lease = FOREVER if plan.lease is None else plan.lease
        self._claims: dict[int, Claim] = {}
        self._heart: Heartbeat | None = None
        self._interrupts = 0
        self._failures = 0
        self._succeeded = False
        self._waiting: Waiting | None = None
        self._pause = SHORTEST_PAUSE
        self._next_recovery = -math.inf
        self._alone = False
        self._only: int | None = None
        self._proposing = False
        self._proposal_seconds = math.inf

    def interrupt(self) -> None:
        """Stop gently: running trials are asked to save a checkpoint. The second time: at once. Safe in a signal
        handler.
        """
        self._interrupts += 1

    def run(self, *, trials: int | None = None, only: int | None = None) -> End:
        """Work until the study is over, or this worker has proposed `trials` of them, or trial `only` has run."""
        self._only, history = only, self._store.history()
        self._succeeded = any(trial.state is TrialState.DONE for trial in history.trials)
        last = None if trials is None else len(history) + trials
        self._store.join(self._worker)
        beating = None if self._plan.lease is None else self._heartbeat(self._plan.lease)
        try:
            with beating or nullcontext() as self._heart:
                while True:
                    end = self._turn(last)
                    if end is not None:
                        return end
        finally:
            self._give_back("its worker ended")
            self._store.leave(self._worker.id)

    def _heartbeat(self, lease: float) -> Heartbeat:
        return Heartbeat(self._store, self._executor, self._worker.id, lease, self._clock)

    def _turn(self, last: int | None) -> End | None:
        if self._interrupts:
            return self._stop_running()
        self._recover()
        self._drop_lost()
        step = self._fill(last)
        if isinstance(step, End) and not self._claims:
            return step
        if isinstance(step, Waiting):
            self._wait(step)
        if not self._interrupts:
            self._collect(self._plan.poll)
        if self._plan.max_failures and not self._succeeded and self._failures >= self._plan.max_failures:
            return End(Outcome.FAILING, f"{self._failures} trials failed and none came through")
        return None

    # -- what was lost

    def _recover(self) -> None:
        """Queue again what vanished workers left running; a machine is paid for until its lease ends."""
        now = self._clock.now()
        if now < self._next_recovery:
            return
        self._next_recovery = now + RECOVERY_SECONDS
        running = self._store.running()  # before the workers: whoever claims has joined before
        workers = self._store.workers()
        dead = dead_workers(workers) - {self._worker.id}
        alive = {worker.id for worker in workers} - dead
        self._alone = alive <= {self._worker.id}
        for claim in running:
            if claim.trial.number in self._claims or (claim.worker in alive and claim.lease_until > now):
                continue
            cause = f"worker {claim.worker} vanished"
            seconds = self._unmeasured_seconds(claim, min(now, claim.lease_until))
            if self._store.lose(claim, time=now, cause=cause, dollars=dollars(claim.booking.rate, seconds)):
                self._observer(Recovered(self._store.history().trial(claim.trial.number), cause))
        for worker in dead:
            self._store.release_proposing(worker)
            self._store.leave(worker)

    def _drop_lost(self) -> None:
        """End runs that were given to others while this process could not renew them."""
        for number in self._heart.take_lost() if self._heart else ():
            if self._claims.pop(number, None) is not None and number in self._executor.running:
                self._executor.end(number, How.KILL)

    # -- what is to be started

    def _fill(self, last: int | None) -> End | Waiting | None:
        """Start trials while there is room; what is waited for, or why no further one will come, when that stops it."""
        while len(self._claims) < self._plan.rules.parallel and not self._interrupts:
            look = self._store.look()
            waiting = look.history.trials if self._only is None else (look.history.trial(self._only),)
            queued = next((trial for trial in waiting if trial.state is TrialState.QUEUED), None)
            if queued is not None:
                capacity = self._executor.capacity()
                if self._start_queued(capacity) or self._booking_where_it_fits(capacity, queued, look.money):
                    continue  # the latter: another worker was faster
                return self._wait_to_start(queued, look)
            if self._only is not None:
                return Waiting(OTHERS_RUN) if waiting[0].pending and not self._claims else ONLY_ONE_HAS_RUN
            step = self._propose(look, last)
            if step is not None:
                return step
            if not self._interrupts:
                # What was just proposed, unless another worker was faster.
                self._start_queued(self._executor.capacity())
        return None

    def _start_queued(self, capacity: Capacity) -> bool:
        claim = self._store.claim(
            self._worker.id,
            time=self._clock.now(),
            lease=self._lease,
            fitting=lambda trial, money: self._booking_where_it_fits(capacity, trial, money),
        )
        if claim is None:
            return False
        terms = Terms(
            claim.attempt,
            None if claim.booking.time_limit is None else Seconds(claim.booking.time_limit),
            Seconds(self._plan.rules.grace),
            # The store counts the lease from before its transaction: the run must not count it from after.
            None if self._plan.lease is None else Seconds(max(0.0, claim.lease_until - self._clock.now())),
            self._earlier_seconds(claim.trial),
            claim.trial.moved_dollars,
        )
        self._claims[claim.trial.number] = claim
        if self._heart:
            self._heart.hold(claim.trial.number)
        self._executor.start(claim.trial, terms)
        self._observer(Started(claim.trial, claim.attempt, claim.booking))
        self._waiting, self._pause = None, SHORTEST_PAUSE
        return True

    def _earlier_seconds(self, trial: Trial) -> float:
        """How long earlier runs of the trial trained: as measured where we ended them, up to their last report where
        their worker vanished. What was paid for until that was noticed is not training.
        """
        reports = self._store.reports(trial.number) if len(trial.moves) > FIRST_RUN else []
        rate, seconds, attempt = trial.configuration.usd_per_hour, 0.0, 0
        for before, after in pairwise(trial.moves):
            if before.state is not TrialState.RUNNING:
                continue
            attempt += 1
            if self._plan.rules.billed and after.state is not TrialState.LOST:  # bills say nothing about seconds
                seconds += (after.time - before.time) * self._plan.rules.speed
            elif after.state is TrialState.QUEUED:
                seconds += after.time - before.time if rate is None else after.dollars / rate * SECONDS_PER_HOUR
            else:
                seconds += max((row.seconds for row in reports if row.attempt == attempt), default=0.0)
        return seconds

    def _booking_where_it_fits(self, capacity: Capacity, trial: Trial, money: Money) -> Booking | None:
        """Only calculates: it is called inside the store's transaction."""
        wanted = self._only in (None, trial.number) and capacity.fits(trial)
        return self._plan.rules.booking(trial, money) if wanted else None

    def _propose(self, look: Look, last: int | None) -> End | Waiting | None:
        """Propose one trial (None), unless the study is over or somebody has to be waited for."""
        step = self._over(look, last)
        # A proposal that another one overtook is refused by the store in any case. To take turns only spares the work
        # of computing it in vain, so who is alone, as far as it knows, or quick, does not ask.
        if step is not None or self._alone or self._proposal_seconds < QUICK_PROPOSAL:
            return step or self._propose_from(look)
        if not self._store.may_propose(self._worker.id, time=self._clock.now(), for_seconds=PROPOSAL_SECONDS):
            return Waiting(OTHERS_PROPOSE)
        self._proposing = True
        try:
            fresh = self._store.look()
            if len(fresh.history) == len(look.history):  # else somebody has proposed before it was our turn
                step = self._over(fresh, last) or self._propose_from(fresh)
        finally:
            if self._proposing:
                self._store.release_proposing(self._worker.id)
            self._proposing = False
        return step

    def _over(self, look: Look, last: int | None) -> End | Waiting | None:
        """Why nothing is to be proposed, now or ever."""
        if last is not None and len(look.history) >= last:
            return self._end_when_idle(End(Outcome.ENOUGH, "all trials of this call are proposed"), look.history)
        return Waiting("the end of the batch") if self._seen(look.history) is None else None

    def _seen(self, history: History) -> History | None:
        """What proposals and stop rules may look at; None while a deterministic batch is not complete."""
        return before_batch(history, self._plan.batch) if self._plan.deterministic else history

    def _propose_from(self, look: Look) -> End | Waiting | None:
        began, problem = self._clock.now(), self._plan.problem.with_budget(look.budget)
        seen = self._seen(look.history)
        assert seen is not None  # else `_over` had said so
        proposal = self._plan.strategy.ask(View(problem, seen, self._plan.seed))
        self._proposal_seconds = self._clock.now() - began
        if isinstance(proposal, Over):
            return self._end_when_idle(End(Outcome.OVER, proposal.why), look.history)
        if isinstance(proposal, Wait):
            return Waiting(proposal.why)
        rules = self._plan.rules
        # A batch that must not depend on the order of arrival has a limit that does not either.
        known = Money(look.money.budget_usd, seen.cost, 0.0) if self._plan.deterministic else look.money
        limit = rules.first_limit(proposal.configuration.usd_per_hour, dict(proposal.expected), known)
        time = self._clock.now()
        chosen, share, expected = proposal.configuration, proposal.fraction, proposal.expected
        draft = look.history.propose(chosen, share, proposal.snapshots, proposal.notes, time, expected, limit)[1]
        self._executor.check(draft)
        if rules.booking(draft, look.money) is None:
            return self._wait_to_start(draft, look)
        self._proposing = False  # whatever comes of it, the store gives the turn to others
        try:
            trial = self._store.propose(
                draft.configuration,
                draft.fraction,
                draft.snapshots,
                time=time,
                notes=draft.notes,
                expected=draft.expected,
                time_limit=limit,
                after=len(look.history),
            )
        except Outdated:
            return Waiting(OTHERS_PROPOSE)  # another worker was faster
        self._observer(Proposed(trial, time - began))
        return None

    def _wait_to_start(self, trial: Trial, look: Look) -> End | Waiting:
        """A trial is there and may not start, for want of room or of money (unless a reservation may be freed)."""
        if self._plan.rules.booking(trial, look.money) is not None:
            return Waiting("room on this machine")
        shortfall = self._plan.rules.shortfall(trial, look.money)
        if any(other.state is TrialState.RUNNING for other in look.history.trials):
            return Waiting(shortfall)
        return End(Outcome.OVER, shortfall)

    def _end_when_idle(self, end: End, history: History) -> End | Waiting:
        """The study ends when nobody runs a trial any more: a lost one would have to be run again."""
        if any(t.state is TrialState.RUNNING and t.number not in self._claims for t in history.trials):
            return Waiting(OTHERS_RUN)
        return end

    def _wait(self, what: Waiting) -> None:
        """Say once what is waited for; with nothing of its own running, look again later, ever more patiently."""
        if what != self._waiting:
            self._observer(what)
        self._waiting = what
        if not self._claims:
            self._clock.sleep(self._pause)
            self._pause = min(2 * self._pause, LONGEST_PAUSE)

    # -- what has ended

    def _collect(self, timeout: float | None) -> None:
        self._executor.wait(None if timeout is None else Seconds(timeout))
        events = self._executor.step(self._clock.now())
        self._pass_reports_on([event for event in events if isinstance(event, Report)])
        ended = [event for event in events if isinstance(event, Finished)]
        for finished in ended:
            self._record(finished)
        if ended:
            self._waiting = None

    def _pass_reports_on(self, reports: list[Report]) -> None:
        rows = [
            ReportRow(claim.trial.number, claim.attempt, said.seconds, said.metrics, said.step, said.fraction)
            for said in reports
            if (claim := self._claims.get(said.number)) is not None
        ]
        if rows:
            self._store.add_reports(rows)
        for report in reports:
            self._observer(Reported(report))

    def _record(self, finished: Finished) -> None:
        claim = self._claims.get(finished.number)
        if claim is None:
            return
        rate = claim.booking.rate
        spent = dollars(rate, finished.seconds) if finished.usd is None else finished.usd
        already, counted_again = claim.trial.moved_dollars, 0.0
        if finished.resumed and finished.observations:
            before = dollars(rate, self._earlier_seconds(claim.trial))
            counted_again = min(already, before) if finished.usd is None else already
        try:
            trial = self._store.finish(
                claim,
                observations=finished.observations,
                state=finished.state,
                cause=finished.cause,
                time=self._clock.now(),
                dollars=spent,
                resumed_dollars=counted_again,
            )
        except LeaseLost:
            self._forget(finished.number)
            return  # another worker runs it by now: its result will count, not ours
        self._forget(finished.number)  # not before it is recorded: what is not is given back at the end
        self._failures += finished.state in (TrialState.FAILED, TrialState.LOST)
        self._succeeded |= finished.state is TrialState.DONE
        self._observer(Ended(trial, spent, finished.seconds, finished.cause))

    def _forget(self, number: int) -> None:
        self._claims.pop(number, None)
        if self._heart:
            self._heart.release(number)

    def _unmeasured_seconds(self, claim: Claim, end: float) -> float:
        """How long a run is paid for whose end nobody measured: no longer than its reservation covers."""
        booking, seconds = claim.booking, max(0.0, end - claim.started) * self._plan.rules.speed
        if booking.time_limit is None or not booking.rate:
            return seconds
        return min(seconds, booking.usd / booking.rate * SECONDS_PER_HOUR)

    # -- the end

    def _stop_running(self) -> End:
        """Ask every run to save a checkpoint and end; when asked again, end them at once."""
        self._collect(0.0)  # what has ended meanwhile need not be asked to end
        self._observer(Stopping(self._interrupts == 1, len(self._claims)))
        for number in self._executor.running:
            self._executor.end(number, How.SAVE)
        while self._executor.running and self._interrupts == 1:
            self._drop_lost()
            self._collect(self._plan.poll)
        if self._executor.running:
            self._observer(Stopping(False, len(self._claims)))
        self._give_back("ended at once by the user")
        return End(Outcome.INTERRUPTED, "stopped by the user; the same command goes on")

    def _give_back(self, cause: str) -> None:
        """Record what has ended meanwhile, kill what still runs and queue it again, with what it cost."""
        if self._executor.running:
            with suppress(LeanTuneError):  # an executor that is broken has nothing to tell
                self._collect(0.0)
        self._executor.close()
        for number, claim in list(self._claims.items()):
            seconds = self._unmeasured_seconds(claim, self._clock.now())
            self._record(Finished(number, (), TrialState.QUEUED, cause, seconds))
