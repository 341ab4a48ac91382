"""What `leantune spot prices` does: import price files, fetch from AWS, show what is kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from leantune.cli.command import Answer, Json
from leantune.cli.terminal import activity, columned, say, utc, warn
from leantune.clock import RealClock
from leantune.cloud.aws import Access, fetch_into
from leantune.cloud.catalog_tables import user_folder
from leantune.cloud.price_store import PriceStore, Updated
from leantune.cloud.prices import MarketSummary, PriceReport, on_demand_price, read_prices, summarise_market
from leantune.errors import InvalidInput
from leantune.text import counted

Names = tuple[str, ...]


def prices(
    files: Sequence[Path], folder: Path | None, provider: str, region: str, types: Names, products: Names
) -> Answer:
    """Import the files, fetch where a provider or region is named, and sum up kept prices of those types, products."""
    store = PriceStore(folder or user_folder() / "prices")
    imported = [_import(store, path) for path in files]
    if provider or region:
        imported.append(_fetch(store, provider, region, types, products))
    summaries = _summaries(store, types, products)
    markets = [
        {**vars(summary), "market": str(summary.market), "start": utc(summary.start), "end": utc(summary.end)}
        for summary in summaries
    ]
    return Answer({"store": store.folder, "imported": imported, "markets": markets}, _lines(store, summaries))


# -- importing


def _import(store: PriceStore, path: Path) -> Json:
    with activity(f"reading {path.name}") as tell:
        loaded = read_prices(path, progress=lambda rows: tell(f"{rows:,} rows"))
        updated = store.update(loaded.series, lambda done, of: tell(f"{done:,} of {of:,} markets kept"))
    return _import_json(loaded.report.source, loaded.report, updated)


def _fetch(store: PriceStore, provider: str, region: str, types: Names, products: Names) -> Json:
    if provider != "aws" or not region:
        what = f"prices of {provider!r} cannot be fetched" if provider != "aws" else "no region to fetch from"
        raise InvalidInput(what, where="spot prices", hint="Write --provider aws --region us-east-1")
    with activity(f"asking AWS {region}") as tell:
        fetched = fetch_into(store, Access(region), RealClock(), types, products, lambda rows: tell(f"{rows:,} rows"))
    report = fetched.loaded.report
    return _import_json(f"{report.source} since {utc(fetched.since):%Y-%m-%d}", report, fetched.updated)


def _import_json(source: str, report: PriceReport, updated: Updated) -> Json:
    """What was imported, and what was wrong with it, as lines and as JSON."""
    say(f"{source}: {report.rows:,} rows, {updated.added:,} of them new", err=True)
    for trouble in report.troubles():
        warn(f"{source}: {trouble}")
    gaps = [{"market": str(gap.market), "begin": utc(gap.begin), "end": utc(gap.end)} for gap in report.gaps]
    return {**vars(report), "source": source, "gaps": gaps, **vars(updated)}


# -- showing


def _summaries(store: PriceStore, types: Names, products: Names) -> list[MarketSummary]:
    chosen = store.load(
        market
        for market in store.markets()
        if (not types or market.instance_type in types) and (not products or market.product in products)
    )
    if not chosen:
        hint = "Import a file, leantune spot prices history.csv, or fetch with --provider aws --region us-east-1"
        raise InvalidInput("no such prices are kept", where=str(store.folder), hint=hint)
    return [summarise_market(series, on_demand_price(market)) for market, series in chosen.items()]


def _lines(store: PriceStore, summaries: Sequence[MarketSummary]) -> list[str]:
    headings = ("market", "rows", "from", "to", "min", "median", "max", "changes/day", "gaps", "above on-demand")
    rows = [
        (
            str(summary.market),
            f"{summary.rows:,}",
            f"{utc(summary.start):%Y-%m-%d}",
            f"{utc(summary.end):%Y-%m-%d}",
            *(f"{price:.4f}" for price in (summary.lowest, summary.median, summary.highest)),
            f"{summary.changes_per_day:.1f}",
            f"{summary.gaps}",
            "?" if summary.above_on_demand is None else f"{summary.above_on_demand:.2%} of the time",
        )
        for summary in summaries
    ]
    total = sum(summary.rows for summary in summaries)
    head = f"{total:,} prices of {counted(len(summaries), 'market')} in {store.folder}"
    unknown = sum(summary.on_demand is None for summary in summaries)
    note = [f"?: the catalogue has no on-demand price ({unknown} markets)"] if unknown else []
    return [f"{head} (USD per hour; times are UTC)", *columned(headings, rows), *note]
