"""Preemption traces: how many machines were really held in a market over time, as capacity of our markets.

    JSON  {"metadata": {"gap_seconds": g}, "data": [n, ...]}     n machines up at each tick, every g seconds
    JSON  availability_*.json                                    n = 1 where a launch would have succeeded
    CSV   ms,add|remove,node                                     when each node came and went

A trace knows [0, seconds): ticks times the gap, or until the last event of a CSV. Laid over a period it starts `offset`
seconds in and is repeated when it ends before the period, which `MarketCapacity.source` says; the jump from its end to
its begin takes no machine. A launch succeeds where n >= 1. Where n falls by k, each machine goes with probability k/n;
a fall and a rise between two ticks are not seen. Which file stands for which market is declared:

    r3.large/us-east-1c: preemption_aws_us-east-1c.json
    r3.xlarge/us-east-1d: {file: availability_aws_us-east-1d.json, offset: 3 days, preempts: true}
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from leantune.arrays import FloatArray
from leantune.cloud.feeds import MarketCapacity
from leantune.cloud.markets import Market
from leantune.errors import InvalidInput
from leantune.files import csv_rows
from leantune.units import parse_quantity

_MS_PER_SECOND = 1000.0
_JSON_HINT = 'Write {"metadata": {"gap_seconds": 300}, "data": [4, 4, 3]}'
_CSV_HINT = "Write lines such as 480000,add,node1"
_MAPPING_HINT = "Write market: file, or market: {file: name.json, offset: 3 days, preempts: true}"


@dataclass(frozen=True, eq=False)
class Trace:
    """Machines up: counts[i] from times[i] (seconds since the trace's begin, the first is 0) until times[i+1].

    preempts: whether a fall takes machines. An availability trace held none, so by itself it only refuses launches.
    """

    name: str
    times: FloatArray
    counts: NDArray[np.int64]
    seconds: float
    preempts: bool = True

    def capacity(
        self, begin: float, end: float, *, offset: float = 0.0, seed: tuple[int, ...] = (0,)
    ) -> MarketCapacity:
        """The trace laid over [begin, end), seconds since 1970, which starts `offset` seconds into the trace."""
        if not (math.isfinite(begin) and math.isfinite(end) and begin < end):
            hint = "Give a begin before the end"
            raise InvalidInput(f"[{begin}, {end}) is no period", where=self.name, hint=hint)
        if not math.isfinite(offset):
            raise InvalidInput(f"the offset is {offset}", where=self.name, hint="Give finite seconds")
        origin = begin - offset % self.seconds
        rounds = math.ceil((end - origin) / self.seconds)
        starts = origin + self.seconds * np.arange(rounds)
        up = np.concatenate([self._up() + start for start in starts])
        falls, shares = self._falls()
        times = (starts[:, None] + falls).ravel()
        inside = (times >= begin) & (times < end)
        up = _joined(np.clip(up, begin, end))
        kept = np.tile(shares, rounds)[inside]
        source = self._source(end - begin, wrapped=rounds > 1)
        return MarketCapacity(up[:, 0], up[:, 1], times[inside], kept, seed=seed, source=source)

    def _source(self, period: float, *, wrapped: bool) -> str:
        if period > self.seconds:
            return f"{self.name}, repeated: the period is {period / self.seconds:.1f} times as long"
        return f"{self.name}, continued from its begin" if wrapped else self.name

    def _up(self) -> FloatArray:
        """(m, 2): within [begin, end) at least one machine is up."""
        ends = np.append(self.times[1:], self.seconds)
        return np.column_stack((self.times, ends))[self.counts >= 1]

    def _falls(self) -> tuple[FloatArray, FloatArray]:
        """When machines went (d,), and which share of those there (d,)."""
        fallen = self.counts[:-1] - self.counts[1:]
        where = np.flatnonzero(fallen > 0) if self.preempts else np.array([], dtype=np.int64)
        return self.times[where + 1], fallen[where] / self.counts[where]


def read_trace(path: Path) -> Trace:
    """Read a trace, by its ending .json or .csv; a name that starts with `availability` makes it one of launches."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"the trace cannot be read: {error}", where=str(path), hint="Name a trace file") from None
    if path.suffix == ".json":
        return _from_json(text, path.name)
    if path.suffix == ".csv":
        return _from_csv(text, path.name)
    raise InvalidInput("the file is no trace", where=str(path), hint="Traces end in .json or .csv")


def read_mapping(path: Path) -> dict[str, Any]:
    """Read a declared mapping, market -> file (or file, offset, preempts), from YAML."""
    try:
        read = YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, YAMLError) as error:
        raise InvalidInput(f"the mapping cannot be read: {error}", where=str(path), hint=_MAPPING_HINT) from None
    if not isinstance(read, dict) or not read:
        raise InvalidInput("the mapping names no market", where=str(path), hint=_MAPPING_HINT)
    return read


