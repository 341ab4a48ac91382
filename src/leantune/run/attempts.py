"""What earlier runs of a trial leave for its next run: seconds of training, reports, a checkpoint to go on from.
The terms and the bill of a run follow from that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from leantune.executors.base import Finished, Terms
from leantune.history import History, Observation, Trial, TrialState
from leantune.problem import Problem
from leantune.run.ledger import continued_dollars, dollars, smaller_result
from leantune.run.workers import Workplace
from leantune.store.rows import Claim, ReportRow
from leantune.strategies.proposals import derived_seed
from leantune.units import NO_SECONDS, SECONDS_PER_HOUR, Seconds, Usd

if TYPE_CHECKING:
    from leantune.run.curves import Curves

FIRST_RUN = 3  # moves of a trial that runs for the first time: proposed, queued, running
SEEDS = 2**31  # every library takes a seed below it


def seed_of(trial: Trial, history: History, study_seed: int) -> int:
    """The seed that its training program is given: the study's own for the first trial of a configuration up to a
    share, and another for each repeat: a function of the study's seed, the configuration, the share and how many came
    before, so that a resumed study has the same.
    """
    repeat = history.repeat_of(trial)
    if repeat == 0:
        return study_seed
    return derived_seed("repeat", study_seed, trial.configuration.id, str(trial.fraction), repeat) % SEEDS


def reported_last(rows: Sequence[ReportRow], trial: Trial, problem: Problem) -> Mapping[str, float]:
    """What earlier attempts of a trial reported last of its own share, with or without steps: every metric that the
    problem requires, where they told it. Where a metric was none at a step, nothing before that step counts.
    """
    reported: dict[str, float] = {}
    for row in reversed(rows):
        if row.fraction not in (None, trial.fraction):
            continue
        if row.step is not None and not row.metrics:
            break
        reported = {**row.metrics, **reported}
        if all(name in reported for name in problem.required_metrics):
            break
    return reported


class Attempts:
    """The attempts of all trials of a study, from the store. curves: what they reported, where a judge reads it."""

    def __init__(self, work: Workplace, curves: Curves | None) -> None:
        self._store, self._executor, self._clock, self._curves = work.store, work.executor, work.clock, curves
        self._settings, self._problem, self._rules = work.settings, work.settings.problem, work.settings.rules

    def terms(self, claim: Claim, *, keep: bool, claimed_ago: Seconds) -> Terms:
        """On what terms the next run is started. keep: its checkpoint is saved also when it has succeeded.

        claimed_ago: the store counts the lease from before its transaction, and the run must not count it from after.
        """
        trial, limit = claim.trial, claim.booking.time_limit
        return Terms(
            claim.attempt,
            None if limit is None else Seconds(limit),
            Seconds(self._rules.grace),
            None if self._settings.lease is None else Seconds(self._settings.lease),
            claimed_ago,
            self.seconds(trial),
            trial.moved_dollars,
            reported_last(self._store.reports(trial.number), trial, self._problem) if claim.attempt > 1 else {},
            self._smaller(trial),
            keep=keep,
            seed=seed_of(trial, self._store.history(), self._settings.seed),
        )

    # -- what is left to do

    def _smaller(self, trial: Trial) -> tuple[Trial, Observation] | None:
        return smaller_result(self._problem, self._store.history, trial)

    def rest(self, trial: Trial) -> Trial:
        """The trial as it is booked: by what is left to do, where the checkpoint of a smaller share is there."""
        smaller = self._smaller(trial)
        if smaller is None or not self._executor.kept([smaller[0].number]):
            return trial
        return self._rules.difference(trial, smaller[1])

    def rests(self) -> Mapping[int, Trial]:
        """Queued trials that go on from a smaller share, as they are booked; looked up before the transaction."""
        if self._problem.fidelity == "data":
            return {}
        queued = [trial for trial in self._store.history().pending if trial.state is TrialState.QUEUED]
        return {trial.number: self.rest(trial) for trial in queued}

    def resumed(self, trial: Trial) -> Trial:
        """A trial that was paused and goes on, with the time that its remaining steps may take."""
        return trial if self._curves is None else self._rules.resumed(trial, self._curves.step(trial.number))

    # -- how long they took

    def seconds(self, trial: Trial) -> Seconds:
        """How long earlier runs of the trial trained: as measured where we ended them, up to their last report where
        their worker vanished. What was paid for until that was noticed is not training.
        """
        if len(trial.moves) <= FIRST_RUN:
            return NO_SECONDS
        if not trial.runs.unmeasured:
            return trial.runs.seconds
        return Seconds(trial.runs.seconds + self._unwritten_seconds(trial))

    def _unwritten_seconds(self, trial: Trial) -> float:
        """Seconds of runs from an older version, which did not record them."""
        rate, seconds, attempt = trial.configuration.usd_per_hour, 0.0, 0
        for before, after in pairwise(trial.moves):
            attempt += before.state is TrialState.RUNNING
            if before.state is not TrialState.RUNNING or after.seconds is not None:
                continue
            if after.state is TrialState.QUEUED and not (rate and after.dollars):
                seconds += (after.time - before.time) * self._rules.speed
            elif after.state is TrialState.QUEUED and rate:
                seconds += after.dollars / rate * SECONDS_PER_HOUR
            else:
                seconds += self.trained_seconds(trial.number, attempt)
        return seconds

    def trained_seconds(self, number: int, attempt: int) -> Seconds:
        """Seconds until the last report of an attempt."""
        reports = reversed(self._store.reports(number))
        return Seconds(next((report.seconds for report in reports if report.attempt == attempt), 0.0))

    def unmeasured_seconds(self, claim: Claim, end: float) -> Seconds:
        """Seconds billed for a run whose end was not measured: no more than its reservation covers."""
        booking, seconds = claim.booking, max(0.0, end - claim.started) * self._rules.speed
        if booking.time_limit is None or not booking.rate:
            return Seconds(seconds)
        return Seconds(min(seconds, booking.usd / booking.rate * SECONDS_PER_HOUR))

    # -- what they cost

    def bill(
        self, claim: Claim, finished: Finished, *, judged: bool, smaller: tuple[Trial, Observation] | None
    ) -> tuple[Usd, Usd]:
        """Dollars of a run that has ended, and those of earlier ones that its observations count again.

        judged: it was paused or stopped by a verdict. smaller: the result that it went on from.
        """
        rate, already = claim.booking.rate, claim.trial.moved_dollars
        spent = dollars(rate, finished.seconds) if finished.usd is None else finished.usd
        counted_again = 0.0
        if finished.observations and (self._rules.adds_up or judged):
            counted_again = already  # what a judged run had shown has the dollars of all attempts
        elif finished.observations and finished.resumed:
            before = dollars(rate, self.seconds(claim.trial))
            counted_again = min(already, before) if finished.usd is None else already
        counted_again += continued_dollars(finished.observations, smaller and smaller[1])
        return spent, Usd(counted_again)
