"""What a strategy answers: a test to run, or a configuration to use; the seeds that its answers are drawn by."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from leantune.history import Estimate, Note
from leantune.models.scales import Transform
from leantune.space import Configuration


@dataclass(frozen=True)
class Proposal:
    """A test to run: `configuration` up to `fraction`, reporting at `snapshots`.

    expected: what the models predict for it (empty in the start and in random search). notes: what it comes from, every
    fallback and every cap that bit.
    """

    configuration: Configuration
    fraction: Fraction
    snapshots: tuple[Fraction, ...]
    expected: Mapping[str, Estimate] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True)
class Believed:
    """What models believe of the goal on the scale on which they model it: normal, with this mean and deviation."""

    scale: Transform
    mean: float
    sd: float


@dataclass(frozen=True)
class Recommendation:
    """A configuration to use, and how sure we are.

    metrics: predicted at `fraction`, on their own scale. probabilities: of each limit, by its text. feasible: whether
    the limits are met with the certainty asked for. tested: whether exactly this pair was run to the end. why: one
    sentence for a person. believed: of the goal, where models predicted it.
    """

    configuration: Configuration
    fraction: Fraction
    metrics: Mapping[str, Estimate]
    probabilities: Mapping[str, float]
    feasible: bool
    tested: bool
    why: str
    notes: tuple[Note, ...] = ()
    believed: Believed | None = None


def derived_seed(*parts: int | str) -> int:
    """A 63-bit number that depends only on what it is for, never on what was drawn before.

    The seed of proposal n comes from (study seed, n).
    """
    digest = hashlib.sha256("/".join(map(str, parts)).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1
