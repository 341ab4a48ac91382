"""The page: one HTML file that needs nothing else, not even a network. The verdict, then section after section."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from plotly.offline import get_plotlyjs  # type: ignore[import-untyped] # it ships no types

from leantune.history import NoteKind, counted_notes
from leantune.problem import COST, TIME, At
from leantune.report import figures, money, settings, tables
from leantune.report.data import ResultOutcome, StudyResult, StudyView, origins
from leantune.report.html import amount, asset, cell, items_html, page_html, table, tiles_html, write_page
from leantune.report.marks import TEMPLATE, Figure
from leantune.report.verdict import AnswerState, Conclusion, conclusion_of, question
from leantune.text import (
    budget_words,
    clipped,
    counted,
    escaped,
    limit_text,
    listed,
    moment,
    period,
    plain,
    quantity,
    share_of_data,
    value_text,
)

_BADGES = {
    AnswerState.VERIFIED: ("✓", "Verified"),
    AnswerState.MEASURED: ("✓", "Measured"),
    AnswerState.PREDICTED: ("≈", "Predicted, not yet measured"),
    AnswerState.UNSURE: ("!", "Not sure enough"),
    AnswerState.BROKEN: ("✕", "A limit was broken"),
    AnswerState.NONE: ("…", "No answer yet"),
}
_GLYPHS = {  # as in MARKS, on a field of 14 x 14
    ResultOutcome.KEPT: '<circle cx="7" cy="7" r="4.5" fill="var(--kept)"/>',
    ResultOutcome.BROKE: '<path d="M3 3l8 8M11 3l-8 8" stroke="var(--broke)" stroke-width="2.2"/>',
    ResultOutcome.PART: '<circle cx="7" cy="7" r="3.6" fill="none" stroke="var(--part)" stroke-width="1.4"/>',
    ResultOutcome.FAILED: '<path d="M2.5 3.5h9l-4.5 8z" fill="none" stroke="var(--failed)" stroke-width="1.6"/>',
}
_HOVER_LINES, _HOVER_SETTINGS = 4, 3
_SHARE = {
    "data": "Runs on a small share of the data are cheap, and teach the models about runs on all of it.",
    "epochs": "Runs of a small share of the epochs are cheap, and teach the models about runs of all of them.",
}
_PREDICTIONS = "The models' prediction for each run before it started, against the measurement."


def write_report(view: StudyView, path: Path) -> None:
    """Write the page to a file."""
    write_page(report_html(view), path)


def report_html(view: StudyView) -> str:
    """The page as HTML."""
    sections = list(sections_of(view))
    data = {
        "template": TEMPLATE,
        "figures": {figure.name: figure.as_json() for section in sections for figure in section.figures},
        "results": {index: _words(view, view.results[index]) for index in sorted(_shown(sections))},
    }
    parts = [_header(view), _verdict(conclusion_of(view)), _contents(sections), *(_section(view, s) for s in sections)]
    style, script = (asset("leantune.report", name) for name in ("page.css", "page.js"))
    return page_html(f"{view.name} – LeanTune report", style, "".join(parts), data, [get_plotlyjs(), script])


def _shown(sections: Sequence[Section]) -> set[int]:
    """Numbers of the results that a figure draws."""
    traces = (trace for section in sections for figure in section.figures for trace in figure.data)
    return {index for trace in traces for index in trace.get("customdata", ())}


def _words(view: StudyView, result: StudyResult) -> str:
    """A figure's text about a result under the pointer."""
    limits = (
        {ResultOutcome.KEPT: "kept every limit", ResultOutcome.BROKE: "broke a limit"}
        if view.problem.constraints
        else {}
    )
    parts = [
        f"trial {result.trial.number}",
        share_of_data(result.seen.fraction, view.problem.fidelity),
        limits.get(result.outcome, ""),
    ]
    if result.outcome is ResultOutcome.FAILED:
        parts.append(f"failed: {clipped(result.seen.cause or result.trial.moves[-1].cause)}")
    names = dict.fromkeys([*view.problem.required_metrics, COST, TIME])
    values = [f"{clipped(n)} {quantity(n, result.value(n))}" for n in names if math.isfinite(result.value(n))]
    settings = [clipped(f"{name} = {value_text(value)}") for name, value in result.trial.configuration.items()]
    groups = [settings[i : i + _HOVER_SETTINGS] for i in range(0, len(settings), _HOVER_SETTINGS)][:_HOVER_LINES]
    lines = [", ".join(map(plain, group)) for group in (values, *groups) if group]
    return "<br>".join([f"<b>{plain(', '.join(filter(None, parts)))}</b>", *lines])


