"""The loop: record events, judge running trials, start queued trials, propose new ones.

    record(store, executor.step(now))                     reports, ends, machines
    apply(store, executor, tuner.judge(view))             all live and paused trials: pause, resume, stop
    start what is queued, or store tuner.ask(view)        the user's own setting first; a proposal, or wait, or over
    wait for the next event

Every worker of a study runs the same loop; they meet only in the store. Nothing that matters is kept in memory: killed
at any moment, another worker, or the same command started again, goes on from what the store holds, with the same next
proposal. A claimed trial (a lease, for a while) is run by no other worker; a worker that lost its lease ends its
run and may not record it.
"""

from __future__ import annotations

import logging
import math
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING

from leantune.clock import Clock
from leantune.errors import LeanTuneError, LeaseLost
from leantune.executors.base import (
    EndMode,
    Executor,
    Finished,
    FreeCapacity,
    MachineLaunched,
    MachineUpdate,
    Report,
)
from leantune.history import NoteKind, Observation, Trial, TrialState
from leantune.run.attempts import Attempts
from leantune.run.events import (
    End,
    MachineRented,
    Observer,
    Outcome,
    ReportReceived,
    RunEnded,
    RunStarted,
    Stopping,
    TrialJudged,
    TrialRecovered,
    Waiting,
    no_observer,
)
from leantune.run.false_starts import FalseStarts
from leantune.run.keeping import KeptCheckpoints
from leantune.run.ledger import dollars
from leantune.run.proposing import OTHERS_RUN, Proposer
from leantune.run.workers import Heartbeat, LoopSettings, Workplace, dead_workers, this_worker
from leantune.store.rows import Booking, Claim, Money, ReportRow
from leantune.strategies.tuner import Judgement, View
from leantune.units import Seconds

if TYPE_CHECKING:
    from leantune.run.judging import Judge
    from leantune.store.base import Store

__all__ = ["End", "Loop", "LoopSettings", "Outcome"]

LOGGER = logging.getLogger("leantune.run")
FOREVER = 1e12  # the lease of a worker whose clock is not the wall's, or that does not share its study
RECOVERY_SECONDS = 1.0  # between looks for vanished workers
REMAINS_SECONDS = 0.1  # between looks at what such a worker left on this host, while it is ended
SHORTEST_PAUSE, LONGEST_PAUSE = 0.02, 0.5  # seconds between looks at the store while others work
ONLY_ONE_HAS_RUN = End(Outcome.ENOUGH, "the trial has run")


