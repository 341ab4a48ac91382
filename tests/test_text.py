"""Numbers and texts as people read them."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import pytest

from leantune import text as words
from leantune.history import Estimate
from leantune.problem import COST, TIME, Constraint
from leantune.space import Cluster, machine


def spaced(text: str) -> str:
    return text.replace(words.NBSP, " ")


@pytest.mark.parametrize(
    ("dollars", "text"),
    [
        (0.0, "$0.00"), (1234.5, "$1,234.50"), (3.214, "$3.21"), (0.1, "$0.10"), (0.0999, "$0.0999"), (0.83, "$0.83"),
        (0.004217, "$0.00422"), (0.99999, "$1.00"), (2.4e-7, "$2.4e-7"), (-0.5, "$-0.50"),
    ],
)  # fmt: skip
def test_dollars_keep_what_matters(dollars: float, text: str) -> None:
    assert words.usd(dollars) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 s"), (0.25, "250 ms"), (59.97, "60 s"), (119.0, "119 s"), (120.0, "2 min"), (433.0, "7.22 min"),
        (7200.0, "2 h"), (108000.0, "30 h"), (40 * 86400.0, "40 days"),
    ],
)  # fmt: skip
def test_durations_choose_their_unit(seconds: float, text: str) -> None:
    assert spaced(words.duration(seconds)) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"), (0.912345, "0.9123"), (12345.6, "12,346"), (3.2e-5, "3.2e-5"), (1e-5, "1e-5"), (1e12, "1e12"),
        (-2.5, "-2.5"), (math.nan, "nan"), (999999.0, "999,999"),
    ],
)  # fmt: skip
def test_significant_digits(value: float, text: str) -> None:
    assert words.significant(value) == text


@pytest.mark.parametrize(
    ("metric", "estimate", "text"),
    [
        ("accuracy", Estimate(0.94123, 0.0061), "0.9412 ± 0.0061"),
        ("accuracy", Estimate(0.94, 0.0), "0.94"),
        ("loss", Estimate(123.4, 25.0), "123 ± 25"),
        (COST, Estimate(0.038, 0.00327), "$0.0380 ± $0.0033"),
        (COST, Estimate(12.0, 3.0), "$12.00 ± $3.00"),
        (TIME, Estimate(372.0, 32.0), "6.20 ± 0.53 min"),
        ("loss", Estimate(math.nan, 1.0), "–"),
        ("loss", Estimate(5.0, math.inf), "5"),
    ],
)
def test_estimates_have_the_digits_of_their_deviation(metric: str, estimate: Estimate, text: str) -> None:
    assert spaced(words.estimated(metric, estimate)) == text


def test_models_are_never_certain_but_counts_are() -> None:
    assert [spaced(words.certain(p)) for p in (0.0, 0.5, 0.973, 1.0)] == ["under 1 %", "50 %", "97 %", "over 99 %"]
    assert [spaced(words.percent(s)) for s in (0.0, 0.001, 0.999, 1.0)] == ["0 %", "under 1 %", "over 99 %", "100 %"]


def test_names_stay_on_one_line_and_stay_text() -> None:
    assert words.clipped("a\n  b", 10) == "a b"
    assert words.clipped("x" * 50, 10) == "x" * 9 + "…"
    assert words.escaped("<a href='x'>&\"") == "&lt;a href=&#x27;x&#x27;&gt;&amp;&quot;"
    assert words.plain("<b>&") == "&lt;b&gt;&amp;"


def test_values_are_shown_rounded_and_copied_exactly() -> None:
    cluster = Cluster(machine("t2.small", vcpus=1, memory=2), 8)
    assert [words.value_text(value) for value in (cluster, True, 0.0031622776, 64, "adam")] == [
        "8 × t2.small", "true", "0.003162", "64", "adam",
    ]  # fmt: skip
    assert words.exact_text(0.0031622776601683794) == "0.0031622776601683794"


def test_lists_counts_shares_and_limits() -> None:
    assert [words.listed("abc"[:n]) for n in range(4)] == ["", "a", "a and b", "a, b and c"]
    assert [words.counted(n, "trial") for n in (0, 1, 1234)] == ["0 trials", "1 trial", "1,234 trials"]
    assert [words.share_of_data(Fraction(s), "data") for s in ("1/60", "1")] == ["1/60 of the data", "all data"]
    assert words.share_of_data(Fraction(1, 2), "epochs") == "1/2 of the epochs"
    assert [words.at_full("data"), words.at_full("epochs")] == ["at full data", "on all epochs"]
    assert [words.least_share("data"), words.least_share("epochs")] == ["the least data", "the fewest epochs"]
    assert spaced(words.limit_text(Constraint.parse("time <= 10 min"))) == "time ≤ 10 min"
    assert spaced(words.limit_text(Constraint.parse("accuracy >= 0.85"))) == "accuracy ≥ 0.85"


def test_dates_only_of_real_clocks() -> None:
    noon = 1_794_830_400.0
    assert words.moment(noon) == "16 November 2026, 12:00 UTC"
    assert words.moment(12.0) == ""
    assert words.period(noon, noon + 3600) == "16 November 2026, 12:00 – 13:00 UTC"
    assert words.period(noon, noon + 86400) == "16 November 2026, 12:00 – 17 November 2026, 12:00 UTC"
    assert words.period(noon, noon) == "16 November 2026, 12:00 UTC"
    assert words.period(0.0, 5.0) == ""


def test_json_in_a_page_cannot_end_its_script_element() -> None:
    data = {"name": "</script><b>&"}
    shown = words.script_json(data)
    assert json.loads(shown) == data
    assert not set("<>&") & set(shown)
    with pytest.raises(ValueError, match="JSON"):
        words.script_json(math.nan)
