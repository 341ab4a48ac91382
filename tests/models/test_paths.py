"""p_opt of sample paths by hand."""

import numpy as np
import pytest

from leantune.models.paths import SamplePaths

VALUES = np.array([[3, 0, 0, 5], [1, 2, 1, 1], [0, 1, 2, 0]], dtype=np.float32)


def test_probability_and_divergence() -> None:
    paths = SamplePaths.of(VALUES)
    np.testing.assert_allclose(paths.probability, [0.5, 0.25, 0.25])
    assert paths.divergence == pytest.approx(0.5 * np.log(1.5) + 0.5 * np.log(0.75))


def test_a_step_moves_the_winners() -> None:
    paths = SamplePaths.of(VALUES)
    lift = np.array([[0, 0, 9]], dtype=np.float32)
    assert paths.after(lift, np.ones((1, 4), np.float32))[0] == pytest.approx(np.log(3))


def test_copies_share_what_their_first_wins() -> None:
    doubled = np.concatenate([VALUES, VALUES[:1]])
    paths = SamplePaths.of(doubled, np.array([2, 1, 1, 0]))
    np.testing.assert_allclose(paths.probability, [0.5, 0.25, 0.25, 0.0])
    assert paths.divergence == pytest.approx(4 * 0.25 * np.log(0.25 * 4))
