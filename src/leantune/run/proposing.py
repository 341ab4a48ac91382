"""What a worker proposes when nothing is queued: it asks the tuner, limits its answer, books the cost and stores it.

The store refuses a proposal when another worker was faster. Turns only avoid computing a proposal in
vain, so a worker that is alone or fast does not wait for its turn.

Deterministic batches: with them, parallel workers run the same trials in any order of arrival. Trial n belongs
to batch floor(n / size). It is proposed when all earlier batches have ended, from their results alone: trials of its
own batch count as pending even if they have ended already. A paused trial waits for a decision, not for a machine: it
keeps no batch waiting.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping
from dataclasses import replace

from leantune.errors import Outdated
from leantune.history import History, Move, Moves, Note, NoteKind, Trial, TrialState
from leantune.problem import Budget
from leantune.run.attempts import Attempts
from leantune.run.events import End, Outcome, TrialProposed, Waiting
from leantune.run.false_starts import FalseStarts
from leantune.run.workers import Workplace
from leantune.store.rows import Look, Money
from leantune.strategies.baseline import next_test
from leantune.strategies.proposals import Proposal
from leantune.strategies.tuner import LearningCurve, Over, View, Wait
from leantune.units import NO_USD

PROPOSAL_SECONDS = 120.0  # after which others no longer wait for a worker that vanished while proposing
OTHERS_PROPOSE, OTHERS_RUN = "another worker's proposal", "other workers' trials"
QUICK_PROPOSAL = 0.05  # seconds: computing one in vain costs less than waiting for one's turn


class Proposer:
    """One worker's proposals. results: trials that it has seen end; curves: of all trials, by number."""

    def __init__(
        self,
        work: Workplace,
        worker: str,
        attempts: Attempts,
        curves: Mapping[int, LearningCurve],
        false_starts: FalseStarts,
    ) -> None:
        self._store, self._executor, self._clock, self._observer = work.store, work.executor, work.clock, work.observer
        self._settings, self._worker, self._attempts, self._curves = work.settings, worker, attempts, curves
        self._problem, self._false_starts = work.settings.problem, false_starts
        self._seconds = math.inf  # seconds that the last proposal took
        self._has_turn = False
        self._nothing_more: tuple[object, Over] | None = None  # the state in which the tuner said so
        self.results = 0

    def view(self, budget: Budget, history: History, closed: str = "", due: str = "") -> View:
        """What the tuner may see: the problem with the budget in force, the history, the curves."""
        if self._problem.budget != budget:
            self._problem = self._settings.problem.with_budget(budget)
        return View(self._problem, history, self._settings.seed, self._curves, closed, due)

    def propose(self, look: Look, mine: Container[int], *, alone: bool) -> End | Waiting | None:
        """Propose one trial (None), unless the study is over or another worker must finish first.

        mine: the trials that this worker runs. alone: no other worker works on the study now.
        """
        if alone or self._seconds < QUICK_PROPOSAL:
            return self._propose_from(look, mine)
        if not self._store.may_propose(self._worker, time=self._clock.now(), for_seconds=PROPOSAL_SECONDS):
            return Waiting(OTHERS_PROPOSE)
        self._has_turn = True
        try:
            fresh = self._store.look()
            if len(fresh.history) != len(look.history):
                return None  # another worker has proposed before it was our turn
            return self._propose_from(fresh, mine)
        finally:
            if self._has_turn:
                self._store.release_proposing(self._worker)
            self._has_turn = False

    def _propose_from(self, look: Look, mine: Container[int]) -> End | Waiting | None:
        settings, rules = self._settings, self._settings.rules
        results = self.results if settings.alone else len(look.history.finished)
        state = (len(look.history), results, look.budget)
        if self._nothing_more is not None and self._nothing_more[0] == state:
            return self.when_idle(End(Outcome.OVER, self._nothing_more[1].why), look.history, mine)
        began = self._clock.now()
        seen: History | None = look.history
        if settings.deterministic:
            seen = before_batch(look.history, settings.batch, self._false_starts.withheld)
        if seen is None:
            return Waiting("the end of the batch")
        # A batch that must not depend on the order of arrival has a limit that does not either.
        money = Money(look.money.budget_usd, seen.cost, 0.0) if settings.deterministic else look.money
        view = self.view(look.budget, seen)
        answer = next_test(settings.tuner, view, lambda test: rules.affords(test.configuration, money))
        if isinstance(answer, Wait):
            return Waiting(answer.why)
        if isinstance(answer, Over):
            self._nothing_more = (state, answer)
            return self.when_idle(End(Outcome.OVER, answer.why), look.history, mine)
        self._seconds = self._clock.now() - began
        draft = self._draft(answer, look.history, money)
        self._executor.check(draft)
        rest = self._attempts.rest(draft)
        if rules.booking(rest, look.money) is None:
            return self.short_of_money(rest, look)
        return self._store_proposal(draft, self._clock.now() - began)

    def _draft(self, answer: Proposal, history: History, money: Money) -> Trial:
        """The trial as it is to be proposed, with the time that it may take."""
        rules = self._settings.rules
        rate = rules.rate(answer.configuration)
        limit = rules.first_limit(rate, dict(answer.expected), money, answer.useful_seconds)
        return history.propose(
            answer.configuration,
            answer.fraction,
            answer.snapshots,
            notes=_kept_notes(answer, limit),
            time=self._clock.now(),
            expected=answer.expected,
            time_limit=limit,
        )[1]

    def _store_proposal(self, draft: Trial, seconds: float) -> Waiting | None:
        self._has_turn = False  # in every case, the store gives the turn to others
        try:
            trial = self._store.propose(
                draft.configuration,
                draft.fraction,
                draft.snapshots,
                time=draft.moves[0].time,
                after=draft.number,
                **draft.details,
            )
        except Outdated:
            return Waiting(OTHERS_PROPOSE)  # another worker was faster
        self._observer(TrialProposed(trial, seconds))
        return None

    def short_of_money(self, trial: Trial, look: Look) -> End | Waiting:
        """Over, unless a reservation may be freed."""
        shortfall = self._settings.rules.shortfall(self._attempts.resumed(trial), look.money)
        if any(other.state is TrialState.RUNNING for other in look.history.trials):
            return Waiting(shortfall)
        return End(Outcome.OVER, shortfall)

    def when_idle(self, end: End, history: History, mine: Container[int]) -> End | Waiting:
        """The study ends when no trial runs any more: a lost trial would have to be run again."""
        if self._settings.alone:
            return end
        if any(trial.state is TrialState.RUNNING and trial.number not in mine for trial in history.trials):
            return Waiting(OTHERS_RUN)
        return end


def _kept_notes(answer: Proposal, limit: float | None) -> tuple[Note, ...]:
    """Without the word on when the run is of no more use, where another limit ends it before."""
    if limit is None or answer.useful_seconds is None or limit >= answer.useful_seconds:
        return answer.notes
    return tuple(note for note in answer.notes if note.kind is not NoteKind.CUTOFF)


def before_batch(history: History, size: int, withheld: Container[int] = ()) -> History | None:
    """The history that the next proposal may see; None while an earlier batch is still running.

    withheld: false starts, which wait for other trials.
    """
    first = len(history) // size * size
    earlier = (trial for trial in history.trials[:first] if trial.number not in withheld)
    if any(trial.pending and trial.state is not TrialState.PAUSED for trial in earlier):
        return None
    return History((*history.trials[:first], *map(_unseen, history.trials[first:])))


def _unseen(trial: Trial) -> Trial:
    """The trial as it was before it ran: neither its results nor its dollars count."""
    proposed = trial.moves[0]
    queued = Move(TrialState.QUEUED, proposed.time)
    return replace(
        trial, state=TrialState.QUEUED, observations=(), moves=Moves((proposed, queued)), resumed_dollars=NO_USD
    )
