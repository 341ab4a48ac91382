"""Columns as parameters."""

import pytest

from leantune.errors import JobError, TableError
from leantune.lab.replay.tables.values import Spanned, span
from leantune.space import Parameter, Value, boolean, choice, ordinal
from tests.lab.replay.made import columns, described


def read(kind: str, *cells: str) -> Spanned:
    made = columns("\n".join(["x,other", *(f"{cell},1" for cell in cells)]))
    return span("x", described(parameters=f"parameters: {{x: {kind}}}").parameters["x"], made)


@pytest.mark.parametrize(
    ("kind", "cells", "parameter", "values"),
    [
        ("ordinal", ["256", "16", "256"], ordinal(16, 256), [256, 16, 256]),
        ("ordinal", ["0.001", "1e-5"], ordinal(1e-5, 1e-3), [1e-3, 1e-5]),
        ("linear", ["3", "1"], ordinal(1, 3, scale="linear"), [3, 1]),
        ("log", ["0.1", "1"], ordinal(0.1, 1.0, scale="log"), [0.1, 1.0]),
        ("choice", ["b", "a", "b"], choice("a", "b"), ["b", "a", "b"]),
        ("choice", ["2", "10"], choice(2, 10), [2, 10]),
        ("choice", ["2", "10", "x"], choice("10", "2", "x"), ["2", "10", "x"]),
        ("[b, a, c]", ["a", "b"], choice("b", "a", "c"), ["a", "b"]),
        ("{ordinal: [s, m, l]}", ["m", "s"], ordinal("s", "m", "l"), ["m", "s"]),
        ("{ordinal: [16, 256]}", ["16.0", "256"], ordinal(16, 256), [16, 256]),
        ("{log: [0.001, 0.1]}", ["1e-3", "0.100"], ordinal(0.001, 0.1, scale="log"), [0.001, 0.1]),
        ("{choice: [true, 2, '3']}", ["yes", "2", "3"], choice(True, 2, "3"), [True, 2, "3"]),
        ("bool", ["True", "no", "1", "0"], boolean(), [True, False, True, False]),
    ],
)
def test_kinds(kind: str, cells: list[str], parameter: Parameter, values: list[Value]) -> None:
    spanned = read(kind, *cells)
    assert spanned == Spanned(parameter, values)
    assert [type(value) for value in spanned.values] == [type(value) for value in values]


@pytest.mark.parametrize(
    ("kind", "cells", "says", "where"),
    [
        ("{ordinal: [16, 256]}", ["16", "32"], "'32' is not among the values of 'x'", "runs.csv, line 3, column 'x'"),
        ("ordinal", ["16", ""], "the parameter 'x' has no value", "runs.csv, line 3, column 'x'"),
        ("log", ["1", "large"], "'large' is not a number", "runs.csv, line 3, column 'x'"),
        ("bool", ["true", "maybe"], "'maybe' is neither true nor false", "runs.csv, line 3, column 'x'"),
    ],
)
def test_wrong_cells(kind: str, cells: list[str], says: str, where: str) -> None:
    with pytest.raises(TableError) as caught:
        read(kind, *cells)
    assert (caught.value.what, caught.value.where) == (says, where)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("kind", "cells", "says"),
    [
        ("ordinal", ["small", "large"], "the order of large, small is not known"),
        ("{linear: [0, 1, true]}", ["0", "1"], "True has no place on the scale 'linear'"),
        ("log", ["0", "1"], "option 0 has no logarithm"),
        ("{choice: [1, 1]}", ["1"], "option 1 comes twice"),
    ],
)
def test_kinds_that_do_not_suit(kind: str, cells: list[str], says: str) -> None:
    with pytest.raises(JobError, match=says) as caught:
        read(kind, *cells)
    assert caught.value.where == "runs.yaml, line 2, parameters.x"


def test_an_unknown_column() -> None:
    with pytest.raises(JobError, match="there is no column 'batchsize'") as caught:
        span(
            "batchsize",
            described(parameters="parameters: {batchsize: log}").parameters["batchsize"],
            columns("batch_size\n1\n"),
        )
    assert "Did you mean 'batch_size'?" in caught.value.hint
