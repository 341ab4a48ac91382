"""Progress of training: a line for each try where there is no terminal."""

import pytest

from leantune.cli.spot_train_show import Outcomes, progress
from leantune.lab.training.training import Attempt, judged, train_kind
from leantune.revocation.predictors import predictor
from tests.revocation.made import SMALL, small_slices


def test_every_try_is_told_with_its_number(capsys: pytest.CaptureFixture[str]) -> None:
    slices = small_slices()
    heard: list[Attempt] = []
    train_kind("hazard", slices, SMALL, heard.append)
    with progress(2) as done:
        done(heard[0])
        done(heard[0])
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == f"spot train: try 1 of 2: hazard, validation Brier score {heard[0].brier:.4f}"
    assert lines[1].startswith("spot train: try 2 of 2")


def test_the_best_may_be_the_untrained_one() -> None:
    slices = small_slices()
    untrained = judged(predictor(), slices.test)
    assert Outcomes(slices, [], untrained).best is untrained
