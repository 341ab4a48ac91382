"""Watching a loop: every event becomes the next state, which a live view draws or plain lines tell."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from threading import Lock

from leantune.cli.status import (
    Progress,
    StudyStatus,
    WatchedRun,
    expected_clause,
    reported_words,
    stopping_words,
    trial_words,
)
from leantune.cli.terminal import Interrupts, Mode, interruptible, say
from leantune.errors import StoreError
from leantune.executors.base import Report
from leantune.history import TrialState
from leantune.problem import Fidelity
from leantune.run.events import (
    Event,
    MachineRented,
    ReportReceived,
    RunEnded,
    RunStarted,
    Stopping,
    TrialJudged,
    TrialProposed,
    TrialRecovered,
    Waiting,
)
from leantune.study import Study
from leantune.text import budget_words, duration, goal_words, usd

LOOK_SECONDS = 1.0  # after which the live view asks the store what other workers did
REPORT_SECONDS = 5.0  # between two lines about one run's own reports: a program may report a thousand times a second


# -- plain lines: one for an event, with the money where that changes


def opening_lines(progress: Progress) -> list[str]:
    """The first lines: the study, its budget, and its trials so far."""
    status = progress.status
    lines = [f"study {status.name}: {goal_words(status.problem)}; {status.strategy}, seed {status.seed}"]
    lines.append(f"budget {budget_words(status.problem.budget)}; store {status.store}")
    if len(status.history):
        lines.append(_with_money(f"going on after trials: {status.count_words}", progress))
    return lines


def event_lines(event: Event, before: Progress, now: Progress) -> list[str]:
    """The lines about an event that changed the state `before` into `now`."""
    match event:
        case TrialProposed():
            lines = [_proposed_line(event, before)]
        case RunStarted():
            lines = [_with_money(_started_line(event), now)]
        case ReportReceived(report):
            runs = before.runs.get(report.number), now.runs.get(report.number)
            lines = _report_lines(*runs, now.status.problem.fidelity)
        case RunEnded():
            lines = _ended_lines(event, now)
        case MachineRented(trial, stay) if trial.configuration.cluster is None:
            price = f"{usd(stay.usd_per_hour)} per hour" + (" on demand" if stay.on_demand else "")
            lines = [f"trial {trial.number} goes on {stay.machine}, {stay.market}, {price}"]
        case MachineRented():
            lines = []  # the machine is part of the configuration: the proposal has named it
        case TrialJudged(trial, judgement):
            lines = [f"trial {trial.number}: {judgement.verdict.value}, {judgement.why}"]
        case TrialRecovered(trial, cause):
            lines = [_with_money(f"trial {trial.number} is queued again: {cause}", now)]
        case Waiting(reason):
            lines = [f"waiting: {reason}"]
        case Stopping():
            lines = [f"stopping: {stopping_words(event)}"]
    return lines


def _proposed_line(event: TrialProposed, before: Progress) -> str:
    trial, reasons = event.trial, before.status.reasons(event.trial)
    why = f"; why: {reasons}" if reasons else ""
    words = f"{trial_words(trial, before.status.problem.fidelity)}{why}{expected_clause(trial.expected)}"
    return f"trial {trial.number} proposed in {duration(event.seconds)}: {words}"


def _started_line(event: RunStarted) -> str:
    again = f" again, attempt {event.attempt}" if event.attempt > 1 else ""
    seconds = event.booking.time_limit
    limit = "no time limit" if seconds is None else f"time limit {duration(seconds)}"
    on = "" if event.continues is None else f", goes on from trial {event.continues}"
    return f"trial {event.trial.number} started{again}: {limit}{on}"


def _report_lines(before: WatchedRun | None, now: WatchedRun | None, fidelity: Fidelity) -> list[str]:
    """A run's first report, each snapshot, and of its other reports one every few seconds."""
    if now is None or now.report is None:
        return []
    report, earlier = now.report, None if before is None else before.report
    if report.fraction is None and earlier is not None and _period(earlier) == _period(report):
        return []
    return [f"trial {report.number} reports after {duration(report.seconds)}: {reported_words(report, fidelity)}"]


def _period(report: Report) -> int:
    return int(report.seconds // REPORT_SECONDS)


def _ended_lines(event: RunEnded, now: Progress) -> list[str]:
    trial, best = event.trial, now.status.best
    cost = f", {usd(event.dollars)}" if now.status.has_dollars else ""
    what = "is queued again" if trial.state is TrialState.QUEUED else trial.state.value
    words = f"trial {trial.number} {what} after {duration(event.seconds)}{cost}"
    outcome = now.status.outcome_words(trial, event.cause)
    lines = [_with_money(f"{words}: {outcome}" if outcome else words, now)]
    if best is not None and best.trial.number == trial.number:
        lines.append(f"best so far: {now.status.best_words}")
    return lines


def _with_money(words: str, progress: Progress) -> str:
    return f"{words}; {progress.status.money_words}" if progress.status.has_dollars else words


# -- watching


def status_of(study: Study) -> StudyStatus:
    """What the store knows of a study now."""
    return StudyStatus(
        study.name, study.url, study.strategy_name, study.seed, study.problem, study.history, study.store.money()
    )


class Watcher:
    """An observer of the loop. The live view asks for `latest` from a thread of its own."""

    def __init__(self, study: Study, mode: Mode, interrupts: Interrupts) -> None:
        self.interrupts = interrupts
        self._study, self._mode, self._lock = study, mode, Lock()
        self._looked = study.clock.now()
        self._progress = Progress(status_of(study), self._looked)
        self._heard = True
        self._tell(opening_lines(self._progress))

    def __call__(self, event: Event) -> None:
        """Update the state by an event, and print its lines."""
        if isinstance(event, Stopping):
            self.interrupts.noticed()
        with self._lock:
            before = self._progress
            status = before.status if isinstance(event, ReportReceived) else self._look()
            self._progress = now = replace(before, status=status).after(event, self._study.clock.now())
        self._tell(event_lines(event, before, now))

    def latest(self) -> tuple[Progress, float]:
        """The state, not older than a second, and the time."""
        with self._lock:
            now = self._study.clock.now()
            if now - self._looked > LOOK_SECONDS:
                try:
                    self._progress = replace(self._progress, status=self._look())
                except StoreError:
                    self._looked = now  # only the picture stays as it is: the loop itself will meet the same error
            return self._progress, now

    def end(self) -> None:
        """The loop has ended: the last picture shows the result."""
        with self._lock:
            self._progress = replace(self._progress, status=self._look(), over=True)

    def _look(self) -> StudyStatus:
        self._looked = self._study.clock.now()
        return status_of(self._study)

    def _tell(self, lines: list[str]) -> None:
        """Print plain lines; when the reader has gone (`| head`), the study stops gently."""
        if self._mode is Mode.LIVE or not self._heard:
            return
        try:
            for line in lines:
                say(line, err=self._mode is Mode.JSON)
        except BrokenPipeError:
            self._heard = False
            if not self.interrupts.count:
                self.interrupts.interrupt()


@contextmanager
def watching(study: Study, mode: Mode) -> Iterator[Watcher]:
    """Within the block, the loop is watched and Ctrl-C goes to it."""
    with interruptible() as interrupts:
        watcher = Watcher(study, mode, interrupts)
        if mode is not Mode.LIVE:
            yield watcher
            return
        from rich.console import Console

        from leantune.cli.live import live_view

        with live_view(Console(highlight=False), watcher.latest):
            yield watcher
            watcher.end()
