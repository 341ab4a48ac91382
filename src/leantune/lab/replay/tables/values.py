"""The values of a column as a parameter of a space."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
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
    so: the first parameter whose values differ between rows with and without it.
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
    cells = columns.texts(formula)
    given = {row: cell for row, cell in enumerate(cells) if not _is_blank(cell, described)}
    if not given:
        hint = "Leave the parameter out, or name another column"
        raise columns.error(formula, 0, f"the parameter {name!r} has no value in any row", hint)
    meant = _meant(dict.fromkeys(given.values()), described)
    for row, cell in given.items():
        if meant[cell] is None:
            raise columns.error(formula, row, *_fault(cell, name, described))
    values = [meant[given[row]] if row in given else None for row in range(len(cells))]
    return ParameterValues(_parameter(name, described, meant), values)


def _meant(cells: Collection[str], described: ParameterColumn) -> dict[str, Value | None]:
    """The value of each cell; None for one that the kind of parameter, or its list of values, does not have.

    Without a list: whole numbers where all are, numbers where all are, else texts.
    """
    if described.kind == "bool":
        return {cell: _TRUTHS.get(cell.lower()) for cell in cells}
    if described.options is not None:
        return {cell: _option(cell, described.options) for cell in cells}
    if all(_INTEGER.fullmatch(cell) and len(cell) < 18 for cell in cells):
        return {cell: int(cell) for cell in cells}
    numbers = {cell: plain_number(cell) for cell in cells}
    if all(number is not None and math.isfinite(number) for number in numbers.values()):
        return {**numbers}
    numeric = described.kind in ("linear", "log")
    return {cell: None if numeric and number is None else cell for cell, number in numbers.items()}


def _fault(cell: str, name: str, described: ParameterColumn) -> tuple[str, str]:
    """An error about a cell that cannot be read, with its hint."""
    if described.kind == "bool":
        return f"{cell!r} is neither true nor false", f"Write one of {', '.join(_TRUTHS)}"
    if described.kind in ("linear", "log") and plain_number(cell) is None:
        return f"{cell!r} is not a number", "Correct the row, or make the parameter a choice"
    hint = f"Add it at {described.entry.where}: {', '.join(map(str, described.options or ()))}"
    return f"{cell!r} is not among the values of {name!r}", hint


def _parameter(name: str, described: ParameterColumn, meant: Mapping[str, Value | None]) -> Parameter:
    if described.kind == "bool":
        return Boolean()
    options = described.options or tuple(sorted({*meant.values()}))  # type: ignore[arg-type] # of one type
    if described.kind == "ordinal" and described.options is None and isinstance(options[0], str):
        shown = ", ".join(map(str, options[:5]))
        hint = f"List the values in order: {name}: {{ordinal: [{shown}]}}, or choice"
        raise described.entry.error(f"the order of {shown} is not known", hint)
    with described.entry.blamed():
        if described.kind == "choice":
            return Choice(options)
        return Ordinal(options, "rank" if described.kind == "ordinal" else described.kind)


def _is_blank(cell: str, described: ParameterColumn) -> bool:
    """Whether a cell holds no value; "none" is one where values are names."""
    if described.options is not None and cell in map(str, described.options):
        return False
    return is_missing(cell) and not (described.kind == "choice" and cell.lower() in _NAMES)


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
