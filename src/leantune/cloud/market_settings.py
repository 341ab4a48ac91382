"""The settings of a simulated market in a job file; light, because every job file is read with it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

GENERATED = "generated"


class Regime(StrEnum):
    """The prices to imitate: auctions of 2016, or slow adjustments of today."""

    VOLATILE = "volatile"
    SMOOTH = "smooth"


@dataclass(frozen=True)
class MarketSettings:
    """`market:` of a job file.

    prices: "generated", or a file of prices. regime, seed: of generated ones. speed: seconds of the market in one of
    this world; at 60, a minute here is an hour there.
    """

    prices: str = GENERATED
    regime: str = Regime.VOLATILE
    seed: int = 0
    speed: float = 60.0
