"""Policies by name, what the fixed ones are fixed to, and that who knows the future does not pay more."""

import math

import numpy as np
import pytest

from leantune.cloud.billing import AWS
from leantune.cloud.feeds import MarketFeed
from leantune.cloud.markets import Market, PriceSeries
from leantune.errors import InvalidInput
from leantune.lab.simulate.comparison import compare
from leantune.lab.simulate.policies import DEFAULT_POLICIES, POLICIES, Oracle, chooser
from leantune.lab.simulate.simulation import ObservedFleet, Scenario
from leantune.rent.provisioner import Always, CheapestStep, Chooser, Demand, Held, PaperRule, RandomMarket
from leantune.rent.quotes import Quotes
from leantune.space import Machine
from tests.lab.simulate.small import plan, pool, recorded

HOUR = 3600.0
MARKETS = pool(zones=2)


def made(name: str, slowness: dict[str, float] | None = None) -> Chooser:
    speeds = MARKETS.speeds()
    slow = slowness or {kind: speeds.slowness(kind) for kind in MARKETS.types}
    scenario = Scenario(MARKETS.feeds, recorded(2), slow, MARKETS.start, seed=3, hour_value=0.25)
    return chooser(name)(scenario, ObservedFleet(lambda: MARKETS.start, lambda: 0))


def test_every_name_has_its_kind() -> None:
    kinds = {name: type(made(name)) for name in POLICIES}
    assert kinds == {
        "ours": CheapestStep,
        "paper": PaperRule,
        "random": RandomMarket,
        "oracle": Oracle,
        "on-demand": Always,
        "single-cheapest": Always,
        "single-fastest": Always,
    }
    assert set(DEFAULT_POLICIES) <= set(POLICIES)
    ours = made("ours")
    assert isinstance(ours, CheapestStep)
    assert ours.hour_value == 0.25


def test_single_markets_are_those_of_the_cheapest_and_the_fastest_type_in_the_cheaper_zone() -> None:
    for name, kind in (("single-cheapest", "r4.large"), ("single-fastest", "m4.2xlarge")):
        fixed = made(name)
        assert isinstance(fixed, Always)
        feed = MARKETS.feeds[fixed.offer]
        assert fixed.max_price is None
        assert (feed.machine.name, feed.on_demand) == (kind, False)
        twins = [f for f in MARKETS.feeds if f.machine.name == kind and not f.on_demand]
        assert feed.price_at(MARKETS.start) == min(twin.price_at(MARKETS.start) for twin in twins)


def test_on_demand_is_where_steps_are_cheapest() -> None:
    fixed = made("on-demand", {"r4.large": 8.0, "r4.xlarge": 1.0, "m4.2xlarge": 1.0})
    assert isinstance(fixed, Always)
    assert MARKETS.feeds[fixed.offer].on_demand
    assert MARKETS.feeds[fixed.offer].machine.name == "r4.xlarge"


def test_an_unknown_name_is_refused_with_those_known() -> None:
    with pytest.raises(InvalidInput, match="no policy 'best'") as caught:
        chooser("best")
    assert "single-fastest" in caught.value.hint


@pytest.fixture(scope="module")
def per_step() -> dict[str, list[float]]:
    found: dict[str, list[float]] = {"ours": [], "oracle": [], "random": []}
    for seed in range(4):
        for tally in compare(plan(seed, policies=tuple(found), hours=2.0)):
            found[tally.policy].append(tally.usd / tally.kept_steps)
    return found


def test_over_several_seeds_it_is_not_dearer_than_ours(per_step: dict[str, list[float]]) -> None:
    assert np.mean(per_step["oracle"]) <= np.mean(per_step["ours"])


def test_ours_is_not_dearer_than_no_skill(per_step: dict[str, list[float]]) -> None:
    assert np.mean(per_step["ours"]) <= np.mean(per_step["random"])


def feed(name: str, times: list[float], prices: list[float]) -> MarketFeed:
    machine, market = Machine(name, 2.0, 8.0, usd_per_hour=1.0, provider="sim"), Market(name, "zone-a")
    return MarketFeed(machine, market, PriceSeries(market, times, prices, end=1e9))


def quotes_of(feeds: list[MarketFeed], bids: list[float]) -> Quotes:
    price = np.array([one.price_at(0.0) for one in feeds])
    grid = np.tile(bids, (len(feeds), 1))
    return Quotes(price, price, np.zeros(len(feeds), dtype=bool), grid, np.zeros_like(grid), grid > price[:, None])


DEMAND = Demand(np.ones(2), 1e6, boot=60.0, save=10.0, restore=0.0)


def test_it_takes_the_market_that_will_be_free() -> None:
    """One market costs 0.1 and stays; the other costs 0.3 and is taken after 50 minutes, which is free."""
    feeds = [feed("calm", [0.0], [0.1]), feed("nervous", [0.0, 3000.0], [0.3, 0.9])]
    oracle = Oracle(feeds, AWS, lambda: 0.0, np.ones((1, 2)))
    best, second = oracle.ranked(DEMAND, quotes_of(feeds, [0.5, 0.95]), 0)
    assert (best.offer, best.max_price, best.usd_per_step) == (1, 0.5, 0.0)
    assert second.offer == 0
    work = HOUR - 60.0 - 10.0  # of the hour, less boot and checkpoint
    assert second.usd_per_step == pytest.approx(0.1 / work)


def test_what_cannot_be_saved_within_the_notice_is_worth_nothing() -> None:
    feeds = [feed("nervous", [0.0, 3000.0], [0.3, 0.9])]
    large = Demand(np.ones(1), 1e6, boot=60.0, save=300.0, restore=0.0)
    oracle = Oracle(feeds, AWS, lambda: 0.0, np.ones((1, 1)))
    assert oracle.ranked(large, quotes_of(feeds, [0.5]), 0) == []


def test_it_stays_while_going_on_is_cheaper() -> None:
    feeds = [feed("calm", [0.0], [0.1]), feed("dear", [0.0], [0.4])]
    oracle = Oracle(feeds, AWS, lambda: HOUR, np.ones((1, 2)))
    quotes = quotes_of(feeds, [0.5])
    assert oracle.stays(DEMAND, quotes, Held(0, 0.5, HOUR), 0)
    assert not oracle.stays(DEMAND, quotes, Held(1, 0.5, HOUR), 0)


def test_an_hour_of_waiting_has_its_value() -> None:
    feeds = [feed("calm", [0.0], [0.1])]
    free, dear = (
        Oracle(feeds, AWS, lambda: 0.0, np.ones((1, 1)), hour_value=value).ranked(DEMAND, quotes_of(feeds, [0.5]), 0)
        for value in (0.0, 1.0)
    )
    assert dear[0].usd_per_step - free[0].usd_per_step == pytest.approx(1.0 / (HOUR - 70.0))
    assert math.isfinite(dear[0].usd_per_step)
