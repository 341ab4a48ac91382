"""What a market's prices were like, in a few numbers; shares and the median are by time, since a price holds."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from leantune.cloud.catalog_tables import regions, table_of
from leantune.cloud.markets import Market, PriceSeries
from leantune.cloud.prices import gaps_of
from leantune.units import SECONDS_PER_HOUR

_REGION = re.compile(r"[a-z]{2}(-[a-z]+)+-\d+")


@dataclass(frozen=True)
class MarketSummary:
    """One market: rows from `start` to `end` (seconds since 1970), prices in USD/h.

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
    """What the catalogue of AWS says for this type in this region, if it has both."""
    region = region_of(market.zone)
    if region is None or region not in regions("aws"):
        return None
    machine = table_of("aws", region).machines.get(market.instance_type)
    return machine.usd_per_hour if machine else None
