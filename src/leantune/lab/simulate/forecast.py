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
from leantune.rent.quotes import DELTAS, PAST, Quotes, max_prices, quote
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
        self._spot = [index for index, known in enumerate(self._series) if known is not None]
        self._ceiling = np.array([offer.machine.usd_per_hour or np.inf for offer in self._offers])
        self._chunks: dict[int, FloatArray] = {}
        self._logs = np.log(np.asarray(TABLE_DELTAS))
        self._latest: tuple[float, Quotes] | None = None

    def prepare(self) -> None:
        """Compute the whole table now."""
        for row in range(0, len(self._moments), _CHUNK):
            self._rows(row)

    def quotes(self, now: float) -> Quotes:
        """What is known at a moment; the same object while the time stands still."""
        if self._latest is None or self._latest[0] != now:
            self._latest = (now, self._quotes(now))
        return self._latest[1]

    def _quotes(self, now: float) -> Quotes:
        row = min(max(int((now - self._begin) / self._every), 0), len(self._moments) - 1)
        price, mean = self._ceiling.copy(), self._ceiling.copy()
        for index in self._spot:
            known = self._series[index]
            assert known is not None
            price[index] = known.at(now)
            mean[index] = known.mean(max(known.start, now - PAST), now)
        grid = max_prices(price, self._ceiling)
        p = np.zeros_like(grid)
        table = self._rows(row)
        deltas = np.log(np.maximum(grid / price[:, None] - 1.0, 1e-9))
        for place, index in enumerate(self._spot):
            p[index] = np.interp(deltas[index], self._logs, table[place])
        return quote(self._offers, price, mean, grid, p)

    def _rows(self, row: int) -> FloatArray:
        """P (spot offers, deltas) of a moment."""
        chunk, within = divmod(row, _CHUNK)
        if chunk not in self._chunks:
            moments = self._moments[chunk * _CHUNK : (chunk + 1) * _CHUNK]
            known = [self._series[index] for index in self._spot]
            tables = [
                over_deltas(self._predictor, one, moments, np.asarray(TABLE_DELTAS)) for one in known if one is not None
            ]
            self._chunks[chunk] = np.stack(tables, axis=1) if tables else np.empty((len(moments), 0, 0))
        found: FloatArray = self._chunks[chunk][within]
        return found
