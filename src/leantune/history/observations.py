"""Results of runs, predictions, and notes of trials and recommendations."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from types import MappingProxyType

from leantune.problem import COST, TIME
from leantune.units import NO_USD, Seconds, Usd, is_value

_NUMBER = re.compile(r"\d[\d.,]*")


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
    """What one run showed at one share of the data; seconds and cost (USD) are None where unknown."""

    fraction: Fraction
    kind: ObservationKind
    metrics: Mapping[str, float]
    seconds: Seconds | None
    cost: Usd | None
    cause: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "metrics", MappingProxyType(dict(self.metrics)))

    def value(self, metric: str) -> float:
        """A measured metric, dollars (cost) or seconds (time); NaN where unknown, or where an older LeanTune
        stored what counts as NaN.
        """
        value = {COST: self.cost, TIME: self.seconds}.get(metric, self.metrics.get(metric))
        return math.nan if value is None or not is_value(value) else value


def told_dollars(observations: Sequence[Observation]) -> Usd:
    """Dollars of a run by its observations: those at its largest share; 0 where unknown."""
    return next((seen.cost for seen in reversed(observations) if seen.cost is not None), NO_USD)


@dataclass(frozen=True)
class Estimate:
    """A predicted metric on its own scale."""

    mean: float
    sd: float

    def __str__(self) -> str:
        return f"{self.mean:.4g} ± {self.sd:.2g}"


class NoteKind(StrEnum):
    """The subject of a note."""

    PLAIN = "plain"
    BASELINE = "baseline"  # the user's present setting
    START = "start"  # the proposal is part of the strategy's start
    MODELS = "models"  # the models' choice
    FAVOURITE = "favourite"  # the models' choice too, tested on all data before it is recommended
    RANDOM = "random"  # drawn, as the strategy does
    FALLBACK = "fallback"  # the usual way failed, and this was done instead
    CAP = "cap"  # a cap limited the work
    CUTOFF = "cutoff"  # a run that takes longer is ended: its result would be of no use
    POOL = "pool"  # the space cannot be enumerated
    EXTRA_RUNS = "extra runs"  # more runs are charged than a program with snapshots would need


_SHOWN_BEFORE = {NoteKind.FALLBACK: "fallback: ", NoteKind.CAP: "cap: "}


@dataclass(frozen=True)
class Note:
    """Why a trial was proposed, or what should be known about a recommendation.

    As text a fallback begins with "fallback: ", a cap with "cap: ".
    """

    kind: NoteKind
    text: str

    def __str__(self) -> str:
        return _SHOWN_BEFORE.get(self.kind, "") + self.text

    @property
    def without_numbers(self) -> "Note":
        """Equal for notes that differ only in their numbers."""
        return Note(self.kind, _NUMBER.sub("#", self.text))
