"""Filters that pick first: CEA, random, none, feasible and affordable."""

from dataclasses import replace

import numpy as np
import pytest

from leantune.acquisition.base import ConstrainedAccuracy, Pairs
from leantune.filters.ranked import (
    ConstrainedAccuracyFilter,
    FeasibleAffordable,
    NoFilter,
    PromisingConfigurations,
    RandomFilter,
)
from leantune.history import NoteKind
from leantune.models.base import Gaussian
from leantune.problem import At
from tests.acquisition.small_world import at_most
from tests.filters.searches import LEVELS, assert_honest, flat_of, grid_belief, searching


def ranked_by_accuracy(search_pairs: Pairs, values: list[float]) -> list[int]:
    """Flat indices by falling CEA, ties to the smaller index."""
    flat = (search_pairs.configuration * len(LEVELS) + search_pairs.level).tolist()
    return [index for _, index in sorted((-value, index) for value, index in zip(values, flat, strict=True))]


@pytest.mark.parametrize("share", [0.02, 0.1, 0.5])
def test_the_share_of_largest_constrained_accuracy_is_evaluated(share: float) -> None:
    search, recorder = searching()
    searched = ConstrainedAccuracyFilter(share).search(search)
    pairs = search.pairs(search.flat)
    ranked = ranked_by_accuracy(pairs, ConstrainedAccuracy().values(search.belief, pairs, search.conditions).tolist())
    count = int(np.ceil(share * len(pairs)))
    assert set(flat_of(searched)) == set(ranked[:count])
    assert len(searched.pairs) == count
    assert searched.notes == ()
    assert_honest(search, recorder, searched)


def test_a_cap_that_bites_is_noted_and_keeps_the_best() -> None:
    search, recorder = searching(cap=10)
    searched = ConstrainedAccuracyFilter(0.1).search(search)
    pairs = search.pairs(search.flat)
    ranked = ranked_by_accuracy(pairs, ConstrainedAccuracy().values(search.belief, pairs, search.conditions).tolist())
    assert set(flat_of(searched)) == set(ranked[:10])
    (note,) = searched.notes
    assert note.kind is NoteKind.CAP
    assert "10 of" in note.text
    assert_honest(search, recorder, searched)


def test_a_random_share_depends_on_the_seed_alone() -> None:
    picks = []
    for seed in (0, 0, 1):
        search, recorder = searching(seed=seed)
        searched = RandomFilter(0.1).search(search)
        assert len(searched.pairs) == np.ceil(0.1 * search.untested.sum())
        assert_honest(search, recorder, searched)
        picks.append(flat_of(searched))
    assert picks[0] == picks[1]
    assert picks[0] != picks[2]


def test_no_filter_evaluates_everything() -> None:
    search, recorder = searching()
    searched = NoFilter().search(search)
    assert flat_of(searched) == search.flat.tolist()
    assert searched.notes == ()
    assert_honest(search, recorder, searched)


def test_no_filter_above_the_cap_takes_the_largest_constrained_accuracy() -> None:
    search, recorder = searching(cap=50)
    searched = NoFilter().search(search)
    assert flat_of(searched) == flat_of(ConstrainedAccuracyFilter(50.0 / search.untested.sum()).search(searching()[0]))
    assert "50 of" in searched.notes[0].text
    assert_honest(search, recorder, searched)


def test_promising_configurations_keep_all_their_levels() -> None:
    search, recorder = searching(cap=4 * len(LEVELS))
    search = replace(search, belief=replace(search.belief, answers_at=At.FULL))
    search.untested[7] = False
    searched = PromisingConfigurations().search(search)
    belief, everything = search.belief, search.belief.everything
    beliefs = belief.at_full(everything)
    hoped = belief.merit(Gaussian(beliefs[0].mean + beliefs[0].sd, np.zeros(len(everything))))
    promise = hoped * belief.feasibility(beliefs, everything)
    open_ones = [row for row in np.argsort(-promise, kind="stable").tolist() if search.untested[row].any()]
    wanted = [row * len(LEVELS) + k for row in open_ones[:4] for k in range(len(LEVELS)) if search.untested[row, k]]
    assert set(flat_of(searched)) == set(wanted)
    assert searched.notes[0].kind is NoteKind.CAP
    assert_honest(search, recorder, searched)


def test_promising_configurations_are_all_where_nothing_is_capped() -> None:
    search, _ = searching()
    assert flat_of(PromisingConfigurations().search(search)) == flat_of(NoFilter().search(search))


def test_feasible_and_affordable_pairs_at_their_means() -> None:
    belief = grid_belief()
    search, recorder = searching(belief, dollars_left=0.3)
    searched = FeasibleAffordable().search(search)
    pairs = search.pairs(search.flat)
    x, s = belief.candidates.x[pairs.configuration], LEVELS[pairs.level]
    mean = 2.0 * x[:, 1] + s - 2.0
    expected = search.flat[(np.exp(mean + 0.045) <= 0.3) & (mean <= -0.5)]
    assert flat_of(searched) == expected.tolist()
    assert 0 < len(expected) < len(pairs)
    assert searched.notes == ()
    assert_honest(search, recorder, searched)


def test_too_many_feasible_pairs_are_capped_by_constrained_accuracy() -> None:
    search, recorder = searching(cap=15)
    searched = FeasibleAffordable().search(search)
    everything, _ = searching()
    pairs = FeasibleAffordable().search(everything).pairs
    ranked = ranked_by_accuracy(pairs, ConstrainedAccuracy().values(search.belief, pairs, search.conditions).tolist())
    assert set(flat_of(searched)) == set(ranked[:15])
    assert f"15 of {len(pairs)}" in searched.notes[0].text
    assert_honest(search, recorder, searched)


def test_nothing_feasible_one_affordable_pair_at_random() -> None:
    belief = grid_belief()
    belief = replace(belief, limits=(at_most(1, -9.0, len(belief.candidates.x)),))
    picks = set()
    for seed in range(12):
        search, recorder = searching(belief, seed=seed, dollars_left=0.2)
        searched = FeasibleAffordable().search(search)
        assert len(searched.pairs) == 1
        assert search.untested[searched.pairs.configuration[0], searched.pairs.level[0]]
        assert search.conditions.cost.dollars(belief.at(searched.pairs), searched.pairs.configuration)[0] <= 0.2
        assert searched.notes[0].kind is NoteKind.FALLBACK
        assert "at random" in searched.notes[0].text
        assert recorder.asked == []
        picks.add(flat_of(searched)[0])
    assert len(picks) > 3
    again = FeasibleAffordable().search(searching(belief, seed=0, dollars_left=0.2)[0])
    assert flat_of(again) == flat_of(FeasibleAffordable().search(searching(belief, seed=0, dollars_left=0.2)[0]))


def test_nothing_affordable_the_cheapest() -> None:
    search, _ = searching(dollars_left=0.0)
    searched = FeasibleAffordable().search(search)
    pairs = search.pairs(search.flat)
    dollars = search.conditions.cost.dollars(search.belief.at(pairs), pairs.configuration)
    here = search.conditions.cost.dollars(search.belief.at(searched.pairs), searched.pairs.configuration)
    assert here[0] == dollars.min()
    assert searched.notes[0].kind is NoteKind.FALLBACK
    assert "the cheapest" in searched.notes[0].text
