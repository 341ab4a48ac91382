"""Policies by name, and what the fixed ones are fixed to."""

import pytest

from leantune.clock import SimulatedClock
from leantune.cloud.billing import AWS
from leantune.cloud.simcloud import SimCloud
from leantune.errors import InvalidInput
from leantune.lab.simulate.oracle import Oracle
from leantune.lab.simulate.policies import DEFAULT_POLICIES, POLICIES, Taste, chooser
from leantune.lab.simulate.simulation import ObservedFleet, Scenario
from leantune.rent.provisioner import Always, CheapestStep, Chooser, PaperRule, RandomMarket
from tests.lab.simulate.small import pool, recorded

MARKETS = pool(zones=2)


def made(name: str, slowness: dict[str, float] | None = None) -> Chooser:
    speeds = MARKETS.speeds()
    slow = slowness or {kind: speeds.slowness(kind) for kind in MARKETS.types}
    scenario = Scenario(MARKETS.feeds, recorded(2), slow, MARKETS.start)
    clock = SimulatedClock(MARKETS.start)
    standing = ObservedFleet(clock, SimCloud(MARKETS.feeds, AWS, clock))
    return chooser(name, Taste(hour_value=0.25, seed=3))(scenario, standing)


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
        chooser("best", Taste())
    assert "single-fastest" in caught.value.hint


def test_tastes_that_nobody_can_have_are_refused() -> None:
    for usd in (float("nan"), -1.0):  # also where only the oracle is told
        with pytest.raises(InvalidInput, match="an hour is worth"):
            Taste(usd)
    with pytest.raises(InvalidInput, match="the seed is -1"):
        Taste(seed=-1)
