"""The values of a column as a parameter of a space."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from leantune.lab.replay.tables.cells import is_missing, plain_number
from leantune.lab.replay.tables.columns import Columns
from leantune.lab.replay.tables.description import Formula, ParameterColumn
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
            raise columns.error(formula, row, f"the parameter {name!r} has no value", "Fill it in, or drop the row")
        if described.kind in ("linear", "log") and plain_number(cell) is None:
            hint = "Correct the row, or make the parameter a choice"
            raise columns.error(formula, row, f"{cell!r} is not a number", hint)
        if described.kind == "bool" and cell.lower() not in _TRUTHS:
            hint = f"Write one of {', '.join(_TRUTHS)}"
            raise columns.error(formula, row, f"{cell!r} is neither true nor false", hint)
    if described.kind == "bool":
        return Spanned(Boolean(), [_TRUTHS[cell.lower()] for cell in cells])
    values = _typed(cells) if described.options is None else _listed(cells, described, columns, formula)
    options = described.options if described.options is not None else _ascending(values)
    if described.kind == "ordinal" and described.options is None and isinstance(options[0], str):
        shown = ", ".join(map(str, options[:5]))
        raise described.entry.error(
            f"the order of {shown} is not known", f"List the values in order: {name}: {{ordinal: [{shown}]}}, or choice"
        )
    with described.entry.blamed():
        if described.kind == "choice":
            return Spanned(Choice(tuple(options)), values)
        return Spanned(Ordinal(tuple(options), "rank" if described.kind == "ordinal" else described.kind), values)


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
            hint = f"Add it at {described.entry.where}: {', '.join(map(str, options))}"
            raise columns.error(formula, row, f"{cell!r} is not among the values of {formula.text!r}", hint)
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
