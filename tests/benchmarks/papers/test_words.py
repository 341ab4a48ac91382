"""Numbers for people."""

import math

import pytest

from benchmarks.papers.words import arrived, listed, markdown, number, percent, spread, times
from leantune.lab.replay.arrivals import Median


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.00346, "0.00346"),
        (0.05, "0.0500"),
        (12.345, "12.3"),
        (1234.5, "1,234"),
        (0.0, "0"),
        (math.inf, "∞"),
        (math.nan, "–"),
    ],
)
def test_three_digits(value: float, text: str) -> None:
    assert number(value) == text


def test_medians() -> None:
    found = Median(0.043, 0.03, math.inf, 18, 20)
    assert arrived(found) == "$0.0430 [0.0300, ∞] (18/20)"
    assert arrived(found, "min") == "0.0430 min [0.0300, ∞] (18/20)"
    assert arrived(Median(math.inf, 1.0, math.inf, 3, 20)) == "never (3/20 arrive)"
    assert arrived(Median(math.nan, math.nan, math.nan, 0, 0)) == "not run"
    assert spread(Median(0.5, 0.25, 1.0, 2, 2)) == "0.500 [0.250, 1.00]"


def test_ratios() -> None:
    assert times(Median(2.0, 1.0, 3.0, 5, 5)) == "2.00x [1.00, 3.00]"
    assert times(Median(math.inf, 1.0, math.inf, 0, 5)).endswith("(the other never arrives in most seeds)")
    assert times(Median(0.0, 0.0, 1.0, 0, 5)).endswith("(itself never arrives in most seeds)")
    assert times(Median(math.nan, 0.0, math.inf, 0, 5)) == "(neither arrives)"


def test_lists_and_tables() -> None:
    assert [listed([]), listed(["a"]), listed(["a", "b", "c"])] == ["none", "a", "a, b and c"]
    assert markdown(["x", "y"], [["1|2", "3"]]) == "| x | y |\n|---|---|\n| 1\\|2 | 3 |"
    assert percent(0.355) == "35.5 %"