def capacities(
    mapping: Mapping[str, str | Mapping[str, Any]], folder: Path, begin: float, end: float, *, seed: int = 0
) -> dict[Market, MarketCapacity]:
    """The capacity of each declared market over [begin, end); files are looked for in `folder`.

    Markets draw independently from one seed, also where they share a file.
    """
    by_market: dict[Market, MarketCapacity] = {}
    for name, entry in mapping.items():
        market = Market.parse(str(name))
        trace, offset = _declared(entry, folder, where=f"trace of {market}")
        own = zlib.crc32(str(market).encode())
        by_market[market] = trace.capacity(begin, end, offset=offset, seed=(seed, own))
    return by_market


def _declared(entry: str | Mapping[str, Any], folder: Path, where: str) -> tuple[Trace, float]:
    said: Mapping[str, Any] = {"file": entry} if isinstance(entry, str) else entry
    if not isinstance(said, Mapping) or not isinstance(said.get("file"), str):
        raise InvalidInput("no file is named", where=where, hint=_MAPPING_HINT)
    unknown = next((key for key in said if key not in ("file", "offset", "preempts")), None)
    if unknown is not None:
        raise InvalidInput(f"unknown key {unknown!r}", where=where, hint=_MAPPING_HINT)
    trace = read_trace(folder / said["file"])
    preempts = said.get("preempts", trace.preempts)
    if not isinstance(preempts, bool):
        raise InvalidInput(f"preempts is {preempts!r}", where=where, hint="Write true or false")
    offset = said.get("offset", 0.0)
    if isinstance(offset, str):
        offset = parse_quantity(offset, "time")
    if isinstance(offset, bool) or not isinstance(offset, int | float):
        raise InvalidInput(f"the offset is {offset!r}", where=where, hint="Write seconds, or such as '3 days'")
    return replace(trace, preempts=preempts), float(offset)


def _from_json(text: str, name: str) -> Trace:
    try:
        read = json.loads(text)
        gap, data = read["metadata"]["gap_seconds"], read["data"]
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidInput(f"the trace has another form: {error!r}", where=name, hint=_JSON_HINT) from None
    if isinstance(gap, bool) or not isinstance(gap, int | float) or not (math.isfinite(gap) and gap > 0):
        raise InvalidInput(f"gap_seconds is {gap!r}", where=name, hint="Give seconds above 0")
    if not isinstance(data, list) or not data:
        raise InvalidInput("the trace has no data", where=name, hint=_JSON_HINT)
    wrong = next((i for i, n in enumerate(data) if type(n) is not int or n < 0), None)
    if wrong is not None:
        hint = "Give numbers of machines: 0, 1, 2, ..."
        raise InvalidInput(f"data[{wrong}] is {data[wrong]!r}", where=name, hint=hint)
    counts = np.array(data, dtype=np.int64)
    return Trace(name, gap * np.arange(len(counts), dtype=np.float64), counts, gap * len(counts), _held(name))


def _from_csv(text: str, name: str) -> Trace:
    up: set[str] = set()
    counts = {0.0: 0}
    last = 0.0
    for number, row in csv_rows(text, name):
        where = f"{name}, line {number}"
        time, action, node = _event(row, where)
        if time < last:
            raise InvalidInput("the event is earlier than the one before", where=where, hint="Sort the lines by time")
        if (action == "add") == (node in up):
            state = "is up already" if node in up else "is not up"
            raise InvalidInput(f"{action} of {node!r}, which {state}", where=where, hint="A node comes, then goes")
        up.symmetric_difference_update({node})
        counts[time], last = len(up), time
    if last == 0.0:
        raise InvalidInput("the trace has no event after its begin", where=name, hint=_CSV_HINT)
    del counts[last]  # how long the state after the last event lasts is unknown
    times = np.array(list(counts), dtype=np.float64)
    return Trace(name, times, np.array(list(counts.values()), dtype=np.int64), last, _held(name))


def _event(row: list[str], where: str) -> tuple[float, str, str]:
    if len(row) != 3 or row[1] not in ("add", "remove") or not row[2]:
        raise InvalidInput(f"{','.join(row)!r} is no event", where=where, hint=_CSV_HINT)
    if not row[0].isdecimal():
        raise InvalidInput(f"{row[0]!r} is no time", where=where, hint="Give whole milliseconds of at least 0")
    return int(row[0]) / _MS_PER_SECOND, row[1], row[2]


def _held(name: str) -> bool:
    return not name.startswith("availability")


def _joined(intervals: FloatArray) -> FloatArray:
    """Intervals (m, 2) in order, those that touch made one and empty ones left out."""
    intervals = intervals[intervals[:, 0] < intervals[:, 1]]
    if not len(intervals):
        return intervals
    # Repetitions meet at sums of floats: closer than a microsecond is the same moment.
    gaps = intervals[1:, 0] - intervals[:-1, 1] > 1e-6
    begins = intervals[np.append(True, gaps), 0]
    ends = intervals[np.append(gaps, True), 1]
    return np.column_stack((begins, ends))
