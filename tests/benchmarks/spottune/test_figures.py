"""PNG files of bars and lines."""

from __future__ import annotations

from pathlib import Path

from benchmarks.spottune.figures import Bars, Figure, Lines, draw, exact
from leantune.lab.replay.arrivals import Median


def test_figures_are_written_and_the_same_again(tmp_path: Path) -> None:
    bars = Bars("cost", "USD", ["a", "b"], {"ours": [exact(1.0), Median(2.0, 1.5, 3.0, 2, 2)]}, paper=1.5)
    lines = Lines(
        "time", "theta", "h", [0.1, 0.2], {"ours": [exact(1.0), exact(2.0)], "other": [exact(3.0), exact(1.0)]}
    )
    figure = Figure("one", "A figure", "Its words.", [bars, lines, bars, lines])
    first, second = draw([figure], tmp_path / "a"), draw([figure], tmp_path / "b")
    assert [path.name for path in first] == ["one.png"]
    assert first[0].read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert first[0].read_bytes() == second[0].read_bytes()


def test_an_exact_number_has_no_spread() -> None:
    assert exact(2.5) == Median(2.5, 2.5, 2.5, 1, 1)
