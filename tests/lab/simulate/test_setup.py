"""Markets of a simulation, and what is wrong with them."""

import json
from pathlib import Path

import numpy as np
import pytest

from leantune.cloud.billing import GCP
from leantune.cloud.markets import Market, PriceSeries
from leantune.errors import InvalidInput, TableError
from leantune.lab.simulate.setup import (
    DAY,
    GENERATED_START,
    HISTORY_DAYS,
    PAPER_TYPES,
    Revoking,
    file_pool,
    generated_pool,
    read_instances,
    with_generated_prices,
)
from leantune.lab.simulate.speeds import relative_speeds

INSTANCES = "instance_type,availability_zone,vcpu,mem_gib,ondemand_usd_hr\nold.large,us-east-1a,2,8,0.2\n"


def series(name: str, zone: str, start: float, days: float) -> PriceSeries:
    times = start + np.arange(0, days * 24) * 3600.0
    return PriceSeries(Market(name, zone), times, np.full(len(times), 0.05), end=start + days * DAY)


def history(*parts: PriceSeries) -> dict[Market, PriceSeries]:
    return {one.market: one for one in parts}


def test_generated_markets_are_the_papers_six_types_in_several_zones() -> None:
    found = generated_pool(days=2.0)
    spot = [feed for feed in found.feeds if not feed.on_demand]
    assert found.types == PAPER_TYPES
    assert len(spot) == 12
    assert len({feed.market for feed in spot}) == 12
    assert [feed.machine.name for feed in found.feeds if feed.on_demand] == list(PAPER_TYPES)
    assert found.start == GENERATED_START
    for feed in spot:
        assert feed.prices is not None
        assert feed.prices.start <= found.start - HISTORY_DAYS * DAY  # a week to look back on
        assert feed.prices.end == found.end == found.start + 2 * DAY


def test_the_seed_decides() -> None:
    one, same, other = (generated_pool(("r4.large",), days=1.0, revoking=Revoking(seed=seed)) for seed in (1, 1, 2))
    prices = [pool.feeds[0].prices for pool in (one, same, other)]
    assert all(price is not None for price in prices)
    first, again, different = (price.prices for price in prices if price is not None)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, different)


def test_speeds_are_against_four_vcpus() -> None:
    speeds = generated_pool(days=1.0).speeds(exponent=0.5)
    assert speeds.slowness("r4.xlarge") == pytest.approx(1.0)
    assert speeds.slowness("r4.large") == pytest.approx(2**0.5)
    assert speeds.slowness("m4.4xlarge") == pytest.approx(0.5)
    assert relative_speeds({"a": 4.0}, "a").slowness("a") == 1.0


def test_a_file_starts_when_a_week_is_known_of_all() -> None:
    prices = history(series("r4.large", "us-east-1a", 0.0, 20.0), series("r4.large", "us-east-1b", 3600.0, 20.0))
    found = file_pool(prices, "prices.csv")
    assert found.start == 3600.0 + HISTORY_DAYS * DAY
    assert [feed.on_demand for feed in found.feeds] == [False, False, True]  # one on demand for both zones
    assert found.feeds[0].machine.usd_per_hour == 0.133  # the catalogue's
    short = file_pool(prices, "prices.csv", start=10 * DAY, days=1.0)
    assert (short.start, short.end) == (10 * DAY, 11 * DAY)
    assert all(feed.prices.end == 11 * DAY for feed in short.feeds if feed.prices is not None)


def test_markets_without_a_price_at_the_start_are_told() -> None:
    prices = history(series("r4.large", "us-east-1a", 0.0, 20.0), series("r4.large", "us-east-1b", 10 * DAY, 20.0))
    found = file_pool(prices, "prices.csv", start=9 * DAY)
    assert [str(feed.market) for feed in found.feeds] == ["r4.large/us-east-1a"] * 2
    assert "r4.large/us-east-1b" in found.troubles[0]


def test_a_start_outside_of_the_prices_is_refused_in_dates() -> None:
    prices = history(series("r4.large", "us-east-1a", 10 * DAY, 20.0))
    for start, text in (
        (9.5 * DAY, "1970-01-10T12:00"),
        (90 * DAY, "1970-04-01T00:00"),
        (30 * DAY, "1970-01-31T00:00"),
    ):
        with pytest.raises(InvalidInput, match=rf"no market has prices at {text} \(prices") as caught:
            file_pool(prices, "prices.csv", start=start)
        assert "from 1970-01-11T00:00 until 1970-01-31T00:00 (UTC)" in caught.value.hint
    with pytest.raises(InvalidInput, match="at 1970-01-09T00:00, 8 days after"):
        file_pool(history(series("r4.large", "us-east-1a", 0.0, 5.0)), "prices.csv")


