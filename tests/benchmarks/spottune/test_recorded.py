"""The table of the page is the shipped recording's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.spottune import recorded
from leantune.lab.simulate.workloads import RecordedJob, families


def test_the_page_holds_the_table_of_what_ships() -> None:
    recorded.main(["--check"])


def test_another_table_is_noticed_and_put_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{recorded.BEGIN}\n| old |\n{recorded.END}\nafter\n", encoding="utf-8")
    monkeypatch.setattr(recorded, "PAGE", page)
    with pytest.raises(SystemExit, match=r"page\.md.*Run python"):
        recorded.main(["--check"])
    recorded.main([])
    recorded.main(["--check"])
    lines = page.read_text(encoding="utf-8").splitlines()
    assert (lines[0], lines[-1]) == ("before", "after")
    assert [line.split(" | ")[0] for line in lines[4:-2]] == [f"| {name}" for name in families()]


def test_variation_is_of_seconds_per_step() -> None:
    steps, seconds = np.array([10.0, 20.0, 40.0, 60.0]), np.array([9.0, 1.0, 2.0, 6.0])
    job = RecordedJob("toy", "Toy", {}, "loss", False, steps, steps, seconds, (), 1, 0.1, 0.1)
    paces = [0.1, 0.1, 0.3]  # the first is left out
    assert recorded.step_variation(job) == pytest.approx(np.std(paces) / np.mean(paces))
