"""What every place to run trials promises: this machine, a Ray cluster, rented machines, a table."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from leantune.history import Observation, Trial, TrialState
from leantune.units import Seconds

GRACE = Seconds(30.0)  # between SIGTERM and SIGKILL, where nobody says otherwise


@dataclass(frozen=True)
class Terms:
    """On what terms a trial is started.

    attempt: 1 for its first run, one more each time it is run again. time_limit: seconds after which the run is asked
    to end, None for never. grace: seconds it then has before it is killed. lease: the run ends by itself when it was
    not renewed for that many seconds, because by then somebody else may have started the trial; None for never.
    earlier_seconds, earlier_usd: how long earlier attempts ran and what they cost; they count as part of the training
    where a checkpoint is found.
    """

    attempt: int = 1
    time_limit: Seconds | None = None
    grace: Seconds = GRACE
    lease: Seconds | None = None
    earlier_seconds: float = 0.0
    earlier_usd: float = 0.0


@dataclass(frozen=True)
class Finished:
    """How a run of a trial ended: what `History.record` needs (done, failed, stopped), or `History.move` (revoked,
    lost, and queued: interrupted by us, to be run again).

    seconds: how long the machine was ours in this attempt, which is what is paid for. resumed: whether it went on from
    a checkpoint of an earlier attempt, so that the seconds of its observations include `Terms.earlier_seconds`. usd:
    what the attempt was billed, and then the dollars of its observations are bills as well, `Terms.earlier_usd`
    included; None where seconds times the machine's price is what it costs.
    """

    number: int
    observations: tuple[Observation, ...]
    state: TrialState
    cause: str = ""
    seconds: float = 0.0
    resumed: bool = False
    usd: float | None = None


@dataclass(frozen=True)
class Report:
    """What a running trial said about itself: a point of its learning curve (step) or a snapshot (fraction).

    seconds: since the start of this attempt, measured by us when the report arrived.
    """

    number: int
    seconds: float
    metrics: Mapping[str, float]
    step: float | None = None
    fraction: Fraction | None = None


class Executor(Protocol):
    """Runs trials. An executor knows neither strategies nor budgets: it starts what it is told to and reports the end.

    Invariants:
    - every started trial is reported by `wait` exactly once, unless `stop` took it back before;
    - `running` holds exactly the trials that were started and neither reported nor stopped;
    - `wait` reports in the order in which trials ended, ties in the order in which they were started;
    - a trial that fails is reported as failed, with its cause and its cost: `wait` does not raise for it;
    - a run that exceeds its time limit is reported as failed, its cause beginning with `timeout`;
    - calls come from one thread.
    """

    @property
    def running(self) -> frozenset[int]:
        """Numbers of the trials that are started and not yet reported."""
        ...

    def check(self, trial: Trial) -> None:
        """Refuse (SpaceError) a trial that can never run here, as when it wants more cores than exist."""
        ...

    def room_for(self, trial: Trial) -> bool:
        """Whether the trial could be started now beside those that run."""
        ...

    def start(self, trial: Trial, terms: Terms = Terms()) -> None:  # noqa: B008 - frozen
        """Start a trial and return at once. IllegalMove when a trial of that number is running."""
        ...

    def wait(self, timeout: Seconds | None = None) -> list[Finished]:
        """Wait until a trial ends (or `timeout` has passed) and report all that have ended since the last call.

        Empty when the time is up first, and at once when nothing is running. A timeout of 0 only looks.
        """
        ...

    def reports(self) -> list[Report]:
        """What running and just finished trials reported since the last call, in the order of arrival."""
        ...

    def renew(self, number: int) -> None:
        """The trial's lease was renewed: its run may go on for another `Terms.lease` seconds from now."""
        ...

    def interrupt(self, number: int) -> None:
        """Ask a running trial to save a checkpoint and end within its grace period; `wait` reports it as queued.

        A run that ends by itself in that time is reported as what it is. UnknownTrial when it is not running.
        """
        ...

    def stop(self, number: int) -> None:
        """End a running trial at once, for good; it is not reported. UnknownTrial when it is not running."""
        ...

    def close(self) -> None:
        """End whatever runs, at once, and give everything back."""
        ...
