"""Small price series for the tests of predictors."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from leantune.cloud.markets import Market, PriceSeries
from leantune.cloud.predictor import MaxPrices
from leantune.lab.training.training import Slices, TrainingPlan

START = 1_456_400_000.0  # in February 2016
DAY = 86400.0
SMALL = TrainingPlan(tries=1, train_questions=1_500, validation_questions=600, test_questions=900)


def walk(seed: int = 0, days: float = 12.0, instance_type: str = "m4.large") -> PriceSeries:
    """A price that wanders back to its level, with a jump now and then, every five minutes or so."""
    random = np.random.default_rng(seed)
    count = int(days * 288)
    times = START + np.cumsum(random.exponential(300.0, count)).round() + np.arange(count)
    level, logs = 0.0, []
    for step in random.normal(0.0, 0.02, count) + 0.5 * (random.random(count) < 0.01):
        level = 0.95 * level + step
        logs.append(level)
    prices = np.round(0.1 * (1 + seed) * np.exp(logs), 4)
    return PriceSeries(Market(instance_type, "us-east-1a"), times, prices, end=times[-1] + 600.0)


def markets() -> list[PriceSeries]:
    """Two of them."""
    return [walk(0), walk(1, instance_type="r3.large")]


def small_slices(plan: TrainingPlan = SMALL) -> Slices:
    """Questions about both."""
    return Slices.of(markets(), plan)


@st.composite
def series_and_time(draw: st.DrawFn) -> tuple[PriceSeries, float, float]:
    """(any series, a time it knows, a max price above the price then)."""
    gaps = draw(st.lists(st.integers(1, 60_000), min_size=1, max_size=60))
    prices = draw(
        st.lists(st.sampled_from([0.01, 0.02, 0.021, 0.03, 0.1, 1.0]), min_size=len(gaps), max_size=len(gaps))
    )
    times = START + np.cumsum(gaps)
    series = PriceSeries(Market("any", "zone"), times, prices, end=float(times[-1]) + 10.0)
    time = float(draw(st.integers(int(times[0]), int(times[-1]) + 100_000)))
    delta = MaxPrices().draw(np.array([series.at(time)]), np.random.default_rng(draw(st.integers(0, 99))))
    return series, time, float(delta[0])
