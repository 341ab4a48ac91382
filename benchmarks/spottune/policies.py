"""Who chooses machines, as data: our rule, the paper's as printed, no skill, hindsight, and one type for ever."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from leantune.arrays import FloatArray
from leantune.cloud.billing import AWS
from leantune.errors import InvalidInput
from leantune.lab.simulate.policies import Oracle
from leantune.lab.simulate.simulation import MakeChooser, ObservedFleet, Scenario
from leantune.rent.provisioner import Always, CheapestStep, Chooser, PaperRule, RandomMarket


class Rule(StrEnum):
    """How a machine is chosen."""

    OURS = "ours"
    PRINTED = "as printed"
    RANDOM = "no skill"
    ORACLE = "oracle"
    SPOT_CHEAPEST = "single spot, cheapest"
    SPOT_FASTEST = "single spot, fastest"
    DEMAND_STEP = "on demand, cheapest step"
    DEMAND_CHEAPEST = "on demand, cheapest"
    DEMAND_FASTEST = "on demand, fastest"


BASELINES = (
    Rule.SPOT_CHEAPEST,
    Rule.SPOT_FASTEST,
    Rule.DEMAND_STEP,
    Rule.DEMAND_CHEAPEST,
    Rule.DEMAND_FASTEST,
)


@dataclass(frozen=True)
class Policy:
    """A rule and the share of the steps after which settings are compared."""

    rule: Rule
    theta: float = 0.7

    def __str__(self) -> str:
        return f"{self.rule}, theta {self.theta:g}"


def chooser(rule: Rule, seed: int) -> MakeChooser:
    """What makes the rule's chooser for a scenario. seed: of the random ones."""
    made: dict[Rule, Callable[[Scenario, ObservedFleet], Chooser]] = {
        Rule.OURS: lambda scenario, _fleet: CheapestStep(scenario.policy),
        Rule.PRINTED: lambda _scenario, _fleet: PaperRule(seed),
        Rule.RANDOM: lambda _scenario, _fleet: RandomMarket(seed),
        Rule.ORACLE: lambda scenario, fleet: Oracle(
            scenario.feeds, AWS, fleet.now, scenario.step_seconds(), next_slot=fleet.launches
        ),
    }
    return made.get(rule) or (lambda scenario, _fleet: Always(single(rule, scenario)))


def single(rule: Rule, scenario: Scenario) -> int:
    """The offer of a policy that keeps to one: by its type, then by the zone that is cheapest at the start."""
    feeds, slowness = scenario.feeds, scenario.offer_slowness()
    on_demand = rule not in (Rule.SPOT_CHEAPEST, Rule.SPOT_FASTEST)
    listed = np.array([feed.machine.usd_per_hour or np.inf for feed in feeds])
    keys: dict[Rule, FloatArray] = {
        Rule.SPOT_CHEAPEST: listed,
        Rule.SPOT_FASTEST: slowness,
        Rule.DEMAND_STEP: listed * slowness,
        Rule.DEMAND_CHEAPEST: listed,
        Rule.DEMAND_FASTEST: slowness,
    }
    if rule not in keys:
        raise InvalidInput(f"{rule} keeps to no single offer", where="policies", hint=f"Give one of {list(keys)}")
    rows = [index for index, feed in enumerate(feeds) if feed.on_demand is on_demand]
    return min(rows, key=lambda row: (float(keys[rule][row]), feeds[row].price_at(scenario.start)))
