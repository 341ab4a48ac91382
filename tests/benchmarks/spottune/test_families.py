"""Every family: sixteen settings of its grid, and a checkpoint that goes on as if nothing had happened."""

from __future__ import annotations

import pytest

from benchmarks.spottune import networks
from benchmarks.spottune.families import FAMILIES
from leantune.checkpoints.store import _KEY as CHECKPOINT_KEY


@pytest.mark.parametrize("name", FAMILIES)
def test_sixteen_settings_with_names_that_files_and_checkpoints_allow(name: str) -> None:
    family = FAMILIES[name]
    names = {family.name_of(setting) for setting in family.settings()}
    assert len(names) == 16
    assert all(CHECKPOINT_KEY.fullmatch(each) for each in names)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_restored_run_goes_on_as_the_first(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name in ("CNN", "ResNet"):
        pytest.importorskip("torch")
    monkeypatch.setattr(networks, "RESNET_IMAGES", 300)
    monkeypatch.setattr(networks, "CNN_IMAGES", 300)
    family = FAMILIES[name]
    setting = family.settings()[-1]
    first, second = family.build(setting), family.build(setting)
    first.advance()
    second.load(first.state())
    assert (second.steps, second.validate()) == (first.steps, first.validate())
    first.advance()
    second.advance()
    assert (second.steps, second.validate()) == (first.steps, first.validate())
    assert family.reports(setting) >= 40


def test_the_papers_grids_are_kept() -> None:
    assert FAMILIES["GBTR"].grid == {"bs": (128, 64), "lr": (0.1, 0.01), "nt": (10, 15), "depth": (5, 8)}
    assert FAMILIES["LoR"].grid == FAMILIES["LiR"].grid
    assert FAMILIES["SVM"].grid["kernel"] == ("rbf", "linear")
    assert FAMILIES["ResNet"].grid["bs"] == (32, 64)
