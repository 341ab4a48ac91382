"""Lists of options: choices, ordinals, truth values and clusters. The code of an option is its index."""

import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Literal, get_args

import numpy as np

from leantune.arrays import FloatArray
from leantune.errors import SpaceError
from leantune.space.base import Parameter, Value, is_real, plain
from leantune.space.clusters import Cluster, identity

EXPLAINED = 0.95  # of its variance: a column that says nothing new
MAX_OTHER_OPTIONS = 4  # how many other options a neighbour may jump to
OrdinalScale = Literal["rank", "linear", "log"]


@dataclass(frozen=True)
class Options(Parameter):
    """A parameter that takes one of finitely many listed values; `table` [k, w] holds each option's features."""

    kind: ClassVar[str]  # in definitions of studies
    options: tuple[Value, ...]

    @property
    @abstractmethod
    def table(self) -> FloatArray:
        """Features of each option, [k, w]."""

    @property
    def columns(self) -> tuple[str, ...]:
        return ("",) if len(self.options) > 1 else ()

    def _kind_as_json(self) -> dict[str, object]:
        return {"kind": self.kind, "options": [*self.options]}

    @property
    def count(self) -> int | None:
        return len(self.options)

    @property
    def first(self) -> float:
        return 0.0

    @cached_property
    def _codes(self) -> dict[tuple[str, object], int]:
        return {_key(option): index for index, option in enumerate(self.options)}

    def code(self, value: object, where: str) -> float:
        code = self._codes.get(_key(value))
        if code is None:
            raise SpaceError(f"{value!r} is not an option", where=where, hint=f"Give one of {listed(self.options)}")
        return float(code)

    def value(self, code: float) -> Value:
        return self.options[int(code)]

    def encode(self, codes: FloatArray) -> FloatArray:
        indices = np.nan_to_num(codes).astype(np.intp)
        return self.table[indices]

    def from_unit(self, unit: FloatArray) -> FloatArray:
        k = len(self.options)
        return np.clip(np.floor(unit * k), 0, k - 1)

    def near(self, code: float, rng: np.random.Generator) -> FloatArray:
        others = np.delete(np.arange(len(self.options), dtype=np.float64), int(code))
        return rng.permutation(others)[:MAX_OTHER_OPTIONS]

    def _check_options(self, where: str) -> None:
        if not self.options:
            raise SpaceError("there are no options", where=where, hint="List at least one value")
        if len(self._codes) < len(self.options):
            twice = next(option for index, option in enumerate(self.options) if self._codes[_key(option)] != index)
            raise SpaceError(f"option {twice!r} comes twice", where=where, hint="List each option once")


def _checked(options: Iterable[object], where: str) -> tuple[Value, ...]:
    """Options that are texts, finite numbers or truth values, as plain Python objects."""
    checked = tuple(plain(option) for option in options)
    for option in checked:
        if isinstance(option, Cluster):
            raise SpaceError(f"option {option} is a cluster", where=where, hint="Use clusters() for machines")
        if not isinstance(option, str | int | float) or (isinstance(option, float) and not math.isfinite(option)):
            hint = "Name it by a text"
            raise SpaceError(f"option {option!r} is not a text, a finite number or True/False", where=where, hint=hint)
    return checked


@dataclass(frozen=True)
class Listed(Options):
    """One of several options that the user lists."""

    def __post_init__(self) -> None:
        where = f"{self.kind}({listed(self.options)})"
        object.__setattr__(self, "options", _checked(self.options, where))
        self._check_options(where)


@dataclass(frozen=True)
class Choice(Listed):
    """One of several options without an order; one-hot, or a single column for two options."""

    kind = "choice"

    @cached_property
    def table(self) -> FloatArray:
        hot = np.eye(len(self.options))
        return hot if len(self.options) > 2 else hot[:, 1:]

    @property
    def columns(self) -> tuple[str, ...]:
        named = self.options if len(self.options) > 2 else self.options[1:]
        return tuple(f"={option}" for option in named)


@dataclass(frozen=True)
class Ordinal(Listed):
    """One of several options in a given order; feature = rank / (k - 1).

    scale: "linear" or "log" for numbers whose distances mean something; the feature is the number itself, or its
    logarithm, min-max scaled.
    """

    kind = "ordinal"
    scale: OrdinalScale = "rank"

    def __post_init__(self) -> None:
        super().__post_init__()
        where = f"ordinal({listed(self.options)})"
        if self.scale not in get_args(OrdinalScale):
            hint = f"Give one of {', '.join(map(repr, get_args(OrdinalScale)))}"
            raise SpaceError(f"unknown scale {self.scale!r}", where=where, hint=hint)
        for option in self.options if self.scale != "rank" else ():
            if not is_real(option):
                hint = "Use the scale 'rank' for options that are not numbers"
                raise SpaceError(f"option {option!r} has no place on the scale {self.scale!r}", where=where, hint=hint)
            if self.scale == "log" and option <= 0:
                raise SpaceError(f"option {option!r} has no logarithm", where=where, hint="Use the scale 'linear'")

    def _kind_as_json(self) -> dict[str, object]:
        unusual = {} if self.scale == "rank" else {"scale": self.scale}  # older definitions do not mention the rank
        return super()._kind_as_json() | unusual

    @cached_property
    def table(self) -> FloatArray:
        k = len(self.options)
        if k == 1:
            return np.empty((1, 0))
        if self.scale == "rank":
            return np.linspace(0.0, 1.0, k)[:, None]
        places = np.array([float(option) for option in self.options])  # type: ignore[arg-type] # checked: numbers
        places = np.log(places) if self.scale == "log" else places
        return np.asarray((places - places.min()) / (places.max() - places.min()))[:, None]


