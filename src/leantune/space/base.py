"""The interface of parameters, and their common messages.

A **code** is one float per value: the value itself for numbers, the index of the option for everything else, NaN where
the parameter is inactive. A **feature** is what models see, in [0, 1]. Arrays of codes are [n], of features [n, w] with
w the width of the parameter (0 for a parameter that cannot vary).
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TypeGuard, TypeVar

import numpy as np
from numpy.typing import NDArray

from leantune.arrays import FloatArray
from leantune.errors import SpaceError
from leantune.space.clusters import Cluster

IndexArray = NDArray[np.intp]
Value = float | int | str | bool | Cluster
Conditions = tuple[tuple[str, tuple[Value, ...]], ...]


@dataclass(frozen=True)
class Parameter(ABC):
    """One dimension of a space. `conditions`: exists only where each named parameter has one of the given values."""

    conditions: Conditions = field(default=(), kw_only=True)

    def as_json(self) -> dict[str, object]:
        """Its definition, the same for every spelling of the parameter; studies are compared by it."""
        when = {parent: sorted(values, key=json.dumps) for parent, values in sorted(self.conditions)}
        return self._kind_as_json() | ({"when": when} if when else {})

    @abstractmethod
    def _kind_as_json(self) -> dict[str, object]:
        """Its kind by name, and what values that one spans."""

    @property
    @abstractmethod
    def count(self) -> int | None:
        """How many values it takes; None for infinitely many."""

    @property
    @abstractmethod
    def first(self) -> float:
        """Code of the first value; the codes of finitely many values are first, first + 1, ..."""

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """Suffix of each feature's name; "" for a feature that goes by the parameter's name."""

    @abstractmethod
    def code(self, value: object, where: str) -> float:
        """Code of a value; SpaceError when it is not one of this parameter's."""

    @abstractmethod
    def value(self, code: float) -> Value:
        """The value behind a code that `code` gave."""

    @abstractmethod
    def encode(self, codes: FloatArray) -> FloatArray:
        """Features [n, w] in [0, 1] of codes [n]; rows of NaN codes are anything."""

    @abstractmethod
    def from_unit(self, unit: FloatArray) -> FloatArray:
        """Codes at the quantiles `unit` [n] in [0, 1] of the parameter's own scale."""

    @abstractmethod
    def near(self, code: float, rng: np.random.Generator) -> FloatArray:
        """Codes a small step away from `code`, which is not among them."""


_Kind = TypeVar("_Kind", bound=Parameter)


def is_real(value: object) -> TypeGuard[float]:
    """An int or float, Python's or numpy's, and no truth value."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def plain(option: object) -> Value:
    return option.item() if isinstance(option, np.generic) else option  # type: ignore[return-value]


def when(parameter: _Kind, /, **conditions: Value | Iterable[Value]) -> _Kind:
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
        hint = "Give all its values in one condition"
        raise SpaceError(f"two conditions on {min(twice)!r}", where="when()", hint=hint)
    return replace(parameter, conditions=parameter.conditions + read)


def _alternatives(name: str, wanted: Value | Iterable[Value]) -> tuple[Value, ...]:
    if isinstance(wanted, str | bool | int | float | Cluster) or not isinstance(wanted, Iterable):
        return (plain(wanted),)
    values = tuple(plain(value) for value in wanted)
    if not values:
        hint = f"Write {name}='a' or {name}=('a', 'b')"
        raise SpaceError("no value is given", where=f"condition on {name!r}", hint=hint)
    return values