class Loop:
    """One worker of a study."""

    def __init__(
        self, store: Store, settings: LoopSettings, executor: Executor, clock: Clock, observer: Observer = no_observer
    ) -> None:
        self._worker = this_worker(settings.rules.parallel, clock)
        if LOGGER.isEnabledFor(logging.INFO):
            from leantune.run.logs import logged

            observer = logged(self._worker.id, observer)
        work = Workplace(store, settings, executor, clock, observer)
        self._store, self._settings, self._executor = store, settings, executor
        self._clock, self._observer = clock, observer
        self._lease = FOREVER if settings.lease is None else settings.lease
        self._claims: dict[int, Claim] = {}
        self._continues: dict[int, tuple[Trial, Observation] | None] = {}  # by running trial: its smaller trial
        self._judge = _new_judge(work) if settings.tuner.judges else None
        curves = None if self._judge is None else self._judge.curves
        self._attempts = Attempts(work, curves)
        self._false_starts = FalseStarts(work)
        by_trial = {} if curves is None else curves.by_trial
        self._proposer = Proposer(work, self._worker.id, self._attempts, by_trial, self._false_starts)
        self._checkpoints = KeptCheckpoints(settings.problem, settings.keep, executor)
        self._heart: Heartbeat | None = None
        self._interrupts = 0
        self._failures = 0
        self._succeeded = False
        self._waiting: Waiting | None = None
        self._pause = SHORTEST_PAUSE
        self._next_recovery = -math.inf
        self._remained: dict[tuple[int, int], float] = {}  # when something of a vanished worker's run was seen last
        self._alone = False
        self._only: int | None = None

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
        self._checkpoints.begin(history)
        lease = self._settings.lease
        beating = None if lease is None else Heartbeat(self._store, self._executor, self._worker.id, lease, self._clock)
        try:
            with beating or nullcontext() as self._heart:
                while True:
                    end = self._turn(last)
                    if end is not None:
                        self._await_bills(end)
                        if end.outcome is Outcome.OVER:
                            self._checkpoints.close(self._store.history())
                        LOGGER.info("ended, %s: %s", end.outcome.value, end.reason, extra={"worker": self._worker.id})
                        return end
        finally:
            self._give_back("its worker ended")
            self._store.leave(self._worker.id)

    def _turn(self, last: int | None) -> End | None:
        if self._interrupts:
            return self._stop_running()
        self._recover()
        self._drop_lost()
        self._hear()
        if self._false_starts.end is not None:
            return self._false_starts.end
        if self._settings.max_failures and not self._succeeded and self._failures >= self._settings.max_failures:
            return End(Outcome.FAILING, f"{self._failures} trials failed and none succeeded")
        due_at = self._due_at()
        if self._judge is not None and self._only is None:
            self._judge.look(self.view, self._claims, due=due_at <= self._clock.now())
        step = self._fill(last)
        if self._false_starts.withheld and self._is_idle(step) and self._false_starts.close():
            return None
        if isinstance(step, End) and not self._claims:
            judge = self._judge if step.outcome is Outcome.OVER else None
            goes_on = judge is not None and judge.close(self.view, step.reason)
            return None if goes_on else step
        if isinstance(step, Waiting):
            self._wait(step)
        if not self._interrupts:
            self._wait_for_events(due_at)
        return None

    def _is_idle(self, step: End | Waiting | None) -> bool:
        """Whether nothing runs or is to run here, and nothing will be started by what others do."""
        if self._claims or step is None or isinstance(step, End):
            return not self._claims and step is not None
        if not self._alone:
            return False
        queued = (trial.number for trial in self._store.history().pending if trial.state is TrialState.QUEUED)
        return self._false_starts.withheld.issuperset(queued)  # others wait for room on this machine

    def view(self, closed: str = "") -> View:
        """What the tuner may see now."""
        look = self._store.look()
        due = "the deadline would not wait" if self._due_at() <= self._clock.now() else ""
        return self._proposer.view(look.budget, look.history, closed, due)

    def _due_at(self) -> float:
        """By when the best of the paused must be chosen."""
        return math.inf if self._settings.due is None else self._settings.due(self._store.history())

    def _wait_for_events(self, due_at: float = math.inf) -> None:
        """Wait for the next event, but not beyond the deadline of the paused trials."""
        seconds, left = self._settings.poll, due_at - self._clock.now()
        if 0 < left < math.inf:
            seconds = left if seconds is None else min(seconds, left)
        self._executor.wait(None if seconds is None else Seconds(seconds))

    # -- what was lost

    def _recover(self) -> None:
        """Queue again what vanished workers left running, once nothing of it is left on this host. A machine is paid
        for until its lease ends, or until its last process has.
        """
        now = self._clock.now()
        if now < self._next_recovery:
            return
        self._next_recovery = math.inf if self._settings.alone else now + RECOVERY_SECONDS
        running = self._store.running()  # before the workers: a worker joins before it claims
        workers = self._store.workers()
        dead = dead_workers(workers) - {self._worker.id}
        alive = {worker.id for worker in workers} - dead
        self._alone = alive <= {self._worker.id}
        for claim in running:
            if claim.trial.number in self._claims or (claim.worker in alive and claim.lease_until > now):
                continue
            if self._executor.remains(claim.trial.number, claim.attempt, Seconds(self._settings.rules.grace)):
                self._remained[claim.trial.number, claim.attempt] = now
                self._next_recovery = min(self._next_recovery, now + REMAINS_SECONDS)
                continue  # it is claimed and paid for until nothing of it is left on this host
            cause = f"worker {claim.worker} vanished"
            until = max(min(now, claim.lease_until), self._remained.pop((claim.trial.number, claim.attempt), -math.inf))
            paid = dollars(claim.booking.rate, self._attempts.unmeasured_seconds(claim, until))
            trained = self._attempts.trained_seconds(claim.trial.number, claim.attempt)
            if self._store.lose(claim, time=now, cause=cause, dollars=paid, seconds=trained):
                self._changed(claim.trial.number)
                self._observer(TrialRecovered(self._store.history().trial(claim.trial.number), cause))
        for worker in dead:
            self._store.release_proposing(worker)
            self._store.leave(worker)

    def _drop_lost(self) -> None:
        """End runs that were given to others while this process could not renew them."""
        for number in self._heart.take_lost() if self._heart else ():
            if self._judge is not None:
                self._judge.forget(number)
            if self._claims.pop(number, None) is not None and number in self._executor.running:
                self._executor.end(number, EndMode.KILL)

    # -- what has happened

    def _hear(self) -> None:
        """Store reports before ends, in the order of arrival."""
        reports: list[Report] = []
        for event in self._executor.step(self._clock.now()):
            if isinstance(event, Report):
                reports.append(event)
            elif isinstance(event, Finished):
                self._pass_reports_on(reports)
                reports = []
                self._record(event)
                self._waiting = None
            elif isinstance(event, MachineUpdate):
                self._store.settle_stay(event.stay)
            elif isinstance(event, MachineLaunched):
                self._open_stay(event)
        self._pass_reports_on(reports)

    def _pass_reports_on(self, reports: list[Report]) -> None:
        rows = [
            ReportRow(claim.trial.number, claim.attempt, said.seconds, said.metrics, said.step, said.fraction)
            for said in reports
            if (claim := self._claims.get(said.number)) is not None
        ]
        if rows:
            self._store.add_reports(rows)
            self._false_starts.close()
            self._changed(*(row.number for row in rows))
        for report in reports:
            self._observer(ReportReceived(report))

    def _open_stay(self, event: MachineLaunched) -> None:
        claim = self._claims.get(event.number)
        if claim is not None:
            with suppress(LeaseLost):  # the heartbeat notices a lost lease, and ends the run
                self._store.open_stay(self._worker.id, event.stay)
            self._observer(MachineRented(claim.trial, event.stay))

    def _record(self, finished: Finished) -> None:
        claim = self._claims.get(finished.number)
        if claim is None:
            return
        judged: Judgement | None = None
        if self._judge is not None:
            finished, judged = self._judge.ended(finished, claim, self._continues.get(finished.number))
        finished = _stopped_where_useless(finished, claim.trial)
        if self._only is None:
            finished = self._false_starts.checked(finished, claim.trial)
        smaller = self._continues[finished.number] if finished.continued else None
        spent, counted_again = self._attempts.bill(claim, finished, judged=judged is not None, smaller=smaller)
        try:
            trial = self._store.finish(
                claim,
                observations=finished.observations,
                state=finished.state,
                cause=finished.cause,
                time=self._clock.now(),
                dollars=spent,
                seconds=finished.seconds,
                resumed_dollars=counted_again,
                stays=finished.stays,
            )
        except LeaseLost:
            self._forget(finished.number)
            return  # another worker runs it by now: its result will count, not ours
        self._forget(finished.number)  # only after it is recorded: trials still held are given back at the end
        self._changed(finished.number)
        if not trial.pending:
            self._checkpoints.ended(trial, self._store.history)
        self._proposer.results += not trial.pending
        # Without a budget nothing else ends a study of a program that never ends.
        ended = finished.state is TrialState.STOPPED and judged is None and not self._settings.problem.budget.limits
        self._failures += ended or finished.state in (TrialState.FAILED, TrialState.LOST)
        self._succeeded |= finished.state is TrialState.DONE
        if judged is not None:
            self._observer(TrialJudged(trial, judged))
        self._observer(RunEnded(trial, spent, finished.seconds, finished.cause))

    def _changed(self, *numbers: int) -> None:
        if self._judge is not None:
            self._judge.changed(*numbers)

    def _forget(self, number: int) -> None:
        self._claims.pop(number, None)
        self._continues.pop(number, None)
        if self._heart:
            self._heart.release(number)

    # -- what is to be started

    def _fill(self, last: int | None) -> End | Waiting | None:
        """Start trials while there is room; what is waited for, or why no further one will come, when that stops it."""
        capacity = self._executor.capacity()  # before the store's transaction: it may take a while
        while len(self._claims) < self._settings.rules.parallel and not self._interrupts:
            if self._start_queued(capacity):
                capacity = capacity if capacity.unlimited else self._executor.capacity()
                continue
            look = self._store.look()
            waiting = look.history.trials if self._only is None else (look.history.trial(self._only),)
            withheld = self._false_starts.withheld
            queued = next((t for t in waiting if t.state is TrialState.QUEUED and t.number not in withheld), None)
            if queued is not None:
                queued = self._attempts.rest(queued)
                if self._booking(queued, look.money, capacity) is not None:
                    continue  # another worker was faster
                fits = capacity.fits(queued)
                return self._proposer.short_of_money(queued, look) if fits else Waiting("room on this machine")
            if self._only is not None:
                return Waiting(OTHERS_RUN) if waiting[0].pending and not self._claims else ONLY_ONE_HAS_RUN
            if last is not None and len(look.history) >= last:
                enough = End(Outcome.ENOUGH, "all trials of this call are proposed")
                return self._proposer.when_idle(enough, look.history, self._claims)
            step = self._proposer.propose(look, self._claims, alone=self._alone)
            if step is not None:
                return step
        return None

    def _start_queued(self, capacity: FreeCapacity) -> bool:
        rests, asked = self._attempts.rests(), self._clock.monotonic()
        claim = self._store.claim(
            self._worker.id,
            time=self._clock.now(),
            lease=self._lease,
            fitting=lambda trial, money: self._booking(rests.get(trial.number, trial), money, capacity),
        )
        if claim is None:
            return False
        ago = Seconds(self._clock.monotonic() - asked)
        terms = self._attempts.terms(claim, keep=self._checkpoints.wanted(claim.trial), claimed_ago=ago)
        self._continues[claim.trial.number] = terms.continues
        self._claims[claim.trial.number] = claim
        if self._heart:
            self._heart.hold(claim.trial.number)
        self._executor.start(claim.trial, terms)
        self._observer(
            RunStarted(claim.trial, claim.attempt, claim.booking, terms.continues and terms.continues[0].number)
        )
        self._waiting, self._pause = None, SHORTEST_PAUSE
        return True

    def _booking(self, trial: Trial, money: Money, capacity: FreeCapacity) -> Booking | None:
        """What is set aside for a run now; pure, as the store asks within its transaction."""
        if self._only not in (None, trial.number) or trial.number in self._false_starts.withheld:
            return None
        if not capacity.fits(trial):
            return None
        return self._settings.rules.booking(self._attempts.resumed(trial), money)

    def _wait(self, what: Waiting) -> None:
        """Say once what the worker waits for; with no run of its own, look again after ever longer pauses."""
        if what != self._waiting:
            self._observer(what)
        self._waiting = what
        if not self._claims:
            self._clock.sleep(self._pause)
            self._pause = min(2 * self._pause, LONGEST_PAUSE)

    # -- the end

    def _await_bills(self, end: End) -> None:
        """Machines that the provider is about to take for free are billed after it has."""
        while self._executor.owes and self._interrupts <= 1 and end.outcome is not Outcome.FAILING:
            self._wait_for_events()
            self._hear()

    def _stop_running(self) -> End:
        """Ask every run to save a checkpoint and end; the second time, end them at once."""
        self._observer(Stopping(self._interrupts == 1, len(self._claims)))
        for number in self._executor.running:
            self._executor.end(number, EndMode.SAVE)
        self._hear()
        while self._executor.running and self._interrupts == 1:
            self._drop_lost()
            self._wait_for_events()
            self._hear()
        if self._executor.running:
            self._observer(Stopping(False, len(self._claims)))
        self._give_back("ended at once by the user")
        return End(Outcome.INTERRUPTED, "stopped by the user; the same command goes on")

    def _give_back(self, cause: str) -> None:
        """Record runs that have ended, kill the others and queue them again, with their cost."""
        if self._executor.running:
            with suppress(LeanTuneError):  # an executor that is broken has nothing to tell
                self._hear()
        self._executor.close()
        for number, claim in list(self._claims.items()):
            seconds = self._attempts.unmeasured_seconds(claim, self._clock.now())
            self._record(Finished(number, (), TrialState.QUEUED, cause, seconds))


def _stopped_where_useless(finished: Finished, trial: Trial) -> Finished:
    """A run that took as long as its proposal found useful was stopped by us: no failure of the program."""
    if not finished.timed_out or not any(note.kind is NoteKind.CUTOFF for note in trial.notes):
        return finished
    seconds = f"{trial.time_limit:.4g} s"
    cause = f"it took longer than {seconds}: what it would still show is of no use"
    return finished._replace(state=TrialState.STOPPED, cause=cause)


def _new_judge(work: Workplace) -> Judge:
    from leantune.run.curves import Curves
    from leantune.run.judging import Judge

    return Judge(work, Curves(work.store, work.settings.problem))
