"""Files of spot prices as columns: CSV with a header, or JSON as AWS's describe-spot-price-history prints it.

A CSV file (also .gz, .bz2, .zst) has the columns timestamp, instance_type, availability_zone, product and price, in any
order and beside others. JSON is {"SpotPriceHistory": [{AvailabilityZone, InstanceType, ProductDescription, SpotPrice,
Timestamp}, ...]}, or that list alone. A time without a zone is UTC. Needs pyarrow (extra `spot`).

All other CSVs are small and read by `files.csv_rows`: 158 rows of the catalogue in 0.3 ms, where loading pyarrow alone
takes 0.1 s and 40 MB. Of prices there are millions: a million rows take 0.24 s here, 1.2 s there as mere text.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leantune.arrays import FloatArray
from leantune.cloud.markets import Market
from leantune.errors import InvalidInput, needed

COLUMNS = ("timestamp", "instance_type", "availability_zone", "product", "price")
JSON_KEYS = ("Timestamp", "InstanceType", "AvailabilityZone", "ProductDescription", "SpotPrice")
BLOCK_BYTES, BLOCK_ENTRIES = 16 << 20, 1 << 18  # read at once
_EXAMPLE = f"{','.join(COLUMNS)}\\n2016-02-25T12:48:23Z,r3.large,us-east-1c,Linux/UNIX,0.027"
RIGHT = f"Give CSV such as '{_EXAMPLE}', or JSON of aws ec2 describe-spot-price-history"
_TIME = r"^\d{4}-\d\d-\d\d([T ]\d\d(:?\d\d(:?\d\d(\.\d{1,6})?)?)?(Z|[+-]\d\d(:?\d\d)?)?)?$"
_ZONED = r"[T ].*(Z|[+-]\d\d(:?\d\d)?)$"
_MICROSECONDS = 1e6
Progress = Callable[[int], None]  # called with the number of rows read so far


@dataclass(frozen=True)
class PriceColumns:
    """A file's rows as columns; rows that cannot be read are left out and counted.

    codes: int64 (n,), which of `markets`; times: float64 (n,), seconds since 1970 UTC; prices: float64 (n,), USD/h.
    first_unreadable: where the first such row is ("line 7", "entry 7"), or "".
    without_zone: rows whose time named no zone.
    """

    markets: tuple[Market, ...]
    codes: NDArray[np.int64]
    times: FloatArray
    prices: FloatArray
    unreadable: int = 0
    first_unreadable: str = ""
    without_zone: int = 0


def arrow() -> Any:
    """The library pyarrow with its part `compute`, or an error that names the extra."""
    needed("pyarrow.compute", "price files need the library pyarrow", where="prices", extra="spot")
    return import_module("pyarrow")


def read_columns(path: Path, progress: Progress | None = None) -> PriceColumns:
    """Read a file of either kind, told apart by its first character."""
    pa = arrow()
    try:
        with pa.input_stream(str(path)) as stream:
            first = stream.read(256).removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
        return columns_of(_entries(path), progress) if first in (b"{", b"[") else _read_csv(path, progress)
    except OSError as error:
        what = "there is no such file" if isinstance(error, FileNotFoundError) else f"the file cannot be read: {error}"
        raise InvalidInput(what, where=str(path), hint=RIGHT) from None


class _Reader:
    """Gathers blocks of five text columns into numbers."""

    def __init__(self, progress: Progress | None) -> None:
        self.rows = self.unreadable = self.without_zone = 0
        self.first_unreadable: int | None = None  # a row, counted from 0
        self._progress = progress
        self._codes: dict[Market, int] = {}
        self._blocks: list[tuple[NDArray[np.int64], FloatArray, FloatArray]] = []

    def add(self, columns: Sequence[Any]) -> None:
        """One block: time, type, zone, product and price as arrow arrays of text, types to products as dictionaries."""
        time, *names, price = columns
        seconds, zoneless = _seconds(time)
        dollars = _numbers(price)
        codes = self._market_codes(names)
        readable = ~np.isnan(seconds) & np.asarray(dollars.is_valid()) & (codes >= 0)
        if not readable.all():
            self.note(self.rows + int(np.argmin(readable)), int((~readable).sum()))
        self.rows += len(readable)
        self.without_zone += int((zoneless & readable).sum())
        numbers = dollars.fill_null(0.0).to_numpy(zero_copy_only=False)
        self._blocks.append((codes[readable], seconds[readable], numbers[readable]))
        if self._progress:
            self._progress(self.rows)

    def note(self, row: int, count: int) -> None:
        """So many rows cannot be read, the first of them this one."""
        self.unreadable += count
        self.first_unreadable = row if self.first_unreadable is None else min(row, self.first_unreadable)

    def _market_codes(self, names: Sequence[Any]) -> NDArray[np.int64]:
        """The number of each row's market, -1 where a name is missing or blank; new markets get the next numbers."""
        texts = [[*name.dictionary.to_pylist(), ""] for name in names]  # the last one: of rows without a name
        shape = [len(text) for text in texts]
        places = [
            name.indices.fill_null(size - 1).to_numpy(zero_copy_only=False)
            for name, size in zip(names, shape, strict=True)
        ]
        distinct, inverse = np.unique(np.ravel_multi_index(places, shape), return_inverse=True)
        numbers = np.full(len(distinct), -1)
        for row, chosen in enumerate(zip(*np.unravel_index(distinct, shape), strict=True)):
            market = [text[place].strip() for text, place in zip(texts, chosen, strict=True)]
            if all(market):
                numbers[row] = self._codes.setdefault(Market(*market), len(self._codes))
        return numbers[inverse]

    def columns(self, where: Callable[[int], str]) -> PriceColumns:
        """All blocks as one; `where` words a row's place in the file."""
        codes, times, prices = (
            np.concatenate([block[part] for block in self._blocks] or [np.empty(0)]) for part in range(3)
        )
        first = "" if self.first_unreadable is None else where(self.first_unreadable)
        markets = tuple(self._codes)
        return PriceColumns(markets, codes.astype(np.int64), times, prices, self.unreadable, first, self.without_zone)


