"""Arithmetic over columns: the same numbers as Python's, and nothing but arithmetic."""

import math
from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leantune.errors import TableError
from leantune.lab.replay.tables.expressions import DEEPEST, LONGEST, Expression

COLUMNS = {"a": 3.0, "b": 0.5, "n_ps": 1.0}
FUNCTIONS: dict[str, Callable[..., float]] = {
    "min": min,
    "max": max,
    "log": math.log,
    "log2": math.log2,
    "exp": math.exp,
    "sqrt": math.sqrt,
}


def value(text: str) -> float:
    return Expression.parse(text, "here").value(COLUMNS)


def refused(text: str) -> TableError:
    with pytest.raises(TableError) as caught:
        value(text)
    assert caught.value.where == "here"
    assert caught.value.hint
    return caught.value


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("1", 1.0),
        (" a ", 3.0),
        ("(a + n_ps) * b + 0.3712", 2.3712),
        ("-a ** 2", -9.0),
        ("2 ** -1", 0.5),
        ("a / b - 1e1", -4.0),
        ("max(a, b, 7) + min(a, b)", 7.5),
        ("log2(8) + sqrt(4) + exp(0) + log(1)", 6.0),
        ("10 ** 400 ** 0", 10.0),
    ],
)
def test_values(text: str, result: float) -> None:
    assert value(text) == result


def test_names_are_those_of_columns() -> None:
    assert Expression.parse("max(a, log(b)) + 1", "here").names == {"a", "b"}


def expressions() -> st.SearchStrategy[str]:
    numbers = st.floats(-1e6, 1e6, allow_nan=False).map(lambda number: f"({number!r})")
    leaves = st.one_of(st.sampled_from(sorted(COLUMNS)), numbers, st.integers(0, 10**6).map(lambda n: f"{n}."))

    def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.one_of(
            st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "**"]), inner).map(lambda t: f"({' '.join(t)})"),
            inner.map(lambda text: f"-{text}"),
            st.tuples(st.sampled_from(["log", "log2", "exp", "sqrt"]), inner).map(lambda t: f"{t[0]}({t[1]})"),
            st.tuples(st.sampled_from(["min", "max"]), inner, inner).map(lambda t: f"{t[0]}({t[1]}, {t[2]})"),
        )

    return st.recursive(leaves, larger, max_leaves=12)


@given(expressions())
def test_python_computes_the_same(text: str) -> None:
    try:
        expected = eval(text, {**FUNCTIONS, "__builtins__": {}}, dict(COLUMNS))
    except (ArithmeticError, ValueError, TypeError):  # TypeError: Python goes on with complex numbers
        expected = math.nan
    if isinstance(expected, complex) or not math.isfinite(expected):
        with pytest.raises(TableError):
            value(text)
    else:
        assert value(text) == expected


@given(st.text(alphabet="ab01.+-*/() ,[]{}'\"_:=<>\\\0\n", max_size=40))
def test_any_text_gives_a_number_or_our_error(text: str) -> None:
    with suppress(TableError, KeyError):  # KeyError: a name that is no column, which callers check beforehand
        assert math.isfinite(Expression.parse(text, "here").value({"a": 1.0, "b": 2.0}))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is not an expression"),
        ("a +", "is not an expression"),
        ("a b", "is not an expression at character"),
        ("a; b", "is not an expression"),
        ("a\0", "is not an expression"),
        ("'a'", "cannot be part"),
        ("True", "cannot be part"),
        ("1j", "cannot be part"),
        ("a < b", "a comparison cannot be part"),
        ("a if b else 1", "if ... else cannot be part"),
        ("a and b", "and / or cannot be part"),
        ("not a", "cannot be part"),
        ("+a", "cannot be part"),
        ("a // b", "cannot be part"),
        ("a % b", "cannot be part"),
        ("a @ b", "cannot be part"),
        ("a.real", "a dot between names cannot be part"),
        ("a[0]", "brackets after a name cannot be part"),
        ("[a]", "a list cannot be part"),
        ("a, b", "a comma cannot be part"),
        ("lambda: a", "a function cannot be part"),
        ("f'{a}'", "a text cannot be part"),
        ("max(*a, b)", "a star cannot be part"),
        ("max(a, key=b)", "cannot be part"),
        ("__import__('os')", "there is no function '__import__'"),
        ("(lambda: 1)()", "cannot be part"),
        ("round(a)", "there is no function 'round'"),
        ("log(a, b)", "log takes one value, not 2"),
        ("min(a)", "min takes two values or more, not 1"),
        ("1e999", "a number is too large"),
        ("9" * 400, "a number is too large"),
        ("a" * (LONGEST + 1), "longer than"),
        ("-" * 900 + "a", "nested too deeply"),
        ("-" * (DEEPEST + 1) + "a", "nested too deeply"),
        ("a" + "+a" * 400, "nested too deeply"),
        ("(" * 300 + "a" + ")" * 300, "is not an expression"),
    ],
)
def test_everything_else_is_refused(text: str, says: str) -> None:
    assert says in refused(text).what


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a / (b - b)", "divides by zero with a = 3, b = 0.5"),
        ("0 ** -1", "divides by zero"),
        ("10 ** 10 ** 10", "is too large a number"),
        ("9.0 ** 9 ** 9 ** 9", "is too large a number"),
        ("exp(1000)", "is too large a number"),
        ("1e308 * 10", "is not finite"),
        ("1e308 * 10 - 1e308 * 10", "is not finite"),
        ("1e60 * 1e60", "is beyond 1e+100"),
        ("log(0)", "has none"),
        ("sqrt(-a)", "has none"),
        ("(-8) ** (1 / 3)", "has none"),
    ],
)
def test_results_that_are_no_numbers(text: str, says: str) -> None:
    assert says in refused(text).what
