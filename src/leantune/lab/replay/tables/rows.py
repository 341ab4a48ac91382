"""Each row of a table as a run: its configuration, its share of the data, and its measurements."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from leantune.errors import InvalidInput, TableError
from leantune.lab.replay.tables.cells import is_missing, plain_number
from leantune.lab.replay.tables.columns import TableColumns
from leantune.lab.replay.tables.description import CLUSTER, Description, Formula, FractionColumn, Remark
from leantune.lab.replay.tables.machines import RowClusters, one_machine, rent
from leantune.lab.replay.tables.values import span_all
from leantune.problem import TIME
from leantune.space import Cluster, Parameter, Value
from leantune.units import SECONDS_PER_HOUR, parse_share

_RATIO = re.compile(r"([0-9]{1,18})\s*/\s*([0-9]{1,18})")
# The values of a configuration, a cluster as (type, nodes), None for a parameter that it does not have.
Key = tuple[Value | tuple[str, int] | None, ...]


@dataclass(frozen=True)
class TableRun:
    """One row; `lacking` names the values that the problem needs and the row lacks."""

    place: str
    key: Key
    share: Fraction
    seconds: float | None
    cost: float | None
    metrics: dict[str, float]
    lacking: tuple[str, ...]
    deviations: dict[str, float]


@dataclass(frozen=True)
class Rows:
    """The runs of a table and the parameters that their configurations span."""

    parameters: dict[str, Parameter]
    runs: list[TableRun]
    has_dollars: bool
    remarks: list[Remark]


def read_rows(description: Description, columns: TableColumns, needed: Collection[str]) -> Rows:
    """Every row, checked cell by cell; nothing is dropped or merged yet.

    needed: metrics that the problem is about. Others are optional in every row.
    """
    spanned, remarks = span_all(description.parameters, columns)
    rented = None if description.cluster is None else rent(description.cluster, columns)
    seconds = columns.checked(
        description.time,
        _not_above_0("the time is {:g} s"),
        "A run takes longer than 0 s: correct the row, or leave the cell empty if the time is not known",
    )
    rates, costs = _dollars(description, columns, seconds, rented)
    if rented is not None and (description.usd_per_hour is not None or description.cost is not None):
        rented = rented.priced(rates)
    if rented is None:
        rented = one_machine(rates)
    shares = _shares(description.fraction, columns)
    metrics = {name: columns.metric(metric.formula, metric.unit) for name, metric in description.metrics.items()}
    deviations = {
        name: _deviation(name, formula, description, columns, needed=name == TIME or name in needed)
        for name, formula in description.deviations.items()
    }
    has_dollars = any(cost is not None for cost in costs)
    keys: list[Key] = list(
        zip(*(column.values for column in spanned.values()), *([rented.pairs] if rented else []), strict=True)
    )
    runs = []
    for row, key in enumerate(keys):
        measured = {name: value for name, values in metrics.items() if (value := values[row]) is not None}
        lacking = [name for name in metrics if name in needed and name not in measured]
        lacking += ["time"] * (seconds[row] is None) + ["cost"] * (has_dollars and costs[row] is None)
        place = columns.sheet.place(row)
        scatter = {name: value for name, values in deviations.items() if (value := values[row]) is not None}
        runs.append(TableRun(place, key, shares[row], seconds[row], costs[row], measured, tuple(lacking), scatter))
    parameters: dict[str, Parameter] = {name: column.parameter for name, column in spanned.items()}
    if rented is not None:
        parameters[CLUSTER] = rented.clusters
    return Rows(parameters, runs, has_dollars, remarks)


def key_of(values: Mapping[str, Value], parameters: Iterable[str]) -> Key:
    """A configuration as a key."""
    ordered = (values.get(name) for name in parameters)
    return tuple((value.type, value.nodes) if isinstance(value, Cluster) else value for value in ordered)


def _not_above_0(what: str) -> Callable[[float | None], str]:
    return lambda value: "" if value is None or value > 0 else what.format(value)


def _deviation(
    name: str, formula: Formula, description: Description, columns: TableColumns, *, needed: bool
) -> list[float | None]:
    """Standard deviations of one run in the unit of what they are about."""

    def fault(value: float | None) -> str:
        shown = ("missing" if needed else "") if value is None else f"{value:g}" if value < 0 else ""
        return shown and f"the standard deviation of {name} is {shown}"

    hint = "Give a number of at least 0, 0 where runs do not differ"
    if name == TIME:
        formula = replace(description.time, text=formula.text, entry=formula.entry)
    elif description.metrics[name].unit == "percent":
        formula = replace(formula, factor=0.01)
    return columns.checked(formula, fault, hint)


def _dollars(
    description: Description, columns: TableColumns, seconds: Sequence[float | None], rented: RowClusters | None
) -> tuple[list[float | None], list[float | None]]:
    """USD per hour and USD of each row, as the table or else the machines' prices say."""
    hint = "Give dollars above 0"
    hours = [None if value is None else value / SECONDS_PER_HOUR for value in seconds]
    rates: list[float | None] = [None] * len(columns.sheet)
    if description.cost is not None:
        costs = columns.checked(description.cost, _not_above_0("the run costs {:g} USD"), hint)
        pairs = zip(costs, hours, strict=True)
        return [None if cost is None or hour is None else cost / hour for cost, hour in pairs], costs
    if description.usd_per_hour is not None:
        rates = columns.checked(description.usd_per_hour, _not_above_0("the rate is {:g} USD"), hint)
    elif rented is not None:
        rates = rented.usd_per_hour()
    pairs = zip(rates, hours, strict=True)
    return rates, [None if rate is None or hour is None else hour * rate for rate, hour in pairs]


def _shares(fraction: FractionColumn | None, columns: TableColumns) -> list[Fraction]:
    if fraction is None:
        return [Fraction(1)] * len(columns.sheet)
    cells = columns.texts(fraction.formula)
    shares: dict[str, Fraction] = {}
    for row, cell in enumerate(cells):
        if cell not in shares:
            shares[cell] = _share(cell, fraction, columns.sheet.place(row, fraction.formula.text))
    return [shares[cell] for cell in cells]


def _share(cell: str, fraction: FractionColumn, where: str) -> Fraction:
    if is_missing(cell):
        raise TableError("the fraction is missing", where=where, hint="Fill it in, or drop the row")
    percent = cell.endswith("%")
    full = Fraction(100) if percent else fraction.full
    amount = _amount(cell.removesuffix("%").strip())
    if amount is None:
        raise TableError(f"{cell!r} is not a number", where=where, hint="Write a size of the data, or a share")
    share = amount / full
    if share <= 0:
        raise TableError(f"the fraction is {cell}", where=where, hint="Give sizes of the data above 0")
    if share > 1:
        shown = "1" if fraction.full == 1 and not percent else f"{float(full):g}"
        hint = f"Say what all the data is: fraction: {{column: {fraction.formula.text}, full: ...}}"
        raise TableError(f"the fraction {cell} is above full, which is {shown}", where=where, hint=hint)
    if amount.denominator == 1 or "/" in cell:
        return share
    try:
        return parse_share(float(share))  # 0.016666666666666666 stands for 1/60
    except InvalidInput as error:
        raise TableError(error.what, where=where, hint=error.hint) from None


def _amount(cell: str) -> Fraction | None:
    """An exact number, "1/60" included."""
    ratio = _RATIO.fullmatch(cell)
    if ratio is not None:
        return Fraction(int(ratio[1]), int(ratio[2])) if int(ratio[2]) else None
    number = plain_number(cell)
    return None if number is None or not math.isfinite(number) else Fraction(repr(number))
