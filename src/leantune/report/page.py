"""The page: one HTML file that needs nothing else, not even a network."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from plotly.offline import get_plotlyjs  # type: ignore[import-untyped] # it ships no types

from leantune.problem import COST, TIME, At
from leantune.report.data import ResultOutcome, StudyResult, StudyView
from leantune.report.html import asset, items_html, page_html, tiles_html, write_page
from leantune.report.marks import TEMPLATE, Figure
from leantune.report.sections import Section, sections_of
from leantune.report.verdict import AnswerState, Conclusion, conclusion_of, question
from leantune.text import clipped, escaped, period, plain, quantity, share_of_data, value_text

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


def write_report(view: StudyView, path: Path) -> None:
    """Write the report."""
    write_page(report_html(view), path)


def report_html(view: StudyView) -> str:
    """The whole page."""
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
    """The results that some figure draws."""
    traces = (trace for section in sections for figure in section.figures for trace in figure.data)
    return {index for trace in traces for index in trace.get("customdata", ())}


def _words(view: StudyView, result: StudyResult) -> str:
    """What a figure says about a result under the pointer."""
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
    """What the marks mean, for those that occur."""
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
