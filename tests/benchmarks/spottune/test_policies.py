"""Choosers by rule, and the single machines of the baselines."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.spottune.policies import BASELINES, Policy, Rule, chooser, single
from benchmarks.spottune.pools import PoolName, pool
from benchmarks.spottune.tunings import Tuning, scenario
from leantune.errors import InvalidInput
from leantune.lab.simulate.simulation import Scenario
from tests.benchmarks.spottune.made import jobs_in, recording


@pytest.fixture
def played(tmp_path: Path) -> Scenario:
    made = pool(PoolName.SMOOTH, Path("nowhere"))
    tuning = Tuning(made.name, "ResNet", Policy(Rule.OURS), "online-hazard", 0)
    return scenario(tuning, made, made.feeds(made.start(0)), jobs_in(recording(tmp_path)))


@pytest.mark.parametrize(
    ("rule", "kind", "on_demand"),
    [
        (Rule.SPOT_CHEAPEST, "r4.large", False),
        (Rule.SPOT_FASTEST, "m4.4xlarge", False),
        (Rule.DEMAND_CHEAPEST, "r4.large", True),
        (Rule.DEMAND_FASTEST, "m4.4xlarge", True),
    ],
)
def test_baselines_keep_to_one_type(played: Scenario, rule: Rule, kind: str, on_demand: bool) -> None:
    feed = played.feeds[single(rule, played)]
    assert (feed.machine.name, feed.on_demand) == (kind, on_demand)


def test_of_two_zones_the_cheaper_at_the_start_is_taken(played: Scenario) -> None:
    taken = played.feeds[single(Rule.SPOT_CHEAPEST, played)]
    others = [feed for feed in played.feeds if feed.machine.name == "r4.large" and not feed.on_demand]
    assert taken.price_at(played.start) == min(feed.price_at(played.start) for feed in others)


def test_the_cheapest_step_on_demand_is_of_price_and_speed(played: Scenario) -> None:
    feeds, slow = played.feeds, played.offer_slowness()
    costs = {row: feed.price_at(0.0) * slow[row] for row, feed in enumerate(feeds) if feed.on_demand}
    assert costs[single(Rule.DEMAND_STEP, played)] == min(costs.values())


def test_a_rule_that_moves_has_no_single_offer(played: Scenario) -> None:
    with pytest.raises(InvalidInput, match="no single offer"):
        single(Rule.OURS, played)


def test_every_rule_has_a_maker() -> None:
    assert all(callable(chooser(rule, 0)) for rule in Rule)
    assert set(BASELINES) < set(Rule)


def test_a_policy_says_what_it_is() -> None:
    assert str(Policy(Rule.OURS, 0.7)) == "ours, theta 0.7"
