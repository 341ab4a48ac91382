"""Price histories kept in Parquet: one small file for each month of each market.

    <folder>/prices.json                                     format and version
    <folder>/<type>/<zone>/<product>/2016-03.parquet         columns time (microseconds, UTC) and price (USD/h)

A month of one market is one file to open. A file is written beside its place and then moved there, and a market's
months are written from old to new: a killed process leaves each file either old or new, and no hole
before the newest price that is kept. One process writes at a time (a lock that ends with it); readers need none.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote, unquote

import numpy as np

from leantune.arrays import FloatArray
from leantune.cloud.markets import Market, PriceSeries
from leantune.cloud.price_files import arrow
from leantune.errors import IncompatibleStore, InvalidInput, StoreError
from leantune.files import write_whole

VERSION = 1
_MANIFEST, _SUFFIX = "prices.json", ".parquet"
_MICROSECONDS = 1e6
_MEANING = {"format": "leantune-prices", "version": VERSION}


@dataclass(frozen=True)
class Updated:
    """The result of an update: new prices, prices replaced by a higher one of the same moment, files written."""

    added: int
    raised: int
    files: int


class PriceStore:
    """A folder of prices; it is made by the first update."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        arrow()
        self._check()

    def update(self, series: Mapping[Market, PriceSeries], progress: _Progress | None = None) -> Updated:
        """Add what is new; the same prices again change nothing. `progress` is told markets done and markets in all."""
        added = raised = files = 0
        with self._writing():
            for done, (market, prices) in enumerate(series.items(), start=1):
                for month, times, values in _by_month(prices.times, prices.prices):
                    more, higher = self._merge(self._path(market, month), times, values)
                    added, raised, files = added + more, raised + higher, files + bool(more or higher)
                if progress:
                    progress(done, len(series))
        return Updated(added, raised, files)

    def markets(self) -> tuple[Market, ...]:
        """All markets with prices, sorted."""
        folders = {path.parent for path in self.folder.glob(f"*/*/*/*{_SUFFIX}")}
        return tuple(sorted(Market(*map(unquote, folder.relative_to(self.folder).parts)) for folder in folders))

    def series(self, market: Market, begin: float | None = None, end: float | None = None) -> PriceSeries:
        """The prices of a market within [begin, end), with the one that held at begin; all of them by default.

        The series ends at `end`, or with the last price kept where that is earlier: later ones are not known.
        """
        months = self._months(market)
        if not months:
            kept = ", ".join(str(other) for other in self.markets()[:6]) or "none"
            hint = f"Kept are {kept}, ...; add prices with leantune spot prices"
            raise InvalidInput("the store has no prices of this market", where=f"{market} in {self.folder}", hint=hint)
        first = 0
        if begin is not None:  # the month before has the price that held at begin
            first = max(int(np.searchsorted(months, _month(begin))) - 1, 0)
        last = len(months) if end is None else int(np.searchsorted(months, _month(end), side="right"))
        wanted = months[first : last + 1]  # one more: whether prices are known beyond the end
        parts = [_read(self._path(market, month)) for month in wanted]
        times, prices = (np.concatenate([part[column] for part in parts] or [np.empty(0)]) for column in (0, 1))
        known_until = times[-1] if len(times) else -np.inf
        low = 0 if begin is None else max(int(np.searchsorted(times, begin, side="right")) - 1, 0)
        high = len(times) if end is None else int(np.searchsorted(times, end))
        if low >= high:
            hint = "Ask for a period that the store has; leantune spot prices lists them"
            where = f"{market} in {self.folder}"
            raise InvalidInput("no prices of this market in the period", where=where, hint=hint)
        until = known_until if end is None else min(end, known_until)
        return PriceSeries(market, times[low:high], prices[low:high], end=until)

    def load(
        self, markets: Iterable[Market] | None = None, begin: float | None = None, end: float | None = None
    ) -> dict[Market, PriceSeries]:
        """The series of several markets, all by default."""
        chosen = self.markets() if markets is None else markets
        return {market: self.series(market, begin, end) for market in chosen}

    def newest(self, market: Market) -> float | None:
        """When the last price kept of a market was set."""
        months = self._months(market)
        return float(_read(self._path(market, months[-1]))[0][-1]) if months else None

    # -- files

    def _merge(self, path: Path, times: FloatArray, prices: FloatArray) -> tuple[int, int]:
        """Merge a month with its kept prices; of two prices for one moment the higher stays, as in `prices`."""
        if not path.exists():
            _write(path, times, prices)
            return len(times), 0
        old_times, old_prices = _read(path)
        all_times = np.union1d(old_times, times)
        merged = np.zeros(len(all_times))
        before = np.searchsorted(all_times, old_times)
        now = np.searchsorted(all_times, times)
        merged[before] = old_prices
        merged[now] = np.maximum(merged[now], prices)
        added, raised = len(all_times) - len(old_times), int((merged[before] > old_prices).sum())
        if added or raised:
            _write(path, all_times, merged)
        return added, raised

    def _path(self, market: Market, month: str) -> Path:
        names = (market.instance_type, market.zone, market.product)
        return self.folder.joinpath(*map(_file_name, names), month + _SUFFIX)

    def _months(self, market: Market) -> list[str]:
        folder = self._path(market, "0000-00").parent
        return sorted(path.stem for path in folder.glob(f"*{_SUFFIX}"))

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Hold the folder's lock: one writer at a time."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            manifest = self.folder / _MANIFEST
            with (self.folder / ".lock").open("a") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                self._check()
                if not manifest.exists():
                    write_whole(manifest, json.dumps(_MEANING), durable=True)
                yield
        except OSError as error:
            hint = "Give a folder that can be written; what was kept before is still there"
            raise StoreError(
                f"prices cannot be kept: {error.strerror or error}", where=str(self.folder), hint=hint
            ) from None

    def _check(self) -> None:
        """The folder is ours, or new."""
        if not self.folder.exists():
            return
        if not self.folder.is_dir():
            raise InvalidInput("this is a file", where=str(self.folder), hint="Name a folder to keep prices in")
        try:
            manifest = json.loads((self.folder / _MANIFEST).read_text(encoding="utf-8"))
        except FileNotFoundError:
            if any(not path.name.startswith(".") for path in self.folder.iterdir()):
                hint = "Name an empty folder, a new one, or one that leantune spot prices made"
                raise InvalidInput("the folder holds something else", where=str(self.folder), hint=hint) from None
            return
        except (OSError, ValueError) as error:
            hint = f"Restore {_MANIFEST}: {json.dumps(_MEANING)}"
            raise StoreError(f"{_MANIFEST} cannot be read: {error}", where=str(self.folder), hint=hint) from None
        if manifest != _MEANING:
            what = f"prices of another version: {manifest}"
            raise IncompatibleStore(what, where=str(self.folder), hint=f"This LeanTune reads version {VERSION}")


