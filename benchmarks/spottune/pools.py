"""The three pools of machines, from real prices where they lie, or generated ones where they do not.

volatile   six markets of 2016 (pool6_2016.csv), revoked when the price exceeds the max price
smooth     the paper's six types in all zones (paper_six_types_2024_2026.csv), the last 150 days; revoked alike
capacity   the same prices; machines are also taken, and launches refused, as in real preemption traces
           (capacity.yaml says which trace stands for which market); capacity-no-notice: without a warning

Predictors learn from the first 60 %, are tuned and calibrated on the next 15 % (`spot.dataset.Split`), and tunings
start in the last 25 %. Start k is the k-th of a van der Corput sequence over that part: more starts keep the former.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path

from leantune.cloud.feeds import MarketCapacity, MarketFeed
from leantune.cloud.generated import generate_prices
from leantune.cloud.market_settings import Regime
from leantune.cloud.markets import Market, PriceSeries
from leantune.cloud.prices import read_prices
from leantune.cloud.traces import capacities, read_mapping
from leantune.errors import InvalidInput
from leantune.lab.replay.tables import default_data
from leantune.lab.simulate.speeds import Speeds, relative_speeds
from leantune.rent.step_times import EXPONENT
from leantune.revocation.dataset import Split
from leantune.space import Machine
from leantune.units import SECONDS_PER_HOUR

DAY = 24 * SECONDS_PER_HOUR
LONGEST = 3 * DAY  # a tuning is over by then; prices are known for that long after every start
SMOOTH_DAYS = 150.0
GENERATED_DAYS = 60.0
GENERATED_START = 1_456_358_400.0  # 2016-02-25, as the volatile prices
TRACE_PAST = 7 * DAY  # of a trace that is known at a start
MAPPING = Path(__file__).with_name("capacity.yaml")
SCOUT = Path("curves") / "scout_ec2_runtimes.csv"
REFERENCE_VCPUS = 4.0  # jobs are stretched to hours on a machine of this size
# SpotTune, Table III: vCPUs, GB, on-demand USD/h
PAPER_TYPES = {
    "r4.large": (2.0, 15.25, 0.133),
    "r3.xlarge": (4.0, 30.0, 0.33),
    "r4.xlarge": (4.0, 30.5, 0.266),
    "m4.2xlarge": (8.0, 32.0, 0.4),
    "r4.2xlarge": (8.0, 61.0, 0.532),
    "m4.4xlarge": (16.0, 64.0, 0.8),
}


class PoolName(StrEnum):
    """Which prices, and what revokes."""

    VOLATILE = "volatile"
    SMOOTH = "smooth"
    CAPACITY = "capacity"
    NO_NOTICE = "capacity-no-notice"

    @property
    def by_capacity(self) -> bool:
        """Whether preemption traces take machines too."""
        return self in (PoolName.CAPACITY, PoolName.NO_NOTICE)


@dataclass(frozen=True)
class Pool:
    """Machines and prices of one pool. generated: the prices are made up. files: what it was read from."""

    name: PoolName
    machines: Mapping[Market, Machine]
    series: Mapping[Market, PriceSeries]
    data: Path
    generated: bool = False
    files: tuple[Path, ...] = ()

    @cached_property
    def split(self) -> Split:
        """When predictors learn, are tuned, and tunings start."""
        return Split.of(list(self.series.values()))

    def start(self, number: int) -> float:
        """When tuning `number` begins."""
        begin, end = self.split.test.begin, self.split.test.end - LONGEST
        return begin + van_der_corput(number) * (end - begin)

    def feeds(self, start: float) -> tuple[MarketFeed, ...]:
        """Every market's spot feed, then each type on demand."""
        taken = self.capacities(start)
        spot = [
            MarketFeed(
                self.machines[market],
                market,
                series,
                taken.get(market),
                mode="both" if taken else "price",
                with_notice=self.name is not PoolName.NO_NOTICE,
            )
            for market, series in self.series.items()
        ]
        types = {machine.name: (market, machine) for market, machine in self.machines.items()}
        sure = [MarketFeed(machine, market, None, on_demand=True) for market, machine in types.values()]
        return (*spot, *sure)

    def capacities(self, start: float) -> dict[Market, MarketCapacity]:
        """Each market's trace, laid so that it is known a week before the start; none where prices alone revoke."""
        if not self.name.by_capacity:
            return {}
        folder = self.data / "spot" / "traces"
        return capacities(read_mapping(MAPPING), folder, start - TRACE_PAST, start + 2 * LONGEST, seed=0)

    def vcpus(self) -> dict[str, float]:
        """By type."""
        return {machine.name: machine.vcpus for machine in self.machines.values()}

    def speeds(self, exponent: float = EXPONENT) -> Speeds:
        """Seconds of each type per second of the pool's first type with four vCPUs."""
        vcpus = self.vcpus()
        reference = next(name for name, count in sorted(vcpus.items()) if count == REFERENCE_VCPUS)
        table = self.data / SCOUT  # without the data the rule gives all speeds, and the page says so
        return relative_speeds(vcpus, reference, table=table if table.is_file() else None, exponent=exponent)


