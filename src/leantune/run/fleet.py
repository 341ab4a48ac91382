"""Machines with a training job on each, as SpotTune's loop sees them: what it may ask for, and what it is told.

A fleet joins a provider (who rents, warns, revokes and bills) with training programs (which report, save and restore).
`simulate` has one that plays recorded runs; one on real machines needs nothing more than these methods.

    place -> Ready -> Reported* -> Warned -> save -> Saved -> leave -> Revoked           the provider takes it
                         |                      ^
                         +-- hour, goal, periodic +-> Saved -> terminate                 we give it back
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from leantune.cloud.provider import Offer


@dataclass(frozen=True, slots=True)
class Ready:
    """The machine has booted, the job's checkpoint is restored, training goes on after `step`."""

    time: float
    machine: str
    job: int
    step: float


@dataclass(frozen=True, slots=True)
class Reported:
    """The job told its metric at a step; `seconds` were needed for the `steps` since its last report or start."""

    time: float
    machine: str
    job: int
    step: float
    value: float
    seconds: float
    steps: float


@dataclass(frozen=True, slots=True)
class Warned:
    """The provider will take the machine at `gone_at`."""

    time: float
    machine: str
    job: int
    gone_at: float


@dataclass(frozen=True, slots=True)
class Saved:
    """A checkpoint of the job at `step` is complete, `seconds` after it was asked for."""

    time: float
    machine: str
    job: int
    step: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Revoked:
    """The provider has taken the machine; what was learned on it after the last checkpoint is lost.

    capacity: it was not the price that did it.
    """

    time: float
    machine: str
    job: int
    capacity: bool


FleetEvent = Ready | Reported | Warned | Saved | Revoked


class Fleet(Protocol):
    """Rents machines for jobs (known by their index) and trains on them. Calls come from one thread.

    Invariants: events come in the order of their times, each once; a job trains on one machine at a time; a machine is
    billed once; a job starts from its last complete checkpoint, or from step 0.
    """

    @property
    def offers(self) -> Sequence[Offer]:
        """What can be rented; the list never changes."""
        ...

    def now(self) -> float:
        """Seconds since 1970."""
        ...

    def wait(self, until: float | None) -> Sequence[FleetEvent]:
        """Wait for the next event, at most until a time, and return all that have come.

        Without a time: until something happens; empty when nothing can.
        """
        ...

    def place(self, job: int, offer: int, max_price: float | None) -> str:
        """Rent a machine for a job that is on none, and return its id; LaunchRefused when there is none to have."""
        ...

    def save(self, machine: str) -> None:
        """Have the job save a checkpoint; it pauses meanwhile and goes on afterwards. Saved follows."""
        ...

    def leave(self, machine: str) -> None:
        """Stop training there and leave the machine to the provider, who is about to take it."""
        ...

    def terminate(self, machine: str) -> None:
        """Stop training there and give the machine back; it is billed."""
        ...
