"""A simulated market for the machines of a job: its settings and its feeds.

    spot        one feed for each type and zone: generated prices (ZONES zones), or those of a price file
    on demand   one feed for each type, never revoked

Predictors look back a week, so that the market opens that long after its first price, or in the middle of a file that
is shorter than two weeks. After the last price of a series that price holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from leantune.clock import Clock
from leantune.cloud.billing import AWS, BillingPolicy
from leantune.cloud.feeds import MarketFeed
from leantune.cloud.generated import generate_prices
from leantune.cloud.market_settings import GENERATED, MarketSettings
from leantune.cloud.markets import Market, PriceSeries
from leantune.cloud.prices import read_prices
from leantune.cloud.simcloud import SimCloud
from leantune.errors import InvalidInput
from leantune.space import Machine

ZONES = 3  # of each type, where prices are generated
OPENS = 1_767_571_200.0  # Monday, 5 January 2026: when a generated market opens
PAST_SECONDS = 8 * 86400.0
GENERATED_SECONDS = 45 * 86400.0  # 18 hours of this world at the usual speed
BOOT_SECONDS = 60.0
SAVE_SECONDS = 0.1  # of this world, that a program is expected to need to save or to restore
LONGEST_SAVE = 300.0  # seconds of the market; on a fast one a moment of this world must not look like an hour


@dataclass(frozen=True)
class Marketplace:
    """Feeds of a simulated market, when it opens, and how its provider bills and warns."""

    feeds: tuple[MarketFeed, ...]
    opens: float
    policy: BillingPolicy = AWS
    boot_seconds: float = BOOT_SECONDS

    @property
    def setup_seconds(self) -> float:
        """Seconds at the price on demand that a machine may cost beside its use: booting, or the least that is billed.

        Max prices are at most the price on demand, so that a notice at a higher price costs no more than that.
        """
        return max(self.boot_seconds, self.policy.minimum_seconds)

    @staticmethod
    def save_seconds(speed: float) -> float:
        """Seconds of the market that saving or restoring a checkpoint in this world is expected to take."""
        return min(SAVE_SECONDS * speed, LONGEST_SAVE)

    def provider(self, clock: Clock, launches: int = 0) -> SimCloud:
        """Its provider of machines; launches: the number of earlier launches."""
        return SimCloud(self.feeds, self.policy, clock, boot_seconds=self.boot_seconds, launches=launches)


def marketplace(machines: Sequence[Machine], settings: MarketSettings, *, spot: bool = True) -> Marketplace:
    """The market of these machines; without spot, only on demand. InvalidInput where one has no price."""
    if not machines:
        hint = "Add cluster: {machines: {small: {vcpus: 1, memory: 2 GiB, usd_per_hour: 0.02}}} to the space"
        raise InvalidInput("there are no machines to rent", where="space", hint=hint)
    free = [machine.name for machine in machines if machine.usd_per_hour is None]
    if free:
        hint = "Give its price on demand, usd_per_hour"
        raise InvalidInput(f"{free[0]} has no price, and is to be rented", where="space", hint=hint)
    different = tuple(dict.fromkeys(machines))
    by_name = {machine.name: machine for machine in different}
    series = _series(different, settings) if spot else {}
    feeds = [MarketFeed(by_name[market.instance_type], market, prices) for market, prices in series.items()]
    for machine in different:
        zone = next((market.zone for market in series if market.instance_type == machine.name), _zones(machine)[0])
        feeds.append(MarketFeed(machine, Market(machine.name, zone), None, on_demand=True))
    return Marketplace(tuple(feeds), _opens(series))


def _series(machines: Sequence[Machine], settings: MarketSettings) -> Mapping[Market, PriceSeries]:
    if settings.prices == GENERATED:
        usd = {
            Market(machine.name, zone): machine.usd_per_hour or 0.0 for machine in machines for zone in _zones(machine)
        }
        days = (PAST_SECONDS + GENERATED_SECONDS) / 86400.0
        return generate_prices(usd, start=OPENS - PAST_SECONDS, days=days, regime=settings.regime, seed=settings.seed)
    loaded = read_prices(Path(settings.prices)).series
    names = [machine.name for machine in machines]
    chosen = {market: series for market, series in loaded.items() if market.instance_type in names}
    missing = [name for name in names if name not in {market.instance_type for market in chosen}]
    if missing:
        there = ", ".join(sorted({market.instance_type for market in loaded})[:8])
        hint = f"It has {there}; leave {missing[0]} out of the space, or write prices: {GENERATED}"
        raise InvalidInput(f"there are no prices of {missing[0]}", where=settings.prices, hint=hint)
    return chosen


def _zones(machine: Machine) -> list[str]:
    return [f"{machine.region or 'zone-'}{letter}" for letter in "abcdef"[:ZONES]]


def _opens(series: Mapping[Market, PriceSeries]) -> float:
    """When every market has a price, and a week of the past or half of the known prices."""
    if not series:
        return OPENS
    first = max(prices.start for prices in series.values())
    last = max(first, *(prices.end for prices in series.values()))
    return min(first + PAST_SECONDS, (first + last) / 2)
