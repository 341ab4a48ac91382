"""The gain of a test above the best result, against plain enumeration of outcomes and refits."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from leantune.acquisition.base import Belief, Pairs
from leantune.acquisition.worth import (
    GOAL_ROOTS,
    LIMIT_ROOTS,
    FullDataOutlook,
    MeasuredResults,
    gains,
    places,
)
from leantune.arrays import FloatArray
from leantune.models.base import Surrogate
from tests.acquisition.enumeration import beliefs_at_full, point_of, probability_of
from tests.acquisition.small_world import FITTERS, all_pairs, fitted_world, simulated_outcome

EVERY = np.arange(6)
NOTHING = MeasuredResults(np.array([], dtype=np.int64), np.array([]), np.array([], dtype=np.bool_))
SOME = MeasuredResults(np.array([1, 4]), np.array([0.6, 2.0]), np.array([True, False]))


def largest_worth(belief: Belief, models: dict[int, Surrogate], outlook: FullDataOutlook, among: list[int]) -> float:
    """Max U over what was not measured, configuration by configuration."""
    found = [0.0]
    for row in among:
        now = beliefs_at_full(belief, models, row)
        above = max(now[0].mean - outlook.kappa * now[0].sd - outlook.floor, 0.0)
        found.append(probability_of(belief.limits, now, row) * above)
    return max(found)


def enumerated(belief: Belief, outlook: FullDataOutlook, pairs: Pairs) -> FloatArray:
    """E[max U after] - max U now, pair by pair and outcome by outcome."""
    involved = sorted({0, *(limit.quantity for limit in belief.limits)})
    now: dict[int, Surrogate] = {q: belief.quantities[q].model for q in involved}
    roots = {q: GOAL_ROOTS if q == 0 else LIMIT_ROOTS for q in involved}
    among = [row for row in EVERY.tolist() if not outlook.is_measured[row]]
    present, found = largest_worth(belief, now, outlook, among), []
    for pair in zip(pairs.configuration.tolist(), pairs.level.tolist(), strict=True):
        point = point_of(belief, pair)
        longer = {
            (q, k): now[q].extend(point, simulated_outcome(now[q], point, float(z)))
            for q in involved
            for k, z in enumerate(roots[q].z)
        }
        after = 0.0
        for choice in product(*(range(len(roots[q].z)) for q in involved)):
            models: dict[int, Surrogate] = {q: longer[q, k] for q, k in zip(involved, choice, strict=True)}
            weight = float(np.prod([roots[q].w[k] for q, k in zip(involved, choice, strict=True)]))
            after += weight * largest_worth(belief, models, outlook, among)
        gain = after - present
        if pair[1] == len(belief.candidates.levels) - 1:
            gain = max(gain, float(outlook.improvement[pair[0]]) - present)
        found.append(max(gain, 0.0))
    return np.array(found)


@pytest.mark.parametrize("measured", [NOTHING, SOME])
@pytest.mark.parametrize("kappa", [0.0, 0.5])
def test_gains_agree_with_enumeration(measured: MeasuredResults, kappa: float) -> None:
    belief = fitted_world(FITTERS["gp"], seed=1)
    belief = replace(belief, limits=belief.limits[:1])
    outlook = FullDataOutlook.of(belief, measured, kappa)
    pairs = all_pairs(belief).take(np.arange(0, 12, 2 if measured is SOME else 3))
    found = gains(belief, outlook, pairs, EVERY)
    np.testing.assert_allclose(found, enumerated(belief, outlook, pairs), rtol=1e-4, atol=1e-7)
    assert np.count_nonzero(found) >= 2


def test_what_was_measured_is_known_and_the_best_that_kept_the_limits_is_the_floor() -> None:
    outlook = FullDataOutlook.of(fitted_world(FITTERS["gp"], seed=2), SOME, 0.5)
    assert outlook.floor == 0.6, "the better one broke a limit"
    assert outlook.has_result
    assert outlook.mean[[1, 4]] == pytest.approx([0.6, 2.0])
    assert (outlook.sd[[1, 4]] == 0.0).all()
    assert (outlook.probability[[1, 4]] == [1.0, 0.0]).all()
    assert (outlook.worth[[1, 4]] == 0.0).all()
    assert (outlook.improvement[[1, 4]] == 0.0).all()
    others = np.array([0, 2, 3, 5])
    for row in others:
        z = np.random.default_rng(0).normal(outlook.mean[row], outlook.sd[row], 200_000)
        expected = outlook.probability[row] * np.maximum(z - 0.6, 0.0).mean()
        assert outlook.improvement[row] == pytest.approx(expected, abs=0.01)


def test_without_a_result_the_floor_lies_below_what_is_expected() -> None:
    outlook = FullDataOutlook.of(fitted_world(FITTERS["gp"], seed=2), NOTHING, 0.5)
    assert not outlook.has_result
    assert outlook.floor < float(np.average(outlook.mean, weights=outlook.probability))


def test_the_best_is_sought_where_most_is_promised() -> None:
    outlook = FullDataOutlook.of(fitted_world(FITTERS["gp"], seed=3), SOME, 0.5)
    chosen = places(outlook, 2)
    rest = np.setdiff1d(EVERY, chosen)
    hope = outlook.worth + outlook.improvement
    assert hope[chosen].min() >= hope[rest].max()
