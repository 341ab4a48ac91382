"""Trained predictors on a shelf, and what is counted of capacity."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.spottune.pools import PoolName, pool
from benchmarks.spottune.risks import QUICK_PLAN, Shelf, WithCapacity, capacity_risk
from leantune.cloud.feeds import MarketCapacity
from leantune.lab.training.training import Attempt
from leantune.revocation.predictors import UNTRAINED, predictor

NOWHERE = Path("nowhere")


def test_capacity_risk_is_the_share_of_minutes_before_a_loss() -> None:
    """Ten hours up; of a burst at hours 5 and 5.5 the minutes from hour 4 on are at risk, 1.5 of the 9 asked about."""
    capacity = MarketCapacity([0.0], [36_000.0], [18_000.0, 19_800.0], [1.0, 1.0])
    assert capacity_risk(capacity, 0.0, 36_000.0) == pytest.approx(1.5 / 9)


def test_of_several_machines_each_goes_with_its_share() -> None:
    capacity = MarketCapacity([0.0], [36_000.0], [18_000.0, 18_060.0], [0.5, 0.5])
    twice, once = 59 / 540, 2 / 540  # minutes that see both losses, or one
    assert capacity_risk(capacity, 0.0, 36_000.0) == pytest.approx(0.75 * twice + 0.5 * once)


def test_a_market_that_was_never_up_is_as_good_as_lost() -> None:
    assert capacity_risk(MarketCapacity([50_000.0], [60_000.0]), 0.0, 10_000.0) == 1.0


def test_both_risks_are_joined_as_independent() -> None:
    made = pool(PoolName.SMOOTH, NOWHERE)
    series = list(made.series.values())[:2]
    times = np.full(2, made.start(0))
    limits = np.array([1.001 * one.at(times[0]) for one in series])
    price = predictor().predict(series, times, limits)
    joined = WithCapacity(predictor(), {series[0].market: 0.25}).predict(series, times, limits)
    np.testing.assert_allclose(joined, 1 - (1 - price) * [0.75, 1.0])


def test_a_predictor_is_trained_once_and_scored(tmp_path: Path) -> None:
    made, shelf = pool(PoolName.VOLATILE, NOWHERE), Shelf(tmp_path, QUICK_PLAN)
    tries: list[Attempt] = []
    shelf.train("hazard", made, tries.append)
    shelf.train("hazard", made, tries.append)
    assert len(tries) == 1
    assert shelf.get("hazard", made).name == "hazard"
    assert 0 < shelf.scores("hazard", made)["pooled"]["brier"] < 0.25
    assert shelf.scores("logistic", made) == {}


def test_the_untrained_one_is_scored_too(tmp_path: Path) -> None:
    made, shelf = pool(PoolName.VOLATILE, NOWHERE), Shelf(tmp_path, QUICK_PLAN)
    shelf.train(UNTRAINED, made)
    assert shelf.scores(UNTRAINED, made)["name"] == UNTRAINED


def test_another_plan_or_other_prices_are_another_file(tmp_path: Path) -> None:
    volatile, smooth = pool(PoolName.VOLATILE, NOWHERE), pool(PoolName.SMOOTH, NOWHERE)
    shelf = Shelf(tmp_path, QUICK_PLAN)
    other = Shelf(tmp_path, replace(QUICK_PLAN, tries=2))
    alike = Shelf(tmp_path, replace(QUICK_PLAN, processes=2))
    paths = [shelf.path("hazard", volatile), other.path("hazard", volatile), shelf.path("hazard", smooth)]
    assert len(set(paths)) == 3
    assert alike.path("hazard", volatile) == paths[0]
