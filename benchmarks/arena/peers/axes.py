"""A space as other libraries see it, and the way back: the nearest configuration that is on offer.

Numbers, and lists of many values in order, are an axis in [0, 1], on the scale on which LeanTune models them; short
lists in order are ranks; the rest are choices. A cluster is two axes, the type of machine and the rank of its number
of nodes. A table may be a list of random configurations that lie on no grid: what a library suggests is tested at the
configuration that is nearest in the encoded space, [d] features, among those that it has not been given yet.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from benchmarks.arena.peers.drivers.wire import ETA, Axis, Point
from leantune.arrays import BoolArray, FloatArray
from leantune.errors import StrategyError
from leantune.problem import Problem
from leantune.space import Clusters, Configuration
from leantune.space.base import Parameter
from leantune.space.options import Choice, Ordinal

MOST_RANKS = 32  # longer lists in order are numbers for a library


class Numbers:
    """A parameter that varies along one feature: one axis in [0, 1]."""

    def __init__(self, name: str, parameter: Parameter) -> None:
        self.axes = (Axis(name, "unit"),)
        self._parameter = parameter

    def features(self, point: Point) -> FloatArray:
        """[1]."""
        return np.array([min(1.0, max(0.0, point[self.axes[0].name]))])

    def point(self, code: float) -> dict[str, float]:
        """Where a code lies."""
        return {self.axes[0].name: float(self._parameter.encode(np.array([code]))[0, 0])}


class Listed:
    """A list of options, in order or not: one axis of indices."""

    def __init__(self, name: str, parameter: Parameter) -> None:
        count = parameter.count or 0
        self.axes = (Axis(name, "rank" if count == 2 or not isinstance(parameter, Choice) else "choice", count),)
        self._parameter = parameter

    def features(self, point: Point) -> FloatArray:
        """[w] of the option."""
        index = min(self.axes[0].count - 1, max(0, round(point[self.axes[0].name])))
        return self._parameter.encode(np.array([self._parameter.first + index])).ravel()

    def point(self, code: float) -> dict[str, float]:
        """Its index."""
        return {self.axes[0].name: int(code - self._parameter.first)}


class Machines:
    """A cluster: its type, and which of that type's numbers of nodes, the smallest first."""

    def __init__(self, name: str, parameter: Clusters) -> None:
        self._parameter = parameter
        self._codes: dict[str, list[int]] = {}
        for code, option in enumerate(parameter.options):
            self._codes.setdefault(option.type, []).append(code)
        for codes in self._codes.values():
            codes.sort(key=lambda code: parameter.options[code].nodes)
        self._type, self._nodes = f"{name}_type", f"{name}_nodes"
        counts = {self._type: len(self._codes), self._nodes: max(map(len, self._codes.values()))}
        axes = (Axis(self._type, "choice", counts[self._type]), Axis(self._nodes, "rank", counts[self._nodes]))
        self.axes = tuple(axis for axis in axes if axis.count > 1)

    def features(self, point: Point) -> FloatArray:
        """[w] of the cluster of that type with as many nodes, or the most that it comes with."""
        codes = list(self._codes.values())[int(point.get(self._type, 0))]
        rank = min(len(codes) - 1, max(0, round(point.get(self._nodes, 0))))
        return self._parameter.table[[codes[rank]]].ravel()

    def point(self, code: float) -> dict[str, float]:
        """Its type and its rank among those of the type."""
        kind = self._parameter.options[int(code)].type
        place = {self._type: list(self._codes).index(kind), self._nodes: self._codes[kind].index(int(code))}
        return {axis.name: place[axis.name] for axis in self.axes}


class Constant:
    """What cannot vary is no axis."""

    axes: tuple[Axis, ...] = ()

    def __init__(self, parameter: Parameter) -> None:
        self._features = parameter.encode(np.array([parameter.first])).ravel()

    def features(self, point: Point) -> FloatArray:
        """Of its only value."""
        return self._features

    def point(self, code: float) -> dict[str, float]:
        """Nothing to say."""
        return {}


Part = Numbers | Listed | Machines | Constant


def _part(name: str, parameter: Parameter) -> Part:
    if parameter.count == 1:
        return Constant(parameter)
    if isinstance(parameter, Clusters):
        return Machines(name, parameter)
    many = parameter.count is None or parameter.count > MOST_RANKS
    ordered = not isinstance(parameter, Choice) and len(parameter.columns) == 1
    if many and ordered:
        return Numbers(name, parameter)
    if isinstance(parameter, Ordinal | Choice) or not many:
        return Listed(name, parameter)
    raise StrategyError(f"{name!r} is {parameter}", where="peers", hint="No axis is like it")


@dataclass(frozen=True)
class Offer:
    """The configurations of a problem that can be tested on every share, as points and as features."""

    problem: Problem

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """One for each parameter; axes have names that every library accepts."""
        space = self.problem.choices
        if space.schema.conditional:
            raise StrategyError("parameters that exist sometimes", where="peers", hint="List them all, always")
        if not space.enumerable:
            raise StrategyError("endlessly many configurations", where="peers", hint="Peers play on tables")
        return tuple(_part(f"x{index}", parameter) for index, parameter in enumerate(space.parameters.values()))

    @property
    def axes(self) -> tuple[Axis, ...]:
        """Of all parameters."""
        return tuple(axis for part in self.parts for axis in part.axes)

    @cached_property
    def testable(self) -> BoolArray:
        """Rows of the grid that have a result on every share, [n]."""
        return np.asarray(self.problem.testable.all(axis=1))

    def features(self, point: Point) -> FloatArray:
        """Of a point, [d]."""
        return np.concatenate([part.features(point) for part in self.parts])

    def point(self, configuration: Configuration) -> dict[str, float]:
        """Where a configuration lies."""
        codes = configuration.codes(self.problem.space.schema).tolist()
        return {name: at for part, code in zip(self.parts, codes, strict=True) for name, at in part.point(code).items()}

    def nearest(self, point: Point, given: Sequence[int]) -> int | None:
        """The row of the grid nearest to the point that is not among those `given`; the first of equals, None: none."""
        free = self.testable.copy()
        free[list(given)] = False
        if not free.any():
            return None
        away = ((self.problem.choices.grid().features - self.features(point)) ** 2).sum(axis=1)
        return int(np.where(free, away, np.inf).argmin())


def rungs(shares: Sequence[float], eta: int = ETA) -> tuple[int, ...]:
    """Indices of the shares nearest to 1, 1/eta, 1/eta^2, ... on a log scale, ascending; none twice.

    A rung that would lie more than half a step below the smallest share is left out.
    """
    logs = [math.log(share) for share in shares]
    wanted = _rungs_down(math.log(eta), logs[0])
    found = [min(range(len(logs)), key=lambda index: (abs(logs[index] - place), index)) for place in wanted]
    found.reverse()
    return tuple(index for index, after in pairwise([*found, len(shares)]) if index != after)


def _rungs_down(step: float, lowest: float) -> Iterator[float]:
    count = math.floor(-lowest / step + 0.5)
    return (-step * number for number in range(count + 1))
