"""The place `simcloud`; what its executor does is in test_rented."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from leantune.clock import RealClock
from leantune.cloud.market_settings import MarketSettings
from leantune.cloud.marketplace import BOOT_SECONDS
from leantune.errors import JobError
from leantune.executors.registry import Charges, Past
from leantune.executors.simcloud import place_of, recall_steps
from leantune.history import TrialState
from leantune.rent.step_times import StepTimes
from leantune.space import Cluster, Machine
from leantune.store.rows import ReportRow
from tests.executors.programs import trial_of, until_ended
from tests.executors.rented_worlds import BOX, START, problem_on, stay_of
from tests.executors.test_registry import settings_in

ON_BOX = problem_on()


def test_runs_are_billed_at_the_pace_of_the_market(tmp_path: Path) -> None:
    fast = replace(settings_in(tmp_path), market=MarketSettings(speed=300.0))
    assert place_of(fast).charges == Charges(True, 300.0, BOOT_SECONDS)
    assert place_of(settings_in(tmp_path)).charges.speed == MarketSettings().speed


def test_a_machine_that_is_chosen_may_be_the_dearest(tmp_path: Path) -> None:
    clusters = (Cluster(BOX, 1), Cluster(Machine("large", 2, 0.1, usd_per_hour=7.2), 1))
    free = replace(settings_in(tmp_path), clusters=clusters, on_machine=lambda trial, offer: trial)
    assert place_of(free).charges == Charges(True, MarketSettings().speed, BOOT_SECONDS, 7.2, adds_up=True)
    assert place_of(replace(free, on_machine=None)).charges.worst_rate is None


def test_a_study_that_goes_on_knows_how_long_steps_took() -> None:
    """From report to report of one attempt, on the machine that it was on."""
    first, second = [(0, 1, 10.0, 1.0), (0, 1, 14.0, 3.0)], [(0, 2, 5.0, 4.0), (0, 2, 6.0, 5.0)]
    rows = [*first, *second, (1, 1, 7.0, 2.0), (2, 1, 1.0, 1.0)]
    reports = [ReportRow(number, attempt, seconds, {}, step) for number, attempt, seconds, step in rows]
    stays = [stay_of(0, "sim-1"), replace(stay_of(0, "sim-2"), attempt=2, market="large/a"), stay_of(1, "sim-3")]
    times = StepTimes({"box": 1.0, "large": 2.0})
    recall_steps(times, Past(tuple(stays), (*reports, ReportRow(0, 1, 20.0, {"accuracy": 0.5}))))
    assert times.of_job(0) == pytest.approx([2.0, 1.0])
    assert [times.is_measured("box", number) for number in range(3)] == [True, False, False]


def test_the_market_goes_on_where_the_last_machine_was_left() -> None:
    stays = replace(stay_of(0, "a"), ended=START + 50.0), replace(stay_of(1, "b"), left=START + 70.0)
    assert Past(stays).latest == START + 70.0
    assert Past((*stays, replace(stay_of(2, "c"), launched=START + 90.0))).latest == START + 90.0
    assert Past().latest == -math.inf


def test_a_market_needs_machines_with_prices(tmp_path: Path) -> None:
    with pytest.raises(JobError, match="m has no price"):
        place_of(replace(settings_in(tmp_path), clusters=(Cluster(Machine("m", 1, 0.1), 1),))).check()
    with pytest.raises(JobError, match="there are no machines to rent"):
        place_of(replace(settings_in(tmp_path), clusters=())).check()


def test_machines_are_on_demand_unless_spot_ones_are_asked_for(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    assert [feed.on_demand for feed in place_of(settings).market.feeds] == [True]
    assert sum(not feed.on_demand for feed in place_of(replace(settings, spot=True)).market.feeds) == 3


def test_a_program_runs_on_a_rented_machine(tmp_path: Path) -> None:
    market = MarketSettings(speed=600.0)
    settings = replace(settings_in(tmp_path), problem=ON_BOX, clusters=(Cluster(BOX, 1),), market=market)
    executor = place_of(settings).executor(RealClock())
    try:
        executor.start(trial_of(ON_BOX))
        (end,) = until_ended(executor)
    finally:
        executor.close()
    assert end.state is TrialState.DONE
    assert end.usd is not None and end.usd >= 3.6 / 3600 * BOOT_SECONDS
