"""The situation in which gains are compared, and that both are computed."""

import numpy as np
import pytest

from benchmarks.tree_gain import OBSERVATIONS, PAIRS, Situation
from leantune.models.trees import Gain


@pytest.mark.parametrize("how", ["regrown", "conditioned"])
def test_gains_of_untested_pairs(how: Gain) -> None:
    situation = Situation.of(1)
    assert len(situation.data) == OBSERVATIONS
    gain = situation.gain(how, trees=5, samples=50, seed=0)
    assert gain.shape == (PAIRS,)
    assert np.isfinite(gain).all()
    seen = {row.tobytes() for row in np.column_stack([situation.data.points.x, situation.data.points.s])}
    assert not seen & {row.tobytes() for row in np.column_stack([situation.tests.x, situation.tests.s])}
