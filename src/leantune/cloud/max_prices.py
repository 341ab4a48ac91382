"""Max prices to ask with: how they are drawn for training, for scores, and by SpotTune's own rule."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leantune.arrays import FloatArray
from leantune.errors import InvalidInput


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
