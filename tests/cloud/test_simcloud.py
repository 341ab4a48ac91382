"""The provider's contract, and over random markets, launches and terminations: bills second by second."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leantune.clock import SimulatedClock
from leantune.cloud.billing import AWS, AZURE, GCP, BillingPolicy
from leantune.cloud.feeds import MarketCapacity, MarketFeed
from leantune.cloud.markets import Market, PriceSeries
from leantune.cloud.provider import Cause, MachineState, Noticed, Revoked, Running
from leantune.cloud.simcloud import SimCloud
from leantune.errors import InvalidInput, LaunchRefused
from leantune.space import Machine
from leantune.testing.provider_contract import ProviderContract, Stage

START = 1_456_000_000.0
CALM, STORMY = Market("r3.large", "us-east-1c"), Market("r3.xlarge", "us-east-1d")
SMALL, LARGE = Machine("r3.large", 2, 15.25, 0.166), Machine("r3.xlarge", 4, 30.5, 0.333)


def series(market: Market, *steps: tuple[float, float]) -> PriceSeries:
    return PriceSeries(market, [START + at for at, _ in steps], [price for _, price in steps])


def spot(*steps: tuple[float, float], capacity: MarketCapacity | None = None, **options: Any) -> MarketFeed:
    return MarketFeed(SMALL, CALM, series(CALM, *steps), capacity, **options)


class SimCloudContract(ProviderContract):
    policy: BillingPolicy
    rises_after: float

    def make(self) -> Stage:
        notice = self.policy.notice_seconds
        rises = series(STORMY, (-50, 0.1), (self.rises_after, 0.5))
        feeds = [
            MarketFeed(SMALL, CALM, series(CALM, (-50, 0.1), (500, 0.15), (900, 0.05)), notice_seconds=notice),
            MarketFeed(LARGE, STORMY, rises, notice_seconds=notice),
            MarketFeed(SMALL, CALM, None, on_demand=True),
            MarketFeed(LARGE, STORMY, None, on_demand=True),
        ]
        clock = SimulatedClock(START)
        cloud = SimCloud(feeds, self.policy, clock, boot_seconds=20.0)
        return Stage(cloud, clock, CALM, STORMY, 0.2, self.rises_after, 20.0)


class TestAws(SimCloudContract):
    policy, rises_after = AWS, 1000.0


class TestGcp(SimCloudContract):
    policy, rises_after = GCP, 25.0


class TestAzure(SimCloudContract):
    policy, rises_after = AZURE, 1000.0


def cloud_of(feed: MarketFeed, **options: Any) -> tuple[SimCloud, SimulatedClock]:
    clock = SimulatedClock(START)
    return SimCloud([feed], AWS, clock, **options), clock


def test_revoked_while_booting() -> None:
    cloud, clock = cloud_of(spot((0, 0.1), (10, 0.5)), boot_seconds=300.0)
    name = cloud.launch(cloud.offers()[0], 0.2, "mine")
    clock.sleep(1000.0)
    assert cloud.poll() == (Noticed(name, START + 10, START + 130), Revoked(name, START + 130, Cause.PRICE))


def test_boots_during_the_notice() -> None:
    cloud, clock = cloud_of(spot((0, 0.1), (10, 0.5)), boot_seconds=60.0)
    name = cloud.launch(cloud.offers()[0], 0.2, "mine")
    clock.sleep(70.0)
    assert cloud.poll() == (Noticed(name, START + 10, START + 130), Running(name, START + 60))
    assert cloud.machines()[0].state is MachineState.NOTICED


def test_taken_without_a_word() -> None:
    capacity = MarketCapacity([START], [START + 9000], [START + 500])
    cloud, clock = cloud_of(spot((0, 0.1), capacity=capacity, mode="capacity", with_notice=False))
    name = cloud.launch(cloud.offers()[0], None, "mine")
    clock.sleep(499.0)
    assert cloud.machines()[0].gone_at is None
    clock.sleep(1.0)
    assert cloud.poll() == (Running(name, START + 60), Revoked(name, START + 500, Cause.CAPACITY))
    assert cloud.bills()[name].net_usd == 0.0


def test_no_capacity_no_machine() -> None:
    capacity = MarketCapacity([START + 100], [START + 200])
    cloud, clock = cloud_of(spot((0, 0.1), capacity=capacity, mode="both"))
    with pytest.raises(LaunchRefused, match="capacity"):
        cloud.launch(cloud.offers()[0], 0.2, "mine")
    clock.sleep(100.0)
    assert cloud.launch(cloud.offers()[0], 0.2, "mine")


def test_each_launch_has_luck_of_its_own() -> None:
    times = [START + 100.0 * i for i in range(1, 60)]
    capacity = MarketCapacity([START], [START + 9000], times, [0.2] * 59)
    cloud, clock = cloud_of(spot((0, 0.1), capacity=capacity, mode="capacity"))
    for _ in range(10):
        cloud.launch(cloud.offers()[0], None, "mine")
    clock.sleep(9000.0)
    assert len({event.time for event in cloud.poll() if isinstance(event, Revoked)}) > 3


def failures(seed: int, probability: float) -> list[bool]:
    cloud, _ = cloud_of(spot((0, 0.1)), launch_failures=probability, seed=seed)
    refused = []
    for _ in range(300):
        try:
            cloud.launch(cloud.offers()[0], None, "mine")
            refused.append(False)
        except LaunchRefused:
            refused.append(True)
    assert len(cloud.machines()) == refused.count(False)
    return refused


def test_launches_fail_by_chance_the_same_for_a_seed() -> None:
    assert failures(1, 0.3) == failures(1, 0.3) != failures(2, 0.3)
    assert 60 <= sum(failures(1, 0.3)) <= 120
    assert sum(failures(1, 0.0)) == 0
    assert sum(failures(1, 1.0)) == 300


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SimCloud([], AWS, SimulatedClock()), "no markets"),
        (lambda: SimCloud([spot((0, 1)), spot((0, 1))], AWS, SimulatedClock()), "two feeds"),
        (lambda: SimCloud([spot((0, 1))], GCP, SimulatedClock()), "120 s of notice, gcp 30 s"),
        (lambda: SimCloud([spot((0, 1))], AWS, SimulatedClock(), boot_seconds=-1), "boot_seconds"),
        (lambda: SimCloud([spot((0, 1))], AWS, SimulatedClock(), launch_failures=1.1), "launch_failures"),
    ],
)
def test_wrong_clouds_are_refused(make: Callable[[], SimCloud], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        make()


@dataclass
class Rent:
    """What the brute force knows of one machine: no more than when and how it was asked for."""

    world: "World"
    launched: int
    max_price: float
    ended: int | None = None

    def gone(self) -> float:
        """The second at which it is taken, looking at every second from launch on."""
        by_price = math.inf
        if self.world.mode != "capacity":
            seconds = range(self.launched, self.world.horizon)
            by_price = next((t + self.world.notice for t in seconds if self.world.price(t) > self.max_price), math.inf)
        by_capacity = math.inf
        if self.world.mode != "price":
            by_capacity = next((t for t in self.world.taken if t > self.launched), math.inf)
        return min(by_price, by_capacity)

    def dollars(self, until: int) -> float:
        """The providers' rules, second by second; nothing while it is still held."""
        gone = self.gone()
        end = min(gone, math.inf if self.ended is None else self.ended)
        if end > until:
            return 0.0
        revoked = self.ended is None or gone <= self.ended
        used = int(end) - self.launched
        if revoked and used < {"aws": 3600, "gcp": 60, "azure": 0}[self.world.provider]:
            return 0.0
        last = self.world.price(max(self.launched, int(end) - 1))
        prices = [self.world.price(t) if t < end else last for t in range(self.launched, self.launched + max(60, used))]
        return math.fsum(min(price, self.max_price) for price in prices) / 3600


