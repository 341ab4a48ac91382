"""Price histories from files, where every row is used or counted as not used, and their summaries.

A price holds until the next one, so nothing is filled in and nothing interpolated. What is wrong with a file:

    unreadable     no time, no number, an empty name, too many or too few fields: left out
    not_positive   a price of 0, below 0, NaN or infinite: left out, the price before it holds
    duplicates     the same market, time and price again: left out
    conflicts      the same market and time with another price: the highest is kept, since who bid less lost the machine
    out_of_order   rows against the direction (oldest or newest first) of their market: sorted
    without_zone   times that name no zone: taken as UTC
    gaps           a market silent for longer than 25 h: AWS repeats a price after 24 h, so rows are missing; the last
                   price is taken to hold
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from leantune.arrays import FloatArray
from leantune.cloud.catalog_tables import regions, table_of
from leantune.cloud.markets import Market, PriceSeries
from leantune.cloud.price_files import RIGHT, PriceColumns, Progress, read_columns
from leantune.errors import InvalidInput
from leantune.units import SECONDS_PER_HOUR

GAP_SECONDS = 25 * SECONDS_PER_HOUR
_REGION = re.compile(r"[a-z]{2}(-[a-z]+)+-\d+")
_MOST_UNREADABLE = 0.5  # a file with more of such rows is another kind of file


@dataclass(frozen=True)
class Gap:
    """A gap in one market's prices, in seconds since 1970."""

    market: Market
    begin: float
    end: float


@dataclass(frozen=True)
class PriceReport:
    """Counts of rows and of their treatment; the module's docstring defines the words."""

    source: str
    rows: int
    kept: int
    unreadable: int = 0
    first_unreadable: str = ""
    not_positive: int = 0
    duplicates: int = 0
    conflicts: int = 0
    out_of_order: int = 0
    without_zone: int = 0
    gaps: tuple[Gap, ...] = ()

    def troubles(self) -> list[str]:
        """Problems and their treatment, one line each; nothing when every row was in order."""
        hours = max((gap.end - gap.begin for gap in self.gaps), default=0.0) / SECONDS_PER_HOUR
        counts = (
            (self.unreadable, f"unreadable, left out (the first: {self.first_unreadable})"),
            (self.not_positive, "with a price that is not above 0, left out"),
            (self.duplicates, "duplicates, left out"),
            (self.conflicts, "with another price for the same moment: the highest is kept"),
            (self.out_of_order, "out of order, sorted"),
            (self.without_zone, "with a time that names no zone, taken as UTC"),
            (len(self.gaps), f"before which a market was silent for over 25 h (up to {hours:.0f} h): the price held"),
        )
        return [f"{count:,} {'row' if count == 1 else 'rows'} {what}" for count, what in counts if count]


@dataclass(frozen=True)
class LoadedPrices:
    """The series of each market of a file, and what was wrong with it."""

    series: Mapping[Market, PriceSeries]
    report: PriceReport


def read_prices(path: Path, *, progress: Progress | None = None) -> LoadedPrices:
    """Read a CSV or JSON file of prices; `progress` is told the number of rows read so far."""
    return tidied(read_columns(path, progress), str(path))


def tidied(columns: PriceColumns, source: str) -> LoadedPrices:
    """One increasing series for each market, with a count of all other rows."""
    rows = len(columns.times) + columns.unreadable
    place = f"{source}, {columns.first_unreadable}" if columns.first_unreadable else source
    if columns.unreadable > _MOST_UNREADABLE * rows:
        what = f"{columns.unreadable:,} of {rows:,} rows cannot be read"
        raise InvalidInput(what, where=place, hint=RIGHT)
    # Numbers of 16 bits are sorted by radix, in linear time.
    small = columns.codes.astype(np.uint16) if len(columns.markets) < 1 << 16 else columns.codes
    order = np.argsort(small, kind="stable")
    ends = np.cumsum(np.bincount(columns.codes, minlength=len(columns.markets)))
    times, prices = columns.times[order], columns.prices[order]
    troubles: Counter[str] = Counter()
    tidy = [
        _tidy(market, times[begin:end], prices[begin:end], troubles)
        for market, begin, end in zip(columns.markets, (0, *ends), ends, strict=False)
    ]
    series = {prices.market: prices for prices in tidy if prices is not None}
    if not series:
        raise InvalidInput("there is no price in it", where=place, hint=RIGHT)
    report = PriceReport(
        source,
        rows,
        kept=sum(map(len, series.values())),
        unreadable=columns.unreadable,
        first_unreadable=columns.first_unreadable,
        without_zone=columns.without_zone,
        gaps=tuple(gap for prices in series.values() for gap in gaps_of(prices)),
        **troubles,
    )
    return LoadedPrices(MappingProxyType(dict(sorted(series.items()))), report)


