"""The quotes of every offer at one moment: price, average of the past hour, and the risk at several max prices.

Arrays: price, mean, on_demand (offers,); max_prices, p, open (offers, k). An offer on demand has one max price that
counts and p = 0. `open` is False where a launch makes no sense: the max price is below the price, or above what the
machine costs on demand, or a launch was refused a moment ago.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from leantune.arrays import FloatArray
from leantune.cloud.markets import Market, PriceSeries
from leantune.cloud.predictor import Predictor
from leantune.cloud.provider import Offer

# Max prices that are weighed, as a share above the price; what it costs on demand is one more.
DELTAS = (0.001, 0.005, 0.02, 0.08, 0.3, 1.0)
PAST = 3600.0


@dataclass(frozen=True)
class Quotes:
    """See the module."""

    price: FloatArray
    mean: FloatArray
    on_demand: NDArray[np.bool_]
    max_prices: FloatArray
    p: FloatArray
    open: NDArray[np.bool_]

    def risk(self, offer: int, max_price: float) -> float:
        """P at any max price: linear between those quoted, 1 below the price, the last one beyond."""
        if self.on_demand[offer]:
            return 0.0
        if max_price <= self.price[offer]:
            return 1.0
        grid, p = self.max_prices[offer], self.p[offer]
        return float(np.interp(max_price, np.concatenate(([self.price[offer]], grid)), np.concatenate(([p[0]], p))))

    def closed(self, offers: Sequence[int]) -> Quotes:
        """The same without some offers."""
        if not offers:
            return self
        still = self.open.copy()
        still[list(offers)] = False
        return Quotes(self.price, self.mean, self.on_demand, self.max_prices, self.p, still)


def quotes_text(quotes: Quotes) -> str:
    """As JSON, to be kept with the decision that was based on them."""
    return json.dumps({field.name: getattr(quotes, field.name).tolist() for field in fields(quotes)})


class Forecaster(Protocol):
    """Knows prices and risks of a fixed list of offers."""

    def quotes(self, now: float) -> Quotes:
        """The quotes of a moment, from the past alone."""
        ...


def max_prices(price: FloatArray, on_demand_price: FloatArray) -> FloatArray:
    """(offers, len(DELTAS) + 1): the price plus each share, and the price on demand, increasing in each row."""
    grid = price[:, None] * (1.0 + np.asarray(DELTAS))[None, :]
    return np.sort(np.concatenate((grid, on_demand_price[:, None]), axis=1), axis=1)


Risks = Callable[[FloatArray, FloatArray], FloatArray]


def quote(offers: Sequence[Offer], series: Sequence[PriceSeries | None], now: float, risks: Risks) -> Quotes:
    """The quotes of a moment; no max price is above the price on demand.

    series: of each offer, None on demand. risks: P (m, k) by the price (m,) and max prices (m, k) of the m spot offers.
    """
    on_demand = np.array([prices is None for prices in series])
    ceiling = np.array([offer.machine.usd_per_hour or offer.usd_per_hour for offer in offers])
    price, mean = ceiling.copy(), ceiling.copy()
    for index, prices in enumerate(series):
        if prices is not None:
            price[index] = prices.at(now)
            mean[index] = prices.mean(max(prices.start, now - PAST), now)
    grid = max_prices(price, ceiling)
    p = np.zeros_like(grid)
    if not on_demand.all():
        p[~on_demand] = risks(price[~on_demand], grid[~on_demand])
    sensible = (grid > price[:, None]) & (grid <= ceiling[:, None] * (1 + 1e-12))
    sensible[on_demand] = False
    sensible[on_demand, 0] = True
    return Quotes(price, mean, on_demand, grid, p, sensible)


class LiveForecaster:
    """Asks a predictor about the price histories as they are now. history: a market's prices until now."""

    def __init__(self, offers: Sequence[Offer], history: Callable[[Market], PriceSeries], predictor: Predictor) -> None:
        self._offers, self._history, self._predictor = tuple(offers), history, predictor

    def quotes(self, now: float) -> Quotes:
        """Prices, averages and risks of now."""
        series = [None if offer.on_demand else self._history(offer.market) for offer in self._offers]

        def risks(price: FloatArray, grid: FloatArray) -> FloatArray:
            repeated = [prices for prices in series if prices is not None for _ in range(grid.shape[1])]
            return self._predictor.predict(repeated, np.full(grid.size, now), grid.ravel()).reshape(grid.shape)

        return quote(self._offers, series, now, risks)
