"""What is known of every offer at one moment."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leantune.arrays import FloatArray
from leantune.cloud.markets import Market, PriceSeries
from leantune.cloud.provider import Offer
from leantune.rent.quotes import DELTAS, LiveForecaster, Quotes, max_prices, quote
from leantune.space import Machine

CHEAP = Machine("cheap", 2.0, 8.0, usd_per_hour=0.2, provider="sim")
SERIES = PriceSeries(Market("cheap", "a"), [0.0, 1000.0, 7000.0], [0.05, 0.1, 0.4], end=1e6)


class Falling:
    """P = share of the price in the max price; remembers what it was asked."""

    name = "falling"

    def __init__(self) -> None:
        self.asked: list[tuple[float, float]] = []

    def predict(self, series: Sequence[PriceSeries], times: FloatArray, max_prices: FloatArray) -> FloatArray:
        self.asked += list(zip(times.tolist(), max_prices.tolist(), strict=True))
        return np.array([one.at(t) / b for one, t, b in zip(series, times, max_prices, strict=True)])


def forecaster(now: float, predictor: Falling | None = None) -> LiveForecaster:
    offers = [Offer(CHEAP, SERIES.market, False, 0.05), Offer(CHEAP, SERIES.market, True, 0.2)]
    return LiveForecaster(offers, lambda market: SERIES.until(now), predictor or Falling())


def test_prices_averages_and_risks_are_those_of_now() -> None:
    predictor = Falling()
    quotes = forecaster(2000.0, predictor).quotes(2000.0)
    assert quotes.price == pytest.approx([0.1, 0.2])
    assert quotes.mean == pytest.approx([0.075, 0.2])  # half of the 2000 s known at 0.05
    assert quotes.max_prices[0] == pytest.approx(sorted([*(0.1 * (1 + d) for d in DELTAS), 0.2]))
    assert quotes.p[0] == pytest.approx(0.1 / quotes.max_prices[0])
    assert (quotes.p[1] == 0).all()
    assert all(time == 2000.0 for time, _ in predictor.asked)
    assert len(predictor.asked) == len(DELTAS) + 1  # nothing is asked about machines on demand


def test_nobody_pays_more_than_on_demand() -> None:
    """The price is twice that on demand: no max price makes sense, and only on demand is open."""
    quotes = forecaster(8000.0).quotes(8000.0)
    assert not quotes.open[0].any()
    assert quotes.open[1].tolist() == [True] + [False] * len(DELTAS)
    usual = forecaster(2000.0).quotes(2000.0)
    assert (usual.max_prices[0][usual.open[0]] <= 0.2 * (1 + 1e-9)).all()
    assert usual.open[0].sum() == len(DELTAS) + 1  # 0.1 doubled is what it costs on demand: twice the same, both open


@given(
    price=st.floats(0.01, 5.0),
    risks=st.lists(st.floats(0.0, 1.0), min_size=len(DELTAS) + 1, max_size=len(DELTAS) + 1),
    share=st.floats(0.0, 3.0),
)
def test_risk_is_linear_between_the_quoted_max_prices(price: float, risks: list[float], share: float) -> None:
    grid = max_prices(np.array([price]), np.array([4 * price]))
    p = np.array([sorted(risks, reverse=True)])
    offer = Offer(Machine("m", 1.0, 1.0, usd_per_hour=4 * price), Market("m", "a"), False, price)
    quotes = quote([offer], [PriceSeries(offer.market, [0.0], [price])], 0.0, lambda *_: p)
    bid = price * (1 + share)
    found = quotes.risk(0, bid)
    if bid <= price:
        assert found == 1.0
        return
    above = int(np.searchsorted(grid[0], bid))
    if above == 0:
        assert found == pytest.approx(p[0, 0])
    elif above == grid.shape[1]:
        assert found == pytest.approx(p[0, -1])
    else:
        low, high = grid[0, above - 1], grid[0, above]
        weight = (bid - low) / (high - low)
        assert found == pytest.approx(p[0, above - 1] * (1 - weight) + p[0, above] * weight, abs=1e-9)


def test_on_demand_is_without_risk() -> None:
    assert forecaster(2000.0).quotes(2000.0).risk(1, 0.0001) == 0.0


def test_closed_offers_are_closed_and_the_others_as_before() -> None:
    quotes = forecaster(2000.0).quotes(2000.0)
    assert quotes.closed([]) is quotes
    without = quotes.closed([0])
    assert isinstance(without, Quotes)
    assert not without.open[0].any()
    assert (without.open[1] == quotes.open[1]).all()
    assert quotes.open[0].any()  # as it was
