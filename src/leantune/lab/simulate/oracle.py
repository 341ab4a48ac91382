"""A chooser that knows the future: each machine is weighed by what it will really cost and keep within the hour.

A yardstick for choosers, not a strategy: greedy hour by hour, with the true seconds per step, prices and revocations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from leantune.arrays import FloatArray
from leantune.cloud.billing import BillingPolicy
from leantune.cloud.feeds import MarketFeed
from leantune.rent.expectation import HOUR
from leantune.rent.provisioner import Demand, Held, OfferChoice
from leantune.rent.quotes import Quotes


@dataclass(frozen=True)
class Oracle:
    """The cheapest kept step of the next hour, by hindsight. step_seconds (jobs, offers): true M.

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
