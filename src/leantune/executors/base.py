"""What every executor promises: for this machine, rented machines, a function, a table.

The loop drives an executor like this:

    capacity = executor.capacity()      # what could be started now: read before the store's transaction
    executor.start(trial, terms)        # returns at once
    executor.wait(timeout)              # until something may have happened
    events = executor.step(now)         # Begun, Report*, CheckpointSaved*, Finished, of all trials
"""

import math
from collections.abc import Callable, Collection, Container, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import NamedTuple, Protocol

from leantune.errors import IllegalMove, UnknownTrial
from leantune.history import Observation, Trial, TrialState
from leantune.store.rows import StayRow
from leantune.units import NO_SECONDS, NO_USD, Seconds, Usd

STORE_PREFIX = "PG"  # how the names begin of all variables that PostgreSQL's client library reads
GRACE = Seconds(30.0)  # between SIGTERM and SIGKILL, by default
GATHER_SECONDS = 0.1  # for which news that is no end may wait for more of it before `wait` returns


Arguments = Callable[[Trial, Mapping[str, str]], list[str]]  # the command line of a trial; by name: what executors add


@dataclass(frozen=True)
class Terms:
    """The terms of one run of a trial.

    attempt: 1 for its first run, one more each time it is run again. time_limit: seconds after which the run is asked
    to end, None for never. grace: seconds it then has before it is killed. lease: the run ends by itself when it was
    not renewed for that many seconds, because by then another worker may run the trial; None for never.
    renewed_ago: how much of it was over at the start.
    earlier_seconds, earlier_usd: how long earlier attempts ran and what they cost; they count as part of the training
    where a checkpoint is found. So do the metrics that earlier attempts reported last: a program that has nothing left
    to do need not tell them again. continues: a done trial of the configuration at a smaller share, and what it showed
    there, that the run may go on from (fidelity: epochs). seed: for the program, the study's own, or another for a run
    that repeats one. keep: what it leaves as its checkpoint is saved also when it
    has succeeded. market_limit: the time limit in seconds of the market, where these are others, for messages.
    """

    attempt: int = 1
    time_limit: Seconds | None = None
    grace: Seconds = GRACE
    lease: Seconds | None = None
    renewed_ago: Seconds = NO_SECONDS
    earlier_seconds: Seconds = NO_SECONDS
    earlier_usd: Usd = NO_USD
    reported: Mapping[str, float] = field(default_factory=dict)
    continues: tuple[Trial, Observation] | None = None
    keep: bool = False
    seed: int = 0
    market_limit: Seconds | None = None

    @property
    def smaller(self) -> int | None:
        """Number of the trial at a smaller share that the run may go on from."""
        return None if self.continues is None else self.continues[0].number

    @property
    def shown_limit(self) -> Seconds | None:
        """The time limit as messages tell it."""
        return self.time_limit if self.market_limit is None else self.market_limit


class EndMode(StrEnum):
    """The way to end a running trial.

    SAVE: it is asked to save a checkpoint and end within its grace. Its end is told as queued, or as it is where it
    came to its end by itself meanwhile. EVICT: the same, and in any case it is not done: told as queued. A
    run that had ended before it was asked is told as it ended. KILL: at once, and it is not told.
    """

    SAVE = "save"
    EVICT = "evict"
    KILL = "kill"


# -- events


@dataclass(frozen=True)
class Begun:
    """The trial's program runs from `time` on, after `step`: 0 where it starts from nothing, None: unknown."""

    number: int
    time: float
    step: float | None = None


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


@dataclass(frozen=True)
class CheckpointSaved:
    """A checkpoint of a running trial is complete since `time`, and holds no more than `step`; None: unknown.

    step: the last one reported when saving began, 0 where the program has left nothing to save. seconds: how long
    saving took.
    """

    number: int
    time: float
    step: float | None
    seconds: float


@dataclass(frozen=True)
class MachineLaunched:
    """A machine was launched for the trial."""

    number: int
    stay: StayRow


