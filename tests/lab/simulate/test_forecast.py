"""The table says what a live forecaster would have said, and never earlier."""

import numpy as np
import pytest

from leantune.arrays import FloatArray
from leantune.cloud.provider import Offer
from leantune.lab.simulate.forecast import TABLE_DELTAS, TabledForecaster
from leantune.rent.quotes import LiveForecaster
from leantune.revocation.predictors import over_deltas, predictor
from tests.lab.simulate.small import pool

MARKETS = pool(3, days=2.0)
OFFERS = [Offer(f.machine, f.market, f.on_demand, f.price_at(MARKETS.start)) for f in MARKETS.feeds]
SERIES = [feed.prices for feed in MARKETS.feeds]


@pytest.fixture(scope="module")
def tabled() -> TabledForecaster:
    return TabledForecaster(OFFERS, SERIES, predictor(), (MARKETS.start, MARKETS.end))


def live(now: float) -> LiveForecaster:
    by_market = {feed.market: feed.prices for feed in MARKETS.feeds if feed.prices is not None}
    return LiveForecaster(OFFERS, lambda market: by_market[market].until(now), predictor())


@pytest.mark.parametrize("row", [0, 1, 100, 287, 288, 500])
def test_at_the_moments_of_the_table_it_is_the_live_one(tabled: TabledForecaster, row: int) -> None:
    now = MARKETS.start + 300.0 * row
    ours, theirs = tabled.quotes(now), live(now).quotes(now)
    for name in ("price", "mean", "max_prices", "on_demand", "open"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-9)
    # Quoted max prices are deltas of the table, but for the price on demand, which lies between two of them.
    deltas = ours.max_prices / ours.price[:, None] - 1.0
    listed = np.isclose(deltas[..., None], np.asarray(TABLE_DELTAS), rtol=1e-6).any(axis=2)
    known = listed & ~ours.on_demand[:, None]
    assert known.sum() >= 6 * 3
    np.testing.assert_allclose(ours.p[known], theirs.p[known], atol=1e-9)
    between = ~listed & ~ours.on_demand[:, None] & ours.open
    assert np.abs(ours.p[between] - theirs.p[between]).max(initial=0.0) < 0.35


def test_between_two_moments_the_earlier_one_counts(tabled: TabledForecaster) -> None:
    spot = OFFERS.index(next(offer for offer in OFFERS if not offer.on_demand))
    series = SERIES[spot]
    assert series is not None
    moments: FloatArray = np.linspace(MARKETS.start, MARKETS.start + 300.0 * 399, 400)
    table = over_deltas(predictor(), series, moments, np.asarray(TABLE_DELTAS))
    changed = int(np.flatnonzero((np.diff(table, axis=0) != 0).any(axis=1))[0])
    for within in (0.0, 299.0):
        quotes = tabled.quotes(moments[changed] + within)
        shown = quotes.max_prices[spot] / quotes.price[spot] - 1.0
        first = int(np.flatnonzero(np.isclose(shown, TABLE_DELTAS[0], rtol=1e-6))[0])
        assert quotes.p[spot, first] == pytest.approx(table[changed, 0], abs=1e-9)


def test_risk_falls_with_the_max_price() -> None:
    series = SERIES[0]
    assert series is not None
    table = over_deltas(
        predictor(), series, np.linspace(MARKETS.start, MARKETS.start + 30_000.0, 50), np.asarray(TABLE_DELTAS)
    )
    assert table.shape == (50, len(TABLE_DELTAS))
    assert (np.diff(table, axis=1) <= 1e-12).all()


def test_the_same_moment_is_the_same_object_and_days_are_computed_once() -> None:
    calls = []

    class Counting:
        name = "counting"

        def predict(self, series: object, times: FloatArray, max_prices: FloatArray) -> FloatArray:
            calls.append(len(times))
            return np.full(len(times), 0.25)

    tabled = TabledForecaster(OFFERS, SERIES, Counting(), (MARKETS.start, MARKETS.end))
    assert calls == []  # nothing before it is asked for
    assert tabled.quotes(MARKETS.start) is tabled.quotes(MARKETS.start)
    tabled.quotes(MARKETS.start + 3600.0)
    assert len(calls) == 3
    tabled.prepare()
    asked = len(calls)
    quotes = tabled.quotes(MARKETS.end + 1e6)  # after the period its last row holds
    assert len(calls) == asked
    assert (quotes.p[~quotes.on_demand] == 0.25).all()
    assert (quotes.p[quotes.on_demand] == 0.0).all()
