"""An empirical hazard rate: frequencies of the past, fitted on a training slice or online from the history itself.

    EmpiricalHazard: P(market, hour, delta) = share of that market's training hours, begun at that hour of the day, in
        which the price rose by more than delta = b / p(t) - 1; shrunk towards the market's share of all hours with
        weight `strength`, and that towards the share over all markets; linear in log delta between the steps
    OnlineHazard: mean of the shares of the last day, of the last week, and of the last week at about this hour

A market that was not trained on is answered with the share over all markets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from leantune.arrays import FloatArray, IntArray
from leantune.cloud.predictor import MaxPrices
from leantune.revocation.dataset import Examples, highest_within_hour
from leantune.revocation.pasts import Pasts
from leantune.revocation.summary import SUMMARY_NAMES, summaries
from leantune.revocation.trained import Model

HOURS = 24
_ONLINE = [SUMMARY_NAMES.index(f"exceeded_{w}") for w in ("day", "week", "same_hour_week")]


@dataclass(frozen=True)
class HazardOptions:
    """steps: of the table of deltas; strength: hours of training that a parent's share weighs as much as."""

    steps: int = 41
    strength: float = 20.0

    def drawn(self, random: np.random.Generator) -> HazardOptions:
        """Others worth trying."""
        return HazardOptions(int(random.choice([11, 21, 41, 81])), float(np.exp(random.uniform(0.0, np.log(500.0)))))


@dataclass(frozen=True)
class EmpiricalHazard(Model):
    """table (markets + 1, 24, steps): by `rows` of markets, the last row for all; edges (steps,): log delta."""

    rows: Sequence[str]
    edges: FloatArray
    table: FloatArray

    def probabilities(self, pasts: Pasts, max_prices: FloatArray) -> FloatArray:
        """P (n,) of each query."""
        row_of = {name: row for row, name in enumerate(self.rows)}
        rows = np.array([row_of.get(str(market), len(self.rows)) for market in pasts.markets], dtype=np.int64)
        hours = (np.floor(pasts.asked / 3600.0) % HOURS).astype(np.int64)
        shares = self.table[rows[pasts.group], hours]
        wanted = np.log(np.maximum(max_prices / pasts.present - 1.0, np.exp(self.edges[0])))
        spot = np.clip((wanted - self.edges[0]) / (self.edges[1] - self.edges[0]), 0.0, len(self.edges) - 1.0)
        low = np.minimum(spot.astype(np.int64), len(self.edges) - 2)
        each = np.arange(len(spot))
        below, above = shares[each, low], shares[each, low + 1]
        return np.asarray(below + (above - below) * (spot - low), dtype=np.float64)

    @property
    def features(self) -> list[str]:
        """Where in the table it looks."""
        return ["market", "hour", "log_delta"]


def fit_hazard(train: Examples, validation: Examples, options: HazardOptions, seed: int) -> EmpiricalHazard:
    """Count; the train slice's times are used with every delta of the table, at any max price."""
    pasts = train.pasts()
    rises = highest_within_hour(train.series, train.index, train.times) / pasts.present - 1.0
    deltas = MaxPrices() if train.rule.absolute else train.rule
    edges = np.linspace(np.log(deltas.low), np.log(max(deltas.high, 2 * deltas.low)), options.steps)
    above = (rises[:, None] > np.exp(edges)).astype(np.float64)
    hours = (np.floor(train.times / 3600.0) % HOURS).astype(np.int64)
    names = [str(prices.market) for prices in train.series]
    per_hour = len(train) / max(_hours_covered(train), 1.0)  # questions within one hour are no independent ones
    prior = options.strength * per_hour
    overall = (above.sum(axis=0) + 0.5 * per_hour) / (len(above) + per_hour)
    table = np.empty((len(names) + 1, HOURS, options.steps))
    table[-1] = _by_hour(above, hours, overall, prior)
    for row in range(len(names)):
        mine = train.index == row
        share = (above[mine].sum(axis=0) + prior * overall) / (mine.sum() + prior)
        table[row] = _by_hour(above[mine], hours[mine], share, prior)
    return EmpiricalHazard(names, edges, table)


def _by_hour(above: FloatArray, hours: IntArray, parent: FloatArray, prior: float) -> FloatArray:
    counts = np.bincount(hours, minlength=HOURS)[:, None]
    sums = np.zeros((HOURS, above.shape[1]))
    np.add.at(sums, hours, above)
    return np.asarray((sums + prior * parent) / (counts + prior), dtype=np.float64)


def _hours_covered(train: Examples) -> float:
    spans = [np.ptp(train.times[train.index == row]) for row in np.unique(train.index)]
    return float(sum(spans)) / 3600.0


@dataclass(frozen=True)
class OnlineHazard(Model):
    """Needs no training and no extra: it counts in the history it is given."""

    def probabilities(self, pasts: Pasts, max_prices: FloatArray) -> FloatArray:
        """P (n,) of each query."""
        return np.asarray(summaries(pasts, max_prices)[:, _ONLINE].mean(axis=1))

    @property
    def features(self) -> list[str]:
        """The shares that it averages."""
        return [SUMMARY_NAMES[column] for column in _ONLINE]
