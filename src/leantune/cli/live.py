"""The view of a run on a terminal: `draw` turns a Progress into lines, a few times a second."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from leantune.cli.status import Progress, StudyStatus, WatchedRun, expected_clause, reported_words, stopping_words
from leantune.cli.terminal import printable
from leantune.history import NoteKind, TrialState
from leantune.text import counted, described, duration, goal_words, usd

REFRESHES = 4  # a second
RUNS_SHOWN = 8  # of many at once
BAR = 24  # characters
STATE_STYLE = {TrialState.DONE: "green", TrialState.FAILED: "red", TrialState.QUEUED: "yellow"}
HINT = "Ctrl-C: save checkpoints and stop; the same command goes on later"


@contextmanager
def live_view(console: Console, latest: Callable[[], tuple[Progress, float]]) -> Iterator[None]:
    """Show what `latest` (the state and the time) gives, until the end of the block; the last picture stays."""
    with Live(
        get_renderable=lambda: draw(*latest()), console=console, refresh_per_second=REFRESHES, redirect_stderr=False
    ):
        yield


def draw(progress: Progress, now: float) -> RenderableType:
    """The view: header, bars, running and ended trials, notes."""
    parts: list[RenderableType] = [_header(progress, now), _summary(progress.status)]
    if progress.runs or progress.elsewhere:
        parts.append(_running(progress, now))
    if progress.ended:
        parts.append(_ended(progress))
    parts += [_text(line, style) for line, style in _lines(progress)]
    return Group(*parts)


def _text(words: str, style: str = "") -> Text:
    return Text(printable(words), style)


def _header(progress: Progress, now: float) -> Table:
    status = progress.status
    grid = Table.grid(expand=True)
    grid.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    grid.add_column(justify="right", no_wrap=True)
    title = Text.assemble(
        (printable(status.name), "bold"), f"  {printable(goal_words(status.problem))}  ", (status.strategy, "dim")
    )
    grid.add_row(title, _text(duration(max(0.0, now - progress.began)), "dim"))
    return grid


def _summary(status: StudyStatus) -> Table:
    grid = Table.grid(padding=(0, 1), expand=True)
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(ratio=1)
    budget, history, money = status.problem.budget, status.history, status.money
    grid.add_row("trials", _measure(status.count_words, len(history.finished), len(history.pending), budget.trials))
    if status.has_dollars:
        of = "" if money.budget_usd is None else f" of {usd(money.budget_usd)}"
        grid.add_row("dollars", _measure(status.money_words + of, money.spent, money.reserved, money.budget_usd))
    if budget.hours is not None:
        used = f"{duration(history.seconds)} of {budget.hours:g} h"
        grid.add_row("training", _measure(used, history.seconds, 0.0, budget.hours * 3600.0))
    best = status.best
    colour = "" if best is None else "green" if best.limits_kept and best.on_answer else "yellow"
    grid.add_row("best", _text(status.best_words, colour))
    if best is not None:
        grid.add_row("", _text(described(best.trial.configuration)))
    return grid


def _measure(words: str, used: float, promised: float, limit: float | None) -> Text:
    """A bar of the used and the reserved part of a limit, and the numbers in words."""
    numbers = _text(words)
    text = numbers if limit is None else Text.assemble(*bar(used / limit, promised / limit), "  ", numbers)
    text.no_wrap, text.overflow = True, "ellipsis"
    return text


def bar(used: float, promised: float, width: int = BAR) -> list[tuple[str, str]]:
    """Shares of a whole as a bar; every share above 0 is visible, and the bar ends at the whole."""
    first = min(width, max(round(used * width), int(used > 0)))
    second = min(width - first, max(round(promised * width), int(promised > 0)))
    return [("━" * first, "green"), ("━" * second, "yellow"), ("─" * (width - first - second), "dim")]


def _table(*headings: str) -> Table:
    """Columns that never wrap; the configuration's column is cut first."""
    table = Table(box=None, expand=True, padding=(0, 1), header_style="dim", title_justify="left")
    for heading in headings:
        wide = heading in ("configuration", "outcome")
        table.add_column(heading, no_wrap=True, overflow="ellipsis", ratio=1 if wide else None)
    return table


def _running(progress: Progress, now: float) -> Table:
    fidelity = progress.status.problem.fidelity
    rows = [
        (run.started.trial, _time(run, now), _text("" if run.report is None else reported_words(run.report, fidelity)))
        for run in progress.runs.values()
    ]
    rows += [
        (trial, duration(max(0.0, now - trial.moves[-1].time)), _text("on another worker", "dim"))
        for trial in progress.elsewhere
    ]
    table = _table("running", "configuration", fidelity, "time", "last report")
    for trial, time, report in rows[:RUNS_SHOWN]:
        words = (f"trial {trial.number}", described(trial.configuration), str(trial.fraction), time)
        table.add_row(*map(_text, words), report)
    if len(rows) > RUNS_SHOWN:
        table.add_row("", f"and {len(rows) - RUNS_SHOWN} more")
    return table


def _time(run: WatchedRun, now: float) -> str:
    limit = run.started.booking.time_limit
    return duration(max(0.0, now - run.began)) + ("" if limit is None else f" / {duration(limit)}")


def _ended(progress: Progress) -> Table:
    status = progress.status
    table = _table(
        "ended", "state", status.problem.fidelity, "time", *(["dollars"] if status.has_dollars else []), "outcome"
    )
    for event in reversed(progress.ended):
        trial = event.trial
        dollars = [usd(event.dollars)] if status.has_dollars else []
        outcome = status.outcome_words(trial, event.cause)
        state = _text(trial.state.value, STATE_STYLE.get(trial.state, ""))
        rest = (str(trial.fraction), duration(event.seconds), *dollars, outcome)
        table.add_row(_text(f"trial {trial.number}"), state, *map(_text, rest))
    return table


def _lines(progress: Progress) -> Iterator[tuple[str, str]]:
    """What was proposed and why, what the run waits for, notes, what Ctrl-C does."""
    if progress.proposed is not None:
        trial = progress.proposed.trial
        words = f"{progress.status.reasons(trial)}{expected_clause(trial.expected)}"
        yield f"trial {trial.number} was proposed in {duration(progress.proposed.seconds)}: {words}", ""
    if progress.waiting:
        yield f"waiting: {progress.waiting}", "yellow"
    for note, count in progress.status.notes.items():
        yield f"note: {note} ({counted(count, 'trial')})", "dim" if note.kind is NoteKind.CAP else "yellow"
    if progress.recovered:
        yield f"{counted(progress.recovered, 'trial')} of vanished workers queued again", "yellow"
    if progress.stopping is not None:
        yield f"stopping: {stopping_words(progress.stopping)}", "bold yellow"
    elif not progress.over:
        yield HINT, "dim"
