"""The loop: hear what has happened, judge what runs, start what is queued, propose what is missing.

    record(store, executor.step(now))                     reports, ends, machines
    apply(store, executor, tuner.judge(view))             all live and paused trials: pause, resume, stop
    start what is queued, or store tuner.ask(view)        the user's own setting first; a proposal, or wait, or over
    wait for the next event

Every worker of a study runs the same loop; they meet only in the store. Nothing that matters is kept in memory: killed
at any moment, another worker, or the same command started again, goes on from what the store holds, with the same next
proposal. A trial is claimed for a while (a lease) and run by nobody else as long; a worker that lost its lease ends its
run and may not record it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING

from leantune.checkpoints import Keep
from leantune.clock import Clock
from leantune.errors import LeanTuneError, LeaseLost, Outdated
from leantune.executors.base import (
    EndMode,
    Executor,
    Finished,
    FreeCapacity,
    MachineLaunched,
    MachineUpdate,
    Report,
    Terms,
)
from leantune.history import History, Note, NoteKind, Observation, Trial, TrialState
from leantune.problem import Budget, Problem
from leantune.run.events import (
    MachineRented,
    Observer,
    ReportReceived,
    RunEnded,
    RunStarted,
    Stopping,
    TrialJudged,
    TrialProposed,
    TrialRecovered,
    Waiting,
    nobody,
)
from leantune.run.heartbeat import Heartbeat
from leantune.run.keeping import Checkpoints
from leantune.run.ledger import TimeRules, continued_dollars, dollars, smaller_result
from leantune.run.seeds import seed_of
from leantune.run.workers import dead_workers, this_worker
from leantune.store.rows import Booking, Claim, Look, Money, ReportRow
from leantune.strategies.baseline import next_test
from leantune.strategies.proposals import Proposal
from leantune.strategies.tuner import Judgement, LearningCurve, Over, Tuner, View, Wait
from leantune.units import NO_SECONDS, SECONDS_PER_HOUR, Seconds, Usd

if TYPE_CHECKING:
    from leantune.run.judging import Judge
    from leantune.store.base import Store

PROPOSAL_SECONDS = 120.0  # after which a worker that went away while proposing is not waited for any more
OTHERS_PROPOSE, OTHERS_RUN = "another worker's proposal", "other workers' trials"
QUICK_PROPOSAL = 0.05  # seconds: computing one in vain costs less than waiting for one's turn
FIRST_RUN = 3  # moves of a trial that runs for the first time: proposed, queued, running
FOREVER = 1e12  # the lease of a worker whose clock is not the wall's, or that shares its study with nobody
RECOVERY_SECONDS = 1.0  # between looks for vanished workers
SHORTEST_PAUSE, LONGEST_PAUSE = 0.02, 0.5  # seconds between looks at the store while others work


@dataclass(frozen=True)
class LoopSettings:
    """How a worker works.

    lease: seconds after which a vanished worker's trial is given to another; None where nobody shares the study.
    poll: seconds after which a wait for running trials looks up again; None: only when something happens.
    deterministic: propose in whole batches of `batch`. max_failures: give up when so many trials have failed and none
    came through. alone: nobody else ever works on the study, so that nobody can vanish. due: by when the best of the
    paused must be chosen, where there is a deadline; infinite while nobody has paused. keep: whose checkpoints outlive
    their trials.
    """

    problem: Problem
    tuner: Tuner
    seed: int
    rules: TimeRules
    lease: float | None = 60.0
    poll: float | None = 0.25
    deterministic: bool = False
    batch: int = 1
    max_failures: int | None = 5
    alone: bool = False
    due: Callable[[History], float] | None = None
    keep: Keep = Keep.NONE


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
        self, store: Store, settings: LoopSettings, executor: Executor, clock: Clock, observer: Observer = nobody
    ) -> None:
        self._store, self._settings, self._executor, self._clock, self._observer = (
            store,
            settings,
            executor,
            clock,
            observer,
        )
        self._worker = this_worker(settings.rules.parallel, clock)
        self._lease = FOREVER if settings.lease is None else settings.lease
        self._claims: dict[int, Claim] = {}
        self._continues: dict[int, tuple[Trial, Observation] | None] = {}  # what each running trial may go on from
        self._judge = self._new_judge() if settings.tuner.judges else None
        self._checkpoints = Checkpoints(settings.problem, settings.keep, executor)
        self._heart: Heartbeat | None = None
        self._interrupts = 0
        self._failures = 0
        self._results = 0
        self._succeeded = False
        self._waiting: Waiting | None = None
        self._pause = SHORTEST_PAUSE
        self._next_recovery = -math.inf
        self._alone = False
        self._only: int | None = None
        self._proposing = False
        self._proposal_seconds = math.inf
        self._problem = settings.problem
        self._nothing_more: tuple[object, Over] | None = None  # the state in which the tuner said so

    def _new_judge(self) -> Judge:
        from leantune.run.curves import Curves
        from leantune.run.judging import Judge

        settings, curves = self._settings, Curves(self._store, self._settings.problem)
        return Judge(self._store, settings.tuner, settings.rules, curves, self._executor, self._clock, self._observer)

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
        beating = None if self._settings.lease is None else self._heartbeat(self._settings.lease)
        try:
            with beating or nullcontext() as self._heart:
                while True:
                    end = self._turn(last)
                    if end is not None:
                        self._await_bills(end)
                        if end.outcome is Outcome.OVER:
                            self._checkpoints.close(self._store.history())
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
        self._hear()
        if self._settings.max_failures and not self._succeeded and self._failures >= self._settings.max_failures:
            return End(Outcome.FAILING, f"{self._failures} trials failed and none came through")
        due_at = self._due_at()
        if self._judge is not None and self._only is None:
            self._judge.look(self.view, self._claims, due=due_at <= self._clock.now())
        step = self._fill(last)
        if isinstance(step, End) and not self._claims:
            judge = self._judge if step.outcome is Outcome.OVER else None
            goes_on = judge is not None and judge.close(self.view, step.reason)
            return None if goes_on else step
        if isinstance(step, Waiting):
            self._wait(step)
        if not self._interrupts:
            self._wait_for_events(due_at)
        return None

    def view(self, closed: str = "") -> View:
        """What the tuner may see now."""
        look = self._store.look()
        due = "the deadline would not wait" if self._due_at() <= self._clock.now() else ""
        return View(self._under(look.budget), look.history, self._settings.seed, self._curves, closed, due)

    def _due_at(self) -> float:
        """By when the best of the paused must be chosen."""
        return math.inf if self._settings.due is None else self._settings.due(self._store.history())

    def _wait_for_events(self, due_at: float) -> None:
        """Until something happens, but not beyond the moment at which the paused cannot wait any longer."""
        seconds, left = self._settings.poll, due_at - self._clock.now()
        if 0 < left < math.inf:
            seconds = left if seconds is None else min(seconds, left)
        self._executor.wait(None if seconds is None else Seconds(seconds))

    @property
    def _curves(self) -> Mapping[int, LearningCurve]:
        return {} if self._judge is None else self._judge.curves.by_trial

    def _under(self, budget: Budget) -> Problem:
        """The problem with the budget in force."""
        if self._problem.budget != budget:
            self._problem = self._settings.problem.with_budget(budget)
        return self._problem

    # -- what was lost

    def _recover(self) -> None:
        """Queue again what vanished workers left running; a machine is paid for until its lease ends."""
        now = self._clock.now()
        if now < self._next_recovery:
            return
        self._next_recovery = math.inf if self._settings.alone else now + RECOVERY_SECONDS
        running = self._store.running()  # before the workers: whoever claims has joined before
        workers = self._store.workers()
        dead = dead_workers(workers) - {self._worker.id}
        alive = {worker.id for worker in workers} - dead
        self._alone = alive <= {self._worker.id}
        for claim in running:
            if claim.trial.number in self._claims or (claim.worker in alive and claim.lease_until > now):
                continue
            cause = f"worker {claim.worker} vanished"
            paid = dollars(claim.booking.rate, self._unmeasured_seconds(claim, min(now, claim.lease_until)))
            trained = self._trained_seconds(claim.trial.number, claim.attempt)
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
        """Store what was reported before what has ended, as it came."""
        reports: list[Report] = []
        for event in self._executor.step(self._clock.now()):
            if isinstance(event, Report):
                reports.append(event)
            elif isinstance(event, Finished):
                if reports:
                    self._pass_reports_on(reports)
                    reports = []
                self._record(event)
                self._waiting = None
            elif isinstance(event, MachineUpdate):
                self._store.settle_stay(event.stay)
            elif isinstance(event, MachineLaunched):
                self._open_stay(event)
        if reports:
            self._pass_reports_on(reports)

    def _pass_reports_on(self, reports: list[Report]) -> None:
        rows = [
            ReportRow(claim.trial.number, claim.attempt, said.seconds, said.metrics, said.step, said.fraction)
            for said in reports
            if (claim := self._claims.get(said.number)) is not None
        ]
        if rows:
            self._store.add_reports(rows)
            self._changed(*(row.number for row in rows))
        for report in reports:
            self._observer(ReportReceived(report))

    def _open_stay(self, event: MachineLaunched) -> None:
        claim = self._claims.get(event.number)
        if claim is not None:
            with suppress(LeaseLost):  # whoever lost its lease is told by its heart, and ends the run
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
        rate = claim.booking.rate
        spent = dollars(rate, finished.seconds) if finished.usd is None else finished.usd
        already, counted_again = claim.trial.moved_dollars, 0.0
        if finished.observations and (self._settings.rules.adds_up or judged is not None):
            counted_again = already  # what a judged run had shown has the dollars of all attempts
        elif finished.resumed and finished.observations:
            before = dollars(rate, self._earlier_seconds(claim.trial))
            counted_again = min(already, before) if finished.usd is None else already
        smaller = self._continues[finished.number] if finished.continued else None
        counted_again += continued_dollars(finished.observations, smaller and smaller[1])
        try:
            trial = self._store.finish(
                claim,
                observations=finished.observations,
                state=finished.state,
                cause=finished.cause,
                time=self._clock.now(),
                dollars=spent,
                seconds=finished.seconds,
                resumed_dollars=Usd(counted_again),
                stays=finished.stays,
            )
        except LeaseLost:
            self._forget(finished.number)
            return  # another worker runs it by now: its result will count, not ours
        self._forget(finished.number)  # not before it is recorded: what is not is given back at the end
        self._changed(finished.number)
        if not trial.pending:
            self._checkpoints.ended(trial, self._store.history)
        self._results += not trial.pending
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

    def _unmeasured_seconds(self, claim: Claim, end: float) -> Seconds:
        """How long a run is paid for whose end nobody measured: no longer than its reservation covers."""
        booking, seconds = claim.booking, max(0.0, end - claim.started) * self._settings.rules.speed
        if booking.time_limit is None or not booking.rate:
            return Seconds(seconds)
        return Seconds(min(seconds, booking.usd / booking.rate * SECONDS_PER_HOUR))

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
            queued = next((trial for trial in waiting if trial.state is TrialState.QUEUED), None)
            if queued is not None:
                queued = self._rest(queued)
                if self._booking(queued, look.money, capacity) is not None:
                    continue  # another worker was faster
                return self._wait_to_start(queued, look, capacity)
            if self._only is not None:
                return Waiting(OTHERS_RUN) if waiting[0].pending and not self._claims else ONLY_ONE_HAS_RUN
            step = self._propose(look, last)
            if step is not None:
                return step
        return None

    def _start_queued(self, capacity: FreeCapacity) -> bool:
        rests = self._rests()
        claim = self._store.claim(
            self._worker.id,
            time=self._clock.now(),
            lease=self._lease,
            fitting=lambda trial, money: self._booking(rests.get(trial.number, trial), money, capacity),
        )
        if claim is None:
            return False
        terms = Terms(
            claim.attempt,
            None if claim.booking.time_limit is None else Seconds(claim.booking.time_limit),
            Seconds(self._settings.rules.grace),
            # The store counts the lease from before its transaction: the run must not count it from after.
            None if self._settings.lease is None else Seconds(max(0.0, claim.lease_until - self._clock.now())),
            self._earlier_seconds(claim.trial),
            claim.trial.moved_dollars,
            self._reported(claim) if claim.attempt > 1 else {},
            smaller_result(self._settings.problem, self._store.history, claim.trial),
            keep=self._checkpoints.wanted(claim.trial),
            seed=seed_of(claim.trial, self._store.history(), self._settings.seed),
        )
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

    def _rests(self) -> Mapping[int, Trial]:
        """Queued trials that go on from a smaller share, as they are booked; looked up before the transaction."""
        if self._settings.problem.fidelity == "data":
            return {}
        queued = [trial for trial in self._store.history().pending if trial.state is TrialState.QUEUED]
        return {trial.number: self._rest(trial) for trial in queued}

    def _rest(self, trial: Trial) -> Trial:
        """The trial as it is booked: by what is left to do, where the checkpoint of a smaller share is there."""
        smaller = smaller_result(self._settings.problem, self._store.history, trial)
        if smaller is None or not self._executor.kept([smaller[0].number]):
            return trial
        return self._settings.rules.difference(trial, smaller[1])

    def _reported(self, claim: Claim) -> Mapping[str, float]:
        """What earlier attempts of a trial reported last of its own share."""
        number, share = claim.trial.number, claim.trial.fraction
        if self._judge is not None and not self._settings.problem.curves_by_share:
            return self._judge.curves.latest(number)
        rows = (row for row in self._store.reports(number) if row.fraction in (None, share))
        return {name: value for row in rows for name, value in row.metrics.items()}

    def _earlier_seconds(self, trial: Trial) -> Seconds:
        """How long earlier runs of the trial trained: as measured where we ended them, up to their last report where
        their worker vanished. What was paid for until that was noticed is not training.
        """
        if len(trial.moves) <= FIRST_RUN:
            return NO_SECONDS
        if not trial.runs.unmeasured:
            return trial.runs.seconds
        return Seconds(trial.runs.seconds + self._unwritten_seconds(trial))

    def _unwritten_seconds(self, trial: Trial) -> float:
        """Of runs that an older version recorded, which did not write down how long they took."""
        rate, seconds, attempt = trial.configuration.usd_per_hour, 0.0, 0
        for before, after in pairwise(trial.moves):
            attempt += before.state is TrialState.RUNNING
            if before.state is not TrialState.RUNNING or after.seconds is not None:
                continue
            if after.state is TrialState.QUEUED and not (rate and after.dollars):
                seconds += (after.time - before.time) * self._settings.rules.speed
            elif after.state is TrialState.QUEUED and rate:
                seconds += after.dollars / rate * SECONDS_PER_HOUR
            else:
                seconds += self._trained_seconds(trial.number, attempt)
        return seconds

    def _trained_seconds(self, number: int, attempt: int) -> Seconds:
        """Until the last report of an attempt."""
        reports = reversed(self._store.reports(number))
        return Seconds(next((report.seconds for report in reports if report.attempt == attempt), 0.0))

    def _booking(self, trial: Trial, money: Money, capacity: FreeCapacity) -> Booking | None:
        """What is set aside for a run now; pure, as the store asks within its transaction."""
        if self._only not in (None, trial.number) or not capacity.fits(trial):
            return None
        return self._settings.rules.booking(trial if self._judge is None else self._judge.resumed(trial), money)

    def _propose(self, look: Look, last: int | None) -> End | Waiting | None:
        """Propose one trial (None), unless the study is over or somebody has to be waited for."""
        if last is not None and len(look.history) >= last:
            return self._end_when_idle(End(Outcome.ENOUGH, "all trials of this call are proposed"), look.history)
        # A proposal that another one overtook is refused by the store in any case. To take turns only spares the work
        # of computing it in vain, so skip the turn if alone or fast.
        if self._alone or self._proposal_seconds < QUICK_PROPOSAL:
            return self._propose_from(look)
        if not self._store.may_propose(self._worker.id, time=self._clock.now(), for_seconds=PROPOSAL_SECONDS):
            return Waiting(OTHERS_PROPOSE)
        self._proposing = True
        try:
            fresh = self._store.look()
            if len(fresh.history) != len(look.history):
                return None  # somebody has proposed before it was our turn
            return self._propose_from(fresh)
        finally:
            if self._proposing:
                self._store.release_proposing(self._worker.id)
            self._proposing = False

    def _propose_from(self, look: Look) -> End | Waiting | None:
        results = self._results if self._settings.alone else len(look.history.finished)
        state = (len(look.history), results, look.budget)
        if self._nothing_more is not None and self._nothing_more[0] == state:
            return self._end_when_idle(End(Outcome.OVER, self._nothing_more[1].why), look.history)
        began, problem = self._clock.now(), self._under(look.budget)
        seen = self._seen(look.history)
        if seen is None:
            return Waiting("the end of the batch")
        rules = self._settings.rules
        # A batch that must not depend on the order of arrival has a limit that does not either.
        money = Money(look.money.budget_usd, seen.cost, 0.0) if self._settings.deterministic else look.money
        view = View(problem, seen, self._settings.seed, self._curves)
        answer = next_test(self._settings.tuner, view, lambda test: rules.affords(test.configuration, money))
        if isinstance(answer, Wait):
            return Waiting(answer.why)
        if isinstance(answer, Over):
            self._nothing_more = (state, answer)
            return self._end_when_idle(End(Outcome.OVER, answer.why), look.history)
        self._proposal_seconds = self._clock.now() - began
        rate = rules.rate(answer.configuration)
        limit = rules.first_limit(rate, dict(answer.expected), money, answer.useful_seconds)
        draft = look.history.propose(
            answer.configuration,
            answer.fraction,
            answer.snapshots,
            notes=_kept_notes(answer, limit),
            time=self._clock.now(),
            expected=answer.expected,
            time_limit=limit,
        )[1]
        self._executor.check(draft)
        if rules.booking(self._rest(draft), look.money) is None:
            return self._short_of_money(self._rest(draft), look)
        return self._store_proposal(draft, len(look.history), self._clock.now() - began)

    def _seen(self, history: History) -> History | None:
        """What the next proposal may see of it; None while an earlier batch is still running."""
        if not self._settings.deterministic:
            return history
        from leantune.run.batches import before_batch

        return before_batch(history, self._settings.batch)

    def _store_proposal(self, draft: Trial, after: int, seconds: float) -> Waiting | None:
        self._proposing = False  # whatever comes of it, the store gives the turn to others
        try:
            trial = self._store.propose(
                draft.configuration,
                draft.fraction,
                draft.snapshots,
                time=draft.moves[0].time,
                notes=draft.notes,
                expected=draft.expected,
                time_limit=draft.time_limit,
                after=after,
            )
        except Outdated:
            return Waiting(OTHERS_PROPOSE)  # another worker was faster
        self._observer(TrialProposed(trial, seconds))
        return None

    def _wait_to_start(self, trial: Trial, look: Look, capacity: FreeCapacity) -> End | Waiting:
        """A trial is there and may not start, for want of room or of money."""
        return self._short_of_money(trial, look) if capacity.fits(trial) else Waiting("room on this machine")

    def _short_of_money(self, trial: Trial, look: Look) -> End | Waiting:
        """Over, unless a reservation may be freed."""
        again = trial if self._judge is None else self._judge.resumed(trial)
        shortfall = self._settings.rules.shortfall(again, look.money)
        if any(other.state is TrialState.RUNNING for other in look.history.trials):
            return Waiting(shortfall)
        return End(Outcome.OVER, shortfall)

    def _end_when_idle(self, end: End, history: History) -> End | Waiting:
        """The study ends when nobody runs a trial any more: a lost one would have to be run again."""
        if self._settings.alone:
            return end
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

    # -- the end

    def _await_bills(self, end: End) -> None:
        """Machines that the provider is about to take, for nothing, are billed when it has."""
        while self._executor.owes and self._interrupts <= 1 and end.outcome is not Outcome.FAILING:
            self._executor.wait(None if self._settings.poll is None else Seconds(self._settings.poll))
            self._hear()

    def _stop_running(self) -> End:
        """Ask every run to save a checkpoint and end; when asked again, end them at once."""
        self._observer(Stopping(self._interrupts == 1, len(self._claims)))
        for number in self._executor.running:
            self._executor.end(number, EndMode.SAVE)
        self._hear()
        while self._executor.running and self._interrupts == 1:
            self._drop_lost()
            self._executor.wait(None if self._settings.poll is None else Seconds(self._settings.poll))
            self._hear()
        if self._executor.running:
            self._observer(Stopping(False, len(self._claims)))
        self._give_back("ended at once by the user")
        return End(Outcome.INTERRUPTED, "stopped by the user; the same command goes on")

    def _give_back(self, cause: str) -> None:
        """Record what has ended meanwhile, kill what still runs and queue it again, with what it cost."""
        if self._executor.running:
            with suppress(LeanTuneError):  # an executor that is broken has nothing to tell
                self._hear()
        self._executor.close()
        for number, claim in list(self._claims.items()):
            seconds = self._unmeasured_seconds(claim, self._clock.now())
            self._record(Finished(number, (), TrialState.QUEUED, cause, seconds))


def _kept_notes(answer: Proposal, limit: float | None) -> tuple[Note, ...]:
    """Without the word on when the run is of no more use, where another limit ends it before."""
    if limit is None or answer.useful_seconds is None or limit >= answer.useful_seconds:
        return answer.notes
    return tuple(note for note in answer.notes if note.kind is not NoteKind.CUTOFF)


def _stopped_where_useless(finished: Finished, trial: Trial) -> Finished:
    """A run that took as long as its proposal found useful was stopped by us: no failure of the program."""
    if not finished.timed_out or not any(note.kind is NoteKind.CUTOFF for note in trial.notes):
        return finished
    seconds = f"{trial.time_limit:.4g} s"
    cause = f"it took longer than {seconds}: what it would still show is of no use"
    return finished._replace(state=TrialState.STOPPED, cause=cause)