@dataclass
class World:
    """One market in whole seconds."""

    provider: str
    notice: int
    mode: Any
    steps: list[tuple[int, float]]
    taken: list[int]
    horizon: int = 12_000
    table: list[float] = field(init=False)

    def __post_init__(self) -> None:
        changes = dict(self.steps)
        self.table = [self.steps[0][1]]
        for second in range(1, self.horizon + 8000):
            self.table.append(changes.get(second, self.table[-1]))

    def price(self, second: int) -> float:
        return self.table[second]

    def feed(self) -> MarketFeed:
        capacity = MarketCapacity([START], [START + 1e6], [START + t for t in self.taken])
        prices = series(CALM, *((float(at), price) for at, price in self.steps))
        return MarketFeed(SMALL, CALM, prices, capacity, mode=self.mode, notice_seconds=float(self.notice))


@st.composite
def worlds(draw: st.DrawFn) -> World:
    policy = draw(st.sampled_from([AWS, GCP, AZURE]))
    times = sorted(draw(st.sets(st.integers(1, 9000), max_size=12)))
    levels = draw(st.lists(st.integers(1, 9), min_size=len(times) + 1, max_size=len(times) + 1))
    steps = list(zip([0, *times], [level / 10 for level in levels], strict=True))
    taken = sorted(draw(st.sets(st.integers(0, 9000), max_size=3)))
    mode = draw(st.sampled_from(["price", "capacity", "both"]))
    return World(policy.provider, int(policy.notice_seconds), mode, steps, taken)


