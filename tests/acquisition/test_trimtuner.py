"""alpha_T against plain enumeration of its four steps."""

from dataclasses import replace

import numpy as np
import pytest

from leantune.acquisition.base import Belief, Requirement
from leantune.acquisition.entropy import InformationGain
from leantune.acquisition.trimtuner import alpha_t
from leantune.arrays import FloatArray
from leantune.models.base import Roots
from tests.acquisition.enumeration import dollars_of, incumbents_after, point_of
from tests.acquisition.small_world import FITTERS, all_pairs, at_least, fitted_world


def enumerated(
    belief: Belief, samples: int, incumbent_roots: int, among: list[int], *, differenced: bool = True
) -> FloatArray:
    """Gain / C * E[prod p(q_i(x*, 1) >= 0)], pair by pair."""
    pairs = all_pairs(belief)
    at_full = belief.candidates.at_full(np.arange(len(belief.candidates.x)))
    optimum = belief.objective.model.optimum(at_full, samples, belief.seed)
    values = []
    for configuration, level in zip(pairs.configuration.tolist(), pairs.level.tolist(), strict=True):
        point = point_of(belief, (configuration, level))
        gain = float(optimum.expected_divergence(point, Roots.of(3))[0]) - differenced * optimum.divergence
        after = incumbents_after(belief, (configuration, level), Roots.of(incumbent_roots), among)
        feasible = sum(incumbent.weight * incumbent.feasibility for incumbent in after)
        values.append(max(gain, 0.0) / dollars_of(belief, point) * feasible)
    return np.array(values)


@pytest.mark.parametrize("name", FITTERS)
@pytest.mark.parametrize("roots", [1, 3])
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("differenced", [True, False])
def test_alpha_t_agrees_with_enumeration(name: str, roots: int, seed: int, differenced: bool) -> None:
    belief = fitted_world(FITTERS[name], seed=seed)
    found = alpha_t(InformationGain(samples=64, differenced=differenced), roots).values(belief, all_pairs(belief))
    expected = enumerated(belief, 64, roots, list(range(6)), differenced=differenced)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-9)
    assert (found > 0.0).any() if differenced else (found > 0.0).all()


def test_alpha_t_with_several_requirements_and_probabilities_of_their_own() -> None:
    belief = fitted_world(FITTERS["gp"], seed=3)
    dollars, latency = belief.limits
    accurate = at_least(0, -np.log(1.0 - 0.5), 6)
    requirements = (Requirement((dollars,), 0.7), Requirement((latency,), 0.99), Requirement((accurate,), 0.3))
    belief = replace(belief, limits=(dollars, latency, accurate), requirements=requirements)
    found = alpha_t(InformationGain(samples=64), 2).values(belief, all_pairs(belief))
    np.testing.assert_allclose(found, enumerated(belief, 64, 2, list(range(6))), rtol=1e-5, atol=1e-9)


def test_the_next_incumbent_is_sought_among_the_capped_ones() -> None:
    belief = replace(fitted_world(FITTERS["gp"], seed=1), incumbents=2)
    among = belief.incumbents_among.tolist()
    assert len(among) == 2
    found = alpha_t(InformationGain(samples=64)).values(belief, all_pairs(belief))
    np.testing.assert_allclose(found, enumerated(belief, 64, 1, among), rtol=1e-5, atol=1e-9)


def test_without_limits_alpha_t_is_gain_per_dollar() -> None:
    belief = replace(fitted_world(FITTERS["gp"]), limits=(), requirements=())
    pairs = all_pairs(belief)
    dollars = np.array([dollars_of(belief, belief.candidates.points(pairs.take(np.array([b])))) for b in range(12)])
    gain = InformationGain(samples=64)
    np.testing.assert_allclose(alpha_t(gain).values(belief, pairs), gain.values(belief, pairs) / dollars, rtol=1e-6)
