"""One configuration, and many of them as columns."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from leantune.arrays import FloatArray
from leantune.errors import SpaceError
from leantune.space.base import IndexArray, Value
from leantune.space.clusters import Cluster
from leantune.space.schema import Schema


class Configuration(Mapping[str, Value]):
    """The values of the active parameters. Immutable; equal when the values are equal (True is not 1, 1 is not 1.0)."""

    def __init__(self, values: Mapping[str, Value], coded: tuple[Schema, FloatArray] | None = None) -> None:
        """coded: what `codes` would give, where it is known already."""
        self._values = dict(values)
        self._coded = coded

    def __getitem__(self, name: str) -> Value:
        if name not in self._values:
            raise KeyError(
                f"{name!r} is not among this configuration's parameters {list(self._values)}; use .get({name!r})"
            )
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __eq__(self, other: object) -> bool:
        return self._canonical == other._canonical if isinstance(other, Configuration) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._canonical)

    def __repr__(self) -> str:
        shown = (f"{name}={value if isinstance(value, Cluster) else repr(value)}" for name, value in self.items())
        return f"Configuration({', '.join(shown)})"

    @cached_property
    def id(self) -> str:
        """sha256 (hex) of the canonical JSON: sorted keys, no spaces, floats by repr, a cluster as its type and nodes.

        Equal across processes, machines and versions: it names the configuration in stores and tables.
        """
        return hashlib.sha256(self._canonical.encode()).hexdigest()

    def as_json(self) -> dict[str, object]:
        """Plain JSON, from which `Space.configuration` makes it again."""
        return {name: value.as_json() if isinstance(value, Cluster) else value for name, value in self.items()}

    def codes(self, schema: Schema) -> FloatArray:
        """Its codes [p] in a space; looked up once, because a history asks for the same again and again."""
        if self._coded is None or self._coded[0] is not schema:
            self._coded = (schema, schema.row(self))
        return self._coded[1]

    @cached_property
    def cluster(self) -> Cluster | None:
        """The cluster it runs on, where the space has one."""
        return next((value for value in self._values.values() if isinstance(value, Cluster)), None)

    @property
    def usd_per_hour(self) -> float | None:
        """The price of its cluster, where that is known."""
        return self.cluster.usd_per_hour if self.cluster is not None else None

    @cached_property
    def _canonical(self) -> str:
        return json.dumps(self._values, sort_keys=True, separators=(",", ":"), allow_nan=False, default=_cluster_json)


class HasSchema(Protocol):
    """A space, as far as configurations need to know it."""

    @property
    def schema(self) -> Schema:
        """Its parameters as columns."""


class Configurations(Sequence[Configuration]):
    """Many configurations of one space as a matrix of codes [n, p]; objects are made only for the ones looked at."""

    def __init__(self, schema: Schema, codes: FloatArray) -> None:
        """The rows must be codes of valid configurations, as `Schema.row` gives them; they are not checked again."""
        self._schema = schema
        self._codes = np.ascontiguousarray(codes, dtype=np.float64).view()
        self._codes.flags.writeable = False

    @classmethod
    def of(cls, space: HasSchema, configurations: Iterable[Mapping[str, object]]) -> "Configurations":
        """Check and stack configurations (or plain mappings) of the space."""
        return cls(space.schema, _stacked(space.schema, configurations))

    @property
    def codes(self) -> FloatArray:
        """[n, p], read-only: value of numbers, option index of everything else, NaN where inactive."""
        return self._codes

    @cached_property
    def features(self) -> FloatArray:
        """The models' input: [n, d] in [0, 1], read-only, computed on first use."""
        features = self._schema.features(self._codes)
        features.flags.writeable = False
        return features

    @cached_property
    def rates(self) -> FloatArray | None:
        """USD per hour of each, [n]; None where the space has no prices."""
        return self._schema.rates(self._codes)

    def __len__(self) -> int:
        return len(self._codes)

    def __getitem__(self, index: int) -> Configuration:  # type: ignore[override] # slices: see take
        row = self._codes[index]
        return Configuration(self._schema.values(row), (self._schema, row))

    def __iter__(self) -> Iterator[Configuration]:
        return (self[index] for index in range(len(self)))

    def take(self, indices: IndexArray | Sequence[int]) -> "Configurations":
        """The rows at `indices`, in that order."""
        return Configurations(self._schema, self._codes[np.asarray(indices, dtype=np.intp)])

    def union(self, others: "Configurations") -> "Configurations":
        """These, followed by those of `others` that are not among them; none comes twice."""
        if others._schema is not self._schema:
            raise SpaceError("configurations of two spaces", where="union()", hint="Join those of one space")
        return Configurations(self._schema, without_repeats(np.concatenate([self._codes, others._codes])))

    def index_of(self, configuration: Mapping[str, object]) -> int | None:
        """Row of a configuration of this space; None when it is not among these (SpaceError: not of this space)."""
        return self.indices_of([configuration])[0]

    def indices_of(self, configurations: Iterable[Mapping[str, object]]) -> list[int | None]:
        """`index_of` of each."""
        return [self._lookup.get(key) for key in row_keys(_stacked(self._schema, configurations))]

    @cached_property
    def _lookup(self) -> dict[bytes, int]:
        keys = row_keys(self._codes)
        return dict(zip(reversed(keys), reversed(range(len(keys))), strict=True))  # the first of equal rows wins


def _stacked(schema: Schema, configurations: Iterable[Mapping[str, object]]) -> FloatArray:
    rows = [c.codes(schema) if isinstance(c, Configuration) else schema.row(c) for c in configurations]
    return np.array(rows) if rows else np.empty((0, len(schema.names)))


def row_keys(codes: FloatArray) -> list[bytes]:
    """One hashable key per row, equal for equal codes (all NaN are one, 0.0 is -0.0)."""
    return list(_void_rows(codes).tolist())


def without_repeats(codes: FloatArray) -> FloatArray:
    """The first of each group of equal rows, in the order given."""
    _, first = np.unique(_void_rows(codes), return_index=True)
    return codes[np.sort(first)]


def _void_rows(codes: FloatArray) -> NDArray[np.void]:
    tidy = np.where(np.isnan(codes), np.nan, codes + 0.0)
    return np.ascontiguousarray(tidy).view(np.dtype((np.void, tidy.shape[1] * tidy.itemsize))).ravel()


def _cluster_json(value: object) -> dict[str, str | int]:
    if isinstance(value, Cluster):
        return value.as_json()
    hint = "Use text, numbers, True or False"
    raise SpaceError(f"{value!r} is not a value of a parameter", where="configuration", hint=hint)
