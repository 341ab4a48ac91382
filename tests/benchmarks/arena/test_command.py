"""The command, from arguments to a page."""

import json
from pathlib import Path

import pytest

from benchmarks.arena.command import arguments_of, main, remark_on


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--only", "figures"], "there is no 'figures'"),
        (["--strategies", "leanest"], "there is no 'leanest'"),
        (["--seeds", "0"], "at least 1"),
        (["--hours", "0"], "above 0"),
        (["--only", "demo"], "no table is at hand"),
    ],
)
def test_what_is_wrong_is_refused_at_once(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: list[str], told: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--results", str(tmp_path / "results"), "--data", str(tmp_path)])
    assert ended.value.code == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], ""),
        (
            ["--only", "demo", "--seeds", "5"],
            'a part of the arena: `python -m benchmarks.arena --only "demo" --seeds "5"`',
        ),
        (["--quick"], "only to see that it runs"),
    ],
)
def test_the_page_says_which_part_of_the_arena_it_is(arguments: list[str], told: str) -> None:
    remark = remark_on(arguments_of(arguments))
    assert (told in remark) and bool(told) is bool(remark)


@pytest.mark.slow
def test_a_quick_run_writes_a_page_and_is_not_run_twice(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    quick = ["--quick", "--only", "ranks-well,loose", "--seeds", "1", "--json", "--processes", "1"]
    main(quick)
    summary = json.loads(capsys.readouterr().out)
    assert set(summary) == {"targets", "losses", "page"}
    assert (tmp_path / summary["page"]).is_file()
    kept = sorted((tmp_path / "leantune-arena").glob("*.json"))
    main(quick)
    assert sorted((tmp_path / "leantune-arena").glob("*.json")) == kept
    assert json.loads(capsys.readouterr().out) == summary
