"""What SpotTune's loop is told, what it knows of each job, and what comes out (the loop: `spottune`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from leantune.curves.base import Prediction
from leantune.errors import InvalidInput


@dataclass(frozen=True)
class TuningJob:
    """One setting to train. drops: declared learning-rate drops (steps). save, restore: seconds, as far as known."""

    name: str
    max_steps: float
    drops: tuple[float, ...] = ()
    maximize: bool = False
    save_seconds: float = 5.0
    restore_seconds: float = 5.0


@dataclass(frozen=True)
class TuningRules:
    """theta: share of the steps after which a job is predicted (1: all are trained to the end). mcnt: how many go on.

    hour: seconds after which a move is considered. boot: seconds expected before a machine is of use. notice: seconds
    that a checkpoint may take after a warning (the provider's notice less the polling delay); 0: there is no warning,
    so that checkpoints are periodic. finish_by: when all must be over, None for whenever; kept by machines on demand.
    pace: a wish, not a promise: to take no longer than this multiple of the time that the machines with the cheapest
    steps on demand would take; None: however long. refund_window: a machine that the provider takes before it is this
    old costs nothing. patience: seconds without any machine after which a job goes on demand.
    """

    theta: float = 0.7
    mcnt: int = 3
    hour: float = 3600.0
    boot: float = 60.0
    notice: float = 110.0
    finish_by: float | None = None
    pace: float | None = 1.0
    stop_on_plateau: bool = True
    refund_window: float = 3600.0
    patience: float = 6 * 3600.0
    retry_seconds: float = 60.0
    refused_seconds: float = 600.0

    def __post_init__(self) -> None:
        if not 0 < self.theta <= 1:
            raise InvalidInput(f"theta is {self.theta}", where="SpotTune", hint="Give a share above 0 and at most 1")
        if self.mcnt < 1:
            raise InvalidInput(f"mcnt is {self.mcnt}", where="SpotTune", hint="At least one setting must go on")


class Phase(StrEnum):
    """Where a job is."""

    WAITING = "waiting"
    STARTING = "starting"
    TRAINING = "training"
    SAVING = "saving"
    PAUSED = "paused"
    ENDED = "ended"


class Purpose(StrEnum):
    """Why a checkpoint is saved."""

    NOTICE = "notice"
    MOVE = "move"
    PAUSE = "theta reached"
    FINISH = "finished"
    CONVERGED = "converged"
    PERIODIC = "periodic"


class Ending(StrEnum):
    """How a job ended."""

    FINISHED = "finished"
    CONVERGED = "converged"
    DIVERGED = "diverged"
    NOT_SELECTED = "not selected"


@dataclass
class Stay:
    """One job on one machine: when, from which step, and what was kept. `kept` is the step of its last checkpoint."""

    job: int
    machine: str
    offer: int
    max_price: float | None
    launched: float
    step_from: float
    kept: float
    ready: float | None = None
    left: float | None = None  # training stopped there
    reached: float = 0.0  # the last step that was reported or saved
    saving_seconds: float = 0.0
    why: str = ""


@dataclass
class JobState:
    """What the loop knows of a job."""

    goal: float
    phase: Phase = Phase.WAITING
    step: float = 0.0  # of its last checkpoint
    stay: Stay | None = None
    purpose: Purpose | None = None
    reports: list[tuple[float, float]] = field(default_factory=list)
    prediction: Prediction | None = None
    ending: Ending | None = None
    save_seconds: float = 0.0
    warned_until: float | None = None
    waiting_since: float | None = None
    retry_at: float = 0.0
    keeps_nothing: bool = False  # its program was asked to save and did not: moving it would lose everything
    selected: bool = False
    version: int = 0  # timers set for an earlier stay are void


@dataclass(frozen=True)
class TuningOutcome:
    """How a tuning went. ranking: jobs, best first, when they were selected; selected: those that went on to the end.

    times are those of the fleet's clock. notes: what could not be done as wished.
    """

    began: float
    selected_at: float
    finished_at: float
    ranking: tuple[int, ...]
    selected: tuple[int, ...]
    jobs: tuple[JobState, ...]
    stays: tuple[Stay, ...]
    notes: tuple[str, ...]
