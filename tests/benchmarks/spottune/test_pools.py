"""Pools: starts, feeds, and the mapping of traces."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.spottune.pools import LONGEST, MAPPING, PoolName, missing, pool, van_der_corput, without_capacity
from leantune.cloud.traces import read_mapping
from leantune.errors import InvalidInput
from tests.data import needs

NOWHERE = Path("nowhere")


def real(name: PoolName) -> None:
    needs(*missing(name))


def test_van_der_corput_mirrors_binary_digits() -> None:
    assert [van_der_corput(k) for k in range(8)] == [0, 0.5, 0.25, 0.75, 0.125, 0.625, 0.375, 0.875]


@pytest.mark.parametrize("name", [PoolName.VOLATILE, PoolName.SMOOTH])
def test_without_files_prices_are_generated_and_said_to_be(name: PoolName) -> None:
    made = pool(name, NOWHERE)
    assert made.generated
    assert set(made.series) == set(made.machines)
    assert made.speeds().slowness("m4.4xlarge") == pytest.approx(4**-0.6)


def test_tunings_start_after_all_that_predictors_have_seen_and_end_before_the_prices_do() -> None:
    made = pool(PoolName.VOLATILE, NOWHERE)
    for number in range(20):
        start = made.start(number)
        assert start >= made.split.validation.end
        assert start + LONGEST <= min(series.end for series in made.series.values())


def test_every_type_is_also_there_on_demand() -> None:
    made = pool(PoolName.SMOOTH, NOWHERE)
    feeds = made.feeds(made.start(0))
    assert sum(not feed.on_demand for feed in feeds) == len(made.series)
    assert sorted(feed.machine.name for feed in feeds if feed.on_demand) == sorted(made.vcpus())


def test_the_capacity_pool_needs_its_traces_and_names_them() -> None:
    with pytest.raises(InvalidInput, match="paper_six_types"):
        pool(PoolName.CAPACITY, NOWHERE)


def test_an_unknown_pool_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no pool"):
        pool("stormy")


def test_the_mapping_names_every_market_of_the_pool_once() -> None:
    real(PoolName.CAPACITY)
    assert set(read_mapping(MAPPING)) == {str(market) for market in pool(PoolName.CAPACITY).series}


@pytest.mark.parametrize("name", [PoolName.CAPACITY, PoolName.NO_NOTICE])
def test_traces_take_machines_with_a_notice_or_without(name: PoolName) -> None:
    real(name)
    made = pool(name)
    start = made.start(0)
    coming = [feed.revocation(start, np.inf) for feed in made.feeds(start) if not feed.on_demand]
    warned = [one.notice_at is not None for one in coming if one is not None]
    assert warned
    assert all(warned) is (name is PoolName.CAPACITY)
    assert not without_capacity(made).capacities(start)
