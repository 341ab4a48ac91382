"""The columns of a table by name: those of the CSV and those that its description makes of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import partial

from leantune.errors import TableError
from leantune.jobfile.tree import Entry
from leantune.lab.replay.tables.cells import Numbers, as_shares, plain_number, read_numbers
from leantune.lab.replay.tables.description import Formula, MadeColumn, MetricUnit, Remark, Units
from leantune.lab.replay.tables.expressions import Expression
from leantune.lab.replay.tables.sheet import Sheet


class TableColumns:
    """Texts and numbers of each column; remembers conversions."""

    def __init__(self, sheet: Sheet, made: Mapping[str, MadeColumn], units: Units = "refuse") -> None:
        self.sheet = sheet
        self._convert = units == "convert"
        self._cells = {name: sheet.cells(name) for name in sheet.header if name}
        self._converted: dict[str, Numbers] = {}
        for name, column in made.items():
            if name in self._cells:
                raise column.entry.error(f"there is a column {name!r} already", "Give this one another name")
            self._cells[name] = self._made(column)

    @property
    def names(self) -> tuple[str, ...]:
        """All columns, those of the file first."""
        return tuple(self._cells)

    def texts(self, formula: Formula) -> list[str]:
        """The cells of a column; those of an expression are numbers."""
        if formula.text in self._cells:
            return self._cells[formula.text]
        return [_as_text(value) for value in self._computed(formula)]

    def numbers(self, formula: Formula) -> list[float | None]:
        """Numbers in seconds, USD, GiB or the column's own unit; None where a row has none."""
        if formula.text in self._cells:
            return self._read(formula.text, formula.kind, formula.factor).values
        return [None if value is None else value * formula.factor for value in self._computed(formula)]

    def checked(self, formula: Formula, fault: Callable[[float | None], str], hint: str) -> list[float | None]:
        """Numbers; TableError for the first number for which `fault` gives a text other than ""."""
        values = self.numbers(formula)
        for row, value in enumerate(values):
            if what := fault(value):
                raise self.error(formula, row, what, hint)
        return values

    def metric(self, formula: Formula, unit: MetricUnit) -> list[float | None]:
        """The values of a metric."""
        name = formula.text
        numbers = self._read(name) if name in self._cells else Numbers(self._computed(formula))
        if numbers.converted and unit == "percent":
            return self._read(name, factor=0.01).values
        shares = as_shares(numbers, unit, partial(self.sheet.error, name), convert=self._convert)
        if shares.converted:
            self._converted[name] = shares
        return shares.values

    def error(self, formula: Formula, row: int, what: str, hint: str) -> TableError:
        """An error about a cell, with its hint."""
        return self.sheet.error(formula.text, row, what, hint)

    def remarks(self) -> list[Remark]:
        """Which columns were converted so far."""
        rows = len(self.sheet)
        return [
            Remark(
                "units", numbers.converted, f"{numbers.converted} of {rows} cells of the column {name!r} {numbers.how}"
            )
            for name, numbers in self._converted.items()
        ]

    def _made(self, column: MadeColumn) -> list[str]:
        if column.formula is not None:
            return self.texts(column.formula)
        if column.column is None:
            return [column.constant] * len(self.sheet)
        self._check_column(column.column.text, column.column.entry)
        return self._cells[column.column.text] if column.of is None else self._looked_up(column.column, column.of)

    def _looked_up(self, by: Formula, of: Mapping[str, str]) -> list[str]:
        numeric = {number: value for key, value in of.items() if (number := plain_number(key)) is not None}
        values: list[str] = []
        for row, cell in enumerate(self._cells[by.text]):
            number = plain_number(cell)
            value = of.get(cell, None if number is None else numeric.get(number))
            if value is None:
                hint = f"Add it at {by.entry.where}, beside {', '.join(of)}"
                raise self.error(by, row, f"the look-up has nothing for {cell!r}", hint)
            values.append(value)
        return values

    def _computed(self, formula: Formula) -> list[float | None]:
        try:
            expression = Expression.parse(formula.text, str(formula.entry.where))
        except TableError:
            if get_close_matches(formula.text, self._cells, n=1, cutoff=0.8):
                self._check_column(formula.text, formula.entry)
            raise
        for name in sorted(expression.names):
            self._check_column(name, formula.entry)
        inputs = {name: self._read(name).values for name in expression.names}
        return [self._value(expression, inputs, row) for row in range(len(self.sheet))]

    def _value(self, expression: Expression, inputs: Mapping[str, Sequence[float | None]], row: int) -> float | None:
        given = {name: values[row] for name, values in inputs.items()}
        present = {name: value for name, value in given.items() if value is not None}
        if len(present) < len(given):
            return None
        try:
            return expression.value(present)
        except TableError as error:
            raise TableError(error.what, where=f"{self.sheet.place(row)}, by {error.where}", hint=error.hint) from None

    def _read(self, name: str, kind: str = "", factor: float = 1.0) -> Numbers:
        error = partial(self.sheet.error, name)
        numbers = read_numbers(self._cells[name], error, kind=kind, factor=factor, convert=self._convert)
        if numbers.converted:
            self._converted[name] = numbers
        return numbers

    def _check_column(self, name: str, entry: Entry) -> None:
        if name not in self._cells:
            raise entry.unknown(f"there is no column {name!r}", name, self._cells, "The columns are")


def _as_text(value: float | None) -> str:
    if value is None:
        return ""
    return repr(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