@dataclass(frozen=True)
class Boolean(Options):
    """False or True; feature 0 or 1."""

    kind = "boolean"
    options: tuple[Value, ...] = field(default=(False, True), init=False, repr=False)

    def _kind_as_json(self) -> dict[str, object]:
        return {"kind": self.kind}

    @cached_property
    def table(self) -> FloatArray:
        return np.array([[0.0], [1.0]])


@dataclass(frozen=True)
class Clusters(Options):
    """A machine type and a number of nodes, as numbers (ALGORITHMS.md, "Scales").

    Features: log2 vCPUs per node, log2 memory per node, log2 nodes, log2 total vCPUs, log price of the machine (where
    every option has one), log2(1 + accelerators per node); each min-max scaled over the options, constant ones dropped.
    """

    kind = "clusters"
    options: tuple[Cluster, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", tuple(self.options))
        for option in self.options:
            if not isinstance(option, Cluster):
                hint = "Build clusters with leantune.clusters()"
                raise SpaceError(f"{option!r} is not a cluster", where=self.kind, hint=hint)
        self._check_options(self.kind)

    def _kind_as_json(self) -> dict[str, object]:
        return super()._kind_as_json() | {"options": [option.described() for option in self.options]}

    @property
    def table(self) -> FloatArray:
        return self._features[1]

    @property
    def columns(self) -> tuple[str, ...]:
        return self._features[0]

    @cached_property
    def telling(self) -> tuple[int, ...]:
        """Columns that say something new: not those that the earlier ones explain (total vCPUs = nodes x vCPUs of each,
        prices that go with the size). The same thing told four times would set machines twice as far apart.
        """
        kept: list[int] = []
        for column in range(self.table.shape[1]):
            earlier = np.column_stack([np.ones(len(self.table)), self.table[:, kept]])
            target = self.table[:, column]
            rest = target - earlier @ np.linalg.lstsq(earlier, target, rcond=None)[0]
            if rest.var() > (1.0 - EXPLAINED) * target.var():
                kept.append(column)
        return tuple(kept)

    @cached_property
    def rates(self) -> FloatArray | None:
        """USD per hour of each option, [k]; None when one has no price."""
        rates = [option.usd_per_hour for option in self.options]
        priced = [rate for rate in rates if rate is not None]
        return np.array(priced) if len(priced) == len(rates) else None

    @cached_property
    def _features(self) -> tuple[tuple[str, ...], FloatArray]:
        raw = {name: column for name, column in self._raw_features() if column.max() > column.min()}
        scaled = [(column - column.min()) / (column.max() - column.min()) for column in raw.values()]
        table = np.column_stack(scaled) if scaled else np.empty((len(self.options), 0))
        return tuple(f".{name}" for name in raw), table

    def _raw_features(self) -> Iterator[tuple[str, FloatArray]]:
        machines = [option.machine for option in self.options]
        nodes = np.array([option.nodes for option in self.options], dtype=np.float64)
        vcpus = np.array([machine.vcpus for machine in machines], dtype=np.float64)
        yield "log2_vcpus_per_node", np.log2(vcpus)
        yield "log2_memory_per_node", np.log2([machine.memory_gib for machine in machines])
        yield "log2_nodes", np.log2(nodes)
        yield "log2_vcpus", np.log2(vcpus * nodes)
        if self.rates is not None:
            yield "log_price", np.log([machine.usd_per_hour or math.nan for machine in machines])
        yield "log2_accelerators", np.log2([1.0 + machine.accelerators for machine in machines])


def _key(option: object) -> tuple[str, object]:
    """Equal for equal options; unlike ==, it tells True from 1."""
    option = plain(option)
    pair = identity(option)
    if pair is not None:
        return "cluster", pair
    if isinstance(option, bool):
        return "bool", option
    if isinstance(option, int | float):
        return "number", option
    if isinstance(option, str):
        return "text", option
    return "?", repr(option)


def listed(options: Iterable[Value], most: int = 10) -> str:
    shown = [str(option) if isinstance(option, Cluster) else repr(option) for option in options]
    more = f", ... ({len(shown)} in all)" if len(shown) > most else ""
    return ", ".join(shown[:most]) + more


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