def test_types_that_nobody_knows_are_named(tmp_path: Path) -> None:
    parts = [series(name, "us-east-1a", 0.0, 20.0) for name in ("r4.large", "old.large", "old.huge")]
    prices = history(*parts)
    with pytest.raises(InvalidInput, match=r"not known of old\.large, old\.huge") as caught:
        file_pool(prices, "prices.csv")
    assert "instances: types.csv" in caught.value.hint
    table = tmp_path / "types.csv"
    table.write_text(INSTANCES, encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"not known of old\.huge"):
        file_pool(prices, "prices.csv", instances=read_instances(table))
    found = file_pool(prices, "prices.csv", types=["r4.large", "old.large"], instances=read_instances(table))
    assert found.types == ("r4.large", "old.large")
    with pytest.raises(InvalidInput, match="no prices of r9"):
        file_pool(prices, "prices.csv", types=["r9"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("instance_type,vcpu,mem_gib\nx,2,8\n", "no column 'ondemand_usd_hr'"),
        ("instance_type,vcpu,mem_gib,ondemand_usd_hr\nx,two,8,0.1\n", "is no number"),
    ],
)
def test_a_wrong_table_of_types_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "types.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(TableError, match=message):
        read_instances(path)
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_instances(tmp_path / "absent.csv")


def test_traces_take_machines_and_need_a_name_for_each_market(tmp_path: Path) -> None:
    (tmp_path / "trace.json").write_text(json.dumps({"metadata": {"gap_seconds": 3600}, "data": [4, 4, 0, 4]}))
    mapping = tmp_path / "map.yaml"
    mapping.write_text("r4.large/us-east-1a: trace.json\n", encoding="utf-8")
    revoking = Revoking("both", mapping)
    prices = history(series("r4.large", "us-east-1a", 0.0, 20.0))
    found = file_pool(prices, "prices.csv", revoking=revoking)
    taken = found.feeds[0].revocation(found.start, 1.0)
    assert taken is not None
    assert taken.gone_at == found.start + 2 * 3600.0  # all four fall after two hours
    both = history(*prices.values(), series("r4.large", "us-east-1b", 0.0, 20.0))
    with pytest.raises(InvalidInput, match=r"no trace for r4\.large/us-east-1b"):
        file_pool(both, "prices.csv", revoking=revoking)
    with pytest.raises(InvalidInput, match="need traces"):
        Revoking("capacity")


@pytest.mark.parametrize(("days", "traced"), [(20.0, 120.0), (200.0, 192.0)])
def test_traces_are_repeated_at_least_as_long_as_prices_are_known(tmp_path: Path, days: float, traced: float) -> None:
    (tmp_path / "trace.json").write_text(json.dumps({"metadata": {"gap_seconds": 3600}, "data": [4, 4, 0, 4]}))
    mapping = tmp_path / "map.yaml"
    mapping.write_text("r4.large/us-east-1a: trace.json\n", encoding="utf-8")
    prices = history(series("r4.large", "us-east-1a", 0.0, days))
    found = file_pool(prices, "prices.csv", revoking=Revoking("capacity", mapping))
    assert found.traced_until == found.start + traced * DAY
    assert found.feeds[0].refusal(found.traced_until - 1.0) is None
    assert found.feeds[0].refusal(found.traced_until) == "there is no capacity"
    assert file_pool(prices, "prices.csv").traced_until == np.inf


def test_generated_prices_of_types_that_only_a_table_knows(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"unknown machine type 'old\.large'") as caught:
        generated_pool(("r4.large", "old.large"), days=1.0)
    assert "--types" in caught.value.hint
    assert "instances: types.csv" in caught.value.hint
    assert "machine(" not in caught.value.hint
    table = tmp_path / "types.csv"
    table.write_text(INSTANCES + "new.large,,4,8,0.3\n", encoding="utf-8")
    found = generated_pool(("r4.large", "old.large", "new.large"), days=1.0, instances=read_instances(table))
    spot = [(feed.market.instance_type, feed.machine.usd_per_hour) for feed in found.feeds if not feed.on_demand]
    assert spot == [("r4.large", 0.133)] * 2 + [("old.large", 0.2)] + [("new.large", 0.3)] * 2


def test_a_seed_below_zero_is_refused() -> None:
    with pytest.raises(InvalidInput, match="the seed is -1"):
        Revoking(seed=-1)


def test_the_notice_is_the_providers() -> None:
    found = generated_pool(("r4.large",), days=1.0, revoking=Revoking(policy=GCP))
    assert {feed.notice_seconds for feed in found.feeds} == {30.0}


def test_the_same_machines_at_other_prices() -> None:
    volatile = generated_pool(("r4.large", "m4.2xlarge"), days=2.0)
    smooth = with_generated_prices(volatile, "smooth")
    assert [(f.market, f.on_demand, f.machine) for f in smooth.feeds] == [
        (f.market, f.on_demand, f.machine) for f in volatile.feeds
    ]
    for before, after in zip(volatile.feeds, smooth.feeds, strict=True):
        if before.prices is not None and after.prices is not None:
            assert len(after.prices) < len(before.prices) / 10
