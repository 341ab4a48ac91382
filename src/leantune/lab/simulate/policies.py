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

from leantune.errors import InvalidInput
from leantune.lab.simulate.oracle import Oracle
from leantune.lab.simulate.simulation import MakeChooser, Scenario, Standing
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


def _ours(scenario: Scenario, fleet: Standing, taste: Taste) -> Chooser:
    return CheapestStep(scenario.policy, scenario.poll, taste.hour_value)


def _paper(scenario: Scenario, fleet: Standing, taste: Taste) -> Chooser:
    return PaperRule(taste.seed)


def _random(scenario: Scenario, fleet: Standing, taste: Taste) -> Chooser:
    return RandomMarket(taste.seed)


def _oracle(scenario: Scenario, fleet: Standing, taste: Taste) -> Chooser:
    seconds = scenario.step_seconds()
    return Oracle(
        scenario.feeds,
        scenario.policy,
        fleet.now,
        seconds,
        poll=scenario.poll,
        hour_value=taste.hour_value,
        next_slot=lambda: fleet.launches,
    )


def _on_demand(scenario: Scenario, fleet: Standing, taste: Taste) -> Chooser:
    usd = [feed.machine.usd_per_hour or np.inf for feed in scenario.feeds]
    return Always(_lowest(scenario, on_demand=True, score=np.asarray(usd) * scenario.offer_slowness()))


def _single_cheapest(scenario: Scenario, fleet: Standing, taste: Taste) -> Chooser:
    usd = np.array([feed.machine.usd_per_hour or np.inf for feed in scenario.feeds])
    return Always(_lowest(scenario, on_demand=False, score=usd))


def _single_fastest(scenario: Scenario, fleet: Standing, taste: Taste) -> Chooser:
    return Always(_lowest(scenario, on_demand=False, score=scenario.offer_slowness()))


def _lowest(scenario: Scenario, *, on_demand: bool, score: np.ndarray[tuple[int], np.dtype[np.float64]]) -> int:
    """The offer with the lowest score; among equals (zones) the one that is cheapest at the start."""
    rows = [row for row, feed in enumerate(scenario.feeds) if feed.on_demand == on_demand]
    if not rows:
        kind = "on demand" if on_demand else "spot"
        raise InvalidInput(f"there are no machines {kind}", where="simulation", hint="Add such an offer")
    return min(rows, key=lambda row: (score[row], scenario.feeds[row].price_at(scenario.start)))


_Make = Callable[[Scenario, Standing, Taste], Chooser]
POLICIES: Mapping[str, _Make] = MappingProxyType(
    {
        "ours": _ours,
        "paper": _paper,
        "random": _random,
        "oracle": _oracle,
        "on-demand": _on_demand,
        "single-cheapest": _single_cheapest,
        "single-fastest": _single_fastest,
    }
)
