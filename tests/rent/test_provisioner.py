"""Choices against a count of all of them."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leantune.cloud.billing import AWS
from leantune.cloud.markets import Market, PriceSeries
from leantune.cloud.provider import Offer
from leantune.errors import InvalidInput
from leantune.rent.expectation import HOUR, expectation
from leantune.rent.provisioner import (
    Always,
    CheapestStep,
    Demand,
    Held,
    PaperRule,
    RandomMarket,
    cheapest_on_demand,
    fastest_on_demand,
)
from leantune.rent.quotes import DELTAS, Quotes, max_prices, quote
from leantune.space import Machine

POLL = 10.0


def world(seed: int, offers: int = 4) -> Quotes:
    """Spot offers of random prices and risks that fall with the max price, and one on demand."""
    random = np.random.default_rng(seed)
    usd = random.uniform(0.1, 1.0, offers)
    sold = [
        Offer(Machine(f"m{i}", 2.0, 8.0, usd_per_hour=float(usd[i])), Market(f"m{i}", "a"), i == offers - 1, 0.1)
        for i in range(offers)
    ]
    price = np.where(np.arange(offers) == offers - 1, usd, usd * random.uniform(0.1, 1.1, offers))
    grid = max_prices(price, usd)
    p = np.sort(random.random(grid.shape), axis=1)[:, ::-1].copy()
    series = [None if one.on_demand else PriceSeries(one.market, [0.0], [price[i]]) for i, one in enumerate(sold)]
    return replace(quote(sold, series, 0.0, lambda *_: p[:-1]), mean=price * random.uniform(0.8, 1.2, offers))


def demand(seed: int, offers: int = 4, within: float = math.inf) -> Demand:
    random = np.random.default_rng(seed + 1000)
    steps, save = float(random.uniform(10, 5000)), float(random.choice([5.0, 60.0, 300.0]))
    return Demand(random.uniform(0.5, 5.0, offers), steps, 60.0, save, save, within)


def by_hand(asked: Demand, quotes: Quotes, row: int, column: int, hour_value: float = 0.0) -> tuple[float, float]:
    """Dollars per kept step, and seconds for all steps."""
    seconds = float(asked.step_seconds[row])
    dollars, held, work = expectation(
        float(quotes.p[row, column]),
        float(quotes.mean[row]),
        asked.boot + asked.restore,
        asked.save,
        AWS.notice_seconds - POLL,
        AWS.refund_window_seconds,
        asked.steps * seconds,
        HOUR,
    )
    if work <= 0:
        return math.inf, math.inf
    return (dollars + hour_value * held / HOUR) * seconds / work, held / work * seconds * asked.steps


def every(asked: Demand, quotes: Quotes, hour_value: float = 0.0) -> list[tuple[int, int, float, float]]:
    """All open choices: offer, column, dollars per step, seconds."""
    return [
        (int(row), int(column), *by_hand(asked, quotes, int(row), int(column), hour_value))
        for row, column in np.argwhere(quotes.open)
    ]


@settings(max_examples=60)
@given(seed=st.integers(0, 10_000), hour_value=st.sampled_from([0.0, 0.05, 1.0]))
def test_the_first_choice_is_the_cheapest_of_all(seed: int, hour_value: float) -> None:
    asked, quotes = demand(seed), world(seed)
    chosen = list(CheapestStep(AWS, POLL, hour_value).ranked(asked, quotes, 0))
    found = [one for one in every(asked, quotes, hour_value) if math.isfinite(one[2])]
    assert chosen[0].usd_per_step == pytest.approx(min(usd for _, _, usd, _ in found))
    assert {choice.offer for choice in chosen} == {row for row, *_ in found}
    for choice in chosen:  # each offer with its best max price
        mine = [(usd, column) for row, column, usd, _ in found if row == choice.offer]
        assert choice.usd_per_step == pytest.approx(min(mine)[0])
        if quotes.on_demand[choice.offer]:
            assert choice.max_price is None
    assert [c.usd_per_step for c in chosen] == sorted(c.usd_per_step for c in chosen)


@settings(max_examples=60)
@given(seed=st.integers(0, 10_000), share=st.floats(0.1, 3.0))
def test_what_keeps_pace_comes_before_what_does_not(seed: int, share: float) -> None:
    quotes, free = world(seed), demand(seed)
    soonest = min(seconds for *_, seconds in every(free, quotes))
    asked = demand(seed, within=share * soonest)
    first = next(CheapestStep(AWS, POLL).ranked(asked, quotes, 0))
    found = every(asked, quotes)
    in_time = [usd for _, _, usd, seconds in found if seconds <= asked.within]
    if in_time:
        assert first.usd_per_step == pytest.approx(min(in_time))
    else:
        best = min(found, key=lambda one: one[3])
        assert first.offer == best[0]


@given(seed=st.integers(0, 10_000), closed=st.sets(st.integers(0, 3), max_size=3))
def test_closed_offers_are_never_chosen(seed: int, closed: set[int]) -> None:
    asked, quotes = demand(seed), world(seed).closed(sorted(closed))
    for chooser in (CheapestStep(AWS), PaperRule(seed), RandomMarket(seed)):
        offers = {choice.offer for choice in chooser.ranked(asked, quotes, 0)}
        assert not offers & closed
        assert all(quotes.open[offer].any() for offer in offers)


@pytest.mark.parametrize("seed", range(20))
def test_a_job_moves_only_when_it_pays(seed: int) -> None:
    """By hand: going on has no boot and what is left of the refund window; moving costs a checkpoint first."""
    asked, quotes = demand(seed), world(seed)
    rule = CheapestStep(AWS, POLL, gain=0.05)
    row = int(np.flatnonzero(quotes.open.any(axis=1))[0])
    bid = None if quotes.on_demand[row] else float(quotes.max_prices[row, -1])
    p = 0.0 if bid is None else quotes.risk(row, bid)
    seconds = float(asked.step_seconds[row])
    terms = (AWS.notice_seconds - POLL, 0.0, asked.steps * seconds, HOUR)
    dollars, _, work = expectation(p, float(quotes.mean[row]), 0.0, asked.save, *terms)
    going_on = dollars * seconds / work if work > 0 else math.inf
    moving = Demand(asked.step_seconds, asked.steps, asked.boot + asked.save, asked.save, asked.restore)
    fresh = min(usd for _, _, usd, _ in every(moving, quotes))
    assert rule.stays(asked, quotes, Held(row, bid, HOUR), 0) == (going_on * 0.95 <= fresh)


def test_the_papers_rule_is_equation_two() -> None:
    """M (1 - p) price, with a max price drawn between 0.00001 and 0.2 dollars above the price."""
    asked, quotes = demand(7), world(7)
    chosen = PaperRule(seed=3).ranked(asked, quotes, 0)
    assert {choice.offer for choice in chosen} == set(np.flatnonzero(~quotes.on_demand & quotes.open.any(axis=1)))
    for choice in chosen:
        assert choice.max_price is not None
        assert 0.00001 <= choice.max_price - quotes.price[choice.offer] <= 0.2
        p = quotes.risk(choice.offer, choice.max_price)
        expected = asked.step_seconds[choice.offer] * (1 - p) * quotes.mean[choice.offer] / HOUR
        assert choice.usd_per_step == pytest.approx(expected)
    assert [c.usd_per_step for c in chosen] == sorted(c.usd_per_step for c in chosen)
    assert not PaperRule().stays(asked, quotes, Held(0, 0.5, HOUR), 0)


def test_no_skill_takes_every_spot_market_alike() -> None:
    quotes, asked = world(11), demand(11)
    rule = RandomMarket(0)
    firsts = [rule.ranked(asked, quotes, 0)[0] for _ in range(600)]
    open_spot = np.flatnonzero(~quotes.on_demand & quotes.open.any(axis=1))
    counts = [sum(choice.offer == row for choice in firsts) for row in open_spot]
    assert min(counts) > 600 / len(open_spot) / 1.5
    assert all(choice.max_price in quotes.max_prices[choice.offer] for choice in firsts)


def test_always_is_always() -> None:
    quotes, asked = world(2), demand(2)
    (choice,) = Always(3).ranked(asked, quotes, 0)
    assert (choice.offer, choice.max_price) == (3, None)
    assert choice.usd_per_step == pytest.approx(asked.step_seconds[3] * quotes.mean[3] / HOUR)
    assert Always(3).stays(asked, quotes, Held(3, None, HOUR), 0)


def test_the_fastest_and_the_cheapest_on_demand() -> None:
    machines = [Machine("slow", 2.0, 8.0, usd_per_hour=0.1), Machine("fast", 8.0, 8.0, usd_per_hour=1.0)]
    offers = [Offer(m, Market(m.name, "a"), True, m.usd_per_hour or 0.0) for m in machines]
    spot = Offer(machines[1], Market("fast", "b"), False, 0.01)
    seconds = np.array([3.0, 1.0, 0.1])
    assert fastest_on_demand([*offers, spot], seconds) == 1
    assert cheapest_on_demand([*offers, spot], seconds) == 0
    assert fastest_on_demand([spot], seconds) is None
    assert cheapest_on_demand([spot], seconds) is None
    assert len(DELTAS) + 1 == world(0).p.shape[1]


def test_a_job_that_takes_an_hour_to_get_going_still_finds_a_machine() -> None:
    slow = Demand(np.full(3, 2.0), 1e5, 60.0, 1800.0, 1800.0)
    price = np.array([0.1, 0.1, 0.5])
    on_demand = np.array([False, False, True])
    grid = np.array([[0.2], [0.2], [0.5]])
    quotes = Quotes(price, price, on_demand, grid, np.array([[0.1], [0.1], [0.0]]), np.ones((3, 1), dtype=bool))
    assert {choice.offer for choice in CheapestStep(AWS).ranked(slow, quotes, 0)} == {0, 1, 2}


@pytest.mark.parametrize("usd", [math.nan, math.inf, -1.0])
def test_an_hour_is_worth_a_finite_amount(usd: float) -> None:
    with pytest.raises(InvalidInput, match="an hour is worth"):
        CheapestStep(AWS, hour_value=usd)
