"""The interface of predictors of revocations, and the max prices of their queries.

P(t, b) = probability that the market's price exceeds the max price b within (t, t + 1 hour]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from leantune.arrays import FloatArray
from leantune.cloud.markets import PriceSeries
from leantune.errors import InvalidInput

HORIZON = 3600.0  # seconds ahead that a prediction is about


class Predictor(Protocol):
    """Predicts from the past alone: prices after the time of the query never change the answer."""

    @property
    def name(self) -> str:
        """Such as revpred or hazard."""
        ...

    def predict(self, series: Sequence[PriceSeries], times: FloatArray, max_prices: FloatArray) -> FloatArray:
        """P (n,) of each query: series (n; the same one may come many times), times (n,), max prices (n,), USD/h."""
        ...


@dataclass(frozen=True)
class MaxPrices:
    """How max prices are drawn: relative deltas log-uniform over [low, high], or absolute ones uniform, as printed."""

    low: float = 1e-3
    high: float = 10.0
    absolute: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.low <= self.high < np.inf:
            what = f"deltas from {self.low} to {self.high}"
            raise InvalidInput(what, where="max prices", hint="Give 0 < low <= high")

    def draw(self, prices: FloatArray, random: np.random.Generator) -> FloatArray:
        """One max price above each of the prices (n,)."""
        if self.absolute:
            return prices + random.uniform(self.low, self.high, len(prices))
        return prices * (1.0 + np.exp(random.uniform(np.log(self.low), np.log(self.high), len(prices))))


PRINTED_MAX_PRICES = MaxPrices(0.00001, 0.2, absolute=True)