def _header(view: StudyView) -> str:
    last = max((trial.moves[-1].time for trial in view.history.trials), default=view.created)
    when = period(view.created, last)
    return (
        f'<header><p class="soft kicker">LeanTune study report{f" · {escaped(when)}" if when else ""}</p>'
        f"<h1>{escaped(view.name)}</h1><p>{escaped(question(view))}</p></header>"
    )


def _verdict(verdict: Conclusion) -> str:
    sign, word = _BADGES[verdict.state]
    cautions = items_html(verdict.cautions)
    return (
        f'<section class="verdict {verdict.state}" id="verdict">'
        f'<p class="badge"><b aria-hidden="true"><i>{sign}</i></b> {escaped(word)}</p>'
        f"<h2>{escaped(verdict.headline)}</h2><p>{escaped(verdict.sentence)}</p>"
        f"{tiles_html(verdict.tiles)}"
        f"{f'<ul class=cautions>{cautions}</ul>' if cautions else ''}</section>"
    )


def _contents(sections: Sequence[Section]) -> str:
    links = "".join(f'<a href="#{section.anchor}">{escaped(section.title)}</a>' for section in sections)
    return f'<nav aria-label="contents">{links}</nav>'


def _section(view: StudyView, section: Section) -> str:
    intro = f"<p>{escaped(section.intro)}</p>" if section.intro else ""
    key = _key(view, section.figures) if section.key and section.figures else ""
    drawn = "".join(map(_figure, section.figures))
    grid = f'<div class="figures c{section.columns}">{drawn}</div>' if drawn else ""
    return f'<section id="{section.anchor}"><h2>{escaped(section.title)}</h2>{intro}{key}{grid}{section.html}</section>'


def _key(view: StudyView, drawn: Sequence[Figure]) -> str:
    """The legend of the marks that occur."""
    full = "" if view.problem.goal.at is At.ANYWHERE else f"all {view.problem.fidelity}, "
    words = {
        ResultOutcome.KEPT: f"{full}kept every limit" if view.problem.constraints else full.rstrip(", ") or "result",
        ResultOutcome.BROKE: f"{full}broke a limit",
        ResultOutcome.PART: f"part of the {view.problem.fidelity}",
        ResultOutcome.FAILED: "failed",
    }
    names = {trace.get("name") for figure in drawn for trace in figure.data if trace.get("x")}
    drawing = '<svg viewBox="0 0 14 14" width="14" height="14" aria-hidden="true">'
    items = [
        f"<li>{drawing}{glyph}</svg>{words[outcome]}</li>"
        for outcome, glyph in _GLYPHS.items()
        if outcome.value in names
    ]
    if "recommended" in names:
        items.append('<li><span class="star" aria-hidden="true">★</span>recommended</li>')
    if "pending" in names:
        items.append('<li><span aria-hidden="true">□</span>not finished</li>')
    return f'<ul class="key">{"".join(items)}</ul>' if items else ""


def _figure(figure: Figure) -> str:
    caption = f"<figcaption>{escaped(figure.caption)}</figcaption>" if figure.caption else ""
    return (
        f'<figure><h3>{escaped(figure.title)}</h3><div class="plot" data-figure="{escaped(figure.name)}" role="img" '
        f'aria-label="{escaped(figure.title)}" style="height:{figure.height}px"></div>{caption}</figure>'
    )


# -- the sections, in their order


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
    """The sections with content."""
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
    intro = "Before a run starts, its worst case is set aside; when it ends, it is settled at its real cost."
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
    problem, size = view.problem, view.problem.choices.size
    limits = [limit_text(c) + (f" @ {c.probability:g}" if c.probability else "") for c in problem.constraints]
    facts = {
        "goal": f"{problem.goal.direction} {problem.goal.metric}"
        + (" at any share" if problem.goal.at is At.ANYWHERE else ""),
        "limits": listed(limits) or "none",
        "budget": budget_words(problem.budget),
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
