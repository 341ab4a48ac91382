"""Numbers with a unit in text, shares of the training data as exact rationals, exact running sums of floats.

A running sum is what `math.fsum` says of all addends, without keeping them: a short tuple of partials whose exact sum
is the exact sum of everything added: the rounded sum, the rounded rest, the rest of that, until nothing is left. Taking
an addend away again, by adding its negative, leaves no trace. Dollars rarely need more than three partials.
"""

import math
import re
from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Literal, NewType

from leantune.errors import InvalidInput

Usd = NewType("Usd", float)
Seconds = NewType("Seconds", float)
NO_USD, NO_SECONDS = Usd(0.0), Seconds(0.0)
LARGEST = 1e100  # magnitude of a measured value; squares and sums of such are still finite
Kind = Literal["time", "money", "memory"]
Partials = tuple[float, ...]
NOTHING: Partials = ()

SECONDS_PER_HOUR = 3600.0
_MINUTE, _HOUR, _DAY = 60.0, SECONDS_PER_HOUR, 86400.0
_TIME = {
    **dict.fromkeys(("ms",), 1e-3),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), _MINUTE),
    **dict.fromkeys(("h", "hour", "hours"), _HOUR),
    **dict.fromkeys(("day", "days"), _DAY),
}
_MEMORY = {"mib": 1 / 1024, "gib": 1.0, "tib": 1024.0, "mb": 1e6 / 2**30, "gb": 1e9 / 2**30, "tb": 1e12 / 2**30}
# Lower-case unit -> factor to the base unit (seconds, USD, GiB). "" is a number without unit.
UNITS: Mapping[Kind, Mapping[str, float]] = MappingProxyType(
    {
        "time": MappingProxyType(_TIME),
        "money": MappingProxyType({"usd": 1.0, "$": 1.0, "": 1.0}),
        "memory": MappingProxyType({**_MEMORY, "": 1.0}),
    }
)
_RIGHT: Mapping[Kind, str] = MappingProxyType(
    {
        "time": "Write a number and a unit of ms, s, min, h or days, such as '10 min'",
        "money": "Write dollars, such as '0.10 USD' or '$0.10'",
        "memory": "Write a size in GiB (2^30 bytes), GB (10^9), MiB, MB, TiB or TB, such as '2 GiB'",
    }
)
# Beyond these no machine, budget or clock has any use for an amount; so that nothing overflows later on.
_MOST: Mapping[Kind, tuple[float, str]] = MappingProxyType(
    {"time": (36500 * _DAY, "36500 days"), "money": (1e12, "1e12 USD"), "memory": (1e9, "1e9 GiB")}
)
_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_QUANTITY = re.compile(rf"(?P<dollar>\$?)\s*(?P<number>{_NUMBER})\s*(?P<unit>[^\d\s]\S*)?")


def is_value(number: float) -> bool:
    """Whether a measured number says anything: finite, and of a magnitude up to LARGEST. Any other counts as NaN."""
    return -LARGEST <= number <= LARGEST


def parse_quantity(text: str, kind: Kind) -> float:
    """Read "10 min", "$0.10" or "2 GiB" as seconds, USD or GiB.

    Time needs a unit (10 of what?); money without one is USD, memory without one GiB.
    """
    match = _QUANTITY.fullmatch(text.strip())
    if match is None or (match["dollar"] and (kind != "money" or match["unit"])):
        raise InvalidInput(f"{text.strip()!r} is not an amount of {kind}", where=kind, hint=_RIGHT[kind])
    unit = (match["unit"] or "").lower()
    factor = UNITS[kind].get(unit)
    if factor is None:
        what = f"unknown unit {match['unit']!r}" if unit else f"{text.strip()!r} has no unit"
        raise InvalidInput(what, where=f"{kind} {text.strip()!r}", hint=_RIGHT[kind])
    value = float(match["number"]) * factor
    if not abs(value) <= _MOST[kind][0]:
        raise InvalidInput(
            f"{text.strip()!r} is too large a number: at most {_MOST[kind][1]}", where=kind, hint=_RIGHT[kind]
        )
    return value


def parse_share(value: int | float | str | Fraction) -> Fraction:
    """A share of the training data in (0, 1] as an exact rational: "1/60", 0.1 -> 1/10, the float 1/60 -> 1/60.

    A float stands for the rational of denominator up to 10^6 that rounds to it, where there is one, and else for
    the decimal number it prints as.
    """
    share = _rational(value)
    if not 0 < share <= 1:
        raise InvalidInput(f"{value} is not a share of the data", where=f"share {value!r}", hint=_SHARE_HINT)
    return share


_SHARE_HINT = "Shares lie above 0 and reach at most 1, such as 0.1 or '1/60'"


def _rational(value: int | float | str | Fraction) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, int | float | str | Fraction):
        raise InvalidInput(f"{value!r} is not a number", where=f"share {value!r}", hint=_SHARE_HINT)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidInput(f"{value} is not a share of the data", where=f"share {value!r}", hint=_SHARE_HINT)
        near = Fraction(value).limit_denominator(10**6)
        return near if float(near) == value else Fraction(repr(float(value)))
    try:
        return Fraction(value)
    except (ValueError, ZeroDivisionError):
        raise InvalidInput(f"{value!r} is not a number", where=f"share {value!r}", hint=_SHARE_HINT) from None


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
    """A sum that changes often: addends are only gathered, and summed when the value is read."""

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
