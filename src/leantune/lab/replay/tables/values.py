"""The values of a column as a parameter of a space."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from leantune.lab.replay.tables.cells import is_missing, plain_number
from leantune.lab.replay.tables.columns import TableColumns
from leantune.lab.replay.tables.description import Formula, ParameterColumn, Remark
from leantune.space import Boolean, Choice, Ordinal, Parameter, Value, when

_NAMES = ("none", "-", "?")  # that may be one of several names, and no number
_INTEGER = re.compile(r"[+-]?[0-9]+")
_TRUTHS = {
    **dict.fromkeys(("true", "yes", "on", "1", "t", "y"), True),
    **dict.fromkeys(("false", "no", "off", "0", "f", "n"), False),
}


@dataclass(frozen=True)
class ParameterValues:
    """A parameter and its value in each row; None where it has none."""

    parameter: Parameter
    values: list[Value | None]


def span_all(
    described: Mapping[str, ParameterColumn], columns: TableColumns
) -> tuple[dict[str, ParameterValues], list[Remark]]:
    """The parameters that columns span. One that is blank in some rows exists only where a choice or a truth value says
    so: the first of those whose values in rows with and without it are different ones.
    """
    spanned = {name: _span(name, column, columns) for name, column in described.items()}
    remarks = []
    for name, column in spanned.items():
        if None in column.values:
            parent, values = _condition(name, described[name], spanned, columns)
            spanned[name] = ParameterValues(when(column.parameter, **{parent: values}), column.values)
            rows = sum(value is None for value in column.values)
            shown = " or ".join(map(str, values))
            text = f"{name} is blank in {rows:,} rows: it exists only where {parent} is {shown}"
            remarks.append(Remark("conditional", rows, text))
    return spanned, remarks


def _condition(
    name: str, described: ParameterColumn, spanned: Mapping[str, ParameterValues], columns: TableColumns
) -> tuple[str, list[Value]]:
    own = spanned[name].values
    for parent, other in spanned.items():
        if isinstance(other.parameter, Choice | Boolean) and None not in other.values:
            pairs = list(zip(own, other.values, strict=True))
            there = {value for here, value in pairs if here is not None}
            if not there & {value for here, value in pairs if here is None}:
                options = other.parameter.options
                return parent, [value for value in options if value in there]
    hint = "Fill it in, drop the row (where:), or name the choice or bool that says where it exists as a parameter"
    formula = Formula(name, described.entry)
    raise columns.error(formula, own.index(None), f"the parameter {name!r} has no value", hint)


def _span(name: str, described: ParameterColumn, columns: TableColumns) -> ParameterValues:
    """The parameter that a column spans: the values listed, or those found, ascending."""
    formula = Formula(name, described.entry)
    everywhere = columns.texts(formula)
    rows = [row for row, cell in enumerate(everywhere) if not _is_blank(cell, described)]
    if not rows:
        hint = "Leave the parameter out, or name another column"
        raise columns.error(formula, 0, f"the parameter {name!r} has no value in any row", hint)
    cells = [everywhere[row] for row in rows]
    parameter, values = _spanned(cells, rows, described, columns, formula)
    by_row = dict(zip(rows, values, strict=True))
    return ParameterValues(parameter, [by_row.get(row) for row in range(len(everywhere))])


def _spanned(
    cells: Sequence[str], rows: Sequence[int], described: ParameterColumn, columns: TableColumns, formula: Formula
) -> tuple[Parameter, list[Value]]:
    """The parameter of the cells that are not blank, and the value of each."""
    name = formula.text
    for row, cell in zip(rows, cells, strict=True):
        if described.kind in ("linear", "log") and plain_number(cell) is None:
            hint = "Correct the row, or make the parameter a choice"
            raise columns.error(formula, row, f"{cell!r} is not a number", hint)
        if described.kind == "bool" and cell.lower() not in _TRUTHS:
            hint = f"Write one of {', '.join(_TRUTHS)}"
            raise columns.error(formula, row, f"{cell!r} is neither true nor false", hint)
    if described.kind == "bool":
        return Boolean(), [_TRUTHS[cell.lower()] for cell in cells]
    values = _typed(cells) if described.options is None else _listed(cells, rows, described, columns, formula)
    options = described.options if described.options is not None else _ascending(values)
    if described.kind == "ordinal" and described.options is None and isinstance(options[0], str):
        shown = ", ".join(map(str, options[:5]))
        raise described.entry.error(
            f"the order of {shown} is not known", f"List the values in order: {name}: {{ordinal: [{shown}]}}, or choice"
        )
    with described.entry.blamed():
        if described.kind == "choice":
            return Choice(tuple(options)), values
        return Ordinal(tuple(options), "rank" if described.kind == "ordinal" else described.kind), values


def _is_blank(cell: str, described: ParameterColumn) -> bool:
    """Whether a cell holds no value; "none" is one where values are names."""
    if described.options is not None and cell in map(str, described.options):
        return False
    return is_missing(cell) and not (described.kind == "choice" and cell.lower() in _NAMES)


def _typed(cells: Sequence[str]) -> list[Value]:
    """Whole numbers where all are, numbers where all are, else texts."""
    if all(_INTEGER.fullmatch(cell) and len(cell) < 18 for cell in cells):
        return [int(cell) for cell in cells]
    numbers = [number for cell in cells if (number := plain_number(cell)) is not None and math.isfinite(number)]
    return [*numbers] if len(numbers) == len(cells) else list(cells)


def _ascending(values: Sequence[Value]) -> tuple[Value, ...]:
    return tuple(sorted(set(values)))  # type: ignore[type-var] # all numbers or all texts


def _listed(
    cells: Sequence[str], rows: Sequence[int], described: ParameterColumn, columns: TableColumns, formula: Formula
) -> list[Value]:
    options = described.options or ()
    by_cell: dict[str, Value] = {cell: value for cell in set(cells) if (value := _option(cell, options)) is not None}
    for row, cell in zip(rows, cells, strict=True):
        if cell not in by_cell:
            hint = f"Add it at {described.entry.where}: {', '.join(map(str, options))}"
            raise columns.error(formula, row, f"{cell!r} is not among the values of {formula.text!r}", hint)
    return [by_cell[cell] for cell in cells]


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
