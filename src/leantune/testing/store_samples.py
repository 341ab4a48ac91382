"""What the tests of study stores share: a space, results, bookings, and the test's own study."""

from fractions import Fraction

from leantune.history import Note, NoteKind, Observation, ObservationKind, Trial
from leantune.space import Cluster, Clusters, Space, choice, linear, log, machine, when
from leantune.store.base import Store
from leantune.store.rows import Booking, Claim, Money
from leantune.units import Seconds, Usd

FULL = Fraction(1)
NOTES = (Note(NoteKind.FALLBACK, "☃"), Note(NoteKind.PLAIN, "two\nlines"))
RATE = 36.0  # USD per hour: a cent per second
_MACHINE = machine("m", vcpus=2, memory=4, usd_per_hour=RATE)
ODD_TEXTS = (
    "",
    "naïve ☃ 🦆",
    "a\x00b",
    "half \ud83d of a pair",
    "'; DROP TABLE trials; --",
    "tab\tline\nend",
    "%s :x ?",
)


def contract_space() -> Space:
    """Parameters of every kind, one of them conditional."""
    return Space(
        lr=log(1e-9, 1.0),
        optimizer=choice("adam", "sgd"),
        momentum=when(linear(-1.0, 1.0), optimizer="sgd"),
        cluster=Clusters((Cluster(_MACHINE, 1), Cluster(_MACHINE, 2))),
    )


SMALL = {"lr": 0.1 + 0.2, "optimizer": "adam", "cluster": {"type": "m", "nodes": 1}}
OTHER = {"lr": 1e-9, "optimizer": "sgd", "momentum": -0.0, "cluster": {"type": "m", "nodes": 2}}


def measured(cost: float, *, seconds: float | None = 1.0, fraction: Fraction = FULL) -> Observation:
    """A run that worked."""
    return Observation(
        fraction, ObservationKind.MEASURED, {"accuracy": 0.9}, None if seconds is None else Seconds(seconds), Usd(cost)
    )


def failed(cost: float) -> Observation:
    """A run that did not."""
    return Observation(FULL, ObservationKind.FAILED, {}, Seconds(1.0), Usd(cost), "exit code 3")


def always(usd: float = 0.0) -> "Fitting":
    """Books every trial at this price."""
    return Fitting(usd)


class Fitting:
    """Books trials at a price, and remembers which it was asked about, and beside what money."""

    def __init__(self, usd: float, refused: frozenset[int] = frozenset()) -> None:
        self.asked: list[tuple[int, Money]] = []
        self._usd, self._refused = usd, refused

    def __call__(self, trial: Trial, money: Money) -> Booking | None:
        """A booking, unless the trial is to be refused."""
        self.asked.append((trial.number, money))
        return None if trial.number in self._refused else Booking(Usd(self._usd), RATE, Seconds(10.0))


def expired(study: Store, time: float, dead: frozenset[str] = frozenset()) -> list[Claim]:
    """Runs whose lease is over, or whose worker is among the dead."""
    return [claim for claim in study.running() if claim.lease_until <= time or claim.worker in dead]


class StoreFixtures:
    """Whoever binds the contract gives two fixtures: `study`, an empty one called "mine" of 10 dollars and 40 trials,
    and `peer`, the same as somebody else sees it.
    """

    def claim(
        self, study: Store, *, worker: str = "w", usd: float = 0.0, time: float = 1.0, lease: float = 60.0
    ) -> Claim:
        """Start the next queued trial, which there is."""
        claim = study.claim(worker, time=time, lease=lease, fitting=always(usd))
        assert claim is not None
        return claim
