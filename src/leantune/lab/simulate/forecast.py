"""Prices and risks for a whole simulation, computed in bulk: a predictor asked about one moment costs milliseconds.

The table holds P (moments, deltas) of every market each `every` seconds; at a time between two moments the earlier
row counts, so that nothing is told before it could be known. Prices and averages are exact. A day of the table is
computed when the simulation gets there, and kept for the next simulation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from leantune.arrays import FloatArray
from leantune.cloud.markets import PriceSeries
from leantune.cloud.predictor import Predictor
from leantune.cloud.provider import Offer
from leantune.rent.quotes import DELTAS, Quotes, quote
from leantune.revocation.predictors import over_deltas

TABLE_DELTAS = (*DELTAS, 3.0, 10.0, 30.0)  # on-demand prices may be many times the price
_EVERY = 300.0
_CHUNK = 288  # moments computed at once


class TabledForecaster:
    """Quotes from tables; see the module. series: of each offer, None on demand. After the period its end holds."""

    def __init__(
        self,
        offers: Sequence[Offer],
        series: Sequence[PriceSeries | None],
        predictor: Predictor,
        period: tuple[float, float],
        *,
        every: float = _EVERY,
    ) -> None:
        self._offers, self._series, self._predictor = tuple(offers), tuple(series), predictor
        self._begin, self._every = period[0], every
        self._moments = np.arange(period[0], period[1] + every, every)
        self._chunks: dict[int, FloatArray] = {}
        self._logs = np.log(np.asarray(TABLE_DELTAS))
        self._latest: tuple[float, Quotes] | None = None

    def prepare(self) -> None:
        """Compute the whole table now."""
        for row in range(0, len(self._moments), _CHUNK):
            self._rows(row)

    def quotes(self, now: float) -> Quotes:
        """What is known at a moment; the same object while the time is the same."""
        if self._latest is None or self._latest[0] != now:
            self._latest = (now, self._quotes(now))
        return self._latest[1]

    def _quotes(self, now: float) -> Quotes:
        row = min(max(int((now - self._begin) / self._every), 0), len(self._moments) - 1)

        def risks(price: FloatArray, grid: FloatArray) -> FloatArray:
            deltas = np.log(np.maximum(grid / price[:, None] - 1.0, 1e-9))
            return np.array([np.interp(asked, self._logs, p) for asked, p in zip(deltas, self._rows(row), strict=True)])

        return quote(self._offers, self._series, now, risks)

    def _rows(self, row: int) -> FloatArray:
        """P (spot offers, deltas) of a moment."""
        chunk, within = divmod(row, _CHUNK)
        if chunk not in self._chunks:
            moments = self._moments[chunk * _CHUNK : (chunk + 1) * _CHUNK]
            spot = [series for series in self._series if series is not None]
            tables = [over_deltas(self._predictor, series, moments, np.asarray(TABLE_DELTAS)) for series in spot]
            self._chunks[chunk] = np.stack(tables, axis=1) if tables else np.empty((len(moments), 0, 0))
        probabilities: FloatArray = self._chunks[chunk][within]
        return probabilities
