"""What every filter promises, bound to all of them."""

from __future__ import annotations

import numpy as np
import pytest

from leantune.filters.base import Filter
from leantune.filters.ranked import (
    ConstrainedAccuracyFilter,
    FeasibleAffordable,
    NoFilter,
    PromisingConfigurations,
    RandomFilter,
)
from leantune.filters.sequential import CmaesFilter, DirectFilter
from leantune.history import NoteKind
from tests.filters.searches import LEVELS, assert_honest, flat_of, searching

FILTERS: dict[str, Filter] = {
    "cea": ConstrainedAccuracyFilter(),
    "random": RandomFilter(),
    "none": NoFilter(),
    "promising": PromisingConfigurations(),
    "feasible": FeasibleAffordable(),
    "direct": DirectFilter(),
    "cmaes": CmaesFilter(),
}


@pytest.mark.parametrize("name", FILTERS)
class TestContract:
    def test_pairs_are_untested_evaluated_once_and_carry_their_values(self, name: str) -> None:
        search, recorder = searching()
        result = FILTERS[name].search(search)
        assert len(result.pairs) >= 1
        assert_honest(search, recorder, result)

    def test_the_cap_holds_and_is_noted(self, name: str) -> None:
        search, recorder = searching(cap=20)
        result = FILTERS[name].search(search)
        assert 1 <= len(recorder.asked) <= 20
        assert any(note.kind is NoteKind.CAP for note in result.notes)
        assert_honest(search, recorder, result)

    def test_equal_seeds_give_equal_results(self, name: str) -> None:
        first, second = (FILTERS[name].search(searching(seed=5)[0]) for _ in range(2))
        assert flat_of(first) == flat_of(second)
        assert (first.values == second.values).all()

    def test_the_last_untested_pair_is_found(self, name: str) -> None:
        untested = np.zeros((400, len(LEVELS)), dtype=np.bool_)
        untested[123, 2] = True
        assert flat_of(FILTERS[name].search(searching(untested=untested)[0])) == [123 * len(LEVELS) + 2]
