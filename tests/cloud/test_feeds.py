"""Revocations against a search second by second, and the luck of machines against k/n."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leantune.cloud.feeds import MarketCapacity, MarketFeed, Mode
from leantune.cloud.markets import Market, PriceSeries
from leantune.cloud.provider import Cause, Revocation
from leantune.errors import InvalidInput
from leantune.space import Machine

START = 1_456_000_000.0
MARKET = Market("r3.large", "us-east-1c")
MACHINE = Machine("r3.large", 2, 15.25, 0.166)
ALWAYS: dict[str, Any] = {"begins": [START], "ends": [START + 1e6]}


def series(*steps: tuple[float, float]) -> PriceSeries:
    return PriceSeries(MARKET, [START + at for at, _ in steps], [price for _, price in steps])


def feed(prices: PriceSeries, capacity: MarketCapacity | None = None, **options: Any) -> MarketFeed:
    return MarketFeed(MACHINE, MARKET, prices, capacity, **options)


STEPS = series((0, 0.1), (100, 0.3), (200, 0.1), (1000, 0.5))


@pytest.mark.parametrize(
    ("launch", "max_price", "notice"),
    [(0, 0.2, 100), (150, 0.2, 150), (200, 0.2, 1000), (0, 0.3, 1000), (0, 0.5, None), (5000, 0.2, 5000)],
)
def test_price_crossing(launch: float, max_price: float, notice: float | None) -> None:
    found = feed(STEPS).revocation(START + launch, max_price)
    expected = None if notice is None else Revocation(START + notice, START + notice + 120, Cause.PRICE)
    assert found == expected
    assert feed(STEPS).revocation(START + launch, math.inf) is None


def test_capacity_with_notice_without_and_at_once() -> None:
    capacity = MarketCapacity(**ALWAYS, preemptions=[START + 500, START + 2000])
    warned = feed(STEPS, capacity, mode="capacity")
    assert warned.revocation(START, 0.01) == Revocation(START + 380, START + 500, Cause.CAPACITY)
    assert warned.revocation(START + 450, 0.01) == Revocation(START + 450, START + 500, Cause.CAPACITY)
    assert warned.revocation(START + 500, 0.01) == Revocation(START + 1880, START + 2000, Cause.CAPACITY)
    assert warned.revocation(START + 2000, 0.01) is None
    sudden = feed(STEPS, capacity, mode="capacity", with_notice=False)
    assert sudden.revocation(START, 0.01) == Revocation(None, START + 500, Cause.CAPACITY)


def test_both_takes_what_comes_first() -> None:
    capacity = MarketCapacity(**ALWAYS, preemptions=[START + 150, START + 500])
    both = feed(STEPS, capacity, mode="both")
    assert both.revocation(START, 0.2) == Revocation(START + 30, START + 150, Cause.CAPACITY)
    assert both.revocation(START + 200, 0.2) == Revocation(START + 380, START + 500, Cause.CAPACITY)
    assert both.revocation(START + 600, 0.2) == Revocation(START + 1000, START + 1120, Cause.PRICE)
    assert both.revocation(START + 600, 0.9) is None
    assert feed(STEPS, capacity, mode="price").revocation(START, 0.4) == feed(STEPS).revocation(START, 0.4)


def test_refusals_follow_the_mode() -> None:
    capacity = MarketCapacity([START + 100], [START + 300])
    modes: tuple[Mode, ...] = ("price", "capacity", "both")
    by_price, by_capacity, both = (feed(STEPS, capacity, mode=mode) for mode in modes)
    for time, price_fails, capacity_fails in ((50, False, True), (100, True, False), (250, False, False)):
        now = START + time
        assert (by_price.refusal(now, 0.2) is not None) == price_fails
        assert (by_capacity.refusal(now, 0.2) is not None) == capacity_fails
        assert (both.refusal(now, 0.2) is not None) == (price_fails or capacity_fails)
    assert "above the max price 0.2" in str(by_price.refusal(START + 100, 0.2))
    assert "no capacity" in str(by_capacity.refusal(START + 300))


def test_on_demand_is_flat_and_never_revoked() -> None:
    fixed = MarketFeed(MACHINE, MARKET, None, on_demand=True)
    assert fixed.tariff == fixed.price_at(START) == 0.166
    assert fixed.revocation(START, 0.0001) is None
    assert fixed.refusal(START, 0.0001) is None


prices = st.lists(st.sampled_from([0.1, 0.2, 0.3, 0.4, 0.5]), min_size=1, max_size=40)


@given(prices, st.integers(0, 500), st.sampled_from([0.05, 0.1, 0.25, 0.4, 0.5]), st.data())
def test_against_a_search_second_by_second(levels: list[float], launch: int, limit: float, data: st.DataObject) -> None:
    changes = sorted(data.draw(st.sets(st.integers(1, 500), min_size=len(levels) - 1, max_size=len(levels) - 1)))
    taken = sorted(data.draw(st.sets(st.integers(0, 700), max_size=4)))
    times = [0, *changes]
    prices_of = series(*zip(map(float, times), levels, strict=True))
    capacity = MarketCapacity(**ALWAYS, preemptions=[START + time for time in taken])
    found = feed(prices_of, capacity, mode="both").revocation(START + launch, limit)

    def price(second: int) -> float:
        return next(level for at, level in reversed(list(zip(times, levels, strict=True))) if at <= second)

    crossing = next((second + 120 for second in range(launch, 1000) if price(second) > limit), math.inf)
    preempted = next((time for time in taken if time > launch), math.inf)
    gone = min(crossing, preempted)
    assert (math.inf if found is None else found.gone_at - START) == gone


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 8, 13, 33])
def test_every_crossing_of_random_prices(length: int) -> None:
    """From every moment and for every limit, those that equal a price included."""
    random = np.random.default_rng(length)
    for _ in range(20):
        levels = random.integers(1, 5, length).tolist()
        market = feed(series(*((10.0 * i, float(level)) for i, level in enumerate(levels))))
        for launch in range(0, 10 * length, 5):
            for limit in (0.5, 1.0, 2.0, 3.0, 4.0):
                above = (max(launch, 10 * i) for i in range(launch // 10, length) if levels[i] > limit)
                found = market.revocation(START + launch, limit)
                assert (None if found is None else found.notice_at) == next((START + at for at in above), None)


def test_a_machine_goes_with_probability_k_of_n() -> None:
    shares = [0.25, 1.0, 0.5]
    capacity = MarketCapacity(**ALWAYS, preemptions=[START + 10, START + 20, START + 30], shares=shares, seed=(7,))
    slots = 4000
    first = [capacity.preemption(START, slot) for slot in range(slots)]
    third = [capacity.preemption(START + 20, slot) for slot in range(slots)]
    # Standard error of a share is at most 0.5 / sqrt(4000) = 0.008.
    assert abs(np.mean([time == START + 10 for time in first]) - 0.25) < 0.04
    assert all(time in (START + 10, START + 20) for time in first)
    assert abs(np.mean([time == START + 30 for time in third]) - 0.5) < 0.04
    # Of two preemptions the luck is independent: 0.25 * 0.5.
    both = np.mean([a == START + 10 and b is not None for a, b in zip(first, third, strict=True)])
    assert abs(both - 0.125) < 0.03


def test_luck_depends_on_seed_and_slot_alone() -> None:
    times = START + 10.0 * np.arange(1, 200)

    def lives(seed: int, order: range) -> dict[int, float | None]:
        capacity = MarketCapacity(**ALWAYS, preemptions=times, shares=np.full(199, 0.1), seed=(seed,))
        return {slot: capacity.preemption(START, slot) for slot in order}

    forward = lives(1, range(50))
    assert forward == lives(1, range(49, -1, -1))
    assert forward != lives(2, range(50))
    assert len(set(forward.values())) > 10


def test_where_launches_succeed() -> None:
    capacity = MarketCapacity([START, START + 200], [START + 100, START + 300])
    expected = {-1: False, 0: True, 99: True, 100: False, 199: False, 200: True, 300: False}
    assert {at: capacity.available(START + at) for at in expected} == expected
    assert not MarketCapacity([], []).available(START)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"begins": [0, 5], "ends": [6, 9]}, "overlap"),
        ({"begins": [0], "ends": [0]}, "empty"),
        ({"begins": [0], "ends": []}, "intervals"),
        ({"begins": [0], "ends": [math.nan]}, "intervals"),
        ({"begins": [0], "ends": [9], "preemptions": [5, 5]}, "do not increase"),
        ({"begins": [0], "ends": [9], "preemptions": [5], "shares": [0.0]}, "share"),
        ({"begins": [0], "ends": [9], "preemptions": [5], "shares": [0.5, 0.5]}, "share"),
    ],
)
def test_wrong_capacities_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        MarketCapacity(**arguments)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "luck"}, "mode 'luck' is unknown"),
        ({"mode": "both"}, "needs a capacity"),
        ({"on_demand": True}, "one flat price"),
        ({"notice_seconds": -1.0}, "notice_seconds"),
        ({"prices": None}, "no prices"),
        ({"prices": None, "on_demand": True, "machine": Machine("x", 1, 1)}, "one flat price"),
    ],
)
def test_wrong_feeds_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        MarketFeed(**{"machine": MACHINE, "market": MARKET, "prices": STEPS, **options})


def test_before_the_first_price() -> None:
    with pytest.raises(InvalidInput, match="no price"):
        feed(STEPS).revocation(START - 1, 0.2)