_Progress = Callable[[int, int], None]


def _by_month(times: FloatArray, prices: FloatArray) -> Iterator[tuple[str, FloatArray, FloatArray]]:
    """Cut a series where months begin (UTC), from old to new."""
    stamps = (times * _MICROSECONDS).astype("int64").astype("datetime64[us]").astype("datetime64[M]")
    cuts = np.flatnonzero(np.diff(stamps.astype("int64"))) + 1
    for part in np.split(np.arange(len(times)), cuts):
        yield str(stamps[part[0]]), times[part], prices[part]


def _month(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m")


def _file_name(text: str) -> str:
    """A name that any file system takes and `unquote` reverses."""
    quoted = quote(text, safe="")
    return quoted if quoted.strip(".") else quoted.replace(".", "%2E")


def _read(path: Path) -> tuple[FloatArray, FloatArray]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            table = file.read(use_threads=False)
        times = table.column("time").cast(pa.int64()).to_numpy() / _MICROSECONDS
        return times, table.column("price").to_numpy()
    except (pa.ArrowException, OSError, KeyError) as error:
        hint = "Delete this file and import or fetch its month again"
        raise StoreError(f"kept prices cannot be read: {error}", where=str(path), hint=hint) from None


def _write(path: Path, times: FloatArray, prices: FloatArray) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path.parent.mkdir(parents=True, exist_ok=True)
    stamps = pa.array(np.round(times * _MICROSECONDS).astype(np.int64)).cast(pa.timestamp("us", "UTC"))
    table = pa.table({"time": stamps, "price": pa.array(prices)})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", write_statistics=False)
    write_whole(path, sink.getvalue().to_pybytes(), durable=True)
