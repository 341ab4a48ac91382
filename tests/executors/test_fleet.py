"""Machines without programs, on a simulated market whose clock is set by hand."""

from __future__ import annotations

from collections import Counter

import pytest

from leantune.cloud.feeds import MarketFeed
from leantune.cloud.provider import Revoked
from leantune.cloud.simcloud import SimCloud
from leantune.executors.base import MachineUpdate, Terms
from leantune.executors.fleet import Fleet, RentalMarket
from leantune.executors.rental import CheckpointFacts, Rental
from leantune.rent.provisioner import OfferChoice
from leantune.rent.quotes import LiveForecaster
from tests.executors.programs import trial_of
from tests.executors.rented_worlds import POLICY, START, Certain, StillClock, feed, problem_on

CHEAP, DEAR = OfferChoice(0, 1.0, 0.1), OfferChoice(1, 2.0, 0.2)


class Market:
    """Two zones, what has been rented there, and a run that rents."""

    def __init__(self, *feeds: MarketFeed, launch_failures: float = 0.0) -> None:
        self.clock = StillClock(1.0)
        self.cloud = SimCloud(feeds, POLICY, self.clock, boot_seconds=6.0, launch_failures=launch_failures)
        offers = self.cloud.offers()
        market = RentalMarket(self.cloud, self.clock, offers, LiveForecaster(offers, self.cloud.history, Certain()))
        self.notes: Counter[str] = Counter()
        self.fleet = Fleet(market, self.notes, keeps_quotes=True)
        self.rental = Rental(trial_of(problem_on(nodes=2)), Terms(), CheckpointFacts(5.0, 5.0, step=3.0), 0.0, START)

    def launch(self, nodes: int = 1) -> None:
        self.fleet.launch(self.rental, [CHEAP, DEAR], self.fleet.open_quotes(), nodes)

    def revoked(self) -> Revoked:
        (event,) = (event for event in self.cloud.poll() if isinstance(event, Revoked))
        return event


@pytest.fixture
def market() -> Market:
    """The first zone becomes too dear after two minutes, and takes its machines a minute later."""
    return Market(feed("a", (0, 0.5), (120.0, 1.5)), feed("b", (0, 0.6)))


def test_the_best_offer_for_all_machines_and_quotes_once(market: Market) -> None:
    market.launch(nodes=2)
    rows = [stay.row for stay in market.rental.stays.values()]
    assert [(row.market, row.usd_per_hour, row.launched, row.step_from) for row in rows] == [
        ("box/a", 0.5, START, 3.0)
    ] * 2
    assert [bool(row.quotes) for row in rows] == [True, False]
    assert market.fleet.rental_on(rows[0].machine) is market.rental
    assert market.fleet.offer_of(market.rental).market.zone == "a"
    assert market.rental.reached == 3.0


def test_an_offer_that_is_refused_is_left_out_for_a_while() -> None:
    market = Market(feed("a", (0, 0.5)), feed("b", (0, 0.6)), launch_failures=1.0)
    market.launch()
    assert market.rental.stays == {}
    assert market.notes == {"a launch was refused": 2}
    assert not market.fleet.open_quotes().open.any()
    market.clock.at(601.0)
    assert market.fleet.open_quotes().open.all()


def test_what_is_given_back_is_billed(market: Market) -> None:
    market.launch()
    market.clock.at(90.0)
    market.fleet.give_back(market.rental, "ended")
    (row,) = market.rental.rows
    assert (row.why, row.ended, row.revoked) == ("ended", START + 90.0, False)
    assert row.usd == market.rental.usd == pytest.approx(0.5 * 90 / 3600)
    assert not market.fleet.owes


def test_what_will_cost_nothing_is_left_to_the_provider(market: Market) -> None:
    market.launch()
    (stay,) = market.rental.stays.values()
    stay.gone_at = START + 180.0
    market.clock.at(100.0)
    market.fleet.give_back(market.rental, "notice")
    assert market.fleet.owes
    assert (market.rental.rows[0].ended, market.rental.usd) == (None, 0.0)
    market.clock.at(190.0)
    event = market.revoked()
    update = market.fleet.take_left(event)
    assert isinstance(update, MachineUpdate)
    assert (update.stay.left, update.stay.ended, update.stay.revoked) == (START + 100.0, START + 180.0, True)
    assert update.stay.usd == 0.0
    assert not market.fleet.owes
    assert market.fleet.take_left(event) is None, "told once"


def test_the_provider_may_be_faster(market: Market) -> None:
    market.launch()
    market.clock.at(190.0)
    market.fleet.give_back(market.rental, "ended")
    (row,) = market.rental.rows
    assert row.revoked
    assert market.fleet.owes, "it has still to say so"


def test_what_is_taken_is_billed_until_then(market: Market) -> None:
    market.launch()
    market.clock.at(190.0)
    market.fleet.take(market.rental, market.revoked())
    (row,) = market.rental.rows
    assert (row.why, row.left, row.revoked, row.usd) == ("revoked", START + 180.0, True, 0.0)
    assert market.rental.stays == {}
