"""The page for the pointer needs nothing else."""

import json
import re
from pathlib import Path

import plotly.graph_objects  # type: ignore[import-untyped] # it ships no types

from benchmarks.papers.drawings import drawings
from benchmarks.papers.html import write_html
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
