"""The values of a column as a parameter of a space."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from leantune.errors import TableError
from leantune.lab.replay.tables.cells import is_missing, plain_number
from leantune.lab.replay.tables.columns import Columns
from leantune.lab.replay.tables.described import Formula, Kind, ParameterColumn
from leantune.space import Boolean, Choice, Ordinal, Parameter, Value

_INTEGER = re.compile(r"[+-]?[0-9]+")
_TRUTHS = {
    **dict.fromkeys(("true", "yes", "on", "1", "t", "y"), True),
    **dict.fromkeys(("false", "no", "off", "0", "f", "n"), False),
}


@dataclass(frozen=True)
class Spanned:
    """A parameter and its value in each row."""

    parameter: Parameter
    values: list[Value]


def span(name: str, described: ParameterColumn, columns: Columns) -> Spanned:
    """The parameter that a column spans: the values listed, or those found, ascending."""
    formula = Formula(name, described.entry)
    cells = columns.texts(formula)
    for row, cell in enumerate(cells):
        if is_missing(cell):
            raise TableError(
                f"the parameter {name!r} has no value",
                where=columns.place(row, formula),
                hint="Fill it in, or drop the row",
            )
        if described.kind in (Kind.LINEAR, Kind.LOG) and plain_number(cell) is None:
            hint = "Correct the row, or make the parameter a choice"
            raise TableError(f"{cell!r} is not a number", where=columns.place(row, formula), hint=hint)
    if described.kind is Kind.BOOL:
        return Spanned(Boolean(), [_truth(cell, columns.place(row, formula)) for row, cell in enumerate(cells)])
    values = _typed(cells) if described.options is None else _listed(cells, described, columns, formula)
    options = described.options if described.options is not None else _ascending(values)
    if described.kind is Kind.ORDINAL and described.options is None and isinstance(options[0], str):
        shown = ", ".join(map(str, options[:5]))
        raise described.entry.error(
            f"the order of {shown} is not known", f"List the values in order: {name}: {{ordinal: [{shown}]}}, or choice"
        )
    with described.entry.blamed():
        return Spanned(_parameter(described.kind, tuple(options)), values)


def _parameter(kind: Kind, options: tuple[Value, ...]) -> Parameter:
    match kind:
        case Kind.CHOICE:
            return Choice(options)
        case Kind.LINEAR:
            return Ordinal(options, "linear")
        case Kind.LOG:
            return Ordinal(options, "log")
    return Ordinal(options)


def _typed(cells: Sequence[str]) -> list[Value]:
    """Whole numbers where all are, numbers where all are, else texts."""
    if all(_INTEGER.fullmatch(cell) and len(cell) < 18 for cell in cells):
        return [int(cell) for cell in cells]
    numbers = [number for cell in cells if (number := plain_number(cell)) is not None and math.isfinite(number)]
    return [*numbers] if len(numbers) == len(cells) else list(cells)


def _ascending(values: Sequence[Value]) -> tuple[Value, ...]:
    return tuple(sorted(set(values)))  # type: ignore[type-var] # all numbers or all texts


def _listed(cells: Sequence[str], described: ParameterColumn, columns: Columns, formula: Formula) -> list[Value]:
    options = described.options or ()
    known: dict[str, Value] = {cell: value for cell in set(cells) if (value := _option(cell, options)) is not None}
    for row, cell in enumerate(cells):
        if cell not in known:
            raise TableError(
                f"{cell!r} is not among the values of {formula.text!r}",
                where=columns.place(row, formula),
                hint=f"Add it at {described.entry.where}: {', '.join(map(str, options))}",
            )
    return [known[cell] for cell in cells]


def _option(cell: str, options: Sequence[Value]) -> Value | None:
    """The option that a cell means: 1e-3 and 0.001 are one number."""
    for option in options:
        if isinstance(option, str) and option == cell:
            return option
        if isinstance(option, bool):
            if _TRUTHS.get(cell.lower()) is option:
                return option
        elif isinstance(option, int | float) and plain_number(cell) == option:
            return option
    return None


def _truth(cell: str, where: str) -> bool:
    if cell.lower() not in _TRUTHS:
        raise TableError(f"{cell!r} is neither true nor false", where=where, hint=f"Write one of {', '.join(_TRUTHS)}")
    return _TRUTHS[cell.lower()]
