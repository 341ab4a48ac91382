"""Columns as parameters."""

from fractions import Fraction
from pathlib import Path

import pytest

from leantune.errors import JobError, TableError
from leantune.lab.replay.tables.values import ParameterValues, span_all
from leantune.space import Parameter, Value, boolean, choice, ordinal
from tests.lab.replay.made import columns, described, table


def read(kind: str, *cells: str) -> ParameterValues:
    made = columns("\n".join(["x,other", *(f"{cell},1" for cell in cells)]))
    return span_all(described(parameters=f"parameters: {{x: {kind}}}").parameters, made)[0]["x"]


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
        ("choice", ["none", "l2", "-"], choice("-", "l2", "none"), ["none", "l2", "-"]),
        ("{ordinal: [NA, low, high]}", ["low", "NA"], ordinal("NA", "low", "high"), ["low", "NA"]),
    ],
)
def test_kinds(kind: str, cells: list[str], parameter: Parameter, values: list[Value]) -> None:
    spanned = read(kind, *cells)
    assert spanned == ParameterValues(parameter, [*values])
    assert [type(value) for value in spanned.values] == [type(value) for value in values]


@pytest.mark.parametrize(
    ("kind", "cells", "says", "where"),
    [
        ("{ordinal: [16, 256]}", ["16", "32"], "'32' is not among the values of 'x'", "runs.csv, line 3, column 'x'"),
        ("ordinal", ["16", ""], "the parameter 'x' has no value", "runs.csv, line 3, column 'x'"),
        ("choice", ["a", "nan"], "the parameter 'x' has no value", "runs.csv, line 3, column 'x'"),
        ("log", ["", "none"], "the parameter 'x' has no value in any row", "runs.csv, line 2, column 'x'"),
        ("log", ["1", "large"], "'large' is not a number", "runs.csv, line 3, column 'x'"),
        ("bool", ["true", "maybe"], "'maybe' is neither true nor false", "runs.csv, line 3, column 'x'"),
    ],
)
def test_wrong_cells(kind: str, cells: list[str], says: str, where: str) -> None:
    with pytest.raises(TableError) as caught:
        read(kind, *cells)
    assert (caught.value.what, caught.value.where) == (says, where)
    assert caught.value.hint


CONDITIONAL = """\
optimizer,nesterov,momentum,seconds,acc
sgd,true,0.5,1,0.1
sgd,true,0.9,2,0.2
sgd,false,0.5,3,0.3
adam,,,4,0.4
lion,,,5,0.5
"""
PARAMETERS = "parameters: {momentum: linear, nesterov: bool, optimizer: choice}"


def test_blank_parameters_exist_only_where_a_choice_says_so(tmp_path: Path) -> None:
    found = table(tmp_path, CONDITIONAL, parameters=PARAMETERS, cluster="", fraction="")
    space = found.problem.space
    configurations = [one.as_json() for one in space.grid()]
    assert len(configurations) == 5
    assert {"optimizer": "adam"} in configurations
    assert {"momentum": 0.5, "nesterov": False, "optimizer": "sgd"} in configurations
    assert found.measurements[space.configuration({"optimizer": "lion"}).id, Fraction(1)].seconds == 5.0
    assert [one.text for one in found.remarks] == [
        "momentum is blank in 2 rows: it exists only where optimizer is sgd",
        "nesterov is blank in 2 rows: it exists only where optimizer is sgd",
        "1 of 6 combinations of the parameters are not in the table and are never proposed",
    ]


def test_blanks_that_no_choice_explains(tmp_path: Path) -> None:
    odd = CONDITIONAL.replace("adam,,,", "adam,,0.9,").replace("sgd,true,0.9", "sgd,true,")
    with pytest.raises(TableError, match="the parameter 'momentum' has no value") as caught:
        table(tmp_path, odd, parameters=PARAMETERS, cluster="", fraction="")
    assert caught.value.where.endswith("line 3, column 'momentum'")
    assert "name the choice or bool" in caught.value.hint


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
        span_all(described(parameters="parameters: {batchsize: log}").parameters, columns("batch_size\n1\n"))
    assert "Did you mean 'batch_size'?" in caught.value.hint
