"""The vocabulary of the figures: one meaning, one mark, in every figure.

Figures are Plotly's plain JSON. Colours are names such as "@kept": the page replaces them by those of its light or dark
sheet. Kinds differ in shape as well as in colour (Okabe and Ito's, which colour-blind people tell apart).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from leantune.problem import COST, TIME
from leantune.report.data import ResultOutcome, StudyResult
from leantune.text import clipped, counted, plain, quantity, significant, time_unit

T = TypeVar("T")
Json = dict[str, Any]
Place = Callable[[StudyResult], float | None]  # where a result lies along an axis
MOST_POINTS = 1500  # in one figure: more overlap, and make the page slow
_MOST_TICKS = 4  # of a log axis: more names do not fit side by side in a small figure
_MOST_POWERS = 7
_LOG_FROM = 30.0  # largest / smallest value from which a log scale shows more
_LEAST_ON_LOG = 1e-200  # so that the ratio of any two values on an axis is finite

MARKS: Mapping[ResultOutcome, Json] = {
    ResultOutcome.PART: {"symbol": "circle-open", "color": "@part", "size": 7, "line": {"width": 1.3}},
    ResultOutcome.FAILED: {"symbol": "triangle-down-open", "color": "@failed", "size": 9, "line": {"width": 1.6}},
    ResultOutcome.BROKE: {"symbol": "x-thin", "color": "@broke", "size": 8, "line": {"width": 2.2, "color": "@broke"}},
    ResultOutcome.KEPT: {"symbol": "circle", "color": "@kept", "size": 9, "line": {"width": 1, "color": "@paper"}},
}
WITH_VALUE = (ResultOutcome.PART, ResultOutcome.BROKE, ResultOutcome.KEPT)
STAR: Json = {"symbol": "star", "color": "@best", "size": 15, "line": {"width": 1, "color": "@paper"}}
AXIS: Json = {
    "automargin": True,
    "gridcolor": "@grid",
    "linecolor": "@line",
    "tickcolor": "@line",
    "zeroline": False,
    "showline": True,
    "ticks": "outside",
    "ticklen": 4,
    "exponentformat": "power",
    "separatethousands": True,
    "title": {"standoff": 8, "font": {"size": 13, "color": "@soft"}},
}
TEMPLATE: Json = {
    "layout": {
        "paper_bgcolor": "@clear",
        "plot_bgcolor": "@clear",
        "font": {"family": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif", "size": 12.5,
                 "color": "@ink"},
        "margin": {"l": 8, "r": 14, "t": 10, "b": 8},
        "hoverlabel": {"bgcolor": "@paper", "bordercolor": "@line", "font": {"color": "@ink", "size": 12.5},
                       "align": "left"},
        "hovermode": "closest",
        "showlegend": False,
        "xaxis": AXIS,
        "yaxis": AXIS,
    }
}  # fmt: skip


@dataclass(frozen=True)
class Figure:
    """One figure with its words. Points refer to results by `customdata`, their index; the page has their texts."""

    name: str
    title: str
    caption: str
    data: Sequence[Json]
    layout: Json = field(default_factory=dict)
    height: int = 340

    def as_json(self) -> Json:
        """The figure as Plotly reads it."""
        return {"data": list(self.data), "layout": {**self.layout, "height": self.height}}


@dataclass(frozen=True)
class Axis:
    """How values of one quantity are put on an axis: value x factor, with its title and ticks.

    ends: what is shown, as (low, high) on the axis; None: Plotly decides.
    """

    title: str
    factor: float = 1.0
    log: bool = False
    dollars: bool = False
    ends: tuple[float, float] | None = None

    def of(self, value: float) -> float | None:
        """Where a value lies; None where it is not known, or has no logarithm that can be drawn."""
        placed = value * self.factor
        return placed if math.isfinite(placed) and (placed > _LEAST_ON_LOG or not self.log) else None

    def layout(self) -> Json:
        """The axis as Plotly reads it."""
        layout: Json = {"title": {"text": plain(self.title)}}
        if self.ends is not None:
            layout["range"] = [math.log10(end) for end in self.ends] if self.log else list(self.ends)
        if self.log:
            layout["type"] = "log"
            if self.ends is not None:
                ticks = log_ticks(*self.ends)
                texts = [_dollars(tick) if self.dollars else significant(tick, 3) for tick in ticks]
                layout |= {"tickvals": ticks, "ticktext": texts}
        elif self.dollars:
            low, high = self.ends or (0.0, 0.0)
            reach = high - low
            decimals = 0 if reach > 8 or not reach else max(2, math.ceil(-math.log10(reach / 4)))
            layout |= {"tickprefix": "$", "tickformat": f",.{decimals}f"}
        return layout

    def framed(self, values: Iterable[float], pad: float = 0.06) -> Axis:
        """The axis around those values (in their own unit), with some air."""
        placed = [spot for value in values if (spot := self.of(value)) is not None]
        if not placed:
            return self
        low, high = min(placed), max(placed)
        if self.log:
            air = (high / low) ** pad if high > low else 1.5
            return replace(self, ends=(low / air, high * air))
        air = pad * (high - low) or 0.1 * abs(high) or 1.0
        return replace(self, ends=(low - air, high + air))


def metric_axis(metric: str, values: Iterable[float]) -> Axis:
    """The axis of a metric: dollars, the unit of time that suits, or its own numbers; log where values differ much."""
    finite = sorted(value for value in values if math.isfinite(value))
    log = _spans_decades(finite)
    if metric == COST:
        return Axis("cost of one run (USD)", log=log, dollars=True).framed(finite)
    if metric == TIME:
        size, unit = time_unit(max(finite, default=0.0))
        return Axis(f"time of one run ({unit})", 1.0 / size, log).framed(finite)
    return Axis(clipped(metric), log=log).framed(finite)


def _spans_decades(finite: Sequence[float]) -> bool:
    """Whether positive values, in increasing order, differ much; a tenth at either end does not decide."""
    few = len(finite) // 10
    return bool(finite) and finite[0] > 0 and finite[-1 - few] / finite[few] > _LOG_FROM


def trial_axis(count: int) -> Json:
    """Trials 0 to count - 1, with whole numbers below."""
    air = 0.5 + 0.01 * count
    step = {"dtick": 1} if count <= 12 else {}
    return {"title": {"text": "trial"}, "range": [-air, count - 1 + air], "tickformat": ",d", **step}


def _dollars(value: float) -> str:
    return quantity(COST, value) if value < 1 else f"${value:,.0f}"


def log_ticks(low: float, high: float) -> list[float]:
    """1, 2, 5, 10, ... within the ends while they are few, else powers of ten, else every so many of them."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    every = math.ceil(len(decades) / _MOST_POWERS)
    for steps, stride in (((1, 2, 5), 1), ((1,), every)):
        ticks = [step * 10.0**decade for decade in decades[::stride] for step in steps]
        inside = [tick for tick in ticks if low <= tick <= high]
        if len(inside) <= _MOST_TICKS:
            break
    return inside


