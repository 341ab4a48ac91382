"""Exact running sums of floats: what `math.fsum` says of all addends, without keeping them.

A sum is a tuple of partials: floats that do not overlap, whose exact sum is the exact sum of everything added
(Shewchuk 1997, "Adaptive Precision Floating-Point Arithmetic"). Taking an addend away again, by adding its negative,
leaves no trace. Dollars rarely need more than three partials.
"""

import math

Partials = tuple[float, ...]
NOTHING: Partials = ()


def added(partials: Partials, addend: float) -> Partials:
    """The sum with one more finite addend."""
    kept = []
    for partial in partials:
        larger, smaller = (addend, partial) if abs(addend) >= abs(partial) else (partial, addend)
        addend = larger + smaller
        rest = smaller - (addend - larger)
        if rest:
            kept.append(rest)
    kept.append(addend)
    return tuple(kept)


def total(partials: Partials) -> float:
    """The sum, rounded once."""
    return math.fsum(partials)
