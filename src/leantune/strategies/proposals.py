"""A strategy's answers: a test to run, or a configuration to use; and the seeds of its random draws."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction

from leantune.history import Estimate, Note
from leantune.models.scales import Transform
from leantune.space import Configuration


@dataclass(frozen=True)
class Proposal:
    """A test to run: `configuration` up to `fraction`, reporting at `snapshots`.

    expected: what the models predict for it (empty in the start and in random search). notes: its origin, every
    fallback and every cap that applied. useful_seconds: a run that takes longer shows nothing of use, and may be ended.
    """

    configuration: Configuration
    fraction: Fraction
    snapshots: tuple[Fraction, ...]
    expected: Mapping[str, Estimate] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    useful_seconds: float | None = None


class State(StrEnum):
    """The basis of a recommendation."""

    VERIFIED = "verified"  # it was measured as it is recommended, and kept the limits
    SUPPORTED = "supported"  # it was measured on part of the data, and is predicted to keep the limits
    GUESS = "guess"  # it was not tried, or it may well break a limit

    @property
    def words(self) -> str:
        """For a person."""
        return _STATE_WORDS[self]


_STATE_WORDS = {
    State.VERIFIED: "Verified: it was measured like this, and kept the limits.",
    State.SUPPORTED: "Supported: it was measured on a part only, and the rest is predicted.",
    State.GUESS: "A guess: it was not measured, or may well break a limit.",
}


@dataclass(frozen=True)
class GoalBelief:
    """The models' belief of the goal on its modelled scale: normal, with this mean and deviation."""

    scale: Transform
    mean: float
    sd: float


@dataclass(frozen=True)
class Recommendation:
    """A configuration to use, and how sure we are.

    metrics: predicted at `fraction`, on their own scale. probabilities: of each limit, by its text. feasible: whether
    the limits are met with the certainty asked for. tested: whether exactly this pair was run to the end. why: one
    sentence for the user. believed: of the goal, where models predicted it. largest_share: of the data, on which the
    configuration was measured; None: it never was.
    """

    configuration: Configuration
    fraction: Fraction
    metrics: Mapping[str, Estimate]
    probabilities: Mapping[str, float]
    feasible: bool
    tested: bool
    why: str
    notes: tuple[Note, ...] = ()
    believed: GoalBelief | None = None
    largest_share: Fraction | None = None

    @property
    def state(self) -> State:
        """Its basis."""
        if not self.feasible:
            return State.GUESS
        if self.tested:
            return State.VERIFIED
        return State.SUPPORTED if self.largest_share is not None else State.GUESS


def derived_seed(*parts: int | str) -> int:
    """A 63-bit number that depends only on what it is for, never on what was drawn before.

    The seed of proposal n comes from (study seed, n).
    """
    digest = hashlib.sha256("/".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1