def gaps_of(series: PriceSeries) -> tuple[Gap, ...]:
    """Gaps of a market of more than 25 h."""
    before = np.flatnonzero(np.diff(series.times) > GAP_SECONDS)
    return tuple(Gap(series.market, float(series.times[i]), float(series.times[i + 1])) for i in before)


def _tidy(market: Market, times: FloatArray, prices: FloatArray, troubles: Counter[str]) -> PriceSeries | None:
    """One market's rows in file order, made increasing; None where no price is left. What was wrong is counted."""
    good = np.isfinite(prices) & (prices > 0)
    troubles["not_positive"] += len(prices) - int(good.sum())
    times, prices = times[good], prices[good]
    if not len(times):
        return None
    troubles["out_of_order"] += _against_direction(times)
    if len(times) > 1 and not (np.diff(times) > 0).all():
        order = np.lexsort((prices, times))
        times, prices = times[order], prices[order]
    # Sorted by time, then price: the last of a moment is the highest.
    again = np.diff(times) == 0
    duplicates = int((again & (np.diff(prices) == 0)).sum())
    troubles.update(duplicates=duplicates, conflicts=int(again.sum()) - duplicates)
    last = np.append(~again, True)
    return PriceSeries(market, times[last], prices[last])


def _against_direction(times: FloatArray) -> int:
    """Rows out of order, whether a market's rows go forward or backward in time."""

    def late(values: FloatArray) -> int:
        """Rows that are earlier than one before them."""
        return int((values < np.maximum.accumulate(values)).sum())

    steps: NDArray[np.float64] = np.diff(times)
    if (steps >= 0).all() or (steps <= 0).all():
        return 0
    return min(late(times), late(times[::-1]))


# -- summaries


@dataclass(frozen=True)
class MarketSummary:
    """A summary of a market's prices: rows from `start` to `end` (seconds since 1970), prices in USD/h.

    Shares and the median are by time, since a price holds.

    median: the price below which the market was for half of the time.
    changes_per_day: rows with another price than the row before.
    above_on_demand: share of the time above the on-demand price; None where that is not known.
    """

    market: Market
    rows: int
    start: float
    end: float
    lowest: float
    median: float
    highest: float
    changes_per_day: float
    gaps: int
    on_demand: float | None
    above_on_demand: float | None


def summarise_market(series: PriceSeries, on_demand: float | None) -> MarketSummary:
    """The summary of a series."""
    seconds = np.diff(series.times, append=series.end)
    if not seconds.sum():  # a single row: it counts as if it had held
        seconds = np.ones(len(seconds))
    order = np.argsort(series.prices, kind="stable")
    held = np.cumsum(seconds[order])
    days = (series.end - series.start) / (24 * SECONDS_PER_HOUR)
    changes = int((np.diff(series.prices) != 0).sum())
    above = None if on_demand is None else float(seconds[series.prices > on_demand].sum() / seconds.sum())
    return MarketSummary(
        series.market,
        len(series),
        series.start,
        series.end,
        float(series.prices.min()),
        float(series.prices[order][np.searchsorted(held, held[-1] / 2)]),
        float(series.prices.max()),
        changes / days if days else 0.0,
        len(gaps_of(series)),
        on_demand,
        above,
    )


def region_of(zone: str) -> str | None:
    """us-east-1 of us-east-1c; None where the zone's name does not say."""
    match = _REGION.match(zone)
    return match[0] if match else None


def on_demand_price(market: Market) -> float | None:
    """The on-demand price of this type in this region by the catalogue of AWS, if it has both."""
    region = region_of(market.zone)
    if region is None or region not in regions("aws"):
        return None
    machine = table_of("aws", region).machines.get(market.instance_type)
    return machine.usd_per_hour if machine else None