@dataclass(frozen=True)
class MachineUpdate:
    """News of a machine that the trial had: a checkpoint was saved there, or it was billed after the end."""

    number: int
    stay: StayRow


class Finished(NamedTuple):
    """How a run of a trial ended: what `History.record` needs (done, failed, stopped), or `History.move` (revoked,
    lost, and queued: interrupted by us, to be run again).

    seconds: how long the machine was ours in this attempt: these are paid. resumed: whether it went on from
    a checkpoint of an earlier attempt, so that the seconds of its observations include `Terms.earlier_seconds`. usd:
    what the attempt was billed, and then the dollars of its observations are bills as well, `Terms.earlier_usd`
    included; None where seconds times the machine's price is what it costs. kept_step: where the next attempt can go
    on at most, 0: from nothing; None: unknown, and what was known before holds. stays: the machines that it had.
    continued: whether it went on from `Terms.continues`, so that seconds and dollars of its observations are those of a
    run from nothing: they include those of what it went on from. timed_out: whether it failed because it exceeded its
    time limit. fault: why it failed without having reported anything, where another configuration may fail of the same:
    neither for want of memory nor of time.
    """

    number: int
    observations: tuple[Observation, ...]
    state: TrialState
    cause: str = ""
    seconds: Seconds = NO_SECONDS
    resumed: bool = False
    usd: Usd | None = None
    kept_step: float | None = None
    stays: tuple[StayRow, ...] = ()
    continued: bool = False
    timed_out: bool = False
    fault: str = ""


Event = Begun | Report | CheckpointSaved | MachineLaunched | MachineUpdate | Finished


# -- room


@dataclass(frozen=True)
class FreeCapacity:
    """The room for more trials at one moment. `fits` only calculates.

    running: these cannot be started again. slots: how many trials more; cores, memory_gib: what is left of them for the
    trials' clusters. None: as many as one likes. free_cores: those that a trial may take that names no machine, because
    one is chosen for it.
    """

    running: frozenset[int] = field(default_factory=frozenset)
    slots: int | None = None
    cores: int | None = None
    memory_gib: float | None = None
    free_cores: int = 0

    @property
    def unlimited(self) -> bool:
        """Whether any number of trials could be started."""
        return self.slots is None and self.cores is None and self.memory_gib is None

    def fits(self, trial: Trial) -> bool:
        """Whether the trial could be started."""
        if trial.number in self.running or (self.slots is not None and self.slots < 1):
            return False
        cluster = trial.configuration.cluster
        if cluster is None:
            return self.cores is None or self.free_cores <= self.cores
        enough_cores = self.cores is None or cores_for(cluster.vcpus) <= self.cores
        return enough_cores and (self.memory_gib is None or cluster.memory_gib <= self.memory_gib)


def cores_for(vcpus: float) -> int:
    """Whole processors that are held for so many virtual ones."""
    return max(1, math.ceil(vcpus - 1e-9))


# -- the executor


