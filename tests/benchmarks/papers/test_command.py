"""The command, from arguments to a page."""

import json
from pathlib import Path

import pytest

from benchmarks.papers.command import main
from leantune.lab.replay.tables import DATA_VARIABLE


def test_unknown_groups_and_numbers_are_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for arguments in (["--only", "figures"], ["--seeds", "0"]):
        with pytest.raises(SystemExit) as ended:
            main([*arguments, "--quick", "--results", str(tmp_path)])
        assert ended.value.code == 2
    assert "at least 1" in capsys.readouterr().err


def test_without_tables_nothing_is_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--data", str(tmp_path), "--results", str(tmp_path / "kept")])
    assert ended.value.code == 2
    assert "none of TrimTuner's tables is at hand" in capsys.readouterr().err


@pytest.mark.slow
def test_a_quick_run_writes_a_page_even_without_data(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path / "nowhere"))
    monkeypatch.chdir(tmp_path)
    main(["--quick", "--only", "nephele,trimtuner", "--processes", "1", "--json"])
    told = capsys.readouterr()
    summary = json.loads(told.out)
    assert set(summary["minutes"]) == {"trimtuner", "nephele"}
    page = tmp_path / summary["page"]
    assert page == tmp_path / "leantune-replay" / "quick-docs" / "results.md"
    assert "this table was generated" in page.read_text(encoding="utf-8")
    assert "filters: not run" in told.err
