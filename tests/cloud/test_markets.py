"""Price series against a brute-force reading of the same step function."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leantune.cloud.markets import LINUX, Market, PriceSeries
from leantune.errors import InvalidInput

A = Market("r3.large", "us-east-1c")
NAME = st.text(st.characters(codec="ascii", categories=["L", "N"], include_characters=".-"), min_size=1)
STEPS = st.lists(st.tuples(st.integers(1, 500), st.integers(1, 1000)), min_size=1, max_size=200)


def series_of(steps: list[tuple[int, int]], beyond: int = 0) -> PriceSeries:
    """Times in whole seconds, gaps and prices as given: every integral below is exact enough to compare."""
    times = 1000 + np.cumsum([gap for gap, _ in steps])
    return PriceSeries(A, times, [price / 1000 for _, price in steps], end=float(times[-1] + beyond))


def brute_price(series: PriceSeries, time: float) -> float:
    return next(float(p) for t, p in zip(series.times[::-1], series.prices[::-1], strict=True) if t <= time)


@given(STEPS, st.integers(0, 1000), st.data())
def test_price_at_a_time(steps: list[tuple[int, int]], beyond: int, data: st.DataObject) -> None:
    series = series_of(steps, beyond)
    moments = data.draw(st.lists(st.floats(series.start, series.end + 10), max_size=20))
    expected = [brute_price(series, moment) for moment in moments]
    assert [series.at(moment) for moment in moments] == expected
    assert series.at_times(np.array(moments, dtype=float)).tolist() == expected


@given(STEPS.filter(lambda steps: sum(gap for gap, _ in steps) < 5000), st.data())
def test_dollars_are_the_sum_over_seconds(steps: list[tuple[int, int]], data: st.DataObject) -> None:
    series = series_of(steps, beyond=50)
    begin = data.draw(st.integers(int(series.start), int(series.end)))
    end = data.draw(st.integers(begin, int(series.end) + 20))
    paid = sum(brute_price(series, second) for second in range(begin, end)) / 3600
    assert series.cost(begin, end) == pytest.approx(paid, abs=1e-12)
    mean = paid * 3600 / (end - begin) if end > begin else series.at(begin)
    assert series.mean(begin, end) == pytest.approx(mean)


@given(STEPS, st.data())
def test_dollars_of_two_halves_are_those_of_the_whole(steps: list[tuple[int, int]], data: st.DataObject) -> None:
    series = series_of(steps, beyond=100)
    moments = st.floats(series.start, series.end)
    begin, middle, end = sorted(data.draw(st.tuples(moments, moments, moments)))
    assert series.cost(begin, middle) + series.cost(middle, end) == pytest.approx(series.cost(begin, end), abs=1e-9)
    assert series.cost(begin, end) >= -1e-12


@given(STEPS, st.integers(0, 100), st.data())
def test_what_was_known_does_not_depend_on_the_future(
    steps: list[tuple[int, int]], beyond: int, data: st.DataObject
) -> None:
    series = series_of(steps, beyond)
    time = data.draw(st.floats(series.start, series.end + 10))
    known = series.until(time)
    kept = [(t, p) for t, p in zip(series.times, series.prices, strict=True) if t <= time]
    assert list(zip(known.times, known.prices, strict=True)) == kept
    assert known.end == min(time, series.end)
    assert len(known) == len(kept)


def test_before_the_start_nothing_is_known() -> None:
    series = PriceSeries(A, [10, 20], [1, 2])
    for asked in (
        lambda: series.at(9),
        lambda: series.cost(9, 15),
        lambda: series.until(9),
        lambda: series.at_times(np.array([15.0, 9.0])),
    ):
        with pytest.raises(InvalidInput, match="no price") as caught:
            asked()
        assert caught.value.where == "r3.large/us-east-1c"
    with pytest.raises(InvalidInput, match="is no period"):
        series.cost(20, 10)


@pytest.mark.parametrize(
    ("times", "prices", "end", "says"),
    [
        ([], [], None, "at least one"),
        ([1, 2], [1], None, "as many prices as times"),
        ([[1, 2]], [[1, 2]], None, "as many prices as times"),
        ([1, 1], [1, 2], None, "do not increase"),
        ([2, 1], [1, 2], None, "do not increase"),
        ([1, np.nan], [1, 2], None, "do not increase"),
        ([1, 2], [1, 0], None, "not above 0"),
        ([1, 2], [1, -1], None, "not above 0"),
        ([1, 2], [1, np.nan], None, "not above 0"),
        ([1, 2], [1, np.inf], None, "not above 0"),
        ([1, 2], [1, 2], 1.5, "before its last price"),
        ([1, 2], [1, 2], np.nan, "before its last price"),
    ],
)
def test_wrong_series(times: list[float], prices: list[float], end: float | None, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        PriceSeries(A, times, prices, end=end)


def test_a_series_cannot_be_changed() -> None:
    given_times = np.array([1.0, 2.0])
    series = PriceSeries(A, given_times, [1, 2])
    with pytest.raises(ValueError, match="read-only"):
        series.prices[0] = 5


@given(NAME, NAME, st.sampled_from([LINUX, "Windows", "Red Hat Enterprise Linux", "Linux/UNIX (Amazon VPC)"]))
def test_a_market_is_read_as_it_is_written(kind: str, zone: str, product: str) -> None:
    market = Market(kind, zone, product)
    assert Market.parse(str(market)) == market


@pytest.mark.parametrize("text", ["", "m5.large", "m5.large/", "/us-east-1a"])
def test_no_market(text: str) -> None:
    with pytest.raises(InvalidInput, match="names no market"):
        Market.parse(text)


def test_linux_is_not_said() -> None:
    assert str(A) == "r3.large/us-east-1c"
    assert str(Market("a", "b", "Windows")) == "a/b/Windows"


def test_nobody_pays_above_the_ceiling() -> None:
    series = PriceSeries(Market("m", "z"), [0.0, 1800.0, 5400.0], [0.1, 0.5, 0.2], end=7200.0)
    assert series.cost(0.0, 7200.0, ceiling=0.3) == pytest.approx(0.05 + 0.3 + 0.1)
    assert series.cost(600.0, 1200.0, ceiling=0.05) == pytest.approx(0.05 / 6)
    assert series.cost(0.0, 7200.0, ceiling=9.0) == pytest.approx(series.cost(0.0, 7200.0))
