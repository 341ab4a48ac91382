"""What a user writes: linear, log, integer, choice, ordinal, boolean, when."""

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from leantune.errors import SpaceError
from leantune.space.base import Conditions, Parameter, Value
from leantune.space.clusters import Cluster
from leantune.space.numeric import Float, Integer
from leantune.space.options import Boolean, Choice, Ordinal, OrdinalScale, plain

P = TypeVar("P", bound=Parameter)


def linear(low: float, high: float) -> Float:
    """A real number between two bounds."""
    return Float(low, high)


def log(low: float, high: float) -> Float:
    """A real number between two bounds above 0, on a log scale: learning rates, regularisation."""
    return Float(low, high, log=True)


def integer(low: int, high: int, log: bool = False) -> Integer:
    """A whole number between two bounds, both included."""
    return Integer(low, high, log=log)


def choice(*options: Value) -> Choice:
    """One of several options without an order."""
    return Choice(options)


def ordinal(*options: Value, scale: OrdinalScale = "rank") -> Ordinal:
    """One of several options in the given order, from small to large.

    scale: "linear" or "log" for numbers whose distances (or ratios) mean something.
    """
    return Ordinal(options, scale)


def boolean() -> Boolean:
    """False or True."""
    return Boolean()


def when(parameter: P, /, **conditions: Value | Iterable[Value]) -> P:
    """The parameter exists only where each named parameter has the value, or one of the values, given.

    when(linear(0, 1), optimizer="sgd"), when(linear(0, 1), optimizer=("sgd", "rmsprop"), nesterov=True).
    """
    right = "Write when(linear(0, 1), optimizer='sgd')"
    if not isinstance(parameter, Parameter):
        raise SpaceError(f"{parameter!r} is not a parameter", where="when()", hint=right)
    if not conditions:
        raise SpaceError("no condition is given", where="when()", hint=right)
    read: Conditions = tuple((name, _alternatives(name, wanted)) for name, wanted in conditions.items())
    twice = {name for name, _ in read} & {name for name, _ in parameter.conditions}
    if twice:
        raise SpaceError(
            f"two conditions on {min(twice)!r}", where="when()", hint="Give all its values in one condition"
        )
    return replace(parameter, conditions=parameter.conditions + read)


def _alternatives(name: str, wanted: Value | Iterable[Value]) -> tuple[Value, ...]:
    if isinstance(wanted, str | bool | int | float | Cluster) or not isinstance(wanted, Iterable):
        return (plain(wanted),)
    values = tuple(plain(value) for value in wanted)
    if not values:
        raise SpaceError(
            "no value is given", where=f"condition on {name!r}", hint=f"Write {name}='a' or {name}=('a', 'b')"
        )
    return values
