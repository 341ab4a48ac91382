"""The space of configurations: what may be proposed."""

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from functools import cached_property

import numpy as np

from leantune.arrays import FloatArray, IntArray
from leantune.errors import SpaceError
from leantune.space.base import Parameter, Value
from leantune.space.codes import LARGEST_GRID, enumerate_codes, latin_codes, neighbour_codes, sobol_codes
from leantune.space.configurations import Configuration, Configurations, without_repeats
from leantune.space.options import Clusters
from leantune.space.schema import Schema

Predicate = Callable[[Mapping[str, Value]], bool]


class Space:
    """Named parameters, and predicates that forbid some of their combinations. Immutable.

    Space(lr=log(1e-5, 1e-1), batch=choice(16, 64, 256), valid=lambda c: c["batch"] > 16 or c["lr"] < 1e-2)
    """

    def __init__(self, *, valid: Predicate | Iterable[Predicate] | Parameter = (), **parameters: Parameter) -> None:
        if isinstance(valid, Parameter):  # only to say that the name is taken
            parameters["valid"] = valid
            valid = ()
        self._schema = Schema(parameters)
        self._predicates = _predicates(valid)
        self._listed: Configurations | None = None

    def only(self, configurations: Iterable[Mapping[str, object]]) -> "Space":
        """The same parameters with no configurations but these: every method gives, in their order, no others."""
        rows = Configurations.of(self, (self.configuration(values) for values in configurations)).codes
        if not len(rows):
            raise SpaceError("no configuration is listed", where="only()", hint="List at least one")
        restricted = copy(self)
        restricted.__dict__.pop("_grid", None)  # of the whole space, kept once it was listed
        restricted._listed = Configurations(self._schema, without_repeats(rows))
        return restricted

    @property
    def schema(self) -> Schema:
        """The parameters as columns."""
        return self._schema

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """The parameters in declared order."""
        return self._schema.parameters

    @property
    def clusters(self) -> Mapping[str, Clusters]:
        """The parameter that says what a configuration runs on, by its name; empty where there is none."""
        return self._schema.clusters

    @property
    def size(self) -> int | None:
        """Number of combinations, before `when` and `valid`; None when infinite."""
        return self._schema.size if self._listed is None else len(self._listed)

    @property
    def enumerable(self) -> bool:
        """Whether `grid` can list it: finite, and at most 2,000,000 combinations."""
        return self.size is not None and self.size <= LARGEST_GRID

    @property
    def feature_names(self) -> tuple[str, ...]:
        """One name per column of `Configurations.features`."""
        return self._schema.feature_names

    @property
    def telling_features(self) -> IntArray:
        """Columns of `Configurations.features` without those of a cluster that its other ones explain."""
        return self._schema.telling_features

    @property
    def dimensions(self) -> int:
        """Number of features."""
        return len(self.feature_names)

    @property
    def has_prices(self) -> bool:
        """Whether the dollars per hour of every configuration are known."""
        return self._schema.option_rates is not None

    def grid(self) -> Configurations:
        """Every allowed configuration, in declared order with the last parameter fastest; listed once, then kept."""
        return self._grid

    def pool(self, size: int, *, seed: int, around: Iterable[Mapping[str, object]] = ()) -> Configurations:
        """At most `size` different allowed configurations to choose from.

        Neighbours of `around` (one parameter changed by a step) make up at most half; scrambled Sobol points the rest.
        A finite space of hardly more than `size` configurations is listed and drawn from without replacement.
        """
        self._check_count(size, "pool()")
        if self._listed is not None:
            return self._drawn(size, seed)
        centres = Configurations.of(self, around).codes
        near = self._allowed(neighbour_codes(self._schema, centres, seed))
        rng = np.random.default_rng(seed)
        if len(near) > size // 2:
            near = near[np.sort(rng.permutation(len(near))[: size // 2])]
        far = near[:0] if self._small_beside(size) else sobol_codes(self._schema, size, seed, self._allowed)
        if len(far) < size and self.enumerable:
            far = np.concatenate([far, rng.permutation(self._grid.codes)])
        codes = without_repeats(np.concatenate([near, far]))[:size]
        return Configurations(self._schema, self._not_empty(codes))

    def latin_hypercube(self, n: int, *, seed: int) -> Configurations:
        """`n` different allowed configurations, spread evenly over every parameter.

        Fewer only when a finite space has no more, or predicates leave hardly any.
        """
        self._check_count(n, "latin_hypercube()")
        if self._listed is not None:
            return self._drawn(n, seed)
        codes = latin_codes(self._schema, n, seed, self._allowed)
        if len(codes) < n and self.enumerable:
            rest = np.random.default_rng(seed).permutation(self._grid.codes)
            codes = without_repeats(np.concatenate([codes, rest]))[:n]
        return Configurations(self._schema, self._not_empty(codes))

    def configuration(self, values: Mapping[str, object]) -> Configuration:
        """A checked configuration: every active parameter, no other, canonical values, allowed by `valid`."""
        row = self._schema.row(values)
        checked = self._schema.values(row)
        forbidding = self._forbidding(checked)
        if forbidding is not None:
            hint = "Change a value"
            raise SpaceError(f"predicate {_name(forbidding)} forbids {checked}", where="configuration", hint=hint)
        chosen = Configuration(checked, (self._schema, row))
        if self._listed is not None and self._listed.index_of(chosen) is None:
            hint = f"Take one of the {len(self._listed)} that are"
            shown = ", ".join(f"{name}={value}" for name, value in checked.items())
            raise SpaceError(f"{shown} is not listed", where="configuration", hint=hint)
        return chosen

    def __repr__(self) -> str:
        """The parameters, as declared."""
        return f"Space({', '.join(f'{name}={parameter}' for name, parameter in self.parameters.items())})"

    @cached_property
    def _grid(self) -> Configurations:
        if self._listed is not None:
            return self._listed
        return Configurations(self._schema, self._not_empty(self._allowed(enumerate_codes(self._schema))))

    def _drawn(self, count: int, seed: int) -> Configurations:
        """So many of those that are listed, at random; all where there are no more."""
        rows = np.random.default_rng(seed).permutation(self._grid.codes)[:count]
        return Configurations(self._schema, rows)

    def _small_beside(self, size: int) -> bool:
        # Sobol points of a small space repeat: listing it is cheaper than drawing until enough differ.
        return self.enumerable and self.size is not None and self.size <= 4 * size

    def _allowed(self, codes: FloatArray) -> FloatArray:
        if not self._predicates:
            return codes
        keep = [self._forbidding(self._schema.values(row)) is None for row in codes]
        return codes[np.array(keep, dtype=np.bool_)]

    def _forbidding(self, values: Mapping[str, Value]) -> Predicate | None:
        """The first predicate that does not hold."""
        for predicate in self._predicates:
            verdict = predicate(values)
            if not isinstance(verdict, bool | np.bool_):
                hint = "Return True or False"
                raise SpaceError(f"predicate {_name(predicate)} returned {verdict!r}", where="valid", hint=hint)
            if not verdict:
                return predicate
        return None

    def _not_empty(self, codes: FloatArray) -> FloatArray:
        if not len(codes):
            names = ", ".join(_name(predicate) for predicate in self._predicates)
            raise SpaceError(f"no configuration is allowed by {names}", where="valid", hint="Loosen a predicate")
        return codes

    @staticmethod
    def _check_count(count: int, where: str) -> None:
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1:
            hint = "Ask for a whole number of at least 1"
            raise SpaceError(f"cannot give {count!r} configurations", where=where, hint=hint)


def _predicates(valid: Predicate | Iterable[Predicate]) -> tuple[Predicate, ...]:
    predicates = (valid,) if callable(valid) else tuple(valid)
    for predicate in predicates:
        if not callable(predicate):
            hint = "Give functions of a configuration, such as valid=lambda c: c['lr'] < 0.1"
            raise SpaceError(f"{predicate!r} is not a predicate", where="valid", hint=hint)
    return predicates


def _name(predicate: Predicate) -> str:
    return getattr(predicate, "__name__", repr(predicate))
