"""The table of kinds."""

import pytest

from leantune.errors import InvalidInput
from leantune.revocation.kinds import KINDS, kind_of
from leantune.revocation.predictors import DEFAULT_KIND


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_draws_the_tries_it_is_given(name: str) -> None:
    kind = kind_of(name)
    tries = kind.options(5, seed=1)
    assert len(tries) == 5
    assert tries[0] == kind.default
    assert tries == kind.options(5, seed=1)
    assert tries[1:] != kind.options(5, seed=2)[1:]
    assert {type(one) for one in tries} == {type(kind.default)}


def test_wide_and_printed_stay_so_when_drawn() -> None:
    assert all(one.wide for one in kind_of("logistic-wide").options(4, 0))
    assert not any(one.wide for one in kind_of("revpred-narrow").options(4, 0))
    assert all(one.inverted and one.floor == 0 for one in kind_of("revpred-printed").options(4, 0))
    assert not kind_of("revpred-printed").calibrated


def test_the_default_is_one_of_them_and_others_are_refused() -> None:
    assert DEFAULT_KIND in KINDS
    with pytest.raises(InvalidInput, match=r"no predictor 'oracle'.*boosted"):
        kind_of("oracle")
