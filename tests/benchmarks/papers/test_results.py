"""Replays are run once, and the minutes they took are remembered."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.papers.experiments import Case, Group
from benchmarks.papers.results import TIMINGS, Results, Timing, collect, complete, read_timings
from leantune.lab.replay.runs import Settings
from tests.benchmarks.papers.made import inventory, run

SOURCE = inventory().source("rnn")
GROUP = Group("trimtuner", "", 2, (Case("", "rnn", "random", SOURCE, Settings("random", iterations=1)),))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("results")
    collect({"trimtuner": GROUP}, path, processes=1)
    return path


def test_what_was_run_is_found_again(folder: Path) -> None:
    before = read_timings(folder)
    heard: list[bool] = []
    results = collect({"trimtuner": GROUP}, folder, processes=1, done=lambda _group, done: heard.append(done.fresh))
    assert heard == [False, False]
    assert results.timings == before
    assert before["trimtuner"].replays == 2
    assert before["trimtuner"].seconds > 0
    runs = results.of("trimtuner", "rnn")["random"]
    assert [len(rows) for rows in runs] == [5, 5]
    assert runs[0][0].configuration != runs[1][0].configuration


def test_groups_that_are_complete_are_found_without_running(folder: Path) -> None:
    longer = replace(GROUP, name="filters", seeds=3)
    found = complete({"trimtuner": GROUP, "filters": longer}, folder)
    assert list(found.groups) == ["trimtuner"]
    assert len(found.of("trimtuner", "rnn")["random"]) == 2
    both = Results({("g", "", "rnn", "x"): [run([0.5])]}) | found
    assert {key[0] for key in both.runs} == {"g", "trimtuner"}


def test_minutes_of_another_program_are_forgotten(folder: Path, tmp_path: Path) -> None:
    text = (folder / TIMINGS).read_text(encoding="utf-8")
    (tmp_path / TIMINGS).write_text(text.replace('"program": "', '"program": "another'), encoding="utf-8")
    assert read_timings(tmp_path) == {}
    (tmp_path / TIMINGS).write_text("{", encoding="utf-8")
    assert read_timings(tmp_path) == {}


def test_results_are_found_by_their_place() -> None:
    runs = [run([0.5])]
    results = Results({("g", "a", "rnn", "x"): runs, ("g", "b", "cnn", "x"): runs}, timings={"g": Timing(1.0, 2)})
    assert results.of("g", "rnn", "a") == {"x": runs}
    assert results.of("g", "rnn") == {}
    assert results.tables("g") == ("rnn", "cnn")
    assert results.tables("g", "b") == ("cnn",)
    assert results.setups("g") == ("a", "b")
