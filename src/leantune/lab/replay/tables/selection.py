"""Which rows of a file count: those whose cells have the values that `where:` names."""

from __future__ import annotations

from collections.abc import Mapping

from leantune.lab.replay.tables.cells import plain_number
from leantune.lab.replay.tables.description import Remark, RowFilter
from leantune.lab.replay.tables.sheet import Sheet

_SHOWN = 10  # values of a column that an error lists


def select(sheet: Sheet, where: Mapping[str, RowFilter]) -> tuple[Sheet, list[Remark]]:
    """The rows that pass every filter, before anything else is read: cells of other rows are not checked."""
    kept = list(range(len(sheet)))
    for column, row_filter in where.items():
        if column not in sheet.header:
            hint = "The columns of the file are"
            raise row_filter.entry.unknown(f"there is no column {column!r}", column, filter(None, sheet.header), hint)
        cells = sheet.cells(column)
        present = dict.fromkeys(cells[row] for row in kept)
        matching = {cell for cell in present if any(_same(cell, value) for value in row_filter.values)}
        kept = [row for row in kept if cells[row] in matching]
        if not kept:
            shown = ", ".join(list(present)[:_SHOWN]) + (", ..." if len(present) > _SHOWN else "")
            what = f"no row has {' or '.join(row_filter.values)} in the column {column!r}"
            raise row_filter.entry.error(what, f"The values of the rows that are left are {shown}")
    if len(kept) == len(sheet):
        return sheet, []
    chosen = ", ".join(f"{column} = {' or '.join(row_filter.values)}" for column, row_filter in where.items())
    text = f"{len(kept):,} of {len(sheet):,} rows count: {chosen}"
    return sheet.only(kept), [Remark("where", len(kept), text)]


def _same(cell: str, value: str) -> bool:
    """Whether a cell is the value: as text, as truth value (True, true) or as number (52, 52.0)."""
    if cell == value or (value.lower() in ("true", "false") and cell.lower() == value.lower()):
        return True
    number = plain_number(cell)
    return number is not None and number == plain_number(value)
