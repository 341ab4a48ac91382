"""The benchmark of prices on a small file."""

from pathlib import Path

import pytest

from benchmarks.prices import MONTH, measure, write_file
from leantune.cloud.prices import read_prices


def test_the_file_has_as_many_rows_as_were_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "prices.csv"
    assert write_file(path, 20_000) == 20_000
    loaded = read_prices(path)
    assert (loaded.report.rows, loaded.report.troubles(), len(loaded.series) > 1) == (20_000, [], True)
    first = next(iter(loaded.series.values()))
    assert first.start < MONTH[0] < MONTH[1] < first.end


def test_all_figures_are_there(tmp_path: Path) -> None:
    figures = measure(tmp_path, 30_000)
    assert figures.rows == 30_000
    assert figures.load_ratio == pytest.approx(figures.load_s / figures.reference_s)
    assert min(figures.month_ms, figures.store_s, figures.again_s, figures.store_mb, figures.scan_ms) > 0
