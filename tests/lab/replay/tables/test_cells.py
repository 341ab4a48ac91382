"""Numbers in cells: units, percents, nothing."""

import pytest

from leantune.errors import TableError
from leantune.lab.replay.tables.cells import Numbers, as_shares, plain_number, read_numbers
from leantune.lab.replay.tables.description import MetricUnit


def error(row: int, what: str, hint: str) -> TableError:
    return TableError(what, where=f"row {row}", hint=hint)


def read(*cells: str, kind: str = "", factor: float = 1.0, convert: bool = False) -> list[float | None]:
    return read_numbers(cells, error, kind=kind, factor=factor, convert=convert).values


def test_bare_numbers_are_in_the_declared_unit() -> None:
    assert read("1", "2.5", "-1e-3", ".5", "+3.") == [1.0, 2.5, -1e-3, 0.5, 3.0]
    assert read("1", "2", kind="time", factor=60.0) == [60.0, 120.0]


@pytest.mark.parametrize("cell", ["", "nan", "NaN", "NA", "n/a", "null", "None", "-", "inf", "-Inf"])
def test_cells_that_hold_no_number(cell: str) -> None:
    assert read(cell, "1") == [None, 1.0]


def test_units_are_converted_where_all_cells_have_one() -> None:
    numbers = read_numbers(["2 min", "30s", ""], error, kind="time", factor=60.0, convert=False)
    assert numbers == Numbers([120.0, 30.0, None], 2, "carry a unit, such as '2 min', and were converted")
    assert read("$0.02", "0.5 USD", kind="money") == [0.02, 0.5]
    assert read("85%", "7 percent") == [0.85, 0.07]
    assert read("2 GiB", "512MiB", kind="memory") == [2.0, 0.5]


def test_units_beside_bare_numbers_are_refused_or_converted() -> None:
    with pytest.raises(TableError, match="1 cells carry a unit and 2 do not, such as '2 min'") as caught:
        read("90", "2 min", "80", kind="time")
    assert caught.value.where == "row 1"
    assert "units: convert" in caught.value.hint
    assert read("90", "2 min", "80", kind="time", convert=True) == [90.0, 120.0, 80.0]


@pytest.mark.parametrize(
    ("cells", "says", "hint"),
    [
        (["1", "fast"], "'fast' is not a number", "Write a number"),
        (["1", "0,5"], "'0,5' is not a number", "decimal point"),
        (["1", "1_000"], "'1_000' is not a number", "Write a number"),
        (["1", "1 2"], "'1 2' is not a number", "Write a number"),
        (["1", "3 parsec"], "unknown unit 'parsec'", "Known units"),
        (["1", "$3 USD"], "is not a number", "Write a number"),
        (["1", "1e999"], "the number is too large", "1e+100"),
        (["1", "-1e160"], "the number is too large", "1e+100"),
        (["1 s", "$1"], "'$' is a unit of money, not of time", "Correct"),
    ],
)
def test_cells_that_are_wrong(cells: list[str], says: str, hint: str) -> None:
    with pytest.raises(TableError) as caught:
        read(*cells)
    assert says in caught.value.what
    assert hint in caught.value.hint
    assert caught.value.where == "row 1"


def test_a_unit_of_another_kind() -> None:
    with pytest.raises(TableError, match="'GB' is a unit of memory, not of time"):
        read("1 GB", kind="time")


def shares(*values: float, unit: MetricUnit = "any", convert: bool = False) -> Numbers:
    return as_shares(Numbers([*values]), unit, error, convert=convert)


@pytest.mark.parametrize(
    "values",
    [(0.1, 0.9, 1.0), (10.0, 85.0), (0.5, 1.5, 80.0), (0.2, 400.0), (-0.5, 60.0), (0.01, 0.02, 60.0), (3.0,)],
    ids=["shares", "percents", "no gap", "beyond", "negative", "apart", "one"],
)
def test_other_numbers_are_left_alone(values: tuple[float, ...]) -> None:
    assert shares(*values) == Numbers([*values])


@pytest.mark.parametrize("unit", ["any", "share", "percent"])
def test_shares_beside_percents(unit: MetricUnit) -> None:
    with pytest.raises(TableError, match="2 values look like percents, such as 85, and 3 like shares") as caught:
        shares(0.5, 0.9, 85.0, 0.7, 60.0, unit=unit)
    assert caught.value.where == "row 2"
    converted = shares(0.5, 0.9, 85.0, 0.7, 60.0, unit=unit, convert=True)
    assert converted.values == [0.5, 0.9, 0.85, 0.7, 0.6]
    assert (converted.converted, converted.how) == (2, "look like percents, such as 85, and were divided by 100")
    assert shares(0.5, 85.0, unit="number").values == [0.5, 85.0]


def test_percents_become_shares() -> None:
    assert shares(85.0, 0.5, 2.0, unit="percent") == Numbers([0.85, 0.005, 0.02])
    with pytest.raises(TableError, match="3 values look like percents"):
        shares(85.0, 50.0, 2.0, unit="share")
    with pytest.raises(TableError, match="101 is neither a share nor a percent"):
        shares(85.0, 101.0, unit="percent")


def test_shares_that_are_called_percents() -> None:
    with pytest.raises(TableError, match=r"lie between 0\.25 and 0\.98: these are shares, not percents") as caught:
        shares(0.25, 0.98, 0.5, unit="percent", convert=True)
    assert (caught.value.where, caught.value.hint[:18]) == ("row 1", "Write unit: share.")
    assert shares(0.0, 0.0, unit="percent") == Numbers([0.0, 0.0])


def test_plain_numbers() -> None:
    assert [plain_number(cell) for cell in ("1", "1e3", "1 s", "$1", "x", "1_0", "")] == [1, 1000, *[None] * 5]
