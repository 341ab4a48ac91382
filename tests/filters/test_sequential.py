"""DIRECT and CMA-ES: within their budget, on untested pairs, and better than luck."""

from dataclasses import replace

import numpy as np
import pytest

from leantune.filters.base import Filter
from leantune.filters.sequential import CmaesFilter, DirectFilter
from tests.filters.searches import LEVELS, assert_honest, flat_of, grid_belief, searching, smooth

BOTH = [DirectFilter, CmaesFilter]


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize(("share", "cap"), [(0.01, 2000), (0.1, 2000), (0.1, 7), (1.0, 2000)])
def test_they_evaluate_untested_pairs_within_the_budget(
    kind: type[DirectFilter | CmaesFilter], share: float, cap: int
) -> None:
    search, recorder = searching(cap=cap)
    searched = kind(share=share).search(search)
    budget, notes = search.count(share)
    assert 1 <= len(recorder.asked) <= budget
    assert searched.notes == notes
    assert_honest(search, recorder, searched)


@pytest.mark.parametrize("kind", BOTH)
def test_they_spend_most_of_a_small_budget(kind: type[DirectFilter | CmaesFilter]) -> None:
    search, recorder = searching()
    kind(share=0.05).search(search)
    assert len(recorder.asked) >= 0.5 * search.count(0.05)[0]


@pytest.mark.parametrize("kind", BOTH)
def test_they_climb_a_smooth_hill(kind: type[DirectFilter | CmaesFilter]) -> None:
    """On average what they evaluate is far better than a random pair, and the best is nearly the best of all."""
    search, _ = searching()
    everything = smooth(search.belief.candidates.points(search.pairs(search.flat)))
    searched = kind(share=0.1).search(search)
    assert searched.values.mean() > 2.0 * everything.mean()
    assert searched.values.max() > 0.98 * everything.max()


@pytest.mark.parametrize("kind", BOTH)
def test_they_depend_on_the_seed_alone(kind: type[DirectFilter | CmaesFilter]) -> None:
    one, again = (flat_of(kind(share=0.05).search(searching(seed=4)[0])) for _ in range(2))
    assert one == again
    other = flat_of(kind(share=0.05).search(searching(seed=5)[0]))
    assert (other != one) == (kind is CmaesFilter)


@pytest.mark.parametrize("chosen", [DirectFilter(), CmaesFilter()])
def test_the_last_untested_pair_is_found(chosen: Filter) -> None:
    untested = np.zeros((400, 3), dtype=np.bool_)
    untested[123, 2] = True
    assert flat_of(chosen.search(searching(untested=untested)[0])) == [123 * 3 + 2]


def test_without_features_everything_is_evaluated() -> None:
    """CMA-ES has no one-dimensional form: a space whose configurations look alike is evaluated as a whole."""
    belief = grid_belief()
    alike = replace(belief, candidates=replace(belief.candidates, x=np.empty((2, 0)), levels=LEVELS))
    search, _ = searching(alike, np.ones((2, 3), dtype=np.bool_))
    search = replace(search, evaluate=lambda pairs: np.ones(len(pairs)))
    assert len(CmaesFilter().search(search).pairs) == 6
