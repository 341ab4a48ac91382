"""Pauses, resumes and stops trials: the tuner judges what the store holds, and the Judge carries its verdicts out.

    running, mine    pause, stop: its program saves and ends; the end is recorded as paused or stopped
    queued           pause, stop: moved at once (its worker vanished before it could be done)
    paused           resume: queued again, if its remaining steps fit into the budget; stop

Moves of trials that do not run are made in one transaction: after a kill all of them have happened, or none. A trial
that another worker runs is left to that worker, which sees the same reports.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from leantune.errors import Outdated
from leantune.executors.base import EndMode, Finished
from leantune.history import Observation, ObservationKind, Trial, TrialState
from leantune.run.curves import Curves
from leantune.run.events import TrialJudged
from leantune.run.ledger import dollars, smaller_result
from leantune.run.workers import Workplace
from leantune.store.rows import Claim, JudgedMove, Money, ReportRow
from leantune.strategies.tuner import Judgement, Verdict, View
from leantune.units import NO_SECONDS, NO_USD, Seconds, Usd, is_value

_MOVES = {Verdict.PAUSE: TrialState.PAUSED, Verdict.RESUME: TrialState.QUEUED, Verdict.STOP: TrialState.STOPPED}
_ENDS = (Verdict.PAUSE, Verdict.STOP)  # verdicts that end a run
Judging = Callable[[str], View]


class Judge:
    """Carries the tuner's verdicts out, for one worker."""

    def __init__(self, work: Workplace, curves: Curves) -> None:
        self._store, self._executor, self._clock, self._observer = work.store, work.executor, work.clock, work.observer
        self._tuner, self._rules, self.curves = work.settings.tuner, work.settings.rules, curves
        self._changed: set[int] | None = None  # None: everything is new
        self._ending: dict[int, Judgement] = {}

    def changed(self, *numbers: int) -> None:
        """These trials have news."""
        if self._changed is not None:
            self._changed.update(numbers)

    def look(self, view: Judging, claims: Mapping[int, Claim], *, due: bool = False) -> None:
        """Judge trials with news; due: all trials, as the best of the paused must be chosen now."""
        reported = self.curves.read()
        if self._changed is not None:
            self._changed |= reported
            if not self._changed and not due:
                return
        only, self._changed = None if due else self._changed, set()
        seen = view("")
        self._apply(seen, self._tuner.judge(seen, only), claims)

    def close(self, view: Judging, reason: str) -> bool:
        """Nothing more will be proposed and nothing runs: whether a paused trial goes on, or was stopped."""
        self.curves.read()
        seen = view(reason)
        if not any(trial.state is TrialState.PAUSED for trial in seen.history.trials):
            return False
        return self._apply(seen, self._tuner.judge(seen, None), {})

    def forget(self, number: int) -> None:
        """Another worker has taken the run over: forget its verdict."""
        self._ending.pop(number, None)

    def ended(
        self, finished: Finished, claim: Claim, continues: tuple[Trial, Observation] | None = None
    ) -> tuple[Finished, Judgement | None]:
        """A run's end, as it is recorded: what was asked to end for a verdict is paused or stopped by it.

        continues: the result at a smaller share that it may have gone on from.
        """
        judged = self._ending.pop(finished.number, None)
        if judged is None or finished.state is not TrialState.QUEUED:
            return finished, None
        state = _MOVES[judged.verdict]
        shown: tuple[Observation, ...] = ()
        if state is TrialState.STOPPED:
            paid = dollars(claim.booking.rate, finished.seconds) if finished.usd is None else finished.usd
            smaller = continues[1] if finished.continued and continues is not None else None
            passed = self.curves.passed(claim.trial)
            shown = self._shown(claim.trial, passed, paid, finished.seconds, smaller)
        return finished._replace(state=state, observations=shown, cause=judged.why), judged

    # -- verdicts

    def _apply(self, view: View, verdicts: Mapping[int, Judgement], claims: Mapping[int, Claim]) -> bool:
        """Whether anything was done."""
        moves: list[JudgedMove] = []
        asked = False
        money = self._store.money() if any(judged.verdict is Verdict.RESUME for judged in verdicts.values()) else None
        for number, judged in verdicts.items():
            trial = view.history.trial(number)
            if trial.state is TrialState.RUNNING:
                asked |= number in claims and self._end(number, judged)
                continue
            move, money = self._move(trial, judged, money)
            if move is not None:
                moves.append(move)
        return self._make(moves, verdicts) or asked

    def _end(self, number: int, judged: Judgement) -> bool:
        if judged.verdict not in _ENDS or number in self._ending or number not in self._executor.running:
            return False
        self._ending[number] = judged
        self._executor.end(number, EndMode.EVICT)
        return True

    def _move(self, trial: Trial, judged: Judgement, money: Money | None) -> tuple[JudgedMove | None, Money | None]:
        """The move that a verdict makes of a trial that does not run, and the money left after it."""
        state, cause = _MOVES.get(judged.verdict), judged.why
        if state is None or state is trial.state:
            return None, money
        if judged.verdict is Verdict.RESUME and money is not None:
            again = self._rules.resumed(trial, self.curves.step(trial.number))
            booking = self._rules.booking(again, money)
            if booking is None:
                state, cause = TrialState.STOPPED, self._rules.shortfall(again, money)
            else:
                money = money._replace(reserved=money.reserved + booking.usd)
        shown = self._shown(trial, self._passed(trial), NO_USD, NO_SECONDS) if state is TrialState.STOPPED else ()
        resumed = trial.moved_dollars if shown else NO_USD
        return JudgedMove(trial.number, trial.state, state, cause, shown, resumed), money

    def _make(self, moves: list[JudgedMove], verdicts: Mapping[int, Judgement]) -> bool:
        if not moves:
            return False
        try:
            trials = self._store.judge(moves, time=self._clock.now())
        except Outdated:
            self._changed = None  # another worker was faster: look at everything again
            return True
        for move, trial in zip(moves, trials, strict=True):
            self.changed(move.number)
            judged = verdicts[move.number]
            if move.state is TrialState.STOPPED:
                self._executor.forget(move.number)
                judged = Judgement(Verdict.STOP, move.cause, judged.predicted)
            self._observer(TrialJudged(trial, judged))
        return True

    def _passed(self, trial: Trial) -> list[ReportRow]:
        """Of a trial that does not run; it is unknown whether its runs went on from a smaller share, and so how
        long they would have taken from nothing.
        """
        smaller = smaller_result(self.curves.problem, self._store.history, trial)
        return self.curves.passed(trial) if smaller is None else []

    def _shown(
        self,
        trial: Trial,
        passed: Sequence[ReportRow],
        dollars: Usd,
        seconds: Seconds,
        smaller: Observation | None = None,
    ) -> tuple[Observation, ...]:
        """What a trial had shown when it was stopped: results at the shares that it passed, and what it told last, with
        the dollars and seconds of all its attempts. smaller: what it went on from; like a done trial's, its seconds and
        dollars are then those of a run from nothing.
        """
        metrics = {name: value for name, value in self.curves.latest(trial.number).items() if is_value(value)}
        if not metrics and not passed:
            return ()
        before = (0.0, 0.0) if smaller is None else (smaller.seconds or 0.0, smaller.cost or 0.0)
        spent, cost = trial.runs.seconds + seconds, trial.moved_dollars + dollars
        rate = cost / spent if spent > 0 else 0.0
        shown = []
        for row in passed:
            took = min(_earlier_seconds(trial, row.attempt) + row.seconds, spent)
            share = row.fraction or trial.fraction
            seen = Observation(
                share, ObservationKind.MEASURED, row.metrics, Seconds(before[0] + took), Usd(before[1] + rate * took)
            )
            shown.append(seen)
        last = Observation(
            trial.fraction, ObservationKind.PARTIAL, metrics, Seconds(before[0] + spent), Usd(before[1] + cost)
        )
        return (*shown, last)


def _earlier_seconds(trial: Trial, attempt: int) -> float:
    """How long the runs before an attempt took, as far as they were measured."""
    ends = [after.seconds or 0.0 for run, after in pairwise(trial.moves) if run.state is TrialState.RUNNING]
    return math.fsum(ends[: attempt - 1])
