"""The command, from arguments to a short table or a page."""

import json
from pathlib import Path

import pytest

from benchmarks.datasets import write_generated
from benchmarks.lean.command import main
from leantune.lab.replay.tables import DATA_VARIABLE


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--only", "figures"], "there is no 'figures'"),
        (["--tables", "mnist"], "there is no 'mnist'"),
        (["--seeds", "0"], "at least 1"),
        (["--strategies", "leanest", "--only", "main"], "leanest"),
    ],
)
def test_what_is_wrong_is_refused_at_once(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: list[str], told: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--results", str(tmp_path)])
    assert ended.value.code == 2
    assert told in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_exploring_prints_a_table_and_a_whole_run_writes_a_page(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("rnn", "cnn"):
        write_generated(name, tmp_path / "data")
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    explore = ["--only", "main,noise", "--strategies", "random,eic", "--tables", "rnn", "--quick", "--processes", "1"]
    main(explore)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines if line] == ["main", "random", "eic", "noise", "random", "eic"]
    kept = len(list((tmp_path / "leantune-lean").glob("*.json")))
    main(explore)
    assert len(list((tmp_path / "leantune-lean").glob("*.json"))) == kept, "nothing runs twice"
    capsys.readouterr()
    main(["--quick", "--lean", "eic", "--only", "two", "--processes", "1", "--json"])
    summary = json.loads(capsys.readouterr().out)
    assert set(summary) == {"targets", "losses", "minutes", "page"}
    assert (tmp_path / summary["page"]).is_file()
