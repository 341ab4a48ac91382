"""Seeds are pinned: a change would change every proposal of every study. What a recommendation rests on."""

from fractions import Fraction

import pytest

from leantune.strategies.proposals import Recommendation, State, derived_seed
from tests.toy import toy_space


def test_pinned_and_distinct() -> None:
    assert derived_seed(0, 1) == 6096812863120040317
    assert derived_seed(7, "start") == 7939902590247533198
    assert len({derived_seed(0, 1), derived_seed(1, 0), derived_seed(0, "1x"), derived_seed("0/1", "x")}) == 4
    assert 0 <= derived_seed(7, "start") < 2**63


@pytest.mark.parametrize(
    ("feasible", "tested", "share", "state"),
    [
        (True, True, Fraction(1), State.VERIFIED),
        (True, False, Fraction(1, 4), State.SUPPORTED),
        (True, False, None, State.GUESS),
        (False, True, Fraction(1), State.GUESS),
        (False, False, Fraction(1, 4), State.GUESS),
    ],
)
def test_what_a_recommendation_rests_on(feasible: bool, tested: bool, share: Fraction | None, state: State) -> None:
    configuration = toy_space().grid()[0]
    advice = Recommendation(configuration, Fraction(1), {}, {}, feasible, tested, "why", largest_share=share)
    assert advice.state is state
    assert advice.state.words.startswith(("Verified", "Supported", "A guess"))
