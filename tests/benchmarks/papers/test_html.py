"""The page for the pointer needs nothing else."""

import json
import math
import re
from pathlib import Path

import plotly.graph_objects  # type: ignore[import-untyped] # it ships no types

from benchmarks.papers.drawings import Dot, DotPanel, Drawing, drawings
from benchmarks.papers.html import write_html
from leantune.lab.replay.arrivals import Median
from tests.benchmarks.papers.made import results


def test_one_file_with_every_panel(tmp_path: Path) -> None:
    drawn = drawings(results())
    text = write_html(drawn, tmp_path / "figures.html").read_text(encoding="utf-8")
    assert len(text.encode()) < 6_000_000
    assert "<script src" not in text
    found = re.search(r'<script type="application/json" id="figures">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    figures = json.loads(found[1])
    assert len(figures) == sum(len(row) for drawing in drawn for row in drawing.panels)
    for name, figure in figures.items():
        plotly.graph_objects.Figure(figure)  # it refuses what it does not know
        assert f'id="{name}"' in text
        assert figure["data"]
        assert figure["layout"]["xaxis"]["type"] == "log"


def test_who_never_arrives_stands_at_the_edge(tmp_path: Path) -> None:
    never = math.inf
    dots = (Dot("eic", "90%", Median(2.0, 1.0, never, 3, 5)), Dot("fabolas", "90%", Median(never, never, never, 1, 5)))
    drawing = Drawing("arrive", "Arrivals", "until they arrive", ((DotPanel("rnn", "dollars", dots),),))
    text = write_html([drawing], tmp_path / "figures.html").read_text(encoding="utf-8")
    found = re.search(r'<script type="application/json" id="figures">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    ((trace,),) = (figure["data"] for figure in json.loads(found[1]).values())
    assert trace["y"] == ["eic", "fabolas"]
    assert trace["x"][1] > trace["x"][0] == 2.0
    assert trace["marker"]["symbol"] == ["circle", "triangle-right"]
    assert trace["text"][1] == "never in most seeds, 1 of 5 seeds arrive"
