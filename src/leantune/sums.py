"""Exact running sums of floats: what `math.fsum` says of all addends, without keeping them.

A sum is a short tuple of partials whose exact sum is the exact sum of everything added: the rounded sum, the rounded
rest, the rest of that, until nothing is left. Taking an addend away again, by adding its negative, leaves no trace.
Dollars rarely need more than three partials.
"""

import math

Partials = tuple[float, ...]
NOTHING: Partials = ()


def added(partials: Partials, *addends: float) -> Partials:
    """The sum with some more finite addends."""
    addend = [*partials, *addends]
    kept = []
    while rounded := math.fsum(addend):
        kept.append(rounded)
        addend.append(-rounded)
    return tuple(kept)


def total(partials: Partials) -> float:
    """The sum, rounded once."""
    return math.fsum(partials)


class RunningSum:
    """A sum that changes often: addends are only gathered, and summed when somebody asks."""

    __slots__ = ("_addends",)
    _MANY = 16  # addends, after which they are made partials

    def __init__(self) -> None:
        self._addends: list[float] = []

    def add(self, addend: float) -> None:
        """One more finite addend; its negative takes it away again."""
        self._addends.append(addend)

    @property
    def total(self) -> float:
        """The sum, rounded once."""
        if len(self._addends) > self._MANY:
            self._addends = list(added(NOTHING, *self._addends))
        return math.fsum(self._addends)
