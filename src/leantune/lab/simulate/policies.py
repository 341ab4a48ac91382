"""Who decides where jobs run in a simulation, by name.

ours              expected dollars per kept step, on demand included
paper             SpotTune's Eq. 2 as printed, with its random max prices
random            no skill: any market, any max price
oracle            knows the future, hour by hour
on-demand         the machine on demand with the cheapest steps, never revoked
single-cheapest   the paper's baseline: one spot market of the type that is cheapest per hour, without max price
single-fastest    the same of the fastest type
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from leantune.arrays import FloatArray
from leantune.errors import InvalidInput
from leantune.lab.simulate.oracle import Oracle
from leantune.lab.simulate.simulation import MakeChooser, ObservedFleet, Scenario
from leantune.rent.provisioner import Always, CheapestStep, Chooser, PaperRule, RandomMarket, check_hour_value

DEFAULT_POLICIES = ("ours", "random", "oracle", "on-demand")


@dataclass(frozen=True)
class Taste:
    """What choosers may be told. hour_value: USD that an hour of one job's time is worth. seed: of random choices."""

    hour_value: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        check_hour_value(self.hour_value)  # the oracle is told it too
        if self.seed < 0:
            hint = "Give a whole number of at least 0"
            raise InvalidInput(f"the seed is {self.seed}", where="simulation", hint=hint)


def chooser(name: str, taste: Taste) -> MakeChooser:
    """The policy of that name."""
    if name not in POLICIES:
        hint = f"Known: {', '.join(POLICIES)}"
        raise InvalidInput(f"there is no policy {name!r}", where="simulation", hint=hint)
    make = POLICIES[name]
    return lambda scenario, fleet: make(scenario, fleet, taste)


def _oracle(scenario: Scenario, fleet: ObservedFleet, taste: Taste) -> Chooser:
    return Oracle(
        scenario.feeds,
        scenario.policy,
        fleet.now,
        scenario.step_seconds(),
        poll=scenario.poll,
        hour_value=taste.hour_value,
        next_slot=lambda: fleet.launches,
    )


def _usd(scenario: Scenario) -> FloatArray:
    """Dollars per hour on demand (offers,), in the order of the feeds."""
    return np.array([feed.machine.usd_per_hour or np.inf for feed in scenario.feeds])


def _always(scenario: Scenario, score: FloatArray, *, on_demand: bool = False) -> Chooser:
    """Always the offer with the lowest score; among equals (zones) the one that is cheapest at the start."""
    rows = [row for row, feed in enumerate(scenario.feeds) if feed.on_demand == on_demand]
    if not rows:
        kind = "on demand" if on_demand else "spot"
        raise InvalidInput(f"there are no machines {kind}", where="simulation", hint="Add such an offer")
    return Always(min(rows, key=lambda row: (score[row], scenario.feeds[row].price_at(scenario.start))))


_Make = Callable[[Scenario, ObservedFleet, Taste], Chooser]
POLICIES: Mapping[str, _Make] = MappingProxyType(
    {
        "ours": lambda scenario, _, taste: CheapestStep(scenario.policy, scenario.poll, taste.hour_value),
        "paper": lambda scenario, _, taste: PaperRule(taste.seed),
        "random": lambda scenario, _, taste: RandomMarket(taste.seed),
        "oracle": _oracle,
        "on-demand": lambda scenario, *_: _always(scenario, _usd(scenario) * scenario.offer_slowness(), on_demand=True),
        "single-cheapest": lambda scenario, *_: _always(scenario, _usd(scenario)),
        "single-fastest": lambda scenario, *_: _always(scenario, scenario.offer_slowness()),
    }
)
