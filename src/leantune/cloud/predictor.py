"""What everybody promises who predicts revocations.

P(t, b) = probability that the market's price exceeds the max price b within (t, t + 1 hour]
"""

from collections.abc import Sequence
from typing import Protocol

from leantune.arrays import FloatArray
from leantune.cloud.markets import PriceSeries

HORIZON = 3600.0  # seconds ahead that a prediction is about


class Predictor(Protocol):
    """Predicts from the past alone: what a series holds after the time asked about never changes the answer."""

    @property
    def name(self) -> str:
        """Such as revpred or hazard."""
        ...

    def predict(self, series: Sequence[PriceSeries], times: FloatArray, max_prices: FloatArray) -> FloatArray:
        """P (n,) of each query: series (n; the same one may come many times), times (n,), max prices (n,), USD/h."""
        ...
