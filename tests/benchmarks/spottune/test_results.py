"""Tunings are kept by what decides them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.spottune import results as module
from benchmarks.spottune.experiments import Group
from benchmarks.spottune.policies import Policy, Rule
from benchmarks.spottune.results import Place, batches, collect, families_of, jobs_digest, jobs_of, prepare
from benchmarks.spottune.risks import QUICK_PLAN, Shelf
from benchmarks.spottune.tunings import Tuning
from leantune.errors import StoreError
from tests.benchmarks.spottune.made import recording

NOWHERE = Path("nowhere")
TUNING = Tuning("smooth", "ResNet", Policy(Rule.DEMAND_STEP, 1.0), "online-hazard", 0)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(
        tmp_path / "results", Shelf(tmp_path / "shelf", QUICK_PLAN), NOWHERE, recording(tmp_path / "recording")
    )


def group(*tunings: Tuning) -> dict[str, Group]:
    return {"smooth": Group("smooth", "", tuple(("smooth", tuning) for tuning in tunings))}


def test_what_was_run_once_is_not_run_again(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[int] = []
    first = collect(group(TUNING), place, processes=1, done=counts.append)
    monkeypatch.setattr(module, "run_batch", lambda *_: pytest.fail("it was run again"))
    again = collect(group(TUNING), place, processes=1)
    assert again.of("smooth", "smooth") == first.of("smooth", "smooth") != {}
    assert sum(counts) == 1


def test_a_new_policy_is_added_to_what_is_there(place: Place) -> None:
    collect(group(TUNING), place, processes=1)
    other = TUNING.under(Policy(Rule.DEMAND_FASTEST, 1.0))
    both = collect(group(TUNING, other), place, processes=1)
    assert set(both.measured) == {TUNING, other}
    assert len(list(place.results.glob("tunings-*.json"))) == 1


def test_a_damaged_file_is_made_again(place: Place) -> None:
    first = collect(group(TUNING), place, processes=1)
    (file,) = place.results.glob("tunings-*.json")
    file.write_text("{", encoding="utf-8")
    assert collect(group(TUNING), place, processes=1).measured == first.measured


def test_another_recording_is_another_file(place: Place, tmp_path: Path) -> None:
    other = recording(tmp_path / "other", count=4)
    assert jobs_digest("ResNet", place.recording) != jobs_digest("ResNet", other)
    assert len(jobs_of("ResNet", other)) == 4
    assert families_of(other) == ("ResNet",)


@pytest.mark.slow
def test_two_processes_find_the_same(place: Place) -> None:
    two = group(TUNING, replace(TUNING, start=1))
    spawned = collect(two, place, processes=2)
    alone = collect(two, replace(place, results=place.results / "alone"), processes=1)
    assert spawned.measured == alone.measured


def test_a_batch_shares_a_table_of_risks() -> None:
    made = batches(list(group(TUNING, TUNING.under(Policy(Rule.OURS)), replace(TUNING, start=1)).values()))
    assert [(batch.start, len(batch.tunings)) for batch in made] == [(0, 2), (1, 1)]


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(StoreError, match="cannot be kept"):
        prepare(tmp_path / "file")
