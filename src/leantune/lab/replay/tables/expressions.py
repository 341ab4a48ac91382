"""Arithmetic over the columns of a table, such as "(n_workers + n_ps) * price + 0.3712".

Parsed by `ast` and composed of functions here, node by node: nothing is evaluated as a program. Everything is a float,
so that a giant power overflows at once and is refused.
"""

from __future__ import annotations

import ast
import math
import operator
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from leantune.errors import TableError
from leantune.units import LARGEST, is_value

LONGEST = 1000  # characters
DEEPEST = 50  # operations inside one another
_Compute = Callable[[Mapping[str, float]], float]  # of the columns of a row
_HINT = "Use columns, numbers, + - * / **, parentheses, and min, max, log, log2, exp, sqrt"

_BINARY: Mapping[type[ast.operator], Callable[[float, float], object]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_OF_ONE: Mapping[str, Callable[[float], float]] = {
    "log": math.log,
    "log2": math.log2,
    "exp": math.exp,
    "sqrt": math.sqrt,
}
_OF_SEVERAL: Mapping[str, Callable[..., float]] = {"min": min, "max": max}
_NAMES_OF_NODES: Mapping[type[ast.AST], str] = {
    ast.Compare: "a comparison",
    ast.BoolOp: "and / or",
    ast.IfExp: "if ... else",
    ast.Attribute: "a dot between names",
    ast.Subscript: "brackets after a name",
    ast.Lambda: "a function",
    ast.List: "a list",
    ast.Tuple: "a comma",
    ast.JoinedStr: "a text",
    ast.Starred: "a star",
    ast.NamedExpr: ":=",
}


@dataclass(frozen=True)
class Expression:
    """A checked expression and the names of the columns it needs; `where` is the place that errors name."""

    text: str
    where: str = field(compare=False)
    names: frozenset[str]
    _compute: _Compute = field(repr=False, compare=False)

    @classmethod
    def parse(cls, text: str, where: str) -> Expression:
        """Read and check; TableError for text that is not arithmetic."""
        if len(text) > LONGEST:
            raise TableError(f"the expression is longer than {LONGEST} characters", where=where, hint=_HINT)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # warnings of Python about text that is refused below anyway
                tree = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError) as error:  # ValueError: a NUL character
            offset = getattr(error, "offset", None)
            column = f" at character {offset}" if offset else ""
            raise TableError(f"{text!r} is not an expression{column}", where=where, hint=_HINT) from None
        except (RecursionError, MemoryError):
            raise _too_deep(where) from None
        names: set[str] = set()
        compute = _compiled(tree, names, where)
        return cls(text, where, frozenset(names), compute)

    def value(self, columns: Mapping[str, float]) -> float:
        """The result for one row; TableError where there is none that is finite."""
        try:
            result = self._compute(columns)
        except ZeroDivisionError:
            raise self._undefined("divides by zero", columns) from None
        except OverflowError:
            raise self._undefined("is too large a number", columns) from None
        except ValueError:  # the logarithm or root of a negative number
            raise self._undefined("takes a logarithm or root of what has none", columns) from None
        if not math.isfinite(result):
            raise self._undefined("is not finite", columns)
        if not is_value(result):
            raise self._undefined(f"is beyond {LARGEST:g}", columns)
        return result

    def _undefined(self, what: str, columns: Mapping[str, float]) -> TableError:
        given = ", ".join(f"{name} = {columns[name]:g}" for name in sorted(self.names))
        with_ = f" with {given}" if given else ""
        return TableError(f"{self.text!r} {what}{with_}", where=self.where, hint="Correct the row or the expression")


def _compiled(node: ast.expr, names: set[str], where: str, depth: int = 0) -> _Compute:
    """The function of the columns that a node stands for; their names are added to `names`."""
    if depth > DEEPEST:
        raise _too_deep(where)
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            if not abs(number) <= sys.float_info.max:
                raise TableError("a number is too large", where=where, hint="Stay below 1e308")
            constant = float(number)
            return lambda columns: constant
        case ast.Name(id=name):
            names.add(name)
            return lambda columns: float(columns[name])
        case ast.UnaryOp(op=ast.USub()):
            operand = _compiled(node.operand, names, where, depth + 1)
            return lambda columns: -operand(columns)
        case ast.BinOp() if type(node.op) in _BINARY:
            operate = _BINARY[type(node.op)]
            left, right = (_compiled(side, names, where, depth + 1) for side in (node.left, node.right))
            return lambda columns: _real(operate(left(columns), right(columns)))
        case ast.Call(func=ast.Name(id=name), keywords=[]):
            function = _function(name, len(node.args), where)
            arguments = [_compiled(argument, names, where, depth + 1) for argument in node.args]
            return lambda columns: function(*(argument(columns) for argument in arguments))
    shown = _NAMES_OF_NODES.get(type(node)) or repr(ast.unparse(node))
    raise TableError(f"{shown} cannot be part of an expression", where=where, hint=_HINT)


def _real(number: object) -> float:
    if isinstance(number, complex):
        raise ValueError("a root of a negative number")
    assert isinstance(number, float)
    return number


def _function(name: str, given: int, where: str) -> Callable[..., float]:
    if name not in _OF_ONE and name not in _OF_SEVERAL:
        raise TableError(f"there is no function {name!r}", where=where, hint=_HINT)
    if name in _OF_ONE and given != 1:
        raise TableError(f"{name} takes one value, not {given}", where=where, hint=f"Write {name}(column)")
    if name in _OF_SEVERAL and given < 2:
        raise TableError(f"{name} takes two values or more, not {given}", where=where, hint=f"Write {name}(a, b)")
    return _OF_ONE.get(name) or _OF_SEVERAL[name]


def _too_deep(where: str) -> TableError:
    return TableError(
        "the expression is nested too deeply", where=where, hint="Make a further column of a part of it, under columns:"
    )
