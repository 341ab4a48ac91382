"""What queries may look at."""

import numpy as np
import pytest
from hypothesis import given

from leantune.cloud.markets import Market, PriceSeries
from leantune.errors import InvalidInput
from leantune.revocation.pasts import REACH, gather
from tests.revocation.made import START, markets, series_and_time


@given(series_and_time())
def test_last_is_the_price_in_force_and_first_reaches_far_enough(asked: tuple[PriceSeries, float, float]) -> None:
    series, time, _ = asked
    pasts = gather([series], np.array([time]))
    assert pasts.present[0] == series.at(time)
    assert pasts.flat.times[pasts.flat.last[0]] <= time
    assert pasts.flat.times[pasts.flat.first[0]] <= max(time - REACH, series.start)


def test_series_lie_side_by_side_whatever_the_order_of_queries() -> None:
    first, second = markets()
    times = np.array([first.end, second.end - 50_000.0, first.end - 90_000.0, second.end])
    asked = [first, second, first, second]
    pasts = gather(asked, times)
    assert pasts.markets == (first.market, second.market)
    assert pasts.present.tolist() == [one.at(time) for one, time in zip(asked, times, strict=True)]
    assert (pasts.flat.first <= pasts.flat.last).all()
    some = pasts.where(np.array([3, 1]))
    assert some.asked.tolist() == times[[3, 1]].tolist()
    assert some.markets == (second.market,)
    alone = gather([second, second], times[[3, 1]])
    for name in ("times", "prices", "first", "last"):
        assert np.array_equal(getattr(some.flat, name), getattr(alone.flat, name))


def test_a_price_said_again_is_no_change() -> None:
    series = PriceSeries(Market("a", "b"), START + np.arange(4) * 100.0, [0.1, 0.1, 0.2, 0.2])
    pasts = gather([series], np.array([series.end]))
    assert pasts.flat.times.tolist() == [START, START + 200.0]


def test_no_queries_have_no_pasts() -> None:
    assert len(gather([], np.empty(0)).asked) == 0


def test_times_before_the_start_or_not_finite_are_refused() -> None:
    series = markets()[0]
    with pytest.raises(InvalidInput, match="before the series starts"):
        gather([series], np.array([series.start - 1.0]))
    with pytest.raises(InvalidInput, match="not finite"):
        gather([series], np.array([np.nan]))
    with pytest.raises(InvalidInput, match="1 series for times"):
        gather([series], np.array([series.end, series.end]))
