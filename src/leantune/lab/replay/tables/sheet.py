"""The rows of a CSV as texts, each with its line, and which of them count: those that `where:` names."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from leantune.errors import TableError
from leantune.files import csv_rows
from leantune.lab.replay.tables.cells import plain_number
from leantune.lab.replay.tables.description import SEPARATORS, Remark, RowFilter

_SHOWN = 10  # values of a column that an error lists


@dataclass(frozen=True)
class Sheet:
    """A header and rows of as many cells; `lines` says where in the file each row starts."""

    source: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    lines: tuple[int, ...]
    byte_order_mark: bool

    def __len__(self) -> int:
        return len(self.rows)

    def place(self, row: int, column: str = "") -> str:
        """As in "table.csv, line 7, column 'acc'"."""
        shown = f", column {column!r}" if column else ""
        return f"{self.source}, line {self.lines[row]}{shown}"

    def error(self, column: str, row: int, what: str, hint: str) -> TableError:
        """An error about a cell, with its hint."""
        return TableError(what, where=self.place(row, column), hint=hint)

    def cells(self, column: str) -> list[str]:
        """The texts of a column of the header, without spaces around them."""
        index = self.header.index(column)
        return [row[index].strip() for row in self.rows]


def read_bytes(path: Path, hint: str) -> bytes:
    """The whole file; `hint` is for an absent file."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise TableError("the file of measurements is absent", where=str(path), hint=hint) from None
    except IsADirectoryError:
        raise TableError("this is a folder, not a CSV", where=str(path), hint="Name the file itself") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise TableError(f"the file cannot be read: {reason}", where=str(path), hint=hint) from None


def parse_sheet(raw: bytes, source: str, separator: str = ",") -> Sheet:
    """Check the shape of a CSV: UTF-8, one header, at least one row, none longer or shorter than the header."""
    rows = csv_rows(raw, source, separator=separator)
    first = next(rows, None)
    if first is None:
        raise TableError("the file is empty", where=source, hint="Its first line names the columns")
    header = _header(first[1], f"{source}, line {first[0]}", separator)
    body = [(line, tuple(row)) for line, row in rows]
    for line, row in body:
        if len(row) != len(header):
            cells = "1 cell" if len(row) == 1 else f"{len(row)} cells"
            raise TableError(
                f"the row has {cells}, the header {len(header)}",
                where=f"{source}, line {line}",
                hint="Put texts that hold the separator in quotes",
            )
    if not body:
        raise TableError("the file has a header and no rows", where=source, hint="Add the measurements")
    lines, cells_of = zip(*body, strict=True)
    return Sheet(source, header, cells_of, lines, raw.startswith(codecs.BOM_UTF8))


def _header(cells: list[str], where: str, separator: str) -> tuple[str, ...]:
    names = tuple(cell.strip() for cell in cells)
    if len(names) == 1:
        other = next((mark for mark in SEPARATORS if mark != separator and mark in names[0]), None)
        if other is not None:
            shown = "tab" if other == "\t" else f'"{other}"'
            raise TableError("the header has one column", where=where, hint=f"Write separator: {shown}")
    twice = next((name for name in names if name and names.count(name) > 1), None)
    if twice is not None:
        raise TableError(f"two columns are called {twice!r}", where=where, hint="Give each column its own name")
    return names


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
    rows, lines = tuple(sheet.rows[row] for row in kept), tuple(sheet.lines[row] for row in kept)
    return replace(sheet, rows=rows, lines=lines), [Remark("where", len(kept), text)]


def _same(cell: str, value: str) -> bool:
    """Whether a cell is the value: as text, as truth value (True, true) or as number (52, 52.0)."""
    if cell == value or (value.lower() in ("true", "false") and cell.lower() == value.lower()):
        return True
    number = plain_number(cell)
    return number is not None and number == plain_number(value)