class Executor(Protocol):
    """Runs trials. An executor knows neither strategies nor budgets: it starts trials and tells their ends.

    Invariants:
    - every started trial is told as `Finished` exactly once, unless it was killed before;
    - `running` holds exactly the trials that were started and neither told as finished nor killed;
    - of one trial, `Begun` comes first, at most once, and `Finished` last; a run that never began has no `Begun`;
    - trials are told as finished in the order in which they ended, ties in the order in which they were started;
    - a trial that fails is told as failed, with its cause and its cost: `step` does not raise for it;
    - a run that exceeds its time limit is told as failed, and `Finished.timed_out` is true;
    - calls come from one thread, `renew` from any.
    """

    @property
    def running(self) -> frozenset[int]:
        """Numbers of the trials that are started and not yet told as finished."""
        ...

    @property
    def owes(self) -> bool:
        """Whether machines of trials that have ended are still to be billed: `MachineUpdate` will tell."""
        ...

    def check(self, trial: Trial) -> None:
        """Refuse (SpaceError) a trial that can never run here, as when it wants more cores than exist."""
        ...

    def capacity(self) -> FreeCapacity:
        """The room for trials now. May look at files and ask other processes: not to be called inside a transaction."""
        ...

    def start(self, trial: Trial, terms: Terms = Terms()) -> None:  # noqa: B008 - frozen
        """Start a trial and return at once. IllegalMove when a trial of that number is running."""
        ...

    def end(self, number: int, mode: EndMode) -> None:
        """End a running trial and return at once. UnknownTrial when it is not running."""
        ...

    def renew(self, number: int, ago: Seconds = NO_SECONDS) -> None:
        """The trial's lease was renewed `ago` seconds ago: its run may go on for `Terms.lease` seconds from then."""
        ...

    def forget(self, number: int) -> None:
        """The trial will never be run again: its checkpoint may go, when there is time; nothing happens without one.

        IllegalMove when it is running.
        """
        ...

    def kept(self, numbers: Iterable[int]) -> frozenset[int]:
        """Those of the trials of which a checkpoint, or a part of one, is here. May look at files."""
        ...

    def remains(self, number: int, attempt: int, grace: Seconds) -> bool:
        """Whether processes of that attempt of a trial, or of an earlier one, are left here unattended.

        They are asked to end, and killed after their grace; returns at once: ask again. An invisible process that holds
        the trial's lock counts.
        """
        ...

    def step(self, now: float) -> list[Event]:
        """What has happened since the last call, in the order in which it happened. Never waits.

        now: the time by the loop's clock.
        """
        ...

    def next_event_time(self) -> float | None:
        """The time of the next event of `step`, by the loop's clock, where that is known: in simulations."""
        ...

    def wait(self, timeout: Seconds | None = None) -> None:
        """Return when `step` may have events, or after `timeout` seconds; at once when nothing is running.

        A simulated executor lets its clock go on until then. A function is called here, however long it takes, unless
        the timeout is 0. News other than ends may wait `GATHER_SECONDS` for more of it.
        """
        ...

    def close(self) -> None:
        """End all runs at once, and give everything back."""
        ...


class Programs(Executor, Protocol):
    """An executor whose programs leave checkpoints while they run."""

    def save(self, number: int) -> None:
        """Save the trial's checkpoint folder, soon, and let the trial go on.

        `CheckpointSaved` follows, unless the run ends before or saving fails. UnknownTrial when it is not running.
        """
        ...


class BaseExecutor(Executor):
    """What executors have in common: nothing is billed later, the next event is unknown, and how they refuse."""

    @property
    def owes(self) -> bool:
        """Nothing is."""
        return False

    def kept(self, numbers: Iterable[int]) -> frozenset[int]:
        """None of them."""
        return frozenset()

    def remains(self, number: int, attempt: int, grace: Seconds) -> bool:
        """Nothing: what runs here ends with its process."""
        return False

    def next_event_time(self) -> float | None:
        """None: unknown."""
        return None

    def _refuse_twice(self, number: int, running: Container[int]) -> None:
        if number in running:
            raise IllegalMove("it is running already", where=f"trial {number}", hint="Start each trial once")

    def _refuse_running(self, number: int) -> None:
        if number in self.running:
            raise IllegalMove("it is running", where=f"trial {number}", hint="End it first")

    def _check_running(self, number: int) -> None:
        if number not in self.running:
            running = ", ".join(map(str, sorted(self.running))) or "none"
            where = type(self).__name__
            raise UnknownTrial(f"trial {number} is not running", where=where, hint=f"Running: {running}")


# -- what programs inherit of the environment that LeanTune itself was started in


def belongs_to_store(name: str) -> bool:
    """Whether a variable is one of those that our store uses: a password of the store is no program's business."""
    return name.startswith(STORE_PREFIX)


def inherited(variables: Mapping[str, str], keep: Collection[str] = ()) -> dict[str, str]:
    """All of them but the store's own; keep: names of those that the programs need themselves."""
    return {name: value for name, value in variables.items() if name in keep or not belongs_to_store(name)}