def van_der_corput(number: int) -> float:
    """The number's binary digits mirrored at the point: 0, 1/2, 1/4, 3/4, ..."""
    found, share = 0.0, 0.5
    while number:
        found += share * (number & 1)
        number, share = number >> 1, share / 2
    return found


def pool(name: str, data: Path | None = None) -> Pool:
    """A pool by its name, of real prices where its files are at hand and of generated ones elsewhere."""
    if name not in set(PoolName):
        raise InvalidInput(f"there is no pool {name!r}", where="pools", hint=f"Known: {', '.join(PoolName)}")
    folder, which = data or default_data(), PoolName(name)
    return _volatile(folder) if which is PoolName.VOLATILE else _smooth(which, folder)


def missing(name: str, data: Path | None = None) -> list[Path]:
    """Files of a pool that are not at hand."""
    folder = (data or default_data()) / "spot"
    return [path for path in _files(PoolName(name), folder) if not path.is_file()]


def _files(name: PoolName, folder: Path) -> list[Path]:
    if name is PoolName.VOLATILE:
        return [folder / "pool6_2016.csv", folder / "pool6_2016_instances.csv"]
    traces = [_trace_file(entry) for entry in read_mapping(MAPPING).values()] if name.by_capacity else []
    return [folder / "paper_six_types_2024_2026.csv", *(folder / "traces" / file for file in sorted(set(traces)))]


def _trace_file(entry: str | Mapping[str, str]) -> str:
    return entry if isinstance(entry, str) else str(entry["file"])


def _volatile(data: Path) -> Pool:
    if missing(PoolName.VOLATILE, data):
        return _generated(PoolName.VOLATILE, data, ("a",), Regime.VOLATILE)
    prices, sizes = _files(PoolName.VOLATILE, data / "spot")
    machines = {}
    with sizes.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            market = Market(row["instance_type"], row["availability_zone"])
            told = (float(row["vcpu"]), float(row["mem_gib"]), float(row["ondemand_usd_hr"]))
            machines[market] = Machine(market.instance_type, *told, provider="aws")
    series = read_prices(prices).series
    return Pool(PoolName.VOLATILE, machines, _ordered(series, machines), data, files=(prices, sizes))


def _smooth(name: PoolName, data: Path) -> Pool:
    if missing(name, data):
        if name.by_capacity:
            lacking = ", ".join(path.name for path in missing(name, data))
            hint = "Name the folder of the data with --data; the other pools can do with generated prices"
            raise InvalidInput(f"the pool {name} needs {lacking}", where="pools", hint=hint)
        return _generated(name, data, ("a", "b"), Regime.SMOOTH)
    files = _files(name, data / "spot")
    found = {market: _last_days(series, SMOOTH_DAYS) for market, series in read_prices(files[0]).series.items()}
    machines = {market: _paper_machine(market) for market in found}
    return Pool(name, machines, _ordered(found, machines), data, files=tuple(files))


def _generated(name: PoolName, data: Path, zones: Sequence[str], regime: Regime) -> Pool:
    markets = [Market(kind, f"us-east-1{zone}") for kind in PAPER_TYPES for zone in zones]
    machines = {market: _paper_machine(market) for market in markets}
    on_demand = {market: PAPER_TYPES[market.instance_type][2] for market in markets}
    series = generate_prices(on_demand, start=GENERATED_START, days=GENERATED_DAYS, regime=regime)
    return Pool(name, machines, series, data, generated=True)


def _paper_machine(market: Market) -> Machine:
    return Machine(market.instance_type, *PAPER_TYPES[market.instance_type], provider="aws")


def _ordered(series: Mapping[Market, PriceSeries], machines: Mapping[Market, Machine]) -> dict[Market, PriceSeries]:
    """All end when the first does, so that every start has the same future in every market."""
    end = min(one.end for one in series.values())
    return {market: _ending(series[market], end) for market in sorted(machines)}


def _ending(series: PriceSeries, end: float) -> PriceSeries:
    known = series.times <= end
    return PriceSeries(series.market, series.times[known], series.prices[known], end=end)


def _last_days(series: PriceSeries, days: float) -> PriceSeries:
    """The end of a series, with the price that was in force at its begin."""
    first = max(int(series.times.searchsorted(series.end - days * DAY, side="right")) - 1, 0)
    return PriceSeries(series.market, series.times[first:], series.prices[first:], end=series.end)


def without_capacity(found: Pool) -> Pool:
    """The same prices, revoked by price alone: what predictors are trained on."""
    return replace(found, name=PoolName.SMOOTH) if found.name.by_capacity else found
