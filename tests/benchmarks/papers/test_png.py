"""Figures are drawn, whatever is missing."""

import math
from pathlib import Path

import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

from benchmarks.papers.drawings import Dot, DotPanel, Drawing, Panel, drawings
from benchmarks.papers.png import draw
from leantune.lab.replay.arrivals import Median
from tests.benchmarks.papers.made import results


def test_every_figure_is_a_png(tmp_path: Path) -> None:
    chosen = [one for one in drawings(results()) if one.name in ("trimtuner-fig2", "thesis-fig1-2")]
    for path in draw(chosen, tmp_path):
        assert path.read_bytes().startswith(b"\x89PNG")
        assert path.stat().st_size > 10_000


def test_empty_panels_and_methods_that_never_arrive(tmp_path: Path) -> None:
    never = Median(math.inf, math.inf, math.inf, 0, 5)
    panels = (Panel("nothing", "x", "y", (), log_y=True), DotPanel("never", "x", (Dot("eic", "90%", never),)))
    (path,) = draw([Drawing("empty", "Empty", "", (panels, panels[:1]))], tmp_path)
    assert path.is_file()
