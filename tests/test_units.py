"""Quantities with units, and shares as exact rationals."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leantune.errors import InvalidInput
from leantune.units import UNITS, Kind, parse_quantity, parse_share


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("250 ms", "time", 0.25),
        ("90 s", "time", 90.0),
        ("90sec", "time", 90.0),
        ("10 min", "time", 600.0),
        ("1.5 h", "time", 5400.0),
        ("1 hour", "time", 3600.0),
        ("30 hours", "time", 108000.0),
        ("2 days", "time", 172800.0),
        ("0.10 USD", "money", 0.1),
        ("0.10 usd", "money", 0.1),
        ("$0.10", "money", 0.1),
        ("0.10$", "money", 0.1),
        ("5", "money", 5.0),
        ("2 GiB", "memory", 2.0),
        ("2", "memory", 2.0),
        ("512 MiB", "memory", 0.5),
        ("2 GB", "memory", 2e9 / 2**30),
        ("1e3 s", "time", 1000.0),
    ],
)
def test_reads_numbers_with_units(text: str, kind: Kind, value: float) -> None:
    assert parse_quantity(text, kind) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    ("text", "kind", "says"),
    [
        ("10", "time", "no unit"),
        ("10 fortnights", "time", "unknown unit 'fortnights'"),
        ("0.10 EUR", "money", "unknown unit 'EUR'"),
        ("ten USD", "money", "not an amount"),
        ("$1 USD", "money", "not an amount"),
        ("$10", "time", "not an amount"),
        ("1,000 USD", "money", "not an amount"),
        ("", "money", "not an amount"),
        ("1e999 s", "time", "too large"),
        ("nan s", "time", "not an amount"),
        ("2 GHz", "memory", "unknown unit 'GHz'"),
    ],
)
def test_says_what_is_wrong_and_right(text: str, kind: Kind, says: str) -> None:
    with pytest.raises(InvalidInput, match=says) as caught:
        parse_quantity(text, kind)
    assert kind in caught.value.where
    assert caught.value.hint.startswith("Write")


@given(st.floats(1e-6, 3e4), st.sampled_from([(kind, unit) for kind in UNITS for unit in UNITS[kind] if unit != "$"]))
def test_every_unit_is_read_back(number: float, named: tuple[Kind, str]) -> None:
    kind, unit = named
    assert parse_quantity(f"{number!r} {unit}", kind) == number * UNITS[kind][unit]


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_a_float_of_a_simple_ratio_is_that_ratio(a: int, b: int) -> None:
    low, high = sorted((a, b))
    share = Fraction(low, high)
    assert parse_share(low / high) == share
    assert parse_share(str(share)) == share
    assert parse_share(share) == share


@given(st.floats(0, 1, exclude_min=True))
def test_every_share_keeps_its_float(value: float) -> None:
    assert float(parse_share(value)) == value


@pytest.mark.parametrize(
    ("given_", "share"),
    [
        (1, Fraction(1)),
        (0.1, Fraction(1, 10)),
        (1 / 60, Fraction(1, 60)),
        ("1/60", Fraction(1, 60)),
        ("0.25", Fraction(1, 4)),
    ],
)
def test_shares(given_: int | float | str, share: Fraction) -> None:
    assert parse_share(given_) == share


@pytest.mark.parametrize("bad", [0, -0.5, 1.5, "3/2", math.nan, math.inf, "half", "1/0", "", True])
def test_no_share(bad: int | float | str) -> None:
    with pytest.raises(InvalidInput, match="share") as caught:
        parse_share(bad)
    assert "at most 1" in caught.value.hint
