"""What every filter is handed."""

import numpy as np
import pytest

from leantune.acquisition.base import ConstrainedAccuracy
from tests.filters.searches import LEVELS, SIDE, searching, some_untested


def test_flat_indices_go_configuration_by_configuration() -> None:
    search, _ = searching()
    pairs = search.pairs(search.flat)
    assert (search.untested[pairs.configuration, pairs.level]).all()
    assert len(pairs) == search.untested.sum()
    assert (search.flat == pairs.configuration * len(LEVELS) + pairs.level).all()


def test_constrained_accuracy_of_the_grid_is_that_of_its_pairs() -> None:
    search, _ = searching()
    scores = search.constrained_accuracy()
    expected = ConstrainedAccuracy().values(search.belief, search.pairs(search.flat), search.conditions)
    np.testing.assert_allclose(scores[search.flat], expected, rtol=1e-12)
    assert (np.delete(scores, search.flat) == -1.0).all()
    assert expected.min() >= 0.0


@pytest.mark.parametrize(
    ("untested", "share", "cap", "count"),
    [
        (70, 0.1, 2000, 7),  # although 0.1 * 70 > 7 in binary
        (71, 0.1, 2000, 8),
        (3, 0.1, 2000, 1),
        (30, 1.0, 2000, 30),
        (1000, 0.1, 100, 100),
        (1000, 0.1, 99, 99),
    ],
)
def test_a_share_is_rounded_up_and_capped_visibly(untested: int, share: float, cap: int, count: int) -> None:
    mask = (np.arange(SIDE * SIDE * len(LEVELS)) < untested).reshape(SIDE * SIDE, len(LEVELS))
    search, _ = searching(untested=mask, cap=cap)
    found, notes = search.count(share)
    assert found == count
    assert len(notes) == (cap == 99)
    assert all("99 of the 100" in note.text for note in notes)


def test_some_pairs_are_tested() -> None:
    assert 0 < some_untested().sum() < some_untested().size