# -- CSV


def _read_csv(path: Path, progress: Progress | None) -> PriceColumns:
    import pyarrow.csv as pc_csv

    pa, read = arrow(), _Reader(progress)
    misshapen: list[int] = []  # rows with more or fewer fields, counted from 1 with the header

    def skip(row: Any) -> str:
        misshapen.append(row.number)
        return "skip"

    text, names = pa.string(), pa.dictionary(pa.int32(), pa.string())
    kinds = dict(zip(COLUMNS, (text, names, names, names, text), strict=True))
    try:
        stream = pc_csv.open_csv(
            str(path),
            # One thread: only then does a wrong row know its number.
            read_options=pc_csv.ReadOptions(use_threads=False, block_size=BLOCK_BYTES),
            parse_options=pc_csv.ParseOptions(invalid_row_handler=skip),
            convert_options=pc_csv.ConvertOptions(column_types=kinds),
        )
        missing = [name for name in COLUMNS if name not in stream.schema.names]
        if missing:
            raise InvalidInput(f"no column {missing[0]!r} in the header", where=f"{path}, line 1", hint=RIGHT)
        for block in stream:
            read.add([block.column(name) for name in COLUMNS])
    except pa.ArrowInvalid as error:
        number = re.search(r"Row #(\d+)", str(error))
        line = _line(path, int(number[1])) if number else 1
        raise InvalidInput(f"this is no CSV of prices: {error}", where=f"{path}, line {line}", hint=RIGHT) from None
    if misshapen:
        read.rows += len(misshapen)
        read.note(misshapen[0] - 2, len(misshapen))
    return read.columns(lambda row: f"line {_line(path, row + 2)}")


def _line(path: Path, number: int) -> int:
    """The line on which the number-th row of a CSV stands: empty lines are none."""
    pa = arrow()
    seen = 0
    with io.BufferedReader(pa.input_stream(str(path))) as stream:
        for line_number, line in enumerate(stream, start=1):
            seen += bool(line.strip(b"\r\n"))
            if seen == number:
                return line_number
    return number


# -- JSON


def _entries(path: Path) -> list[object]:
    """The price-history entries of a JSON file."""
    try:
        with arrow().input_stream(str(path)) as stream:
            content = json.loads(stream.read().decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        raise InvalidInput(f"not JSON: {error.msg}", where=f"{path}, line {error.lineno}", hint=RIGHT) from None
    except UnicodeDecodeError:
        raise InvalidInput("the file is not UTF-8", where=str(path), hint=RIGHT) from None
    entries = content.get("SpotPriceHistory") if isinstance(content, Mapping) else content
    if not isinstance(entries, list):
        raise InvalidInput("no list 'SpotPriceHistory'", where=f"{path}, line 1", hint=RIGHT)
    return entries


def columns_of(entries: Sequence[object], progress: Progress | None = None) -> PriceColumns:
    """Columns of price-history entries, whose keys AWS names."""
    pa, read = arrow(), _Reader(progress)
    for begin in range(0, len(entries), BLOCK_ENTRIES):
        block = [entry if isinstance(entry, Mapping) else {} for entry in entries[begin : begin + BLOCK_ENTRIES]]
        texts = [pa.array([_text(entry.get(key)) for entry in block], pa.string()) for key in JSON_KEYS]
        read.add([texts[0], *(text.dictionary_encode() for text in texts[1:4]), texts[4]])
    return read.columns(lambda row: f"entry {row + 1}")


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else repr(value) if isinstance(value, int | float) else None


# -- columns of text as numbers


def _seconds(texts: Any) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Seconds since 1970 of times in ISO 8601, NaN where there is none, and which of them named no zone."""
    pa = arrow()
    zoned, zoneless = pa.timestamp("us", "UTC"), np.zeros(len(texts), np.bool_)
    try:
        stamps = pa.compute.cast(texts, zoned)
    except pa.ArrowInvalid:
        texts = pa.compute.utf8_trim_whitespace(texts)
        texts = pa.compute.if_else(pa.compute.match_substring_regex(texts, _TIME), texts, None)
        named = pa.compute.match_substring_regex(texts, _ZONED).fill_null(True)
        zoneless = ~np.asarray(named)
        stamps = _cast_or_null(pa.compute.if_else(named, texts, None), zoned)
        local = _cast_or_null(pa.compute.if_else(named, None, texts), pa.timestamp("us"))
        stamps = pa.compute.coalesce(stamps, local.cast(pa.int64()).cast(zoned))
    seconds = stamps.cast(pa.int64()).cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False) / _MICROSECONDS
    return seconds, zoneless


def _numbers(texts: Any) -> Any:
    """Numbers of texts, null where there is none."""
    pa = arrow()
    return _cast_or_null(pa.compute.utf8_trim_whitespace(texts), pa.float64())


def _cast_or_null(texts: Any, kind: Any) -> Any:
    """A cast that gives null for a text that cannot be read: whole where it can, else one by one."""
    pa = arrow()
    try:
        return pa.compute.cast(texts, kind)
    except pa.ArrowInvalid:
        if len(texts) == 1:
            return pa.nulls(1, kind)
        middle = len(texts) // 2
        halves = [_cast_or_null(half, kind) for half in (texts[:middle], texts[middle:])]
        return pa.concat_arrays(halves)
