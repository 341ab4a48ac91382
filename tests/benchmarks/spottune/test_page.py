"""The page says what was run, and what was not."""

from __future__ import annotations

from pathlib import Path

from benchmarks.spottune.claims import Evidence
from benchmarks.spottune.experiments import Effort
from benchmarks.spottune.page import Content, write_page
from benchmarks.spottune.pools import PoolName
from benchmarks.spottune.results import Results
from leantune.lab.simulate.speeds import relative_speeds
from tests.benchmarks.spottune.made import GAP, results

SPEEDS = {"volatile": relative_speeds({"small": 2.0, "large": 8.0}, "small")}


def text(made: Results, folder: Path, **more: object) -> str:
    effort = Effort((PoolName.VOLATILE,), ("f0", "f1"), quick=bool(more.pop("quick", False)))
    written = write_page(Content(made, Evidence(), SPEEDS, effort, **more), folder)  # type: ignore[arg-type]
    return written.page.read_text(encoding="utf-8")


def test_a_group_that_was_not_run_says_how_to_run_it(tmp_path: Path) -> None:
    told = text(results(GAP), tmp_path)
    assert "Not run: `--only theta` runs it." in told
    assert "![No skill, ours and the oracle, theta 0.7](spot-results/gap.png)" in told
    assert (tmp_path / "spot-results" / "gap.png").is_file()
    assert "numbers mean nothing" not in told


def test_generated_prices_and_quick_runs_are_said(tmp_path: Path) -> None:
    told = text(results(GAP), tmp_path, quick=True, generated=("volatile",), missing=("capacity, for want of x.csv",))
    assert "numbers mean nothing" in told
    assert "the prices of volatile are generated" in told
    assert "Not run: capacity, for want of x.csv." in told


def test_smooth_prices_tell_what_is_left(tmp_path: Path) -> None:
    made = results(GAP, "smooth", "smooth")
    assert "ours closes 75 %" in text(made, tmp_path)
