"""Winners of moved paths, against numpy."""

import numpy as np
import pytest

from leantune.models.path_kernels import divergence_after, smallest_gaps


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
