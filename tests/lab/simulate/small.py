"""Few jobs on generated prices, for tests of simulations."""

from __future__ import annotations

import numpy as np

from leantune.lab.simulate.comparison import ComparisonPlan
from leantune.lab.simulate.setup import Pool, Revoking, generated_pool
from leantune.lab.simulate.workloads import RecordedJob

TYPES = ("r4.large", "r4.xlarge", "m4.2xlarge")


def recorded(count: int = 4, hours: float = 3.0, reports: int = 30, family: str = "toy") -> tuple[RecordedJob, ...]:
    """Jobs whose loss falls like 1 / k to different ends: the later the number, the worse."""
    jobs = []
    for number in range(count):
        random = np.random.default_rng(number)
        k = np.arange(1.0, reports + 1)
        values = 1.0 / (0.2 * k + 1.0) + 0.3 * number + random.normal(0, 0.001, reports)
        seconds = np.full(reports, hours * 3600 / reports * (1.0 + 0.1 * number))
        facts = (f"lr = {0.1 / (number + 1):.3g}", family, {"lr": 0.1 / (number + 1)}, "loss", False)
        jobs.append(RecordedJob(*facts, np.asarray(k * 50.0), values, seconds, (), 10**6, 8.0, 8.0))
    return tuple(jobs)


def pool(seed: int = 0, *, regime: str = "volatile", days: float = 3.0, zones: int = 1) -> Pool:
    """Three types."""
    return generated_pool(TYPES, regime=regime, days=days, zones=zones, revoking=Revoking(seed=seed))


def plan(seed: int = 0, *, policies: tuple[str, ...] = ("ours", "on-demand"), hours: float = 3.0) -> ComparisonPlan:
    """Four jobs on three markets."""
    markets = pool(seed)
    return ComparisonPlan(markets, (recorded(hours=hours),), markets.speeds(), policies=policies)
