"""Predictors of revocation for the pools: trained once, kept as files, scored on the pool's last quarter.

A file is named after a hash of the predictors' sources, the plan and the prices: another one of these trains again.
Capacity cannot be seen in prices: in the capacity pools each market's own preemptions of the week before the start
are counted (`capacity_risk`), and joined with the price's risk as independent.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.spottune.pools import Pool, without_capacity
from leantune.arrays import FloatArray
from leantune.cloud.feeds import MarketCapacity
from leantune.cloud.markets import Market, PriceSeries
from leantune.cloud.predictor import HORIZON, Predictor
from leantune.files import digest
from leantune.lab.replay.kept import decisive_files
from leantune.lab.training.training import Attempt, Slices, TrainingPlan, judged, train_kind
from leantune.revocation.predictors import UNTRAINED, load, predictor, save
from leantune.revocation.trained import SUFFIX

_LEARNING = ("cloud/predictor.py", "lab/training", "revocation")  # decide what is learned
_MOST = 1.0 - 1e-12  # of the machines that can go at once, for the sake of the logarithm
QUICK_PLAN = TrainingPlan(tries=1, train_questions=3_000, validation_questions=1_500, test_questions=1_500)


@dataclass(frozen=True)
class Shelf:
    """Trained predictors in a folder; plan: how those that are missing are trained."""

    folder: Path
    plan: TrainingPlan

    def path(self, kind: str, pool: Pool) -> Path:
        """Where the predictor of a pool is, or shall be."""
        plan = {name: str(value) for name, value in vars(self.plan).items() if name != "processes"}
        parts = [json.dumps(plan, sort_keys=True).encode(), sources_digest().encode(), prices_digest(pool).encode()]
        return self.folder / f"{kind}-{digest(parts)[:16]}{SUFFIX}"

    def get(self, kind: str, pool: Pool) -> Predictor:
        """A predictor that was trained before, or one that needs no training."""
        return predictor() if kind == UNTRAINED else load(self.path(kind, pool))

    def trained(self, kind: str, pool: Pool) -> bool:
        """Whether nothing is to be done for it."""
        return kind == UNTRAINED or self.path(kind, pool).is_file()

    def train(self, kind: str, pool: Pool, told: Callable[[Attempt], None] = lambda attempt: None) -> None:
        """Train and keep a predictor, and how it scores, unless it is there."""
        scored = self.scores_path(kind, pool)
        if self.trained(kind, pool) and scored.is_file():
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        slices = slices_of(without_capacity(pool), self.plan)
        if kind == UNTRAINED:
            asked, seconds = predictor(), 0.0
        else:
            result = train_kind(kind, slices, self.plan, told)
            save(replace(result.predictor, provenance={"pool": pool.name}), self.path(kind, pool))
            asked, seconds = result.predictor, result.seconds
        content = {**asdict(judged(asked, slices.test)), "seconds": seconds}
        scratch = scored.with_name(f".{scored.name}.{os.getpid()}")
        scratch.write_text(json.dumps(content), encoding="utf-8")
        scratch.replace(scored)

    def scores(self, kind: str, pool: Pool) -> dict[str, Any]:
        """How a predictor did on the pool's last quarter; empty when it was not trained."""
        path = self.scores_path(kind, pool)
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        return found

    def scores_path(self, kind: str, pool: Pool) -> Path:
        """Where its scores are kept."""
        return self.path(kind, pool).with_suffix(".json")


def slices_of(pool: Pool, plan: TrainingPlan) -> Slices:
    """Questions of the three periods."""
    return Slices.of(list(pool.series.values()), plan)


@cache
def sources_digest() -> str:
    """Of the sources that decide what predictors learn."""
    return digest(path.read_bytes() for path in decisive_files(Path(str(files("leantune"))), _LEARNING))


def prices_digest(pool: Pool) -> str:
    """Of all prices of a pool."""
    parts: list[bytes] = []
    for market, series in pool.series.items():
        parts += [str(market).encode(), series.times.tobytes(), series.prices.tobytes()]
    return digest(parts)


@dataclass(frozen=True)
class WithCapacity:
    """A predictor of price crossings, joined with a constant risk of each market that its capacity goes in an hour."""

    prices: Predictor
    capacity: Mapping[Market, float]

    @property
    def name(self) -> str:
        """The predictor's, and what was added."""
        return f"{self.prices.name} and counted preemptions"

    def predict(self, series: Sequence[PriceSeries], times: FloatArray, max_prices: FloatArray) -> FloatArray:
        """1 - (1 - p_price) (1 - p_capacity), (n,)."""
        taken = np.array([self.capacity.get(one.market, 0.0) for one in series])
        return 1.0 - (1.0 - self.prices.predict(series, times, max_prices)) * (1.0 - taken)


def capacity_risk(capacity: MarketCapacity, begin: float, end: float) -> float:
    """Share of the minutes of [begin, end) with machines to be had after which one was taken within the hour.

    Preemptions come in bursts: a rate, preemptions over hours, would count a burst many times.
    """
    minutes = np.arange(begin, end - HORIZON, 60.0)
    up = minutes[[capacity.available(float(minute)) for minute in minutes]]
    if not len(up):
        return 1.0
    survived = np.concatenate(([0.0], np.cumsum(np.log1p(-np.minimum(capacity.shares, _MOST)))))
    first, last = (np.searchsorted(capacity.preemptions, up + after, side="right") for after in (0.0, HORIZON))
    return float(np.mean(1.0 - np.exp(survived[last] - survived[first])))
