"""What `leantune spot prices` does: import price files, fetch from AWS, show what is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leantune.cli.exit_codes import ExitCode
from leantune.cli.failures import print_result, say, told_errors, warn

if TYPE_CHECKING:
    from leantune.cloud.markets import Market, PriceSeries
    from leantune.cloud.price_store import PriceStore, Updated
    from leantune.cloud.price_summary import MarketSummary
    from leantune.cloud.prices import PriceReport

Files = Annotated[
    list[Path] | None,
    typer.Argument(help="Price files to import: CSV, or JSON of aws ec2 describe-spot-price-history.", metavar="FILES"),
]
Folder = Annotated[Path | None, typer.Option("--store", help="The folder of kept prices; yours by default.")]
Provider = Annotated[str, typer.Option(help="Fetch what is new from this provider: aws.")]
Region = Annotated[str, typer.Option(help="The region to fetch from, such as us-east-1.")]
Types = Annotated[str, typer.Option(help="Only these machine types, such as m5.large,r4.xlarge.")]
Products = Annotated[str, typer.Option(help="Only these products, such as Linux/UNIX,Windows.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")]


def prices(
    files: Files = None,
    *,
    store: Folder = None,
    provider: Provider = "",
    region: Region = "",
    types: Types = "",
    products: Products = "",
    as_json: AsJson = False,
) -> None:
    """Import, fetch and show spot prices.

    Files are added to the kept prices; with --provider aws, what is new since then is fetched (extra aws; the last 90
    days at most). Then each market is summed up. Only what is new is added, so any of it may be repeated.

    \b
    Examples:
      $ leantune spot prices history.csv
      $ leantune spot prices --provider aws --region us-east-1 --types m5.large,r5.large
      $ leantune spot prices --types m5.large --json
    """  # noqa: D301 (typer reads the backspace: what follows keeps its lines)
    with told_errors(as_json=as_json):
        from leantune.cloud.catalog_tables import user_folder
        from leantune.cloud.price_store import PriceStore

        kept = PriceStore(store or user_folder() / "prices")
        wanted = _listed(types), _listed(products)
        imported = [_import(kept, path) for path in files or ()]
        if provider or region:
            imported.append(_fetch(kept, provider, region, wanted))
        summaries = _summaries(kept, *wanted)
        print_result(_json(kept, imported, summaries), _lines(kept, summaries), as_json=as_json)
    raise typer.Exit(ExitCode.WELL)


def _listed(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


# -- importing


def _import(store: PriceStore, path: Path) -> dict[str, object]:
    from leantune.cli.activity import activity
    from leantune.cloud.prices import read_prices

    with activity(f"reading {path.name}") as tell:
        loaded = read_prices(path, progress=lambda rows: tell(f"{rows:,} rows"))
        updated = store.update(loaded, lambda done, of: tell(f"{done:,} of {of:,} markets kept"))
    return _told(loaded.report.source, loaded.report, updated)


def _fetch(
    store: PriceStore, provider: str, region: str, wanted: tuple[tuple[str, ...], tuple[str, ...]]
) -> dict[str, object]:
    from leantune.cli.activity import activity
    from leantune.clock import RealClock
    from leantune.cloud.aws import Access, Wanted, fetch_into
    from leantune.errors import InvalidInput

    if provider != "aws" or not region:
        what = f"prices of {provider!r} cannot be fetched" if provider != "aws" else "no region to fetch from"
        raise InvalidInput(what, where="spot prices", hint="Write --provider aws --region us-east-1")
    types, products = wanted
    asked = Wanted(types, products) if products else Wanted(types)
    with activity(f"asking AWS {region}") as tell:
        fetched = fetch_into(store, Access(region), asked, RealClock(), lambda rows: tell(f"{rows:,} rows"))
    report = fetched.loaded.report
    return _told(f"{report.source} since {_day(fetched.since)}", report, fetched.updated)


def _told(source: str, report: PriceReport, updated: Updated) -> dict[str, object]:
    """Say what came, and what was wrong with it; the same as JSON."""
    from dataclasses import asdict

    say(f"{source}: {report.rows:,} rows, {updated.added:,} of them new", err=True)
    for trouble in report.troubles():
        warn(f"{source}: {trouble}")
    rows = {key: value for key, value in asdict(report).items() if key not in ("source", "gaps")}
    gaps = [{"market": str(gap.market), "begin": _stamp(gap.begin), "end": _stamp(gap.end)} for gap in report.gaps]
    return {"source": source, **rows, "gaps": gaps, **asdict(updated)}


# -- showing


def _summaries(store: PriceStore, types: Sequence[str], products: Sequence[str]) -> list[MarketSummary]:
    from leantune.cloud.price_summary import on_demand_price, summarise_market
    from leantune.errors import InvalidInput

    chosen: Mapping[Market, PriceSeries] = store.load(
        market
        for market in store.markets()
        if (not types or market.instance_type in types) and (not products or market.product in products)
    )
    if not chosen:
        hint = "Import a file, leantune spot prices history.csv, or fetch with --provider aws --region us-east-1"
        raise InvalidInput("no such prices are kept", where=str(store.folder), hint=hint)
    return [summarise_market(series, on_demand_price(market)) for market, series in chosen.items()]


def _lines(store: PriceStore, summaries: Sequence[MarketSummary]) -> list[str]:
    from leantune.cli.columns import columned

    headings = ("market", "rows", "from", "to", "min", "median", "max", "changes/day", "gaps", "above on-demand")
    rows = [
        (
            str(one.market),
            f"{one.rows:,}",
            _day(one.start),
            _day(one.end),
            *(f"{price:.4f}" for price in (one.lowest, one.median, one.highest)),
            f"{one.changes_per_day:.1f}",
            f"{one.gaps}",
            "?" if one.above_on_demand is None else f"{one.above_on_demand:.2%} of the time",
        )
        for one in summaries
    ]
    total = sum(one.rows for one in summaries)
    head = f"{total:,} prices of {len(summaries)} {'market' if len(summaries) == 1 else 'markets'} in {store.folder}"
    unknown = sum(one.on_demand is None for one in summaries)
    note = [f"?: the catalogue has no on-demand price ({unknown} markets)"] if unknown else []
    return [f"{head} (USD per hour; times are UTC)", *columned(headings, rows), *note]


def _json(store: PriceStore, imported: object, summaries: Sequence[MarketSummary]) -> dict[str, object]:
    from dataclasses import asdict

    markets = [
        {**asdict(one), "market": str(one.market), "start": _stamp(one.start), "end": _stamp(one.end)}
        for one in summaries
    ]
    return {"store": str(store.folder), "imported": imported, "markets": markets}


def _day(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d")


def _stamp(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).isoformat()
