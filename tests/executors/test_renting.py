"""Which machines are asked for, and with what max price."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest

from leantune.arrays import FloatArray
from leantune.clock import SimulatedClock
from leantune.cloud.feeds import MarketFeed
from leantune.cloud.markets import PriceSeries
from leantune.cloud.predictor import Predictor
from leantune.cloud.simcloud import SimCloud
from leantune.errors import SpaceError
from leantune.executors.renting import Renter
from leantune.history import Estimate
from leantune.rent.expectation import weighed
from leantune.space import Machine
from leantune.units import Seconds
from tests.executors.programs import trial_of
from tests.executors.rented_worlds import POLICY, START, Certain, feed, problem_on

OTHER = Machine("crate", 1, 0.1, usd_per_hour=0.01)
TRIAL = trial_of(problem_on())
CERTAIN = Certain()


def renter(*feeds: MarketFeed, failures: float = 0.0, predictor: Predictor = CERTAIN) -> tuple[Renter, SimCloud]:
    clock = SimulatedClock(START)
    cloud = SimCloud(feeds, POLICY, clock, boot_seconds=6.0, launch_failures=failures)
    return Renter(cloud, clock, predictor, tag="mine", boot=6.0), cloud


def test_only_the_trials_own_type_is_asked_for_cheapest_first() -> None:
    asks, _ = renter(
        feed("a", (0, 1.8)), feed("b", (0, 0.9)), feed("c", (0, 2.0)), feed("a"), feed("z", (0, 0.001), machine=OTHER)
    )
    wanted = asks.wanted(TRIAL, Seconds(600.0))
    assert [(offer.market.zone, offer.on_demand) for offer, _ in wanted] == [
        ("b", False),
        ("a", False),
        ("c", False),
        ("a", True),
    ]


def test_nobody_bids_more_than_on_demand_or_less_than_the_price() -> None:
    asks, _ = renter(feed("a", (0, 1.8)), feed("b", (0, 3.59)), feed("c", (0, 5.0)), feed("a"))
    wanted = {(offer.market.zone, offer.on_demand): bid for offer, bid in asks.wanted(TRIAL, None)}
    assert set(wanted) == {("a", False), ("b", False), ("a", True)}, "zone c costs more than on demand"
    assert wanted["a", True] is None
    assert 1.8 < (wanted["a", False] or 0.0) <= 3.6
    assert 3.59 < (wanted["b", False] or 0.0) <= 3.6


def test_machines_carry_the_tag_and_all_nodes_are_rented() -> None:
    asks, cloud = renter(feed("a", (0, 1.8)), feed("a"))
    ids = asks.rent(trial_of(problem_on(nodes=2, extra=1)), Seconds(60.0))
    assert [machine.id for machine in cloud.machines("mine")] == ids
    assert len(ids) == 3


def test_a_refusal_leads_to_the_next_zone_and_at_last_to_nothing() -> None:
    asks, cloud = renter(feed("a", (0, 1.8)), feed("b", (0, 1.9)), feed("a"), failures=1.0)
    assert asks.rent(TRIAL, None) == []
    assert cloud.machines() == ()


class Risky(Certain):
    """A predictor that thinks zone a is often revoked."""

    def predict(self, series: Sequence[PriceSeries], times: FloatArray, max_prices: FloatArray) -> FloatArray:
        """0.6 there, else 0."""
        return np.array([0.6 if one.market.zone == "a" else 0.0 for one in series])


def test_how_long_it_runs_is_taken_from_the_models() -> None:
    """Zone a costs 1 % more and is risky. In two minutes that only means a refund; in an hour, notices are paid for."""
    asks, _ = renter(feed("a", (0, 1.8)), feed("b", (0, 1.782)), feed("a"), predictor=Risky())
    known = replace(TRIAL, expected={"time": Estimate(120.0, 1.0)})
    assert asks.wanted(known, None)[0][0].market.zone == "a"
    assert asks.wanted(known, Seconds(3600.0))[0][0].market.zone == "a"
    assert asks.wanted(TRIAL, Seconds(120.0))[0][0].market.zone == "a"
    assert asks.wanted(TRIAL, None)[0][0].market.zone == "b"


def test_what_chooses_is_compiled_before_anything_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    spy = Mock(wraps=weighed)
    monkeypatch.setattr("leantune.rent.provisioner.weighed", spy)
    renter(feed("a", (0, 1.8)), feed("a"))
    assert spy.call_count == 1


def test_what_is_not_for_rent_is_refused() -> None:
    asks, _ = renter(feed("a"))
    with pytest.raises(SpaceError, match="crate is not for rent"):
        asks.cluster_of(trial_of(problem_on(OTHER)))


def test_on_demand_is_asked_for_at_last_even_where_nothing_is_expected_to_be_kept() -> None:
    """On a market that runs so fast that saving takes an hour of it, a run must not wait for ever."""
    clock = SimulatedClock(START)
    cloud = SimCloud([feed("a", (0, 1.8)), feed("a")], POLICY, clock, boot_seconds=6.0)
    asks = Renter(cloud, clock, Certain(), tag="mine", boot=6.0, save=7200.0)
    assert [(offer.on_demand, bid) for offer, bid in asks.wanted(TRIAL, None)][-1] == (True, None)
    assert len(asks.rent(TRIAL, None)) == 1
