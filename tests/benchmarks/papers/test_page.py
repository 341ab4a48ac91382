"""The page shows everything, and says what is missing."""

import re
from pathlib import Path

import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

from benchmarks.papers.experiments import Effort
from benchmarks.papers.page import write_page
from benchmarks.papers.results import Results
from tests.benchmarks.papers.made import inventory, results


def test_every_figure_and_table_is_on_the_page(tmp_path: Path) -> None:
    written = write_page(results(), inventory(), Effort(), tmp_path)
    text = written.page.read_text(encoding="utf-8")
    for title in ("Table II", "Fig. 1", "Fig. 2", "Table III", "Fig. 3 and Table IV", "Fig. 4", "Table I", "Figs. 1-2"):
        assert f"### {title}" in text
    shown = re.findall(r"!\[[^]]*\]\(([^)]*)\)", text)
    assert shown
    assert all((tmp_path / name).is_file() for name in shown)
    assert (tmp_path / "results" / "figures.html") in written.figures
    assert "No data for cnn and multilayer" in text
    assert "generated" in text
    assert " nan" not in text


def test_groups_that_were_not_run_are_named(tmp_path: Path) -> None:
    written = write_page(Results(), inventory(), Effort(quick=True), tmp_path)
    text = written.page.read_text(encoding="utf-8")
    assert "Not run this time: trimtuner, nephele, optuna" in text
    assert "`--only filters` runs it" in text
    assert "Its numbers mean nothing" in text
    assert [path.name for path in written.figures] == ["figures.html"]
