"""How fast prices are loaded and found: `python -m benchmarks.prices --json`.

Makes a file of generated prices (12 million rows; --quick: 600,000), reads it, keeps it in a store, and asks the store
for a month of one market. Loading and storing are set against pyarrow's own CSV reader on the same file in the same
run, which parses and does nothing else; a month against picking that market's rows out of the whole table in memory.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from leantune.cloud.generated import generate_prices
from leantune.cloud.markets import LINUX, Market, PriceSeries
from leantune.cloud.price_store import PriceStore
from leantune.cloud.prices import read_prices

ROWS, QUICK_ROWS = 12_000_000, 600_000
START, DAYS = 1_456_358_400.0, 60.0  # 2016-02-25
MONTH = (1_456_790_400.0, 1_459_468_800.0)  # March 2016
ASKED = 50  # months asked for, one market each
T = TypeVar("T")
TYPES = 40  # different types; the others are zones


@dataclass(frozen=True)
class Figures:
    """Seconds; ratios are to the reference of the same run."""

    rows: int
    markets: int
    file_mb: float
    reference_s: float
    load_s: float
    load_ratio: float
    rows_per_s: float
    store_s: float
    store_ratio: float
    again_s: float
    store_mb: float
    month_ms: float
    scan_ms: float
    month_ratio: float


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_ROWS:,} rows")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(Path(folder), QUICK_ROWS if arguments.quick else ROWS)
    if arguments.json:
        print(json.dumps(asdict(figures), indent=2))
    else:
        for name, value in asdict(figures).items():
            print(f"{name:12} {value:,.3f}" if isinstance(value, float) else f"{name:12} {value:,}")


def measure(folder: Path, rows: int) -> Figures:
    """All figures, in a folder of their own."""
    path = folder / "prices.csv"
    written = write_file(path, rows)
    reference, table = timed(lambda: arrow_csv.read_csv(str(path)))
    load, loaded = timed(lambda: read_prices(path))
    if loaded.report.kept != written or loaded.report.troubles():
        raise AssertionError(f"{written} rows were written, but {loaded.report}")
    store = PriceStore(folder / "store")
    kept, _ = timed(lambda: store.update(loaded.series))
    again, second = timed(lambda: store.update(loaded.series))
    if second.added or second.files:
        raise AssertionError(f"the same prices changed the store: {second}")
    markets = list(loaded.series)
    asked = [markets[i] for i in np.random.default_rng(0).integers(len(markets), size=ASKED)]
    month = statistics.median(timed(lambda m=market: store.series(m, *MONTH))[0] for market in asked)  # type: ignore[misc]
    scan = statistics.median(timed(lambda m=market: scanned(table, m))[0] for market in asked[:3])  # type: ignore[misc]
    size = sum(file.stat().st_size for file in store.folder.rglob("*.parquet"))
    return Figures(
        rows=written,
        markets=len(markets),
        file_mb=path.stat().st_size / 1e6,
        reference_s=reference,
        load_s=load,
        load_ratio=load / reference,
        rows_per_s=written / load,
        store_s=kept,
        store_ratio=kept / reference,
        again_s=again,
        store_mb=size / 1e6,
        month_ms=month * 1e3,
        scan_ms=scan * 1e3,
        month_ratio=month / scan,
    )


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """Seconds, and what came of it."""
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def scanned(table: pa.Table, market: Market) -> pa.Table:
    """One market's rows out of the whole table: what a store without partitions does."""
    same_type = pc.equal(table["instance_type"], market.instance_type)
    return table.filter(pc.and_(same_type, pc.equal(table["availability_zone"], market.zone)))


def write_file(path: Path, rows: int) -> int:
    """A CSV of generated prices of as many markets as it takes; the number of its rows."""
    schema = pa.schema([(name, pa.string()) for name in ("timestamp", "instance_type", "availability_zone", "product")])
    options = arrow_csv.WriteOptions(quoting_style="none")
    written = number = 0
    with arrow_csv.CSVWriter(str(path), schema.append(pa.field("price", pa.float64())), write_options=options) as file:
        while written < rows:
            market = Market(f"m{number % TYPES}.large", f"us-east-1{number // TYPES}")
            (series,) = generate_prices({market: 0.1 + number % 7}, start=START, days=DAYS).values()
            batch = _batch(series, rows - written)
            file.write_table(batch)
            written, number = written + len(batch), number + 1
    return written


def _batch(series: PriceSeries, most: int) -> pa.Table:
    count = min(len(series), most)
    stamps = pa.array(series.times[:count].astype(np.int64)).cast(pa.timestamp("s"))
    names = (series.market.instance_type, series.market.zone, LINUX)
    columns = [pc.strftime(stamps, "%Y-%m-%dT%H:%M:%SZ"), *(pa.repeat(name, count) for name in names)]
    titles = ["timestamp", "instance_type", "availability_zone", "product", "price"]
    return pa.table([*columns, pa.array(series.prices[:count])], names=titles)


if __name__ == "__main__":
    main()
