"""What runs show, and what is predicted of them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from types import MappingProxyType

from leantune.problem import COST, TIME


class ObservationKind(StrEnum):
    """measured: all true. censored: cut at a limit; metrics are real, seconds and cost only lower bounds.

    failed: no metrics; seconds and cost are what it cost us, and only lower bounds of a full run. partial: what a run
    had shown midway when it was stopped; no observation at its share, so that no model and no recommendation sees it.
    """

    MEASURED = "measured"
    CENSORED = "censored"
    FAILED = "failed"
    PARTIAL = "partial"


@dataclass(frozen=True)
class Observation:
    """What one run showed at one share of the data; seconds and cost (USD) are None where nobody knows them."""

    fraction: Fraction
    kind: ObservationKind
    metrics: Mapping[str, float]
    seconds: float | None
    cost: float | None
    cause: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "metrics", MappingProxyType(dict(self.metrics)))

    def value(self, metric: str) -> float:
        """A measured metric, dollars (cost) or seconds (time); NaN where nobody knows it."""
        known = {COST: self.cost, TIME: self.seconds}.get(metric, self.metrics.get(metric))
        return math.nan if known is None else known


@dataclass(frozen=True)
class Estimate:
    """A predicted metric on its own scale."""

    mean: float
    sd: float

    def __str__(self) -> str:
        return f"{self.mean:.4g} ± {self.sd:.2g}"
