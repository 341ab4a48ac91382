"""Progress where no terminal shows it: one line for an event, with the money where that changes."""

from __future__ import annotations

from leantune.cli.progress import Progress, Run
from leantune.cli.standing import reasons
from leantune.cli.words import (
    best_words,
    budget_words,
    count_words,
    expected_words,
    goal_words,
    money_words,
    outcome_words,
    reported_words,
    stopping_words,
    trial_words,
)
from leantune.executors.base import Report
from leantune.history import TrialState
from leantune.run.events import Ended, Event, Judged, Proposed, Recovered, Rented, Reported, Started, Stopping, Waiting
from leantune.text import duration, usd

REPORT_SECONDS = 5.0  # between two lines about one run's own reports: a program may report a thousand times a second


def opening_lines(progress: Progress) -> list[str]:
    """What is about to be worked on."""
    standing = progress.standing
    lines = [f"study {standing.name}: {goal_words(standing.problem)}; {standing.strategy}, seed {standing.seed}"]
    lines.append(f"budget {budget_words(standing.problem.budget)}; store {standing.store}")
    if len(standing.history):
        lines.append(_with_money(f"going on after trials: {count_words(standing)}", progress))
    return lines


def event_lines(event: Event, before: Progress, now: Progress) -> list[str]:
    """What to print about an event that turned one state into the next."""
    match event:
        case Proposed():
            lines = [_proposed_line(event, before)]
        case Started():
            lines = [_with_money(_started_line(event), now)]
        case Reported(report):
            lines = _report_lines(before.runs.get(report.number), now.runs.get(report.number))
        case Ended():
            lines = _ended_lines(event, now)
        case Rented():
            lines = _rented_lines(event)
        case Judged(trial, judgement):
            lines = [f"trial {trial.number}: {judgement.verdict.value}, {judgement.why}"]
        case Recovered(trial, cause):
            lines = [_with_money(f"trial {trial.number} is queued again: {cause}", now)]
        case Waiting(reason):
            lines = [f"waiting: {reason}"]
        case Stopping():
            lines = [f"stopping: {stopping_words(event)}"]
    return lines


def _proposed_line(event: Proposed, before: Progress) -> str:
    trial, expected = event.trial, expected_words(event.trial.expected)
    promise = f"; expected {expected}" if expected else ""
    words = f"trial {trial.number} proposed in {duration(event.seconds)}: {trial_words(trial)}"
    why = reasons(trial.notes, before.standing.notes)
    return f"{words}; why: {why}{promise}" if why else f"{words}{promise}"


def _started_line(event: Started) -> str:
    again = f" again, attempt {event.attempt}" if event.attempt > 1 else ""
    seconds = event.booking.time_limit
    limit = "no time limit" if seconds is None else f"time limit {duration(seconds)}"
    return f"trial {event.trial.number} started{again}: {limit}"


def _rented_lines(event: Rented) -> list[str]:
    """Where a machine is part of the configuration, the trial's own words say which one."""
    if event.trial.configuration.cluster is not None:
        return []
    stay = event.stay
    price = f"{usd(stay.usd_per_hour)} per hour" + (" on demand" if stay.on_demand else "")
    return [f"trial {event.trial.number} goes on {stay.machine}, {stay.market}, {price}"]


def _report_lines(before: Run | None, now: Run | None) -> list[str]:
    """A run's first report, each snapshot, and what else it says every few seconds."""
    if now is None or now.report is None:
        return []
    report, earlier = now.report, None if before is None else before.report
    if report.fraction is None and earlier is not None and _period(earlier) == _period(report):
        return []
    return [f"trial {report.number} reports after {duration(report.seconds)}: {reported_words(report)}"]


def _period(report: Report) -> int:
    return int(report.seconds // REPORT_SECONDS)


def _ended_lines(event: Ended, now: Progress) -> list[str]:
    trial, problem, best = event.trial, now.standing.problem, now.standing.best
    cost = f", {usd(event.dollars)}" if now.standing.has_dollars else ""
    what = "is queued again" if trial.state is TrialState.QUEUED else trial.state.value
    words = f"trial {trial.number} {what} after {duration(event.seconds)}{cost}"
    outcome = outcome_words(problem, trial, event.cause)
    lines = [_with_money(f"{words}: {outcome}" if outcome else words, now)]
    if best is not None and best.trial.number == trial.number:
        lines.append(f"best so far: {best_words(problem, best)}")
    return lines


def _with_money(words: str, progress: Progress) -> str:
    return f"{words}; {money_words(progress.standing.money)}" if progress.standing.has_dollars else words
