"""A simulated market for a job's own machines."""

from pathlib import Path

import numpy as np
import pytest

from leantune.clock import ScaledClock, SimulatedClock
from leantune.cloud.generated import generate_prices
from leantune.cloud.market_settings import MarketSettings
from leantune.cloud.marketplace import OPENS, PAST_SECONDS, ZONES, marketplace
from leantune.cloud.markets import Market
from leantune.errors import InvalidInput
from leantune.space import Machine

SMALL = Machine("r3.large", 2, 15.25, 0.166, region="us-east-1")
OWN = Machine("box", 1, 2, 0.05)


def test_every_type_is_offered_in_some_zones_and_on_demand() -> None:
    market = marketplace([SMALL, OWN, SMALL], MarketSettings())
    spot = [str(feed.market) for feed in market.feeds if not feed.on_demand]
    assert spot == [f"r3.large/us-east-1{z}" for z in "abc"] + [f"box/zone-{z}" for z in "abc"]
    assert len(spot) == 2 * ZONES
    assert [str(feed.market) for feed in market.feeds if feed.on_demand] == ["r3.large/us-east-1a", "box/zone-a"]
    assert market.opens == OPENS
    assert all(feed.prices is None or feed.prices.start == OPENS - PAST_SECONDS for feed in market.feeds)


def test_prices_are_those_of_the_seed_and_regime() -> None:
    smooth = marketplace([OWN], MarketSettings(regime="smooth", seed=5)).feeds[0].prices
    again = generate_prices(
        {Market("box", "zone-a"): 0.05}, start=OPENS - PAST_SECONDS, days=53, regime="smooth", seed=5
    )[Market("box", "zone-a")]
    assert smooth is not None
    assert np.array_equal(smooth.prices, again.prices)
    other = marketplace([OWN], MarketSettings(regime="smooth", seed=6)).feeds[0].prices
    assert other is not None and not np.array_equal(other.prices[:20], smooth.prices[:20])


def test_without_spot_there_are_only_machines_on_demand() -> None:
    market = marketplace([SMALL, OWN], MarketSettings(), spot=False)
    assert [feed.on_demand for feed in market.feeds] == [True, True]
    assert market.setup_seconds == 60.0


def test_the_market_opens_when_it_is_told_to() -> None:
    market = marketplace([OWN], MarketSettings(), spot=False)
    base = SimulatedClock(9.0)
    clock = ScaledClock(base, 60.0, market.opens + 7.0)
    provider = market.provider(clock)
    assert clock.now() == OPENS + 7.0
    base.sleep(60.0)
    assert clock.now() == OPENS + 3607.0
    assert [offer.usd_per_hour for offer in provider.offers()] == [0.05]


def write_prices(path: Path, hours: int) -> Path:
    rows = [f"2016-02-{1 + hour // 24:02d}T{hour % 24:02d}:00:00Z,r3.large,us-east-1{zone},Linux/UNIX,0.0{hour % 7 + 1}"
            for zone in "cd" for hour in range(hours)]  # fmt: skip
    path.write_text("\n".join(["timestamp,instance_type,availability_zone,product,price", *rows]) + "\n")
    return path


def test_prices_of_a_file(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = write_prices(tmp_path / "p.csv", 24 * 4)
    market = marketplace([SMALL], MarketSettings(str(path)))
    assert [str(feed.market) for feed in market.feeds] == [
        "r3.large/us-east-1c",
        "r3.large/us-east-1d",
        "r3.large/us-east-1c",
    ]
    first = market.feeds[0].prices
    assert first is not None
    assert market.opens == (first.start + first.end) / 2, "four days: in the middle of what is known"
    with pytest.raises(InvalidInput, match="there are no prices of box") as caught:
        marketplace([SMALL, OWN], MarketSettings(str(path)))
    assert "r3.large" in caught.value.hint


def test_machines_must_be_there_and_have_a_price() -> None:
    with pytest.raises(InvalidInput, match="no machines to rent"):
        marketplace([], MarketSettings())
    with pytest.raises(InvalidInput, match="free has no price"):
        marketplace([Machine("free", 1, 1)], MarketSettings())


def test_a_moment_of_this_world_is_no_hour_of_the_market() -> None:
    market = marketplace([OWN], MarketSettings(), spot=False)
    assert market.save_seconds(60.0) == pytest.approx(6.0)
    assert market.save_seconds(36_000.0) == 300.0
