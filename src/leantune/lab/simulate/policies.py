"""Policies that choose the machines of jobs in a simulation, by name.

ours              expected dollars per kept step, on demand included
paper             SpotTune's Eq. 2 as printed, with its random max prices
random            no skill: any market, any max price
oracle            knows the future, hour by hour
on-demand         the machine on demand with the cheapest steps, never revoked
single-cheapest   the paper's baseline: one spot market of the type that is cheapest per hour, without max price
single-fastest    the same of the fastest type
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from leantune.arrays import FloatArray
from leantune.cloud.billing import BillingPolicy
from leantune.cloud.feeds import MarketFeed
from leantune.errors import InvalidInput
from leantune.lab.simulate.simulation import MakeChooser, ObservedFleet, Scenario
from leantune.rent.expectation import HOUR
from leantune.rent.provisioner import (
    Always,
    CheapestStep,
    Chooser,
    Demand,
    Held,
    OfferChoice,
    PaperRule,
    RandomMarket,
)
from leantune.rent.quotes import Quotes

DEFAULT_POLICIES = ("ours", "random", "oracle", "on-demand")


@dataclass(frozen=True)
class Oracle:
    """A chooser that knows the future: the cheapest kept step of the next hour, by hindsight. A yardstick, no strategy.

    Each machine is weighed by its true cost and kept steps within the hour. step_seconds (jobs, offers): true M.
    next_slot: the number of the next launch, from which a market with several machines draws its luck. Of a machine
    that is held already the slot is not known here: there, such luck is guessed.
    """

    feeds: Sequence[MarketFeed]
    policy: BillingPolicy
    now: Callable[[], float]
    step_seconds: FloatArray
    poll: float = 10.0
    hour_value: float = 0.0
    next_slot: Callable[[], int] = lambda: 0

    def ranked(self, demand: Demand, quotes: Quotes, job: int) -> Sequence[OfferChoice]:
        """Every offer with its best max price, cheapest first."""
        choices = []
        for row in np.flatnonzero(quotes.open.any(axis=1)):
            bids = [None] if quotes.on_demand[row] else [float(b) for b in quotes.max_prices[row][quotes.open[row]]]
            scored = [(self._score(int(row), bid, demand, job, demand.boot + demand.restore), bid) for bid in bids]
            score, bid = min(scored, key=lambda pair: pair[0])
            if math.isfinite(score):
                choices.append(OfferChoice(int(row), bid, score))
        return sorted(choices, key=lambda choice: choice.usd_per_step)

    def stays(self, demand: Demand, quotes: Quotes, held: Held, job: int) -> bool:
        """Whether going on is cheaper than the best fresh machine."""
        fresh = self.ranked(demand, quotes, job)
        going_on = self._score(held.offer, held.max_price, demand, job, 0.0, age=held.age)
        return not fresh or going_on <= fresh[0].usd_per_step

    def _score(self, row: int, bid: float | None, demand: Demand, job: int, lead: float, *, age: float = 0.0) -> float:
        feed, now, seconds = self.feeds[row], self.now(), float(self.step_seconds[job, row])
        limit = math.inf if bid is None else bid
        coming = feed.revocation(now, limit, self.next_slot())
        end = now + min(HOUR, lead + demand.steps * seconds + demand.save)
        gone = math.inf if coming is None else coming.gone_at
        warned = gone if coming is None or coming.notice_at is None else coming.notice_at + self.poll
        if warned < end:
            fits = coming is not None and coming.notice_at is not None and warned + demand.save <= gone
            work = warned - now - lead if fits else 0.0
            bill = self.policy.bill(feed.tariff, now - age, gone, revoked=True, max_price=limit)
            hours = (warned + demand.save - now) / HOUR
        else:
            work = end - now - lead - demand.save
            bill = self.policy.bill(feed.tariff, now - age, end, revoked=False, max_price=limit)
            hours = (end - now) / HOUR
        before = self.policy.bill(feed.tariff, now - age, now, revoked=False).net_usd if age > 0 else 0.0
        dollars = bill.net_usd - before
        return (dollars + self.hour_value * hours) * seconds / work if work > 0 else math.inf


def chooser(name: str) -> MakeChooser:
    """The policy of that name."""
    if name not in POLICIES:
        hint = f"Known: {', '.join(POLICIES)}"
        raise InvalidInput(f"there is no policy {name!r}", where="simulation", hint=hint)
    return POLICIES[name]


def _oracle(scenario: Scenario, fleet: ObservedFleet) -> Chooser:
    return Oracle(
        scenario.feeds,
        scenario.policy,
        fleet.now,
        scenario.step_seconds(),
        poll=scenario.poll,
        hour_value=scenario.hour_value,
        next_slot=fleet.launches,
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


POLICIES: Mapping[str, MakeChooser] = MappingProxyType(
    {
        "ours": lambda scenario, _: CheapestStep(scenario.policy, scenario.poll, scenario.hour_value),
        "paper": lambda scenario, _: PaperRule(scenario.seed),
        "random": lambda scenario, _: RandomMarket(scenario.seed),
        "oracle": _oracle,
        "on-demand": lambda scenario, _: _always(scenario, _usd(scenario) * scenario.offer_slowness(), on_demand=True),
        "single-cheapest": lambda scenario, _: _always(scenario, _usd(scenario)),
        "single-fastest": lambda scenario, _: _always(scenario, scenario.offer_slowness()),
    }
)
