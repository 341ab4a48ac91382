"""What every acquisition promises, bound to all of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from leantune.acquisition.base import Acquisition, ConstrainedAccuracy, Feasibility, Pairs, PerDollar, Times
from leantune.acquisition.entropy import InformationGain
from leantune.acquisition.improvement import Improvement
from leantune.acquisition.incumbents import (
    FullDataFeasibility,
    IncumbentAccuracy,
    IncumbentFeasibility,
    alpha_t,
    constrained_entropy_search,
)
from leantune.acquisition.lookahead import LookAhead
from tests.acquisition.small_world import FITTERS, all_pairs, conditions_of, fitted_world

GAIN = InformationGain(samples=32)
ACQUISITIONS: dict[str, Acquisition] = {
    "EI": Improvement(),
    "EI of all": Improvement(feasible_only=False),
    "feasibility": Feasibility(),
    "CEA": ConstrainedAccuracy(),
    "EIc": Times((Improvement(), Feasibility())),
    "EI per dollar": PerDollar(Improvement()),
    "gain": GAIN,
    "gain as printed": InformationGain(samples=32, differenced=False),
    "incumbent's feasibility": IncumbentFeasibility(),
    "incumbent's accuracy": IncumbentAccuracy(2),
    "full feasibility": FullDataFeasibility(),
    "alpha_T": alpha_t(GAIN),
    "ESc": constrained_entropy_search(GAIN, overhead=0.1),
    "look-ahead": LookAhead(horizon=1, roots=2),
}


@pytest.mark.parametrize("name", ACQUISITIONS)
@pytest.mark.parametrize("fitter", FITTERS)
class TestContract:
    def test_values_are_finite_and_not_negative_one_for_each_pair(self, name: str, fitter: str) -> None:
        belief = fitted_world(FITTERS[fitter], seed=2)
        pairs = all_pairs(belief)
        for best in (1.0, None):
            world = replace(belief, best=best, best_of_all=best)
            values = ACQUISITIONS[name].values(world, pairs, conditions_of(world))
            assert values.shape == (len(pairs),)
            assert np.isfinite(values).all()
            assert (values >= 0.0).all()

    def test_equal_questions_have_equal_answers(self, name: str, fitter: str) -> None:
        answers = []
        for _ in range(2):
            belief = fitted_world(FITTERS[fitter], seed=2)
            answers.append(ACQUISITIONS[name].values(belief, all_pairs(belief), conditions_of(belief)))
        assert (answers[0] == answers[1]).all()

    def test_a_value_does_not_depend_on_the_company(self, name: str, fitter: str) -> None:
        belief = fitted_world(FITTERS[fitter], seed=2)
        pairs = all_pairs(belief)
        conditions = replace(conditions_of(belief), open_pairs=pairs)
        together = ACQUISITIONS[name].values(belief, pairs, conditions)
        turned = ACQUISITIONS[name].values(belief, pairs.take(np.arange(len(pairs))[::-1]), conditions)
        np.testing.assert_allclose(turned[::-1], together, rtol=1e-6, atol=1e-9)

    def test_no_pairs_no_values(self, name: str, fitter: str) -> None:
        belief = fitted_world(FITTERS[fitter], seed=2)
        nothing = Pairs(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
        assert ACQUISITIONS[name].values(belief, nothing, conditions_of(belief)).shape == (0,)
