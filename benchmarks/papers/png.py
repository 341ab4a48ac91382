"""Figures as PNG, by matplotlib."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.methods import INSTALL, needs_extra
from benchmarks.papers.colours import look
from benchmarks.papers.drawings import Dot, DotPanel, Drawing, Panel

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, HEIGHT, DPI = 5.4, 3.5, 110
LEGEND_COLUMNS = 4  # names side by side, for each panel of a row
TITLE_WIDTH = 58  # letters, for each panel of a row
SERIES = {"90%": ("o", 0.4), "95%": ("s", 0.7), "99%": ("D", 1.0)}  # mark and how strong its colour is
SOFT = "#555555"


def draw(drawings: Sequence[Drawing], folder: Path) -> list[Path]:
    """Write every figure; returns the files."""
    with needs_extra("matplotlib", INSTALL):
        import matplotlib
    matplotlib.use("Agg")
    folder.mkdir(parents=True, exist_ok=True)
    return [_draw(drawing, folder / f"{drawing.name}.png") for drawing in drawings]


def _draw(drawing: Drawing, path: Path) -> Path:
    import matplotlib.pyplot as plt

    rows, columns = len(drawing.panels), max(map(len, drawing.panels))
    size = (WIDTH * columns, HEIGHT * rows + 0.8)
    figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
    for row, panels in enumerate(drawing.panels):
        for column in range(columns):
            ax = axes[row][column]
            if column >= len(panels):
                ax.set_axis_off()
            elif isinstance(panel := panels[column], Panel):
                _lines(ax, panel, first=column == 0)
            else:
                _dots(ax, panel, first=column == 0)
    _legend(figure, columns)
    figure.suptitle("\n".join(wrap(drawing.title, TITLE_WIDTH * columns)), fontsize=12, fontweight="bold")
    figure.savefig(path, dpi=DPI, metadata={"Software": None})
    plt.close(figure)
    return path


def _lines(ax: Axes, panel: Panel, *, first: bool) -> None:
    low, high = _frame(panel)
    for order, line in enumerate(panel.lines):
        colour, mark = look(line.method)
        found = line.curve
        start, after = line.parts()
        known = after & np.isfinite(found.low) & np.isfinite(found.high)
        ax.fill_between(found.x, found.low, found.high, where=known.tolist(), color=colour, alpha=0.09, linewidth=0)
        ax.plot(found.x[start], found.middle[start], color=colour, linestyle=(0, (3, 2)), linewidth=1.3)
        ax.plot(
            found.x[after],
            found.middle[after],
            color=colour,
            linewidth=1.8,
            marker=mark,
            markersize=5,
            markevery=(order * 6, 45),
            label=line.method,
        )
    ax.set_xscale("log")
    if panel.log_y:
        ax.set_yscale("log")
    ax.set_ylim(low, high)
    if panel.begin is not None:
        ax.set_xlim(left=panel.begin)
    _plain_ticks(ax, y=panel.log_y)
    _labels(ax, panel.title, panel.x)
    if first:
        ax.set_ylabel(panel.y, fontsize=9)
    if not panel.lines:
        ax.text(0.5, 0.5, "no recommendation in most seeds", transform=ax.transAxes, ha="center", color=SOFT)


def _frame(panel: Panel) -> tuple[float, float]:
    """The range of y: the panel's own, or on a log scale from the optimum to the highest median."""
    if panel.limits is not None:
        return panel.limits
    tops = [float(np.nanmax(line.curve.middle)) for line in panel.lines]
    return (0.9, max(2.5, 1.3 * max(tops, default=1.0))) if panel.log_y else (0.0, max(tops, default=1.0))


def _labels(ax: Axes, title: str, x: str) -> None:
    ax.set_title(title, fontsize=10)
    ax.set_xlabel(x, fontsize=9)
    ax.grid(True, which="major", alpha=0.3, linewidth=0.6)
    ax.tick_params(labelsize=8)
    ax.spines[["top", "right"]].set_visible(False)


def _plain_ticks(ax: Axes, *, y: bool) -> None:
    """0.01, 0.02, 0.05 rather than powers of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    for axis in (ax.xaxis, ax.yaxis) if y else (ax.xaxis,):
        axis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0), numticks=20))
        axis.set_major_formatter(FuncFormatter(lambda value, _position: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())


def _dots(ax: Axes, panel: DotPanel, *, first: bool) -> None:
    methods = list(dict.fromkeys(dot.method for dot in panel.dots))
    series = list(dict.fromkeys(dot.series for dot in panel.dots))
    known = [one for dot in panel.dots for one in (dot.at.value, dot.at.low, dot.at.high) if 0 < one < math.inf]
    low, high = (min(known) / 1.4, max(known) * 1.4) if known else (0.1, 1.0)
    edge = high * (high / low) ** 0.06
    for dot in panel.dots:
        below = (series.index(dot.series) - (len(series) - 1) / 2) * 0.24
        _dot(ax, dot, methods.index(dot.method) + below, low, edge)
    ax.set_xscale("log")
    ax.set_xlim(low, edge * (edge / low) ** 0.10)
    ax.set_ylim(len(methods) - 0.5, -0.5)
    ax.set_yticks(range(len(methods)), methods if first else [""] * len(methods))
    for between in range(1, len(methods)):
        ax.axhline(between - 0.5, color="#dddddd", linewidth=0.6)
    _plain_ticks(ax, y=False)
    _labels(ax, panel.title, panel.x)
    ax.grid(False, axis="y")
    ax.tick_params(axis="y", labelsize=9, length=0)


def _dot(ax: Axes, dot: Dot, y: float, low: float, edge: float) -> None:
    """A mark with its interval; an arrow at the edge where most seeds never arrive."""
    colour, _ = look(dot.method)
    mark, strength = SERIES.get(dot.series, ("o", 1.0))
    arrives = math.isfinite(dot.at.value)
    if arrives:
        ax.plot([max(dot.at.low, low), min(dot.at.high, edge)], [y, y], color=colour, linewidth=1.3, alpha=strength)
    ax.plot(
        [dot.at.value if arrives else edge],
        [y],
        marker=mark if arrives else ">",
        color=colour,
        alpha=strength,
        markersize=5.5,
        markeredgewidth=0,
    )
    if dot.at.finite < dot.at.count:
        share = f"{dot.at.finite}/{dot.at.count}"
        ax.annotate(share, (edge, y), (6, 0), textcoords="offset points", fontsize=6.5, va="center", color=SOFT)


def _legend(figure: Figure, columns: int) -> None:
    from matplotlib.lines import Line2D

    found: dict[str, Artist] = {}
    for ax in figure.axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    if not found:
        marks = {f"{name} of the optimum": look_ for name, look_ in SERIES.items()}
        marks["never, in most seeds"] = (">", 1.0)
        found = {
            name: Line2D([], [], color=SOFT, alpha=strength, marker=mark, linestyle="")
            for name, (mark, strength) in marks.items()
        }
    width = min(len(found), LEGEND_COLUMNS * columns)
    figure.legend(list(found.values()), list(found), loc="outside lower center", ncols=width, fontsize=9, frameon=False)
