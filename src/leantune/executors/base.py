"""What every place to run trials promises: this machine, a Ray cluster, rented machines, a table."""

from dataclasses import dataclass
from typing import Protocol

from leantune.history import Observation, Trial, TrialState
from leantune.units import Seconds


@dataclass(frozen=True)
class Finished:
    """How a trial ended: what `History.record` needs (done, failed, stopped) or `History.move` (revoked, lost)."""

    number: int
    observations: tuple[Observation, ...]
    state: TrialState
    cause: str = ""


class Executor(Protocol):
    """Runs trials. An executor knows neither strategies nor budgets: it starts what it is told to and reports the end.

    Invariants:
    - every started trial is reported by `wait` exactly once, unless `stop` took it back before;
    - `running` holds exactly the trials that were started and neither reported nor stopped;
    - `wait` reports in the order in which trials ended, ties in the order in which they were started;
    - a trial that fails is reported as failed, with its cause and its cost: `wait` does not raise for it;
    - calls come from one thread.
    """

    @property
    def running(self) -> frozenset[int]:
        """Numbers of the trials that are started and not yet reported."""
        ...

    def start(self, trial: Trial) -> None:
        """Start a trial and return at once. IllegalMove when a trial of that number is running."""
        ...

    def wait(self, timeout: Seconds | None = None) -> list[Finished]:
        """Wait until a trial ends (or `timeout` has passed) and report all that have ended since the last call.

        Empty when the time is up first, and at once when nothing is running. A timeout of 0 only looks.
        """
        ...

    def stop(self, number: int) -> None:
        """End a running trial for good; it is not reported any more. UnknownTrial when it is not running."""
        ...
