"""Numbers in the cells of one column, with or without units, and what to do where they disagree."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from leantune.errors import TableError
from leantune.lab.replay.tables.described import MetricUnit
from leantune.units import UNITS

MISSING = frozenset({"", "nan", "na", "n/a", "#n/a", "null", "none", "-", "?", "inf", "+inf", "-inf", "infinity"})
PERCENT = ("%", "percent")
_NUMBER = re.compile(
    r"(?P<dollar>\$?)\s*(?P<number>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)\s*(?P<unit>[A-Za-z%]\S*)?"
)
# Unit in lower case -> (kind of amount, factor to seconds, USD, GiB or share).
_UNITS: dict[str, tuple[str, float]] = {
    **{unit: (kind, factor) for kind, factors in UNITS.items() for unit, factor in factors.items() if unit},
    **dict.fromkeys(PERCENT, ("percent", 0.01)),
}
_PERCENT_GAP = 5.0  # no share comes near it, and percents of interest lie above

Place = Callable[[int], str]  # "table.csv, line 7, column 'acc'" of a row


@dataclass(frozen=True)
class Numbers:
    """The numbers of a column, None where a cell is empty or NaN; how many were converted, and how, in words."""

    values: list[float | None]
    converted: int = 0
    how: str = ""


@dataclass(frozen=True)
class _Cell:
    number: float
    unit: str  # as written, "" for none


def is_missing(cell: str) -> bool:
    """Whether a cell holds no number on purpose."""
    return cell.lower() in MISSING


def plain_number(cell: str) -> float | None:
    """A number without unit; None for anything else."""
    match = _NUMBER.fullmatch(cell)
    return None if match is None or match["dollar"] or match["unit"] else float(match["number"])


def read_numbers(cells: Sequence[str], place: Place, *, kind: str = "", factor: float = 1.0, convert: bool) -> Numbers:
    """Numbers in the base unit of their kind (seconds, USD, GiB, share).

    kind: what units must measure; "" takes any one kind. factor: the unit of cells that have none. convert: cells with
    and without units may be mixed.
    """
    read = [None if is_missing(cell) else _read(cell, place, row) for row, cell in enumerate(cells)]
    with_unit = [row for row, cell in enumerate(read) if cell is not None and cell.unit]
    bare = [row for row, cell in enumerate(read) if cell is not None and not cell.unit]
    for row in with_unit:
        kind = kind or _UNITS[_of(read[row]).unit.lower()][0]
        _check_kind(_of(read[row]), kind, place(row))
    if with_unit and bare and not convert:
        fewer = min((with_unit, bare), key=len)
        raise TableError(
            f"{len(with_unit)} cells carry a unit and {len(bare)} do not, such as {cells[fewer[0]]!r}",
            where=place(fewer[0]),
            hint="Write all of them alike, or units: convert to read bare numbers in the column's own unit",
        )
    values = [None if cell is None else _finite(_in_base(cell, factor), place, row) for row, cell in enumerate(read)]
    how = f"carry a unit, such as {cells[with_unit[0]]!r}, and were converted" if with_unit else ""
    return Numbers(values, len(with_unit), how)


def as_shares(numbers: Numbers, unit: MetricUnit, place: Place, *, convert: bool) -> Numbers:
    """The values of a metric: percents become shares; shares and percents in one column are refused or converted."""
    if unit is MetricUnit.NUMBER:
        return numbers
    if unit is not MetricUnit.ANY:
        _check_range(numbers.values, unit, place)
    mixed = _mixed(numbers.values, unit)
    if mixed and not convert:
        large = [value for row, value in enumerate(numbers.values) if value is not None and row in mixed]
        others = sum(value is not None for value in numbers.values) - len(mixed)
        raise TableError(
            f"{len(mixed)} values look like percents, such as {large[0]:g}, and {others} like shares",
            where=place(min(mixed)),
            hint="Write all of them alike, or units: convert to divide the percents by 100, or unit: number if all "
            "are what they seem",
        )
    if not mixed and unit is not MetricUnit.PERCENT:
        return numbers
    divided = mixed or range(len(numbers.values))
    values = [
        value / 100.0 if value is not None and row in divided else value for row, value in enumerate(numbers.values)
    ]
    if not mixed:
        return Numbers(values)
    how = f"look like percents, such as {numbers.values[min(mixed)]:g}, and were divided by 100"
    return Numbers(values, len(mixed), how)


def _check_range(values: Sequence[float | None], unit: MetricUnit, place: Place) -> None:
    for row, value in enumerate(values):
        if value is not None and not 0 <= value <= 100:
            hint = "Correct the row, or write unit: number"
            raise TableError(f"{value:g} is neither a share nor a percent", where=place(row), hint=hint)


def _mixed(values: Sequence[float | None], unit: MetricUnit) -> frozenset[int]:
    """Rows of the percents in a column that holds both; none where it holds one of them, or something else."""
    large = frozenset(row for row, value in enumerate(values) if value is not None and value > 1.0)
    percents = [value for row, value in enumerate(values) if value is not None and row in large]
    shares = [value for row, value in enumerate(values) if value is not None and row not in large]
    if unit is MetricUnit.SHARE:
        return large
    plausible = percents and shares and min(shares) >= 0 and min(percents) >= _PERCENT_GAP and max(percents) <= 100
    alike = plausible and min(percents) / 100 <= 2 * max(shares) and 2 * max(percents) / 100 >= min(shares)
    return large if alike else frozenset()


def _read(cell: str, place: Place, row: int) -> _Cell:
    match = _NUMBER.fullmatch(cell)
    if match is None or (match["dollar"] and match["unit"]):
        hint = "Write a decimal point" if re.fullmatch(r"[+-]?\d+,\d+", cell) else "Write a number, or leave it empty"
        raise TableError(f"{cell[:60]!r} is not a number", where=place(row), hint=hint)
    unit = match["dollar"] or match["unit"] or ""
    if unit and unit.lower() not in _UNITS:
        raise TableError(f"unknown unit {unit!r}", where=place(row), hint=f"Known units: {', '.join(_UNITS)}")
    return _Cell(float(match["number"]), unit)


def _check_kind(cell: _Cell, kind: str, where: str) -> None:
    found = _UNITS[cell.unit.lower()][0]
    if found != kind:
        raise TableError(f"{cell.unit!r} is a unit of {found}, not of {kind}", where=where, hint="Correct the cell")


def _in_base(cell: _Cell, factor: float) -> float:
    factor = _UNITS[cell.unit.lower()][1] if cell.unit else factor
    parts = round(1 / factor) if factor < 1 else 1
    return cell.number / parts if parts * factor == 1 else cell.number * factor  # 70 % is 0.7, 70 * 0.01 is not


def _finite(value: float, place: Place, row: int) -> float:
    if not math.isfinite(value):
        raise TableError("the number is too large", where=place(row), hint="Stay below 1e308")
    return value


def _of(cell: _Cell | None) -> _Cell:
    assert cell is not None
    return cell
