"""Every recipe proposes and recommends as it did, to the last bit: tests/golden/proposals.json.

Where a change is meant, `python -m tests.golden --write proposals` keeps the new ones.
"""

from __future__ import annotations

import pytest

from leantune.strategies.registry import RECIPES
from tests.golden.kept import differences, read, same_machine
from tests.golden.proposals import KEPT, cases, proposed


@pytest.mark.parametrize(("name", "problem"), cases())
def test_proposals_are_those_that_were_kept(name: str, problem: str) -> None:
    kept = read(KEPT)[f"{name}, {problem}"]
    assert list(differences(kept, proposed(name, problem), exact=same_machine())) == []


def test_every_recipe_is_kept_and_all_but_chance_with_numbers() -> None:
    kept = read(KEPT)
    assert set(kept) == {f"{name}, {problem}" for name, problem in cases()}
    assert {key.split(", ")[0] for key in kept} == set(RECIPES)
    modelled = {key: sum(bool(one["expected"]) for one in found["proposals"]) for key, found in kept.items()}
    assert all(count >= 5 for key, count in modelled.items() if not key.startswith("random"))
