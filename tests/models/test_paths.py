"""p_opt of sample paths by hand; winners of moved paths, against numpy."""

import numpy as np
import pytest

from leantune.models.paths import SamplePaths, divergence_after, smallest_gaps

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


@pytest.mark.parametrize("step", [0.02, 0.3, 3.0])
@pytest.mark.parametrize("twins", [False, True])
def test_divergence_after_counts_the_winners_of_moved_paths(step: float, twins: bool) -> None:
    """Small steps leave most places behind, where they are passed over; large ones none. Twins share what they win."""
    rng = np.random.default_rng(11)
    places, samples, steps = 30, 40, 50
    paths = (rng.standard_normal((places, samples)) - 0.3 * np.arange(places)[:, None]).astype(np.float32)
    directions = rng.standard_normal((steps, places)).astype(np.float32)
    amplitudes = (step * rng.standard_normal((steps, samples))).astype(np.float32)
    copies = np.ones(places, dtype=np.int64)
    if twins:
        paths[2], directions[:, 2], copies[0], copies[2] = paths[0], directions[:, 0], 2, 0
    expected = []
    for b in range(steps):
        moved = paths + directions[b][:, None] * amplitudes[b][None, :]
        tied = moved == moved.max(axis=0)
        share = (tied / tied.sum(axis=0)).sum(axis=1) / samples
        expected.append(sum(p * np.log(p * places) for p in share if p > 0))
    gaps = smallest_gaps(paths)
    np.testing.assert_array_equal(gaps, (paths.max(axis=0) - paths).min(axis=1))
    np.testing.assert_allclose(divergence_after(paths, gaps, copies, directions, amplitudes), expected, rtol=1e-12)
