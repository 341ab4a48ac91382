"""The promises of `Provider` as tests: bind them to an implementation by a subclass that says how to make one."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import pytest

from leantune.clock import SimulatedClock
from leantune.cloud.billing import BillReason
from leantune.cloud.markets import Market
from leantune.cloud.provider import (
    Cause,
    Foreseeing,
    MachineState,
    Noticed,
    Offer,
    Provider,
    Revoked,
    Running,
)
from leantune.errors import InvalidInput, LaunchRefused, MachineGone, UnknownMachine


@dataclass(frozen=True)
class Stage:
    """A provider, and what will happen there.

    calm: a spot market whose price stays at or below `max_price` for two hours from now.
    stormy: one whose price rises above `max_price` `rises_after` seconds from now and stays there for an hour;
        rises_after is longer than booting, and with the notice shorter than the refund window, if there is one.
    Both are offered on demand too. A machine boots in `boot_seconds`, above 0.
    """

    provider: Provider
    clock: SimulatedClock
    calm: Market
    stormy: Market
    max_price: float
    rises_after: float
    boot_seconds: float

    def offer(self, market: Market, *, on_demand: bool = False) -> Offer:
        """The offer of a market as of now."""
        offers = self.provider.offers()
        return next(offer for offer in offers if (offer.market, offer.on_demand) == (market, on_demand))

    def launch(self, market: Market, tag: str = "mine") -> str:
        """Rent a spot machine at `max_price`."""
        return self.provider.launch(self.offer(market), self.max_price, tag)


class ProviderContract(ABC):
    """Subclass it as `class TestMine(ProviderContract)`."""

    @abstractmethod
    def make(self) -> Stage:
        """A stage with no machine rented yet."""

    def test_offers_have_the_prices_of_now(self) -> None:
        stage = self.make()
        assert stage.offer(stage.calm).usd_per_hour == stage.provider.history(stage.calm).prices[-1]
        fixed = stage.offer(stage.calm, on_demand=True)
        assert fixed.usd_per_hour == fixed.machine.usd_per_hour
        stage.clock.sleep(stage.rises_after)
        assert stage.offer(stage.stormy).usd_per_hour > stage.max_price

    def test_history_holds_nothing_of_the_future(self) -> None:
        stage = self.make()
        for seconds in (0.0, stage.rises_after / 2, stage.rises_after):
            stage.clock.sleep(seconds)
            known = stage.provider.history(stage.stormy)
            assert known.end <= stage.clock.now()
            assert (known.times <= stage.clock.now()).all()
        with pytest.raises(InvalidInput, match="nowhere"):
            stage.provider.history(Market("none", "nowhere"))

    def test_a_machine_boots_and_then_runs(self) -> None:
        stage = self.make()
        name = stage.launch(stage.calm)
        (seen,) = stage.provider.machines()
        assert (seen.id, seen.state, seen.tag, seen.launched_at) == (
            name,
            MachineState.BOOTING,
            "mine",
            stage.clock.now(),
        )
        assert stage.provider.poll() == ()
        stage.clock.sleep(stage.boot_seconds)
        assert stage.provider.poll() == (Running(name, stage.clock.now()),)
        assert stage.provider.poll() == ()
        assert stage.provider.machines()[0].state is MachineState.RUNNING

    def test_machines_are_found_by_tag(self) -> None:
        stage = self.make()
        first, second, third = (stage.launch(stage.calm, tag) for tag in ("a", "b", "a"))
        assert [seen.id for seen in stage.provider.machines("a")] == [first, third]
        assert [seen.id for seen in stage.provider.machines()] == [first, second, third]
        assert stage.provider.machines("c") == ()

    def test_own_termination_is_charged_once_and_from_launch(self) -> None:
        stage = self.make()
        begin = stage.clock.now()
        name = stage.launch(stage.calm)
        stage.clock.sleep(1000.0)
        bill = stage.provider.terminate(name)
        known = stage.provider.history(stage.calm)
        assert bill == stage.provider.policy.bill(known, begin, begin + 1000.0, revoked=False)
        assert bill.net_usd > 0
        assert dict(stage.provider.bills()) == {name: bill}
        assert stage.provider.machines() == ()
        with pytest.raises(MachineGone, match=name):
            stage.provider.terminate(name)
        assert dict(stage.provider.bills()) == {name: bill}

    def test_nothing_more_is_told_of_a_terminated_machine(self) -> None:
        stage = self.make()
        name = stage.launch(stage.stormy)
        stage.clock.sleep(stage.boot_seconds)
        stage.provider.terminate(name)
        stage.clock.sleep(stage.rises_after + 1000.0)
        assert stage.provider.poll() == ()

    def test_a_machine_nobody_launched(self) -> None:
        stage = self.make()
        with pytest.raises(UnknownMachine, match="none-such"):
            stage.provider.terminate("none-such")

    def test_a_launch_above_the_max_price_is_refused_and_costs_nothing(self) -> None:
        stage = self.make()
        stage.clock.sleep(stage.rises_after)
        with pytest.raises(LaunchRefused, match="price"):
            stage.launch(stage.stormy)
        assert stage.provider.machines() == ()
        assert not stage.provider.bills()

    def test_only_what_is_offered_can_be_launched(self) -> None:
        stage = self.make()
        offer = stage.offer(stage.calm)
        foreign = Offer(offer.machine, Market("none", "nowhere"), on_demand=False, usd_per_hour=1.0)
        with pytest.raises(InvalidInput, match="nowhere"):
            stage.provider.launch(foreign, None, "mine")
        with pytest.raises(InvalidInput, match="max price"):
            stage.provider.launch(offer, 0.0, "mine")
        with pytest.raises(InvalidInput, match="max price"):
            stage.provider.launch(stage.offer(stage.calm, on_demand=True), 1.0, "mine")

    def test_a_revocation_is_announced_and_then_happens(self) -> None:
        stage = self.make()
        begin, name = stage.clock.now(), stage.launch(stage.stormy)
        notice_at = begin + stage.rises_after
        gone_at = notice_at + stage.provider.policy.notice_seconds
        stage.clock.sleep(stage.rises_after)
        assert stage.provider.poll()[-1] == Noticed(name, notice_at, gone_at)
        (seen,) = stage.provider.machines()
        assert (seen.state, seen.gone_at) == (MachineState.NOTICED, gone_at)
        stage.clock.sleep(stage.provider.policy.notice_seconds)
        assert stage.provider.machines() == ()
        assert stage.provider.poll() == (Revoked(name, gone_at, Cause.PRICE),)
        with pytest.raises(MachineGone, match=name):
            stage.provider.terminate(name)

    def test_a_revoked_machine_is_billed_until_it_was_gone(self) -> None:
        stage = self.make()
        begin, name = stage.clock.now(), stage.launch(stage.stormy)
        gone_at = begin + stage.rises_after + stage.provider.policy.notice_seconds
        stage.clock.sleep(stage.rises_after + 1800.0)
        bill = stage.provider.bills()[name]
        known = stage.provider.history(stage.stormy)
        asked = stage.max_price
        assert bill == stage.provider.policy.bill(known, begin, gone_at, revoked=True, max_price=asked)
        assert (bill.why is BillReason.REFUNDED) == (stage.provider.policy.refund_window_seconds > 0)

    def test_terminating_after_the_notice_is_own_termination(self) -> None:
        stage = self.make()
        name = stage.launch(stage.stormy)
        stage.clock.sleep(stage.rises_after)
        assert stage.provider.terminate(name).refund_usd == 0.0

    def test_events_come_in_the_order_of_time(self) -> None:
        stage = self.make()
        names = [stage.launch(stage.stormy), stage.launch(stage.calm)]
        stage.clock.sleep(stage.rises_after + 1800.0)
        told = stage.provider.poll()
        assert [event.time for event in told] == sorted(event.time for event in told)
        kinds = [[type(event) for event in told if event.machine_id == name] for name in names]
        assert kinds == [[Running, Noticed, Revoked], [Running]]

    def test_on_demand_is_never_revoked(self) -> None:
        stage = self.make()
        begin = stage.clock.now()
        offer = stage.offer(stage.stormy, on_demand=True)
        name = stage.provider.launch(offer, None, "mine")
        stage.clock.sleep(stage.rises_after + 1800.0)
        assert [type(event) for event in stage.provider.poll()] == [Running]
        bill = stage.provider.terminate(name)
        assert bill == stage.provider.policy.bill(offer.usd_per_hour, begin, stage.clock.now(), revoked=False)

    def test_a_simulated_provider_knows_when_it_has_something_to_tell(self) -> None:
        stage = self.make()
        provider = stage.provider
        if not isinstance(provider, Foreseeing):
            pytest.skip("does not know the future")
        assert provider.next_event_time() is None
        stage.launch(stage.stormy)
        told = 0
        while (coming := provider.next_event_time()) is not None:
            stage.clock.sleep((coming - stage.clock.now()) / 2)
            assert provider.poll() == ()
            stage.clock.sleep(coming - stage.clock.now())
            assert provider.next_event_time() == coming
            told += len(provider.poll())
        assert told == 3
