"""Numbers in the cells of one column, with or without units, and their conversion."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from leantune.errors import TableError
from leantune.lab.replay.tables.description import MetricUnit
from leantune.units import LARGEST, UNITS, is_value

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

CellError = Callable[[int, str, str], TableError]  # (row, the mistake in its cell, the hint)


@dataclass(frozen=True)
class Numbers:
    """The numbers of a column, None where a cell is empty or NaN; how many were converted, and how, in words."""

    values: list[float | None]
    converted: int = 0
    how: str = ""


def is_missing(cell: str) -> bool:
    """Whether a cell holds no number on purpose."""
    return cell.lower() in MISSING


def plain_number(cell: str) -> float | None:
    """A number without unit; None for anything else."""
    match = _NUMBER.fullmatch(cell)
    return None if match is None or match["dollar"] or match["unit"] else float(match["number"])


def read_numbers(
    cells: Sequence[str], error: CellError, *, kind: str = "", factor: float = 1.0, convert: bool
) -> Numbers:
    """Numbers in the base unit of their kind (seconds, USD, GiB, share).

    kind: what units must measure; "" takes any one kind. factor: the unit of cells that have none. convert: cells with
    and without units may be mixed.
    """
    values: list[float | None] = [None] * len(cells)
    with_unit: list[int] = []
    bare: list[int] = []
    for row, cell in enumerate(cells):
        if is_missing(cell):
            continue
        number, unit = _number_and_unit(cell, row, error)
        measures, scale = _UNITS[unit.lower()] if unit else (kind, factor)
        kind = kind or measures
        if measures != kind:
            raise error(row, f"{unit!r} is a unit of {measures}, not of {kind}", "Correct the cell")
        (with_unit if unit else bare).append(row)
        value = values[row] = _in_base(number, scale)
        if not is_value(value):
            raise error(row, "the number is too large", f"Stay between -{LARGEST:g} and {LARGEST:g}")
    if with_unit and bare and not convert:
        odd = min((with_unit, bare), key=len)[0]
        what = f"{len(with_unit)} cells carry a unit and {len(bare)} do not, such as {cells[odd]!r}"
        hint = "Write all of them alike, or units: convert to read bare numbers in the column's own unit"
        raise error(odd, what, hint)
    how = f"carry a unit, such as {cells[with_unit[0]]!r}, and were converted" if with_unit else ""
    return Numbers(values, len(with_unit), how)


def as_shares(numbers: Numbers, unit: MetricUnit, error: CellError, *, convert: bool) -> Numbers:
    """The values of a metric: percents become shares; shares and percents in one column are refused or converted."""
    if unit == "number":
        return numbers
    given = {row: value for row, value in enumerate(numbers.values) if value is not None}
    outside = next((row for row, value in given.items() if not 0 <= value <= 100), None)
    if unit != "any" and outside is not None:
        hint = "Correct the row, or write unit: number"
        raise error(outside, f"{given[outside]:g} is neither a share nor a percent", hint)
    largest = max(given, key=lambda row: given[row], default=None)
    if unit == "percent" and largest is not None and 0 < given[largest] <= 1:
        what = f"the values lie between {min(given.values()):g} and {given[largest]:g}: these are shares, not percents"
        hint = "Write unit: share. Percents that are all that small: {column: NAME / 100, unit: share}"
        raise error(largest, what, hint)
    mixed = _mixed(given, unit)
    if mixed and not convert:
        others, rest = len(given) - len(mixed), "or unit: number if all are what they seem"
        what = f"{len(mixed)} values look like percents, such as {given[mixed[0]]:g}, and {others} like shares"
        raise error(mixed[0], what, f"Write all of them alike, or units: convert to divide the percents by 100, {rest}")
    if not mixed and unit != "percent":
        return numbers
    divided = {row: value / 100.0 for row, value in given.items() if row in mixed or not mixed}
    values = [divided.get(row, value) for row, value in enumerate(numbers.values)]
    how = f"look like percents, such as {given[mixed[0]]:g}, and were divided by 100" if mixed else ""
    return Numbers(values, len(mixed), how)


def _mixed(given: dict[int, float], unit: MetricUnit) -> list[int]:
    """Rows of the percents in a column that holds both; none where it holds one of them, or something else."""
    large = [row for row, value in given.items() if value > 1.0]
    if unit == "share" or not large or len(large) == len(given):
        return large if unit == "share" else []
    percents, shares = [given[row] for row in large], [value for value in given.values() if value <= 1.0]
    plausible = min(shares) >= 0 and min(percents) >= _PERCENT_GAP and max(percents) <= 100
    alike = min(percents) / 100 <= 2 * max(shares) and 2 * max(percents) / 100 >= min(shares)
    return large if plausible and alike else []


def _number_and_unit(cell: str, row: int, error: CellError) -> tuple[float, str]:
    """The number of a cell; the unit as written, "" for none."""
    match = _NUMBER.fullmatch(cell)
    if match is None or (match["dollar"] and match["unit"]):
        hint = "Write a decimal point" if re.fullmatch(r"[+-]?\d+,\d+", cell) else "Write a number, or leave it empty"
        raise error(row, f"{cell[:60]!r} is not a number", hint)
    unit = match["dollar"] or match["unit"] or ""
    if unit and unit.lower() not in _UNITS:
        raise error(row, f"unknown unit {unit!r}", f"Known units: {', '.join(_UNITS)}")
    return float(match["number"]), unit


def _in_base(number: float, factor: float) -> float:
    parts = round(1 / factor) if factor < 1 else 1
    return number / parts if parts * factor == 1 else number * factor  # 70 % is 0.7, 70 * 0.01 is not
