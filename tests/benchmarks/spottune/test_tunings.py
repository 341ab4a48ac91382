"""A tuning on generated prices: what is kept of it adds up."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.spottune.policies import Policy, Rule, chooser
from benchmarks.spottune.pools import PoolName, pool
from benchmarks.spottune.tunings import Bounded, Measured, Tuning, forecaster, hit, remotely, scenario, tune
from leantune.curves.predictors import curve_predictor
from leantune.errors import LeanTuneError
from leantune.lab.simulate.simulation import simulate
from leantune.revocation.predictors import predictor
from tests.benchmarks.spottune.made import MEASURED, jobs_in, recording


def played(folder: Path, policy: Policy, **options: float) -> Measured:
    made = pool(PoolName.VOLATILE, Path("nowhere"))
    start = made.start(1)
    feeds = made.feeds(start)
    tuning = Tuning(made.name, "ResNet", policy, "online-hazard", 1, **options)
    forecast = forecaster(made, feeds, start, predictor())
    return tune(tuning, scenario(tuning, made, feeds, jobs_in(recording(folder))), forecast)


def test_on_demand_costs_seconds_times_price_and_is_never_revoked(tmp_path: Path) -> None:
    found = played(tmp_path, Policy(Rule.DEMAND_FASTEST, 1.0))
    assert found.revocations == 0 and found.refund_usd == 0 and found.demand_share == 1
    assert found.kept_steps == 5 * 1000
    assert found.usd == pytest.approx(found.machine_seconds * 0.8 / 3600, rel=1e-3)  # whole seconds are billed
    assert found.selected_seconds == found.finished_seconds


def test_ours_is_cheaper_than_on_demand_and_keeps_every_step_once(tmp_path: Path) -> None:
    ours = played(tmp_path, Policy(Rule.OURS, 1.0))
    assert ours.kept_steps == 5 * 1000
    assert ours.usd < played(tmp_path, Policy(Rule.DEMAND_STEP, 1.0)).usd
    assert 0 <= ours.free_share <= 1 and 0 <= ours.refund_share <= 1


def test_early_selection_trains_fewer_steps_and_finds_the_best(tmp_path: Path) -> None:
    early = played(tmp_path, Policy(Rule.OURS, 0.5))
    assert early.kept_steps == 3 * 1000 + 2 * 500
    assert early.hit_1 and early.hit_3 and early.selected_seconds < early.finished_seconds


def test_twice_the_hours_take_twice_as_long(tmp_path: Path) -> None:
    short, long = (played(tmp_path, Policy(Rule.DEMAND_STEP, 1.0), hours=hours) for hours in (2.0, 4.0))
    assert (long.selected_seconds - 60) == pytest.approx(2 * (short.selected_seconds - 60), abs=25)


def test_checkpoints_travel(tmp_path: Path) -> None:
    job = jobs_in(recording(tmp_path))[0]
    assert remotely(job).save_seconds == pytest.approx(0.01 + 1e6 / 62.83e6)
    assert remotely(job, 6.283).restore_seconds == pytest.approx(0.02 + 100.0)


def test_a_twin_of_the_best_is_as_good(tmp_path: Path) -> None:
    made = pool(PoolName.VOLATILE, Path("nowhere"))
    start = made.start(0)
    feeds = made.feeds(start)
    tuning = Tuning(made.name, "ResNet", Policy(Rule.DEMAND_STEP), "online-hazard", 0)
    scene = scenario(tuning, made, feeds, jobs_in(recording(tmp_path)))
    forecast = forecaster(made, feeds, start, predictor())
    result = simulate(scene, chooser(Rule.DEMAND_STEP, 0), forecast, curve_predictor())
    for ranking, wanted in (((1, 2, 3, 0, 4), True), ((0, 2, 3, 1, 4), True), ((2, 0, 1, 3, 4), False)):
        assert hit(replace(result, ranking=ranking), 1) is wanted
    losers = replace(result, maximize=True, final_values=np.array([np.nan, 1.0, 2.0, 3.0, 9.0]))
    assert hit(replace(losers, ranking=(4, 0, 1, 2, 3)), 1)


def test_shares_are_of_their_own_totals() -> None:
    assert MEASURED.refund_share == pytest.approx(0.2)
    assert MEASURED.checkpoint_share == pytest.approx(0.03)
    assert MEASURED.overhead_share == pytest.approx(0.1)
    assert MEASURED.usd_per_step == pytest.approx(0.01)
    assert MEASURED.rate == pytest.approx(1.0)


def test_json_and_back() -> None:
    assert Measured.from_json(json.loads(json.dumps(MEASURED.as_json()))) == MEASURED


def test_a_tuning_that_never_ends_is_seen() -> None:
    made = pool(PoolName.VOLATILE, Path("nowhere"))
    start = made.start(0)
    asked = forecaster(made, made.feeds(start), start, predictor())
    assert isinstance(asked, Bounded)
    assert (asked.quotes(start).price > 0).all()
    with pytest.raises(LeanTuneError, match="does not come to its end"):
        asked.quotes(asked.until + 1.0)
