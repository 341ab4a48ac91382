"""The same figures for the pointer: one page that needs nothing else, not even a network."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from html import escape
from pathlib import Path

import numpy as np
from plotly.offline import get_plotlyjs  # type: ignore[import-untyped] # it ships no types

from benchmarks.papers.colours import look
from benchmarks.papers.curves import Curve
from benchmarks.papers.drawings import Dot, DotPanel, Drawing, Line, Panel
from benchmarks.papers.words import number
from leantune.arrays import BoolArray, FloatArray

Json = dict[str, object]
_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:1200px;padding:0 1rem;color:#222}
h1{font-size:1.6rem}h2{margin-top:2.5rem;font-size:1.2rem}p{color:#444}
.row{display:flex;flex-wrap:wrap;gap:1rem}.plot{flex:1 1 360px;min-width:320px;height:380px}
nav a{margin-right:1rem}
"""
_SCRIPT = """
const figures = JSON.parse(document.getElementById('figures').textContent);
for (const [id, figure] of Object.entries(figures))
  Plotly.newPlot(id, figure.data, figure.layout, {responsive: true, displayModeBar: false});
"""


def write_html(drawings: Sequence[Drawing], path: Path) -> Path:
    """Write the page."""
    figures: dict[str, Json] = {}
    parts: list[str] = []
    for drawing in drawings:
        rows = []
        for row, panels in enumerate(drawing.panels):
            cells = []
            for column, panel in enumerate(panels):
                name = f"{drawing.name}-{row}-{column}"
                figures[name] = _figure(panel)
                cells.append(f'<div class="plot" id="{name}" role="img" aria-label="{escape(panel.title)}"></div>')
            rows.append(f'<div class="row">{"".join(cells)}</div>')
        parts.append(
            f'<section id="{drawing.name}"><h2>{escape(drawing.title)}</h2><p>{escape(drawing.caption)}</p>'
            f"{''.join(rows)}</section>"
        )
    links = "".join(f'<a href="#{d.name}">{escape(d.title.split(":")[0])}</a>' for d in drawings)
    data = json.dumps(figures, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>LeanTune on the papers' tables</title><style>{_STYLE}</style></head>\n<body>"
        "<h1>LeanTune on the papers' tables</h1><p>The figures of results.md, for the pointer: a click on a name hides "
        f"its line, a double click the others.</p><nav>{links}</nav>{''.join(parts)}\n"
        f'<script type="application/json" id="figures">{data}</script>\n'
        f"<script>{get_plotlyjs()}</script>\n<script>{_SCRIPT}</script></body></html>\n",
        encoding="utf-8",
    )
    return path


def _figure(panel: Panel | DotPanel) -> Json:
    layout: Json = {
        "title": {"text": panel.title, "font": {"size": 14}},
        "margin": {"l": 60, "r": 20, "t": 40, "b": 50},
        "hovermode": "closest",
        "legend": {"orientation": "h", "y": -0.22, "font": {"size": 11}},
        "xaxis": {"type": "log", "title": {"text": panel.x}, "gridcolor": "#e5e5e5"},
        "plot_bgcolor": "white",
    }
    if isinstance(panel, DotPanel):
        layout["yaxis"] = {"autorange": "reversed", "automargin": True}
        return {"data": _dots(panel), "layout": layout}
    layout["yaxis"] = {"title": {"text": panel.y}, "gridcolor": "#e5e5e5", **({"type": "log"} if panel.log_y else {})}
    if panel.limits is not None:
        layout["yaxis"] = {**_json(layout["yaxis"]), "range": list(panel.limits)}
    return {"data": [trace for line in panel.lines for trace in _line(line)], "layout": layout}


def _line(line: Line) -> list[Json]:
    colour, _ = look(line.method)
    found = line.curve
    begun, after = line.parts()
    kept = _corners(found)
    begun, after = begun & kept, after & kept
    shared = {"mode": "lines", "legendgroup": line.method, "name": line.method}
    shaded = after & np.isfinite(found.low) & np.isfinite(found.high)
    x, low, high = (values[shaded] for values in (found.x, found.low, found.high))
    band = {
        "x": [*_rounded(x), *_rounded(x[::-1])],
        "y": [*_rounded(high), *_rounded(low[::-1])],
        "fill": "toself",
        "fillcolor": f"{colour}22",
        "line": {"width": 0},
        "hoverinfo": "skip",
        "showlegend": False,
    }
    start = {
        "x": _rounded(found.x[begun]),
        "y": _rounded(found.middle[begun]),
        "line": {"color": colour, "dash": "dash", "width": 1.5},
        "showlegend": not after.any(),
    }
    solid = {
        "x": _rounded(found.x[after]),
        "y": _rounded(found.middle[after]),
        "line": {"color": colour, "width": 2.2},
        "showlegend": bool(after.any()),
    }
    hover = {"hovertemplate": f"{line.method}: %{{y:.4g}} at %{{x:.4g}}<extra></extra>"}
    return [{**shared, **band}, {**shared, **start, **hover}, {**shared, **solid, **hover}]


def _corners(found: Curve) -> BoolArray:
    """Places where something changes, before and after: the rest of a step says nothing."""
    values = np.stack([found.middle, found.low, found.high, (found.x <= found.start).astype(np.float64)])
    changed = (values[:, 1:] != values[:, :-1]).any(axis=0)
    kept = np.zeros(len(found.x), dtype=bool)
    kept[1:] |= changed
    kept[:-1] |= changed
    kept[[0, -1]] = True
    return kept


def _dots(panel: DotPanel) -> list[Json]:
    traces: list[Json] = []
    symbols = {"90%": "circle", "95%": "square", "99%": "diamond"}
    ends = [end for dot in panel.dots for end in (dot.at.value, dot.at.high) if math.isfinite(end)]
    edge = 1.5 * max(ends, default=1.0)  # where those stand that never arrive in most seeds
    for series in dict.fromkeys(dot.series for dot in panel.dots):
        dots = [dot for dot in panel.dots if dot.series == series]
        arrives = [math.isfinite(dot.at.value) for dot in dots]
        known = list(zip(dots, arrives, strict=True))
        traces.append(
            {
                "mode": "markers",
                "name": f"{series} of the optimum",
                "x": [_short(dot.at.value if there else edge) for dot, there in known],
                "y": [dot.method for dot in dots],
                "marker": {
                    "symbol": [symbols.get(series, "circle") if there else "triangle-right" for there in arrives],
                    "size": 9,
                    "color": [look(d.method)[0] for d in dots],
                },
                "error_x": {
                    "type": "data",
                    "symmetric": False,
                    "array": [_short(min(d.at.high, edge) - d.at.value) if ok else 0 for d, ok in known],
                    "arrayminus": [_short(d.at.value - d.at.low) if ok else 0 for d, ok in known],
                    "thickness": 1,
                },
                "text": list(map(_told, dots)),
                "hovertemplate": "%{y}: %{text}<extra></extra>",
            }
        )
    return traces


def _told(dot: Dot) -> str:
    when = number(dot.at.value) if math.isfinite(dot.at.value) else "never in most seeds"
    return f"{when}, {dot.at.finite} of {dot.at.count} seeds arrive"


def _rounded(values: FloatArray) -> list[float | None]:
    """None where there is no value: the line has a gap there."""
    return [_short(value) if math.isfinite(value) else None for value in values.tolist()]


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def _json(value: object) -> Json:
    assert isinstance(value, dict)
    return value
