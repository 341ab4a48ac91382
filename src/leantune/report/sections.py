"""What is on the page below the verdict, in which order, and with which words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from leantune.history import NoteKind, counted_notes
from leantune.problem import At
from leantune.report import figures, money, settings, tables
from leantune.report.data import StudyView, origins
from leantune.report.html import amount, cell, table
from leantune.report.marks import Figure
from leantune.text import clipped, counted, duration, escaped, limit_text, listed, moment, usd

_SHARE = {
    "data": "Runs on a small share of the data are cheap, and teach the models about runs on all of it.",
    "epochs": "Runs of a small share of the epochs are cheap, and teach the models about runs of all of them.",
}
_PREDICTIONS = "What the models said about each run before it started, against what was measured."


@dataclass(frozen=True)
class Section:
    """A part of the page: words, then figures, then a table. key: the marks are explained; columns: of figures."""

    anchor: str
    title: str
    intro: str = ""
    figures: Sequence[Figure] = ()
    html: str = ""
    key: bool = False
    columns: int = 2


def sections_of(view: StudyView) -> Iterator[Section]:
    """Those for which there is something to show."""
    for section in (
        _recommendation(view),
        Section("progress", "Progress", figures=figures.progress(view), key=True),
        _limits(view),
        _shares(view),
        Section("predictions", "Predictions", _PREDICTIONS, figures.predictions(view), key=True, columns=3),
        _parameters(view),
        Section("curves", "Learning curves", figures=figures.curves(view), columns=1),
        _money(view),
        _trials(view),
    ):
        if section.figures or section.html:
            yield section
    yield _making(view)


def _recommendation(view: StudyView) -> Section:
    best = view.recommendation
    if best is None:
        return Section("recommendation", "Recommendation")
    plain = (str(note) for note in best.notes if note.kind is not NoteKind.FALLBACK)
    notes = "".join(f'<p class="soft">{escaped(note)}</p>' for note in plain)
    html = f'{notes}<div class="pair">{tables.settings(view, best)}{tables.certainty(view, best)}</div>'
    return Section("recommendation", "Recommendation", f"{best.state.words} {best.why}", html=html)


def _limits(view: StudyView) -> Section:
    noun = view.problem.fidelity
    where = f"at any share of the {noun}" if view.problem.goal.at is At.ANYWHERE else f"on all {noun}"
    predicted = view.predicted(view.problem.goal.metric)
    bars = " as predicted; its bars are 95 % ranges" if predicted is not None and predicted.sd > 0 else ""
    drawn = figures.limits(view)
    starred = any(trace.get("name") == "recommended" for figure in drawn for trace in figure.data)
    star = f" The star is the recommendation{bars}." if starred else ""
    intro = f"Measured values of every run {where} against each limit.{star}"
    return Section("limits", "Limits", intro, drawn, key=True)


def _shares(view: StudyView) -> Section:
    noun = view.problem.fidelity
    drawn, html = figures.shares(view), tables.shares(view)
    return Section("shares", f"Shares of the {noun}", _SHARE[noun], drawn, html, key=True, columns=1)


def _parameters(view: StudyView) -> Section:
    drawn = settings.parameters(view)
    goal = clipped(view.problem.goal.metric)
    intro = f"Every result's {goal} against each setting; failed runs, which have none, stand on the edge."
    if view.recommendation is not None:
        intro += " The green line is the recommended value."
    count = len(view.problem.space.parameters)
    if count > len(drawn):
        intro += f" The first {len(drawn)} of {count} settings are drawn."
    return Section("parameters", "Settings", intro, drawn, key=True, columns=3)


def _money(view: StudyView) -> Section:
    if not view.has_dollars:
        return Section("money", "Money")
    intro = "Before a run starts, its worst case is set aside; when it ends, it is settled at what it really cost."
    html = tables.spent_on(view) if view.history.cost > 0 else "<p>Nothing has been spent yet.</p>"
    return Section("money", "Money", intro if view.ledger else "", money.ledger_figures(view), html)


def _trials(view: StudyView) -> Section:
    if not view.history.trials:
        return Section("trials", "Trials")
    states = Counter(trial.state for trial in view.history.trials)
    intro = f"{counted(len(view.history), 'trial')}: {listed(f'{count:,} {state}' for state, count in states.items())}."
    words = "find in the table"
    find = f'<p class="find"><input type="search" id="find" placeholder="{words}" aria-label="{words}"></p>'
    return Section("trials", "Trials", f"{intro} A click on a heading sorts.", html=find + tables.trials(view))


def _making(view: StudyView) -> Section:
    """The problem, and every fallback and cap that was met on the way."""
    problem, budget = view.problem, view.problem.budget
    size = problem.choices.size
    limits = [limit_text(c) + (f" @ {c.probability:g}" if c.probability else "") for c in problem.constraints]
    given = [
        usd(budget.usd) if budget.usd is not None else "",
        counted(budget.trials, "trial") if budget.trials is not None else "",
        f"{duration(budget.hours * 3600)} of training" if budget.hours is not None else "",
    ]
    facts = {
        "goal": f"{problem.goal.direction} {problem.goal.metric}"
        + (" at any share" if problem.goal.at is At.ANYWHERE else ""),
        "limits": listed(limits) or "none",
        "budget": listed(filter(None, given)) or "none",
        "space": f"{len(problem.space.parameters)} settings" + ("" if size is None else f", {size:,} combinations"),
        f"shares of the {problem.fidelity}": ", ".join(str(share) for share in problem.fractions),
        "strategy": f"{view.strategy}, seed {view.seed}",
        "started": moment(view.created),
        "ended": view.stop_reason or "not yet: it can go on",
        "trials proposed by": listed(f"{name} ({count:,})" for name, count in origins(view).items()),
        "LeanTune": view.leantune_version,
    }
    html = table(["", ""], [[cell(name), cell(text)] for name, text in facts.items() if text], "facts")
    return Section("making", "How it was made", html=html + _notes(view))


def _notes(view: StudyView) -> str:
    kinds = (NoteKind.FALLBACK, NoteKind.CAP)
    counts = {note: count for kind in kinds for note, count in counted_notes(view.history, (kind,)).items()}
    if not counts:
        return '<p class="soft">No fallback was needed and no cap was reached.</p>' if view.history.trials else ""
    rows = [[cell(str(note)), amount(f"{count:,}")] for note, count in counts.items()]
    words = "Fallbacks and caps, and how many proposals they touched:"
    return f"<p>{escaped(words)}</p>{table(['note', '>proposals'], rows)}"
