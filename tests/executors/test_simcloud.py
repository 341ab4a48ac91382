"""The place `simcloud`; what its executor does is in test_rented."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from leantune.clock import RealClock
from leantune.cloud.marketplace import BOOT_SECONDS, MarketSettings
from leantune.errors import JobError
from leantune.executors.registry import Charges
from leantune.executors.simcloud import charges, check_settings, make_executor, market_of
from leantune.history import TrialState
from leantune.space import Cluster, Machine
from tests.executors.programs import trial_of, until_ended
from tests.executors.rented_worlds import BOX, problem_on
from tests.executors.test_registry import settings_in

ON_BOX = problem_on()


def test_runs_are_billed_at_the_pace_of_the_market(tmp_path: Path) -> None:
    fast = replace(settings_in(tmp_path), market=MarketSettings(speed=300.0))
    assert charges(fast) == Charges(True, 300.0, BOOT_SECONDS)
    assert charges(settings_in(tmp_path)).speed == MarketSettings().speed


def test_a_market_needs_machines_with_prices(tmp_path: Path) -> None:
    with pytest.raises(JobError, match="m has no price"):
        check_settings(replace(settings_in(tmp_path), clusters=(Cluster(Machine("m", 1, 0.1), 1),)))
    with pytest.raises(JobError, match="there are no machines to rent"):
        check_settings(replace(settings_in(tmp_path), clusters=()))


def test_machines_are_on_demand_unless_spot_ones_are_asked_for(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    assert [feed.on_demand for feed in market_of(settings).feeds] == [True]
    assert sum(not feed.on_demand for feed in market_of(replace(settings, spot=True)).feeds) == 3


def test_a_program_runs_on_a_rented_machine(tmp_path: Path) -> None:
    market = MarketSettings(speed=600.0)
    settings = replace(settings_in(tmp_path), problem=ON_BOX, clusters=(Cluster(BOX, 1),), market=market)
    executor = make_executor(settings, RealClock())
    try:
        executor.start(trial_of(ON_BOX))
        (end,) = until_ended(executor)
    finally:
        executor.close()
    assert end.state is TrialState.DONE
    assert end.usd is not None and end.usd >= 3.6 / 3600 * BOOT_SECONDS
