"""Which predictors there are, and tables for simulations."""

from pathlib import Path

import numpy as np
import pytest

from leantune.errors import InvalidInput
from leantune.revocation.predictors import named_or_saved, over_deltas, predictor
from tests.revocation.made import walk


def test_the_default_needs_no_training() -> None:
    assert predictor().name == "online-hazard"
    assert named_or_saved("online-hazard").name == "online-hazard"


def test_others_have_to_be_trained_or_do_not_exist() -> None:
    with pytest.raises(InvalidInput, match=r"trained first.*--predictors boosted"):
        predictor("boosted")
    with pytest.raises(InvalidInput, match="no predictor 'oracle'"):
        predictor("oracle")
    with pytest.raises(InvalidInput, match="no such file"):
        named_or_saved(str(Path("no") / "such.safetensors"))


def test_tables_hold_what_single_questions_give() -> None:
    series, online = walk(), predictor()
    times, deltas = np.linspace(series.end - 9e4, series.end, 7), np.array([0.01, 0.1, 1.0])
    table = over_deltas(online, series, times, deltas)
    assert table.shape == (7, 3)
    for row, column in ((0, 0), (3, 1), (6, 2)):
        limit = series.at(times[row]) * (1 + deltas[column])
        alone = online.predict([series.until(times[row])], times[row : row + 1], np.array([limit]))[0]
        assert table[row, column] == pytest.approx(alone)