def thinned(items: Sequence[T], most: int = MOST_POINTS, noun: str = "result") -> tuple[Sequence[T], str]:
    """At most so many of them, and a sentence where some are left out.

    Evenly over all kinds together, so that a rare kind still looks rare; the first and the last are among them.
    """
    if len(items) <= most:
        return items, ""
    chosen = [items[round(i * (len(items) - 1) / (most - 1))] for i in range(most)]
    return chosen, f" {most:,} of {counted(len(items), noun)} are drawn, evenly chosen."


def scattered(
    results: Sequence[StudyResult], x: Place, y: Place, outcomes: Iterable[ResultOutcome] = WITH_VALUE
) -> tuple[list[Json], str]:
    """Results as marks, outcome by outcome, and a sentence where some of them are left out."""
    drawn, fewer = thinned(results)
    return [points(drawn, outcome, x, y) for outcome in outcomes], fewer


def points(results: Sequence[StudyResult], outcome: ResultOutcome, x: Place, y: Place) -> Json:
    """Results of one outcome as marks."""
    chosen = [result for result in results if result.outcome is outcome]
    placed = [(x(result), y(result), result.index) for result in chosen]
    drawn = [row for row in placed if row[0] is not None and row[1] is not None]
    xs, ys, indices = zip(*drawn, strict=True) if drawn else ((), (), ())
    return marks(outcome.value, xs, ys, MARKS[outcome], customdata=list(indices))


def marks(name: str, x: Sequence[float | None], y: Sequence[float | None], marker: Json, **more: Any) -> Json:
    """Points with a text under the pointer."""
    where = {"x": [*map(rounded, x)], "y": [*map(rounded, y)]}
    return {"type": "scatter", "mode": "markers", "name": name, **where, "marker": marker, "hoverinfo": "text", **more}


def line(x: Sequence[float | None], y: Sequence[float | None], color: str, **style: Any) -> Json:
    """A line without a text under the pointer."""
    shape = {key: style.pop(key) for key in ("shape", "dash") if key in style}
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [*map(rounded, x)],
        "y": [*map(rounded, y)],
        "line": {"color": color, "width": style.pop("width", 2), **shape},
        "hoverinfo": "skip",
        **style,
    }


def rounded(value: float | None) -> float | None:
    """Six significant digits: a pixel needs no more, and the file stays small. Only finite numbers are JSON."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.6g}")
