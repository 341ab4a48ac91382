"""Summaries of markets against sums over seconds."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leantune.cloud.catalog import catalogue
from leantune.cloud.markets import Market, PriceSeries
from leantune.cloud.price_summary import on_demand_price, region_of, summarise_market

A = Market("m5.large", "us-east-1a")


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(1, 9)), min_size=1, max_size=30), st.integers(0, 9))
def test_against_every_second(steps: list[tuple[int, int]], usd: int) -> None:
    """Each row's price holds for the seconds that are given with it."""
    times = np.cumsum([0, *(seconds for seconds, _ in steps[:-1])])
    prices = [float(price) for _, price in steps]
    end = float(times[-1] + steps[-1][0])
    summary = summarise_market(PriceSeries(A, times, prices, end=end), usd + 0.5)
    seconds = sorted(price for held, price in steps for _ in range(held))
    assert summary.median in (seconds[(len(seconds) - 1) // 2], seconds[len(seconds) // 2])
    assert summary.above_on_demand == pytest.approx(np.mean([price > usd for price in seconds]))
    assert (summary.lowest, summary.highest) == (seconds[0], seconds[-1])
    changes = sum(one != other for one, other in pairwise(prices))
    assert summary.changes_per_day == pytest.approx(changes * 86400 / end)
    assert (summary.rows, summary.start, summary.end, summary.gaps) == (len(steps), 0.0, end, 0)


def test_a_single_row() -> None:
    summary = summarise_market(PriceSeries(A, [5], [2.0]), 1.0)
    assert (summary.median, summary.changes_per_day, summary.above_on_demand) == (2.0, 0.0, 1.0)
    assert summarise_market(PriceSeries(A, [5], [2.0]), None).above_on_demand is None


def test_gaps_are_counted() -> None:
    assert summarise_market(PriceSeries(A, [0, 1e5, 1.1e5, 3e5], [1, 1, 2, 1]), None).gaps == 2


@pytest.mark.parametrize(
    ("zone", "region"),
    [
        ("us-east-1c", "us-east-1"),
        ("ap-southeast-2a", "ap-southeast-2"),
        ("us-gov-west-1b", "us-gov-west-1"),
        ("us-east-1-bos-1a", "us-east-1"),
        ("use1-az2", None),
        ("here", None),
    ],
)
def test_regions_of_zones(zone: str, region: str | None) -> None:
    assert region_of(zone) == region


def test_on_demand_prices_are_the_catalogues() -> None:
    assert on_demand_price(A) == catalogue("aws")["m5.large"].usd_per_hour
    assert on_demand_price(Market("m5.large", "eu-west-1a")) is None
    assert on_demand_price(Market("m5.huge", "us-east-1a")) is None
    assert on_demand_price(Market("m5.large", "elsewhere")) is None
