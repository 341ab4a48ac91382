"""The machines of all runs: launched, given back or left to the provider, and billed. It knows no programs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from leantune.clock import Clock
from leantune.cloud.billing import Bill
from leantune.cloud.provider import Foreseeing, Noticed, Offer, Provider, Revoked
from leantune.errors import LaunchRefused, MachineGone
from leantune.executors.base import MachineUpdate, cores_for
from leantune.executors.rental import Rental, Stay, changed_row
from leantune.history import Trial
from leantune.rent.provisioner import OfferChoice
from leantune.rent.quotes import Forecaster, Quotes, quotes_text
from leantune.store.rows import StayRow

REFUSED_SECONDS = 600.0  # seconds before a refused offer is asked for again


class MarketClock(Clock, Protocol):
    """The market's clock: `speed` of its seconds pass in one of this world."""

    @property
    def speed(self) -> float: ...


@dataclass(frozen=True)
class RentalMarket:
    """Where machines are rented. clock: the market's. offers: what it rents out, in the order of the forecaster's.

    source: where its prices come from, for the ledger. poll: seconds of the market between two looks at machines and
    programs, where these are simulated; 0: they are seen at once.
    """

    provider: Provider
    clock: MarketClock
    offers: Sequence[Offer]
    forecaster: Forecaster
    tag: str = ""
    source: str = ""
    poll: float = 0.0


class Fleet:
    """See the module. notes: counts of refused launches and the like. keeps_quotes: with each launched machine."""

    def __init__(self, market: RentalMarket, notes: Counter[str], *, keeps_quotes: bool) -> None:
        self._market, self._notes, self._keeps_quotes = market, notes, keeps_quotes
        self._provider, self._clock, self._offers = market.provider, market.clock, market.offers
        self._foreseeing = market.provider if isinstance(market.provider, Foreseeing) else None
        self._window = market.provider.policy.refund_window_seconds
        self._rentals: dict[str, Rental] = {}  # by machine
        self._left: dict[str, StayRow] = {}  # machines that the provider is about to take, for nothing
        self._refused: dict[int, float] = {}  # offer -> until when it is not asked for again
        self._calling_back: dict[int, float] = {}  # offer -> until when its machines are being taken
        self._quoted: tuple[float, Quotes] | None = None
        self.most_cores = max((cores_for(offer.machine.vcpus) for offer in market.offers), default=0)

    @property
    def owes(self) -> bool:
        """Whether machines are left that the provider has still to take and to bill."""
        return bool(self._left)

    @property
    def next_event_time(self) -> float:
        """The provider's next event, by the market's clock; infinite where unknown."""
        coming = None if self._foreseeing is None else self._foreseeing.next_event_time()
        return math.inf if coming is None else coming

    def rental_on(self, machine: str) -> Rental | None:
        """The run that a machine was launched for, until it has left it."""
        return self._rentals.get(machine)

    def offer_of(self, rental: Rental) -> Offer:
        """What the run's first machine is."""
        return self._offers[rental.first.offer]

    def offers_of(self, trial: Trial) -> list[Offer]:
        """One offer of each machine type that the trial may be on."""
        cluster = trial.configuration.cluster
        names = {offer.machine.name: offer for offer in self._offers}
        return [offer for name, offer in names.items() if cluster is None or name == cluster.type]

    # -- prices

    def quotes(self) -> Quotes:
        """Quotes of now; computed once per moment, for all trials that move together."""
        now = self._clock.now()
        if self._quoted is None or self._quoted[0] != now:
            self._quoted = (now, self._market.forecaster.quotes(now))
        return self._quoted[1]

    def open_quotes(self) -> Quotes:
        """Without offers that were refused a while ago."""
        quotes, now = self.quotes(), self._clock.now()
        return quotes.closed([offer for offer, until in self._refused.items() if until > now])

    # -- a machine's life

    def launch(self, rental: Rental, choices: Iterable[OfferChoice], quotes: Quotes, nodes: int) -> None:
        """Launch up to so many machines, of the best choices that are not refused."""
        for choice in choices:
            while len(rental.stays) < nodes and self._launch(rental, choice, quotes):
                pass
            if len(rental.stays) == nodes:
                return

    def _launch(self, rental: Rental, choice: OfferChoice, quotes: Quotes) -> bool:
        offer, now, is_first = self._offers[choice.offer], self._clock.now(), not rental.stays
        if self._calling_back.get(choice.offer, -math.inf) > now:
            return False
        try:
            machine = self._provider.launch(offer, choice.max_price, self._market.tag)
        except LaunchRefused:
            self._refused[choice.offer] = now + REFUSED_SECONDS
            self._notes["a launch was refused"] += 1
            return False
        step = rental.facts.step
        row = StayRow(
            rental.number,
            rental.terms.attempt,
            machine,
            str(offer.market),
            offer.on_demand,
            choice.max_price,
            float(quotes.price[choice.offer]) if is_first else offer.usd_per_hour,
            self._market.source,
            now,
            quotes_text(quotes) if is_first and self._keeps_quotes else "",
            step,
            kept=step,
            reached=step,
        )
        rental.add_stay(Stay(row, choice.offer))
        self._rentals[machine] = rental
        return True

    def heed_notice(self, stay: Stay, event: Noticed) -> None:
        """A machine will be taken."""
        stay.gone_at = event.gone_at
        if event.time < stay.row.launched + 1.0:  # the next machine of that offer would be called back at once, too
            self._calling_back[stay.offer] = event.gone_at

    def give_back(self, rental: Rental, why: str) -> None:
        """End a run's stays; machines that will cost nothing are left to the provider."""
        for machine, stay in list(rental.stays.items()):
            del self._rentals[machine]
            now, bill, gone = self._clock.now(), None, False
            if stay.gone_at is None or stay.gone_at - stay.row.launched >= self._window:
                bill, gone = self._terminate(machine)
            row = rental.end_stay(machine, now, why, bill, revoked=gone)
            if bill is None or gone:  # the provider has not said yet when it took the machine
                self._left[machine] = row

    def take(self, rental: Rental, event: Revoked) -> None:
        """A machine of a run was taken."""
        del self._rentals[event.machine_id]
        bill = self._provider.bills()[event.machine_id]
        rental.end_stay(event.machine_id, event.time, "revoked", bill, revoked=True)

    def take_left(self, event: Revoked) -> MachineUpdate | None:
        """A machine that was left to the provider has been taken: its cost, and that it was given back."""
        row = self._left.pop(event.machine_id, None)
        if row is None:
            return None
        bill = self._provider.bills()[event.machine_id]
        left = event.time if row.left is None else min(row.left, event.time)
        taken = changed_row(
            row, gross_usd=bill.gross_usd, refund_usd=bill.refund_usd, left=left, ended=event.time, revoked=True
        )
        return MachineUpdate(row.number, taken)

    def _terminate(self, machine: str) -> tuple[Bill, bool]:
        """The bill of a machine, and whether the provider ended it before we did."""
        try:
            return self._provider.terminate(machine), False
        except MachineGone:
            return self._provider.bills()[machine], True
