"""The parameters of a space as columns of a matrix: names, activity, codes, features.

Codes are [n, p] with one column per parameter in declared order, features [n, d].
"""

from collections.abc import Iterable, Mapping
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from types import MappingProxyType

import numpy as np

from leantune.arrays import BoolArray, FloatArray, IntArray
from leantune.errors import SpaceError, did_you_mean
from leantune.space.base import Parameter, Value
from leantune.space.numeric import Float
from leantune.space.options import Clusters

RESERVED = MappingProxyType(
    {
        "fraction": "the share of the training data goes by that name in commands",
        "checkpoint_dir": "the trial's checkpoint folder goes by that name in commands",
        "valid": "the predicates that forbid configurations go by that name",
    }
)
INACTIVE_FEATURE = 0.5


class Schema:
    """Checked, ordered parameters and the activity that follows from their conditions."""

    def __init__(self, parameters: Mapping[str, Parameter]) -> None:
        if not parameters:
            raise SpaceError("the space has no parameter", where="Space()", hint="Write Space(lr=log(1e-5, 1e-1))")
        for name, parameter in parameters.items():
            _check_name(name, parameter)
        self.parameters: Mapping[str, Parameter] = MappingProxyType(dict(parameters))
        self.names: tuple[str, ...] = tuple(parameters)
        self._column = {name: index for index, name in enumerate(self.names)}
        self._order = self._topological_order()
        # For each conditional parameter, parents first: (column, [(parent's column, codes that activate)]).
        self._gates = tuple(self._gate(name) for name in self._order if self.parameters[name].conditions)
        self.clusters: Mapping[str, Clusters] = self._only_cluster()  # none or one, by its name

    @property
    def conditional(self) -> bool:
        """Whether some parameter may be inactive."""
        return bool(self._gates)

    @cached_property
    def size(self) -> int | None:
        """Product of the numbers of values, before conditions and predicates; None when infinite."""
        product = 1
        for parameter in self.parameters.values():
            if parameter.count is None:
                return None
            product *= parameter.count
        return product

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """One name per feature; a space in which nothing varies has the feature "constant"."""
        names = (name + suffix for name, parameter in self.parameters.items() for suffix in parameter.columns)
        return tuple(names) or ("constant",)

    @cached_property
    def telling_features(self) -> IntArray:
        """Columns of `features` without those of a cluster that its other ones explain."""
        kept: list[int] = []
        start = 0
        for parameter in self.parameters.values():
            width = len(parameter.columns)
            columns = parameter.telling if isinstance(parameter, Clusters) else range(width)
            kept.extend(start + column for column in columns)
            start += width
        return np.array(kept or range(len(self.feature_names)), dtype=np.int64)

    @cached_property
    def option_rates(self) -> FloatArray | None:
        """USD per hour of each option of the cluster parameter; None unless every configuration has a price."""
        rates = (parameter.rates for parameter in self.clusters.values() if not parameter.conditions)
        return next(rates, None)

    def rates(self, codes: FloatArray) -> FloatArray | None:
        """USD per hour of each row, [n]."""
        if self.option_rates is None:
            return None
        (name,) = self.clusters
        return self.option_rates[codes[:, self._column[name]].astype(np.intp)]

    def activity(self, codes: FloatArray) -> BoolArray:
        """Which parameters exist in each row, [n, p], with any codes of those that do not."""
        active = np.ones(codes.shape, dtype=np.bool_)
        for column, parents in self._gates:
            for parent, allowed in parents:
                active[:, column] &= active[:, parent] & np.isin(codes[:, parent], allowed)
        return active

    def features(self, codes: FloatArray) -> FloatArray:
        """Features [n, d] in [0, 1]; those of inactive parameters are 0.5."""
        features = np.full((len(codes), len(self.feature_names)), INACTIVE_FEATURE)
        start = 0
        for column, parameter in enumerate(self.parameters.values()):
            width = len(parameter.columns)
            block = features[:, start : start + width]
            block[:] = parameter.encode(codes[:, column])
            if parameter.conditions:
                block[np.isnan(codes[:, column])] = INACTIVE_FEATURE
            start += width
        return features

    def row(self, values: Mapping[str, object], where: str = "configuration") -> FloatArray:
        """Codes [p] of a complete and valid mapping of the active parameters; SpaceError otherwise."""
        unknown = [name for name in values if name not in self.parameters]
        if unknown:
            raise SpaceError(f"unknown parameter {unknown[0]!r}", where=where, hint=self._did_you_mean(unknown[0]))
        codes = np.full((1, len(self.names)), np.nan)
        for name in self._order:
            column = self._column[name]
            active = bool(self.activity(codes)[0, column]) if self.parameters[name].conditions else True
            if active and name not in values:
                hint = f"Give a value to each of {', '.join(self.names)}"
                raise SpaceError(f"parameter {name!r} is missing", where=where, hint=hint)
            if not active and name in values:
                hint = f"Leave it out; it exists only when {_conditions(self.parameters[name])}"
                raise SpaceError(f"parameter {name!r} does not exist in this configuration", where=where, hint=hint)
            if active:
                codes[0, column] = self.parameters[name].code(values[name], f"parameter {name!r}")
        row: FloatArray = codes[0]
        return row

    def values(self, row: FloatArray) -> dict[str, Value]:
        """The active parameters' values behind codes [p]."""
        return {
            name: parameter.value(code)
            for (name, parameter), code in zip(self.parameters.items(), row.tolist(), strict=True)
            if code == code  # noqa: PLR0124 - NaN, inactive
        }

    def _topological_order(self) -> tuple[str, ...]:
        graph = {name: [parent for parent, _ in p.conditions] for name, p in self.parameters.items()}
        for name, parents in graph.items():
            for parent in parents:
                if parent not in self.parameters:
                    hint = self._did_you_mean(parent)
                    what = f"condition on unknown parameter {parent!r}"
                    raise SpaceError(what, where=f"parameter {name!r}", hint=hint)
        try:
            return tuple(TopologicalSorter(graph).static_order())
        except CycleError as error:
            circle = " -> ".join(reversed(error.args[1]))
            hint = "Let one of them exist always"
            raise SpaceError(f"conditions go round in a circle: {circle}", where="Space()", hint=hint) from None

    def _gate(self, name: str) -> tuple[int, list[tuple[int, FloatArray]]]:
        parents = []
        for parent, wanted in self.parameters[name].conditions:
            parameter = self.parameters[parent]
            if isinstance(parameter, Float | Clusters):
                what = f"condition on {parent!r}, which is no choice, ordinal, boolean or integer"
                hint = "Let it depend on a choice"
                raise SpaceError(what, where=f"parameter {name!r}", hint=hint, path=(name, "when"))
            where = f"condition of parameter {name!r} on {parent!r}"
            try:
                codes = np.array([parameter.code(value, where) for value in wanted])
            except SpaceError as error:
                error.path = (name, "when")
                raise
            parents.append((self._column[parent], codes))
        return self._column[name], parents

    def _only_cluster(self) -> dict[str, Clusters]:
        clusters = {name: given for name, given in self.parameters.items() if isinstance(given, Clusters)}
        if len(clusters) > 1:
            names = list(clusters)
            what = f"two cluster parameters, {names[0]!r} and {names[1]!r}"
            hint = "List the machines of both in one clusters()"
            raise SpaceError(what, where="Space()", hint=hint, job_hint="List the machines of both in one of them")
        return clusters

    def _did_you_mean(self, name: str) -> str:
        return f"{did_you_mean(name, self.names)}The parameters are {', '.join(self.names)}"


def _check_name(name: str, parameter: Parameter) -> None:
    where = f"parameter {name!r}"
    if name in RESERVED:
        what = f"{name!r} is reserved: {RESERVED[name]}"
        raise SpaceError(what, where=where, hint=f"Call it {name}_ or the like", path=(name,))
    if not isinstance(name, str) or not name.isidentifier():
        hint = "Use letters, digits and underscores, as in a Python variable"
        raise SpaceError(f"{name!r} is not a name", where=where, hint=hint, path=(name,))
    if not isinstance(parameter, Parameter):
        hint = f"Write {name}=choice(...) for a list of options, {name}=linear(low, high) for a range"
        raise SpaceError(f"{parameter!r} is not a parameter", where=where, hint=hint)


def _conditions(parameter: Parameter) -> str:
    def either(values: Iterable[Value]) -> str:
        return " or ".join(repr(value) for value in values)

    return " and ".join(f"{name} is {either(values)}" for name, values in parameter.conditions)
