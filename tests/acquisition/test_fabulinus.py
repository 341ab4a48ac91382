"""Fabulinus' ESc and its ablation against plain enumeration."""

import numpy as np
import pytest

from leantune.acquisition.entropy import InformationGain
from leantune.acquisition.fabulinus import constrained_entropy_search
from leantune.models.base import Roots
from tests.acquisition.enumeration import (
    beliefs_at_full,
    dollars_of,
    incumbents_after,
    models_of,
    point_of,
    probability_of,
)
from tests.acquisition.small_world import FITTERS, all_pairs, fitted_world

GAIN = InformationGain(samples=64)


@pytest.mark.parametrize("name", FITTERS)
@pytest.mark.parametrize("overhead", [0.0, 0.3])
def test_constrained_entropy_search_agrees_with_enumeration(name: str, overhead: float) -> None:
    """Gain / (C + overhead) * E[a(x_inc, 1)] * prod p(q_i(x_inc, 1) >= 0), x_inc after the predicted outcome."""
    belief = fitted_world(FITTERS[name], seed=4)
    pairs = all_pairs(belief)
    expected = []
    for configuration, level in zip(pairs.configuration.tolist(), pairs.level.tolist(), strict=True):
        (after,) = incumbents_after(belief, (configuration, level), Roots.of(1), list(range(6)))
        dollars = dollars_of(belief, point_of(belief, (configuration, level)))
        expected.append(after.accuracy * after.feasibility / (dollars + overhead))
    found = constrained_entropy_search(GAIN, overhead=overhead).values(belief, pairs)
    np.testing.assert_allclose(found, GAIN.values(belief, pairs) * np.array(expected), rtol=1e-5, atol=1e-9)
    assert found.max() > 0.0


@pytest.mark.parametrize("name", FITTERS)
def test_the_ablation_judges_the_candidates_own_configuration_at_full_data(name: str) -> None:
    belief = fitted_world(FITTERS[name], seed=4)
    pairs = all_pairs(belief)
    expected = []
    for configuration, level in zip(pairs.configuration.tolist(), pairs.level.tolist(), strict=True):
        dollars = dollars_of(belief, point_of(belief, (configuration, level)))
        beliefs = beliefs_at_full(belief, models_of(belief), configuration)
        expected.append(probability_of(belief.limits, beliefs, configuration) / dollars)
    found = constrained_entropy_search(GAIN, refit=False).values(belief, pairs)
    np.testing.assert_allclose(found, GAIN.values(belief, pairs) * np.array(expected), rtol=1e-6, atol=1e-12)