actions = st.lists(
    st.one_of(
        st.tuples(st.just("launch"), st.integers(1, 9)),
        st.tuples(st.just("wait"), st.sampled_from([1, 29, 59, 60, 61, 120, 700, 3599, 3600])),
        st.tuples(st.just("terminate"), st.integers(0, 20)),
    ),
    min_size=4,
    max_size=14,
)


@settings(max_examples=150)
@given(worlds(), actions)
def test_money_and_lives_against_brute_force(world: World, todo: list[tuple[str, int]]) -> None:
    policy = {"aws": AWS, "gcp": GCP, "azure": AZURE}[world.provider]
    clock = SimulatedClock(START)
    cloud = SimCloud([world.feed()], policy, clock)
    rents: dict[str, Rent] = {}
    told: list[Any] = []
    for what, number in todo:
        now = int(clock.now() - START)
        if what == "wait" and now + number < 9000:
            clock.sleep(float(number))
        elif what == "launch":
            try:
                rents[cloud.launch(cloud.offers()[0], number / 10, "mine")] = Rent(world, now, number / 10)
            except LaunchRefused:
                assert world.mode != "capacity"
                assert world.price(now) > number / 10
        elif what == "terminate" and (held := cloud.machines()):
            chosen = held[number % len(held)].id
            rents[chosen].ended = now
            cloud.terminate(chosen)
        told += cloud.poll()
        check(cloud, world, rents, int(clock.now() - START))
    assert [event.time for event in told] == sorted(event.time for event in told)
    for name, rent in rents.items():
        revoked = [event for event in told if isinstance(event, Revoked) and event.machine_id == name]
        assert len(revoked) <= 1
        assert not (revoked and rent.ended is not None)


def check(cloud: SimCloud, world: World, rents: dict[str, Rent], now: int) -> None:
    """Who lives, what is known and what is owed at this second."""
    alive = {seen.id for seen in cloud.machines()}
    assert alive == {name for name, rent in rents.items() if rent.ended is None and rent.gone() > now}
    bills = cloud.bills()
    assert set(bills) == set(rents) - alive
    owed = math.fsum(rent.dollars(now) for rent in rents.values())
    assert math.fsum(bill.net_usd for bill in bills.values()) == pytest.approx(owed, rel=1e-9, abs=1e-12)
    known = cloud.history(CALM)
    assert known.end <= START + now
    assert (known.times - START).tolist() == [at for at, _ in world.steps if at <= now]
