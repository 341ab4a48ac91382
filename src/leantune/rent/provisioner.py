"""Chooses the machine for a job: the fewest expected dollars per kept step over all offers and max prices.

    score = M (E[dollars] + v E[hours]) / E[kept seconds of work]          (`expectation`)

M: seconds per step of the job on that machine. v: the worth of an hour of waiting to the user; 0 takes any number of
free minutes on machines that are about to be revoked. SpotTune's own rule (Eq. 2, random max price) is `PaperRule`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from leantune.arrays import FloatArray
from leantune.cloud.billing import BillingPolicy
from leantune.cloud.predictor import PRINTED_MAX_PRICES, MaxPrices
from leantune.cloud.provider import Offer
from leantune.errors import InvalidInput
from leantune.rent.expectation import HOUR, expectation, weighed_offers
from leantune.rent.quotes import Quotes


class Demand(NamedTuple):
    """The needs of a job. step_seconds (offers,): M. steps: still to do. boot, save, restore: seconds.

    within: seconds in which they should be done, if possible; infinite without such a wish.
    """

    step_seconds: FloatArray
    steps: float
    boot: float
    save: float
    restore: float
    within: float = math.inf


class OfferChoice(NamedTuple):
    """An offer (its index), the max price to ask with (None: on demand), and the expected dollars per kept step.

    p: the probability that it is revoked within the hour.
    """

    offer: int
    max_price: float | None
    usd_per_step: float
    p: float = 0.0


class Held(NamedTuple):
    """A machine that a job is on: the offer, its max price (None: on demand) and its age in seconds."""

    offer: int
    max_price: float | None
    age: float


class Chooser(Protocol):
    """Decides where jobs run."""

    def ranked(self, demand: Demand, quotes: Quotes, job: int) -> Iterable[OfferChoice]:
        """Offers to try, best first; a launch may be refused, then the next is tried."""
        ...

    def stays(self, demand: Demand, quotes: Quotes, held: Held, job: int) -> bool:
        """Whether a job that has been on a machine for an hour stays there."""
        ...


@dataclass(frozen=True)
class CheapestStep:
    """Ours: expected dollars per kept step, on-demand machines included; moves only when it pays.

    Offers that would not be done within the time that is asked for come after those that would, soonest first.
    hour_value: USD that an hour of one job's time is worth. gain: a move must promise to be cheaper by this share.
    """

    policy: BillingPolicy
    poll: float = 10.0
    hour_value: float = 0.0
    gain: float = 0.05

    def __post_init__(self) -> None:
        check_hour_value(self.hour_value)

    def ranked(self, demand: Demand, quotes: Quotes, job: int) -> Iterator[OfferChoice]:
        """One choice per offer (its best max price), best first; offers that keep nothing are left out."""
        dollars, seconds = self._fresh(demand, quotes)
        seen: set[int] = set()
        for place in np.lexsort((dollars.ravel(), np.maximum(seconds.ravel(), demand.within))):
            row, column = divmod(int(place), dollars.shape[1])
            if row not in seen and math.isfinite(dollars[row, column]):
                seen.add(row)
                bid = None if quotes.on_demand[row] else float(quotes.max_prices[row, column])
                yield OfferChoice(row, bid, float(dollars[row, column]), float(quotes.p[row, column]))

    def stays(self, demand: Demand, quotes: Quotes, held: Held, job: int) -> bool:
        """Compare going on, without boot but mostly without refund, with the best fresh machine."""
        row = held.offer
        p = 0.0 if held.max_price is None else quotes.risk(row, held.max_price)
        window = max(self.policy.refund_window_seconds - held.age, 0.0)
        work = demand.steps * demand.step_seconds[row]
        notice, window, horizon, hour_value = self._terms(demand, window)
        save = float(demand.save)  # an int would be compiled for anew
        usd, held_for, kept = expectation(p, quotes.mean[row], 0.0, save, notice, window, work, horizon)
        going_on = (usd + hour_value * held_for / HOUR) / kept if kept > 0.0 else math.inf  # per second of work
        pace = held_for / kept if kept > 0.0 else math.inf
        dollars, seconds = self._fresh(demand, quotes, moving=demand.save)
        in_time = seconds <= demand.within
        if pace * work > demand.within:
            return not in_time.any() and bool(seconds.min() >= pace * work * (1.0 - self.gain))
        fresh = float(dollars[in_time].min(initial=math.inf))
        return bool(going_on * demand.step_seconds[row] * (1.0 - self.gain) <= fresh)

    def _fresh(self, demand: Demand, quotes: Quotes, moving: float = 0.0) -> tuple[FloatArray, FloatArray]:
        """Dollars per step, and seconds until all steps are done, (offers, max prices), of machines launched now.

        moving: seconds lost before that.
        """
        lead = demand.boot + demand.restore + moving
        return weighed_offers(
            quotes.p,
            quotes.mean,
            demand.step_seconds,
            quotes.open,
            (float(lead), float(demand.save), float(demand.steps)),  # an int would be compiled for anew
            self._terms(demand, self.policy.refund_window_seconds),
        )

    def _terms(self, demand: Demand, window: float) -> tuple[float, float, float, float]:
        # An hour, unless a job needs most of that to get going: then no machine would ever keep anything.
        horizon = max(HOUR, 3.0 * (demand.boot + demand.restore + demand.save))
        notice = max(self.policy.notice_seconds - self.poll, 0.0)
        return float(notice), float(window), float(horizon), float(self.hour_value)


def check_hour_value(usd: float) -> None:
    """Refuse values below 0 or not finite: scores would be no numbers, or waiting would earn money."""
    if not (math.isfinite(usd) and usd >= 0):
        hint = "Give finite USD of at least 0, such as 0.5"
        raise InvalidInput(f"an hour is worth {usd:g} USD", where="hour value", hint=hint)


class PaperRule:
    """SpotTune's Eq. 2 as printed: M (1 - p) price with max price = price + U(0.00001, 0.2) USD; moves every hour.

    p is read off the quoted max prices (`Quotes.risk`). seed: of the random max prices.
    """

    def __init__(self, seed: int = 0, max_prices: MaxPrices = PRINTED_MAX_PRICES) -> None:
        self._rng = np.random.default_rng(seed)
        self._max_prices = max_prices

    def ranked(self, demand: Demand, quotes: Quotes, job: int) -> Sequence[OfferChoice]:
        """Spot offers by Eq. 2."""
        choices = []
        for row in np.flatnonzero(~quotes.on_demand & quotes.open.any(axis=1)):
            bid = float(self._max_prices.draw(quotes.price[row : row + 1], self._rng)[0])
            p = quotes.risk(int(row), bid)
            score = float(demand.step_seconds[row] * (1.0 - p) * quotes.mean[row] / HOUR)
            choices.append(OfferChoice(int(row), bid, score, p))
        return sorted(choices, key=lambda choice: choice.usd_per_step)

    def stays(self, demand: Demand, quotes: Quotes, held: Held, job: int) -> bool:
        """Never: after an hour the job is moved."""
        return False


class RandomMarket:
    """No skill: any spot market that is open, any of the quoted max prices; a new draw each hour."""

    def __init__(self, seed: int = 0) -> None:
        self._rng = np.random.default_rng(seed)

    def ranked(self, demand: Demand, quotes: Quotes, job: int) -> Sequence[OfferChoice]:
        """Open spot offers in random order."""
        choices = []
        for row in self._rng.permutation(np.flatnonzero(~quotes.on_demand & quotes.open.any(axis=1))):
            column = int(self._rng.choice(np.flatnonzero(quotes.open[row])))
            choices.append(
                OfferChoice(int(row), float(quotes.max_prices[row, column]), math.nan, float(quotes.p[row, column]))
            )
        return choices

    def stays(self, demand: Demand, quotes: Quotes, held: Held, job: int) -> bool:
        """Never: every hour another market."""
        return False


@dataclass(frozen=True)
class Always:
    """Every job on one offer until it ends: the paper's baselines, and on demand. max_price: None for no limit."""

    offer: int
    max_price: float | None = None

    def ranked(self, demand: Demand, quotes: Quotes, job: int) -> Sequence[OfferChoice]:
        """The one."""
        return [
            OfferChoice(
                self.offer, self.max_price, float(demand.step_seconds[self.offer] * quotes.mean[self.offer] / HOUR)
            )
        ]

    def stays(self, demand: Demand, quotes: Quotes, held: Held, job: int) -> bool:
        """Always."""
        return True


def fastest_on_demand(offers: Sequence[Offer], step_seconds: FloatArray) -> int | None:
    """Index of the offer that is never revoked and does a step soonest; None where all are revocable."""
    rows = [index for index, offer in enumerate(offers) if offer.on_demand]
    return min(rows, key=lambda row: float(step_seconds[row]), default=None)


def cheapest_on_demand(offers: Sequence[Offer], step_seconds: FloatArray) -> int | None:
    """Index of the offer that is never revoked and does a step for the fewest dollars; None where all are revocable."""
    rows = [index for index, offer in enumerate(offers) if offer.on_demand]
    return min(rows, key=lambda row: float(step_seconds[row]) * offers[row].usd_per_hour, default=None)
