"""Figs. 6 to 12 as PNG, by matplotlib: bars with intervals over starts, and lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.methods import INSTALL, needs_extra
from benchmarks.papers.colours import BLACK, BLUE, GREEN, GREY, ORANGE, PINK, RED, SKY, YELLOW
from leantune.lab.replay.arrivals import Median

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawn

WIDTH, HEIGHT, DPI = 5.6, 3.5, 110
COLOURS = (BLUE, ORANGE, GREEN, RED, PINK, SKY, YELLOW, GREY, BLACK)


@dataclass(frozen=True)
class Bars:
    """A panel of bars: values by series and place, with intervals. paper: a level of the paper's to compare with."""

    title: str
    y: str
    places: Sequence[str]
    series: Mapping[str, Sequence[Median]]
    log: bool = False
    paper: float | None = None


@dataclass(frozen=True)
class Lines:
    """A panel of lines over x."""

    title: str
    x: str
    y: str
    at: Sequence[float]
    series: Mapping[str, Sequence[Median]]
    paper: float | None = None


@dataclass(frozen=True)
class Figure:
    """Panels side by side, with the words under it."""

    name: str
    title: str
    caption: str
    panels: Sequence[Bars | Lines]


def draw(figures: Sequence[Figure], folder: Path) -> list[Path]:
    """Write every figure; returns the files."""
    with needs_extra("matplotlib", INSTALL):
        import matplotlib
    matplotlib.use("Agg")
    folder.mkdir(parents=True, exist_ok=True)
    return [_draw(figure, folder / f"{figure.name}.png") for figure in figures]


def _draw(figure: Figure, path: Path) -> Path:
    import matplotlib.pyplot as plt

    columns = min(len(figure.panels), 3)
    rows = -(-len(figure.panels) // columns)
    size = (WIDTH * columns, HEIGHT * rows + 0.7)
    made, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
    flat = [ax for row in axes for ax in row]
    for ax, panel in zip(flat, figure.panels, strict=False):
        _bars(ax, panel) if isinstance(panel, Bars) else _lines(ax, panel)
    for ax in flat[len(figure.panels) :]:
        ax.set_axis_off()
    _legend(made, flat, columns)
    made.suptitle(figure.title, fontsize=12, fontweight="bold")
    made.savefig(path, dpi=DPI, metadata={"Software": None})
    plt.close(made)
    return path


def _legend(made: Drawn, flat: Sequence[Axes], columns: int) -> None:
    found: dict[str, Artist] = {}
    for ax in flat:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    if len(found) > 1:
        width = min(len(found), 4 * columns)
        handles, labels = list(found.values()), list(found)
        made.legend(handles, labels, loc="outside lower center", ncols=width, fontsize=8.5, frameon=False)


def _bars(ax: Axes, panel: Bars) -> None:
    width = 0.8 / max(len(panel.series), 1)
    for order, (name, values) in enumerate(panel.series.items()):
        at = [place + (order - (len(panel.series) - 1) / 2) * width for place in range(len(values))]
        heights = [one.value for one in values]
        errors = [
            [max(one.value - one.low, 0.0) for one in values],
            [max(one.high - one.value, 0.0) for one in values],
        ]
        colour = COLOURS[order % len(COLOURS)]
        style = {"elinewidth": 0.8, "ecolor": "#333333"}
        ax.bar(at, heights, width, color=colour, label=name, yerr=errors, error_kw=style)
    ax.set_xticks(range(len(panel.places)), panel.places, rotation=0 if len(panel.places) < 7 else 25, ha="center")
    if panel.log:
        ax.set_yscale("log")
    _finish(ax, panel.title, "", panel.y, panel.paper)


def _lines(ax: Axes, panel: Lines) -> None:
    for order, (name, values) in enumerate(panel.series.items()):
        colour = COLOURS[order % len(COLOURS)]
        at = panel.at[: len(values)]
        ax.plot(at, [one.value for one in values], color=colour, marker="o", markersize=3.5, linewidth=1.6, label=name)
        ax.fill_between(
            at, [one.low for one in values], [one.high for one in values], color=colour, alpha=0.10, linewidth=0
        )
    ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]))
    _finish(ax, panel.title, panel.x, panel.y, panel.paper)


def _finish(ax: Axes, title: str, x: str, y: str, paper: float | None) -> None:
    if paper is not None:
        ax.axhline(paper, color=BLACK, linewidth=1.0, linestyle=(0, (4, 3)), label="the paper's")
    ax.set_title(title, fontsize=10)
    ax.set_xlabel(x, fontsize=9)
    ax.set_ylabel(y, fontsize=9)
    ax.tick_params(labelsize=8)
    ax.grid(True, axis="y", alpha=0.3, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def exact(value: float) -> Median:
    """A number that does not depend on starts."""
    return Median(value, value, value, 1, 1)
