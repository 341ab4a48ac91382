"""The whole command, quick, on generated prices."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.spottune.command import main
from benchmarks.spottune.experiments import OUTLINES
from tests.benchmarks.spottune.made import recording


def run(folder: Path, *more: str) -> None:
    options = ["--quick", "--results", str(folder / "results"), "--data", str(folder / "nowhere"), "--processes", "1"]
    main([*options, "--recording", str(recording(folder / "recording")), *more])


def test_a_quick_run_writes_the_page_and_goes_on_where_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(tmp_path, "--only", "smooth")
    capsys.readouterr()
    before = sorted(path.stat().st_mtime_ns for path in (tmp_path / "results").glob("tunings-*.json"))
    run(tmp_path, "--only", "smooth", "--json", "--docs", str(tmp_path / "docs"))
    told = capsys.readouterr()
    assert "generated prices are used" in told.err
    summary = json.loads(told.out)
    assert Path(summary["page"]) == tmp_path / "docs" / "spot-results.md"
    assert len(summary["targets"]) == 6
    page = (tmp_path / "docs" / "spot-results.md").read_text(encoding="utf-8")
    assert "What is left of the savings" in page
    after = sorted(path.stat().st_mtime_ns for path in (tmp_path / "results").glob("tunings-*.json"))
    assert before == after != []


def test_an_unknown_group_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        run(tmp_path, "--only", "fig99")
    assert stopped.value.code == 2
    assert "no group 'fig99'" in capsys.readouterr().err
    assert "fig99" not in OUTLINES


def test_without_recorded_jobs_it_says_how_to_get_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(SystemExit):
        main(["--quick", "--results", str(tmp_path / "r"), "--recording", str(tmp_path / "empty")])
    assert "benchmarks.spottune.recording" in capsys.readouterr().err
