"""The markets of a simulation: generated prices or those of a file, machines of the catalogue or of a table, traces.

    spot        one feed for each market (type and zone)
    on demand   one feed for each type, never revoked

Predictors look back a week, so that a simulation starts no earlier than HISTORY_DAYS after the first price.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from leantune.cloud.billing import AWS, BillingPolicy
from leantune.cloud.catalog import catalogue
from leantune.cloud.catalog_tables import regions, table_of
from leantune.cloud.feeds import MarketCapacity, MarketFeed, Mode
from leantune.cloud.generated import generate_prices
from leantune.cloud.market_settings import Regime
from leantune.cloud.marketplace import OPENS
from leantune.cloud.markets import Market, PriceSeries
from leantune.cloud.prices import region_of
from leantune.cloud.traces import capacities, read_mapping
from leantune.errors import InvalidInput, SpaceError, TableError
from leantune.files import csv_records, read_bytes
from leantune.lab.simulate.speeds import Speeds, relative_speeds
from leantune.rent.step_times import EXPONENT
from leantune.space import Machine

PAPER_TYPES = ("r4.large", "r3.xlarge", "r4.xlarge", "m4.2xlarge", "r4.2xlarge", "m4.4xlarge")
ZONES = 2  # of each type, where prices are generated
DAY = 86400.0
HISTORY_DAYS = 8.0
GENERATED_START = OPENS
GENERATED_DAYS = 30.0
REFERENCE_VCPUS = 4.0
_REFERENCE = "the reference machine"
_TRACED_DAYS = 120.0  # traces are repeated for so long, or for as long as prices are known
_COLUMNS = ("instance_type", "vcpu", "mem_gib", "ondemand_usd_hr")
_INSTANCES_HINT = f"Write a CSV with the columns {', '.join(_COLUMNS)} and, where it matters, availability_zone"
_DESCRIBE_HINT = f"{_INSTANCES_HINT}, and name it in a --settings file: instances: types.csv"
Instances = Mapping[tuple[str, str], Machine]  # by type and zone; zone "" for all


@dataclass(frozen=True)
class Pool:
    """Markets to choose from. start, end: when a tuning begins, and until when prices are known (then they hold).

    source: where the prices come from, in words. troubles: problems of these prices.
    """

    feeds: tuple[MarketFeed, ...]
    start: float
    end: float
    source: str
    troubles: tuple[str, ...] = ()

    @property
    def types(self) -> tuple[str, ...]:
        """Machine types, in the order of the feeds."""
        return tuple(dict.fromkeys(feed.machine.name for feed in self.feeds))

    @property
    def traced_until(self) -> float:
        """When the last trace ends, after which no machine of its market is available; infinite without traces."""
        traced = any(feed.capacity is not None for feed in self.feeds)
        return _traced_until(self.start, self.end) if traced else math.inf

    def speeds(self, *, exponent: float = EXPONENT, table: Path | None = None) -> Speeds:
        """How slow each type is against a machine with 4 vCPUs: measured in a table of runs, or by C0 / CPU^b."""
        vcpus = {feed.machine.name: feed.machine.vcpus for feed in self.feeds}
        return relative_speeds({**vcpus, _REFERENCE: REFERENCE_VCPUS}, _REFERENCE, table=table, exponent=exponent)


@dataclass(frozen=True)
class Revoking:
    """The causes of revocations. traces: a declared mapping (`spot.traces`), needed unless only prices do."""

    mode: Mode = "price"
    traces: Path | None = None
    policy: BillingPolicy = AWS
    seed: int = 0

    def __post_init__(self) -> None:
        if self.mode != "price" and self.traces is None:
            raise InvalidInput(
                f"revocations by {self.mode} need traces",
                where="simulation",
                hint="Add traces: MAPPING.yaml, or write revocations: price",
                path=("revocations",),
            )
        if self.seed < 0:
            hint = "Give a whole number of at least 0"
            raise InvalidInput(f"the seed is {self.seed}", where="simulation", hint=hint)


def generated_pool(
    types: Sequence[str] = PAPER_TYPES,
    *,
    regime: str = Regime.VOLATILE,
    start: float = GENERATED_START,
    days: float = GENERATED_DAYS,
    zones: int = ZONES,
    instances: Instances | None = None,
    revoking: Revoking = Revoking(),  # noqa: B008 - frozen
) -> Pool:
    """Prices drawn from the seed for machines of a table of instances or of the catalogue, some zones of each type."""
    machines: dict[Market, Machine] = {}
    for name in types:
        machines |= _in_zones(name, zones, instances or {})
    usd = {market: machine.usd_per_hour or math.nan for market, machine in machines.items()}
    began = start - HISTORY_DAYS * DAY
    series = generate_prices(usd, start=began, days=HISTORY_DAYS + days, regime=regime, seed=revoking.seed)
    source = f"generated {regime} prices, seed {revoking.seed}"
    return Pool(_feeds(series, machines, start, revoking), start, start + days * DAY, source)


def _in_zones(name: str, zones: int, instances: Instances) -> dict[Market, Machine]:
    """A type in its first zones; those of the table of instances, else the catalogue's, else the region's first."""
    table = catalogue("aws")
    own = {zone: machine for (type_name, zone), machine in instances.items() if type_name == name}
    named = {Market(name, zone): machine for zone, machine in own.items() if zone}
    if named:
        return dict(list(named.items())[:zones])
    spare = [f"{table.region}{letter}" for letter in "abcdef"[:zones]]
    if own:
        return {Market(name, zone): own[""] for zone in spare}
    try:
        return {Market(name, zone): table[name] for zone in list(table.zones(name))[:zones] or spare}
    except SpaceError as error:
        hint = f"{table.did_you_mean(name)}Correct --types, or describe it. {_DESCRIBE_HINT}"
        raise InvalidInput(error.what, where=error.where, hint=hint) from None


def file_pool(
    series: Mapping[Market, PriceSeries],
    source: str,
    *,
    types: Sequence[str] = (),
    instances: Instances | None = None,
    start: float | None = None,
    days: float | None = None,
    revoking: Revoking = Revoking(),  # noqa: B008 - frozen
) -> Pool:
    """The markets of a price history, from a week after its begin by default; all types by default."""
    unknown = [name for name in types if name not in {market.instance_type for market in series}]
    if unknown:
        raise InvalidInput(f"there are no prices of {', '.join(unknown)}", where=source, hint="Correct --types")
    chosen = {market: prices for market, prices in series.items() if not types or market.instance_type in types}
    machines = machines_of(chosen, instances or {}, source)
    begin = max(prices.start for prices in chosen.values()) + HISTORY_DAYS * DAY if start is None else start
    there = {market: prices for market, prices in chosen.items() if prices.start <= begin < prices.end}
    if not there:
        first, last = min(prices.start for prices in chosen.values()), max(prices.end for prices in chosen.values())
        why = f", {HISTORY_DAYS:g} days after the begin of the last market's" if start is None else ""
        hint = f"Prices are known from {_iso(first)} until {_iso(last)} (UTC); give a --start within"
        raise InvalidInput(f"no market has prices at {_iso(begin)}{why}", where=source, hint=hint)
    end = max(prices.end for prices in there.values())
    if days is not None and begin + days * DAY < end:
        end = begin + days * DAY
        there = {market: prices.until(end) for market, prices in there.items()}
    absent = sorted(str(market) for market in chosen if market not in there)
    troubles = (f"left out, without a price at the start: {', '.join(absent)}",) if absent else ()
    return Pool(_feeds(there, machines, begin, revoking), begin, end, source, troubles)


def _iso(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M}"


def with_generated_prices(pool: Pool, regime: str, *, seed: int = 0) -> Pool:
    """The same machines in the same markets at generated prices; the causes of revocations stay the same."""
    usd = {feed.market: feed.machine.usd_per_hour or math.nan for feed in pool.feeds if not feed.on_demand}
    began = pool.start - HISTORY_DAYS * DAY
    series = generate_prices(usd, start=began, days=(pool.end - began) / DAY, regime=regime, seed=seed)
    feeds = tuple(feed if feed.on_demand else replace(feed, prices=series[feed.market]) for feed in pool.feeds)
    return replace(pool, feeds=feeds, source=f"generated {regime} prices, seed {seed}", troubles=())


def machines_of(markets: Iterable[Market], instances: Instances, source: str) -> dict[Market, Machine]:
    """The machine of each market: from the table of instances, else from the catalogue of its region."""
    machines: dict[Market, Machine] = {}
    missing: dict[str, None] = {}
    for market in markets:
        name, region = market.instance_type, region_of(market.zone)
        machine = instances.get((name, market.zone)) or instances.get((name, ""))
        if machine is None and region is not None and region in regions("aws"):
            machine = table_of("aws", region).machines.get(name)
        if machine is None or machine.usd_per_hour is None:
            missing[name] = None
        else:
            machines[market] = machine
    if missing:
        hint = f"Name other --types, or describe them. {_DESCRIBE_HINT}"
        what = f"vCPUs and the price on demand are not known of {', '.join(missing)}"
        raise InvalidInput(what, where=source, hint=hint)
    return machines


def read_instances(path: Path) -> dict[tuple[str, str], Machine]:
    """Machines by type and zone ("" where the table names none)."""
    machines: dict[tuple[str, str], Machine] = {}
    content = read_bytes(path, "Correct instances: in the settings file")
    for where, row in csv_records(content, str(path), _COLUMNS, _INSTANCES_HINT):
        try:
            vcpus, memory, usd = (float(row[name]) for name in _COLUMNS[1:])
        except (TypeError, ValueError):
            what = "vcpu, mem_gib or ondemand_usd_hr is no number"
            raise TableError(what, where=where, hint=_INSTANCES_HINT) from None
        name, zone = ((row.get(column) or "").strip() for column in ("instance_type", "availability_zone"))
        machines[name, zone] = Machine(name, vcpus, memory, usd, provider="aws")
    return machines


def _feeds(
    series: Mapping[Market, PriceSeries], machines: Mapping[Market, Machine], start: float, revoking: Revoking
) -> tuple[MarketFeed, ...]:
    held = _capacities(series, start, revoking)
    notice = revoking.policy.notice_seconds
    spot = [
        MarketFeed(machines[market], market, prices, held.get(market), mode=revoking.mode, notice_seconds=notice)
        for market, prices in series.items()
    ]
    firsts = {machines[market].name: market for market in reversed(list(series))}
    on_demand = [
        MarketFeed(machines[firsts[name]], firsts[name], None, on_demand=True, notice_seconds=notice)
        for name in dict.fromkeys(machines[market].name for market in series)
    ]
    return (*spot, *on_demand)


def _traced_until(start: float, end: float) -> float:
    return max(start + _TRACED_DAYS * DAY, end)


def _capacities(series: Mapping[Market, PriceSeries], start: float, revoking: Revoking) -> dict[Market, MarketCapacity]:
    if revoking.mode == "price" or revoking.traces is None:
        return {}
    mapping = read_mapping(revoking.traces)
    folder = revoking.traces.parent
    end = _traced_until(start, max(prices.end for prices in series.values()))
    by_market = capacities(mapping, folder, start, end, seed=revoking.seed)
    missing = [str(market) for market in series if market not in by_market]
    if missing:
        hint = f"Name a trace for each market, or leave types out with --types. Add {missing[0]}: file.json"
        raise InvalidInput(f"there is no trace for {', '.join(missing)}", where=str(revoking.traces), hint=hint)
    return by_market
