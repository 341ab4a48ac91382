"""Seeds are pinned: a change would change every proposal of every study."""

from leantune.strategies.proposals import derived_seed


def test_pinned_and_distinct() -> None:
    assert derived_seed(0, 1) == 6096812863120040317
    assert derived_seed(7, "start") == 7939902590247533198
    assert len({derived_seed(0, 1), derived_seed(1, 0), derived_seed(0, "1x"), derived_seed("0/1", "x")}) == 4
    assert 0 <= derived_seed(7, "start") < 2**63
