"""The places that a job file may name (`run: {on: local}`), one line each, and the study's data for an executor.

The module of a place is imported when trials are run there, not when a job file is read. It defines `place_of`, which
gives the place for one study (`StudyPlace`).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, cast
from uuid import uuid4

from leantune.clock import Clock
from leantune.cloud.market_settings import MarketSettings
from leantune.errors import JobError
from leantune.executors.base import Arguments, Executor
from leantune.problem import Problem
from leantune.space import Cluster
from leantune.store.rows import ReportRow, StayRow

if TYPE_CHECKING:
    from leantune.cloud.provider import Offer
    from leantune.history import Trial
    from leantune.rent.placement import Course

DEFAULT = "local"
PROC = Path("/proc/self")
DEFAULT_PREDICTOR = "online-hazard"
DEFAULT_RENTED = "simcloud"  # with `spot: true` and nothing else


@dataclass(frozen=True)
class Past:
    """What a study that goes on has stored of its machines and programs, and how long it has trained already.

    A simulated market goes on from there. store: the study's key in its store, the same for all of its workers.
    """

    stays: tuple[StayRow, ...] = ()
    reports: tuple[ReportRow, ...] = ()
    trained_seconds: float = 0.0
    store: str = ""

    @property
    def latest(self) -> float:
        """The last moment of the market that is known of."""
        moments = (stay.ended or stay.left or stay.ready or stay.launched for stay in self.stays)
        return max(moments, default=-math.inf)


@dataclass(frozen=True)
class ProgramSettings:
    """The training program of a study, and where its runs are kept.

    arguments: the command line of a trial. folder: where the program starts. runs: gets a folder for each trial. store:
    names the study's store on this host (`StudyStore.key`); a study without a name there is alone.
    clusters: what trials may run on, each once. checkpoints: the folder of checkpoints. spot, market: as the job file
    says. on_machine: puts a trial on a machine that its configuration does not name, None where it names
    one. course: how far trials go, for the choice of machines. predictor: of revocations, a name or a file.
    kept_variables: of our store, which the program is to have all the same.
    """

    study: str
    problem: Problem
    arguments: Arguments
    folder: Path
    runs: Path
    clusters: tuple[Cluster, ...] = ()
    checkpoints: Path | None = None
    spot: bool = False
    market: MarketSettings | None = None
    parallel: int = 1
    on_machine: Callable[[Trial, Offer], Trial] | None = None
    course: Course | None = None
    predictor: str = DEFAULT_PREDICTOR
    kept_variables: tuple[str, ...] = ()
    store: str = field(default_factory=lambda: uuid4().hex)


@dataclass(frozen=True)
class Charges:
    """How runs are paid for at a place, for the ledger.

    billed: the dollars of a run are on a bill, else they are its seconds times the machine's price. speed: seconds of
    the machines, in which runs are counted, in one second of this world. setup_seconds: paid for beside each run.
    worst_rate: USD per hour at most where the configuration names no machine. adds_up: the cost of a result is what all
    its attempts were billed.
    """

    billed: bool = False
    speed: float = 1.0
    setup_seconds: float = 0.0
    worst_rate: float | None = None
    adds_up: bool = False


class StudyPlace(Protocol):
    """A place, for the program of one study."""

    @property
    def charges(self) -> Charges:
        """How runs are paid for there."""
        ...

    def check(self) -> None:
        """Refuse (SpaceError, JobError) what can never run there. Nothing is made or started."""

    def executor(self, clock: Clock, past: Past = Past()) -> Executor:  # noqa: B008 - frozen
        """Runs the study's program; the caller closes it. past: of a study that goes on."""
        ...


class ExecutorModule(Protocol):
    """What the module of a place defines."""

    def place_of(self, settings: ProgramSettings) -> StudyPlace:
        """The place for a study; what it needs for all of its answers (a market) is made once."""
        ...


@dataclass(frozen=True)
class Place:
    """Where trials are run.

    module: an `ExecutorModule`; empty: the name is kept for a later version. rents: machines are rented, so that `spot`
    means something. simulated: on a market that `market` describes.
    """

    module: str = ""
    rents: bool = False
    simulated: bool = False


PLACES: Mapping[str, Place] = MappingProxyType(
    {
        "local": Place("leantune.executors.local"),
        "simcloud": Place("leantune.executors.simcloud", rents=True, simulated=True),
        "aws": Place(rents=True),
        "ray": Place(rents=True),
    }
)


def is_available(name: str) -> bool:
    """Whether trials can be run there in this version."""
    return bool(PLACES[name].module)


def runs_programs() -> bool:
    """Whether this system has what wardens of programs need: file locks, limits, /proc."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        import_module("fcntl")
        import_module("resource")
    except ImportError:
        return False
    return PROC.is_dir()


def executor_module(name: str) -> ExecutorModule:
    """The module of a place, imported; JobError where it is not available, or needs another system than this one."""
    if not is_available(name):
        first, *others = (place for place in PLACES if is_available(place))
        raise JobError(
            f"running on {name!r} is not available in this version",
            where="run.on",
            hint=f"Write on: {first} (or {', '.join(others)}), with machine sizes that this host can give",
        )
    if not runs_programs():
        raise JobError(
            f"programs are run on Linux only, and this is {sys.platform}",
            where=f"run.on: {name}",
            hint="Use a Linux machine, WSL 2 or a container; here Python functions can be tuned: study.optimize(train)",
        )
    return cast(ExecutorModule, import_module(PLACES[name].module))
