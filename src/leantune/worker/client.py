"""The interface of LeanTune for training programs: `current_trial()`.

    trial = leantune.current_trial()
    model = build(lr=trial["lr"], workers=trial["cluster"].vcpus)
    ...
    trial.report(step=epoch, accuracy=accuracy)

Light on purpose (standard library only): a training program pays milliseconds for it. In a program of its own, a trial
is found by the environment (LEANTUNE_TRIAL, LEANTUNE_REPORTS); inside `study.optimize(train)`, by a context variable.
"""

from __future__ import annotations

import json
import math
import os
import select
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from pathlib import Path
from types import FrameType, MappingProxyType
from typing import Any, NamedTuple, Protocol, SupportsFloat, SupportsIndex

from leantune.errors import InvalidInput, LeanTuneError, NoTrial, ObservationError
from leantune.units import LARGEST, is_value, parse_share

TRIAL_VARIABLE, REPORTS_VARIABLE = "LEANTUNE_TRIAL", "LEANTUNE_REPORTS"
_MEASURED_BY_US = {"cost": "seconds times the machine's price", "time": "by the clock"}
# Bytes that many processes can write to one pipe at once without mixing them; where programs are not run, any number.
_ATOMIC = getattr(select, "PIPE_BUF", 512)


class ClusterView(NamedTuple):
    """The machines that the trial runs on. Sizes are totals of all machines; the price is None where they are free."""

    type: str
    nodes: int
    vcpus: float
    memory_gib: float
    accelerators: int
    usd_per_hour: float | None

    def __str__(self) -> str:
        return f"{self.nodes} x {self.type}"


class TrialLink(Protocol):
    """How a trial reaches LeanTune. own_process: whether it is the whole process that is asked to stop, by SIGTERM."""

    own_process: bool

    def checkpoint_dir(self) -> Path:
        """Where its checkpoints are kept."""
        ...

    def send(self, message: dict[str, object]) -> None:
        """Tell a report."""
        ...


class CurrentTrial:
    """The trial that this program runs: trial["lr"] is a parameter, trial.report(...) tells how it goes."""

    def __init__(
        self,
        *,
        number: int,
        attempt: int,
        seed: int,
        fraction: Fraction,
        snapshots: tuple[Fraction, ...],
        parameters: Mapping[str, Any],
        link: TrialLink,
    ) -> None:
        """Made by LeanTune. seed: the study's, or another for a run that repeats one."""
        self.number, self.attempt, self.fraction, self.snapshots = number, attempt, fraction, snapshots
        self.seed, self.parameters = seed, parameters
        self._link = link
        self._listening = not link.own_process
        self._asked_to_stop = False
        self._actions: list[Callable[[], None]] = []

    def __getitem__(self, name: str) -> Any:
        if name not in self.parameters:
            names = ", ".join(self.parameters) or "none"
            raise KeyError(f"{name!r} is not a parameter of trial {self.number}; it has {names}")
        return self.parameters[name]

    def __contains__(self, name: object) -> bool:
        return name in self.parameters

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value}" for name, value in self.parameters.items())
        return f"CurrentTrial({self.number}, {shown}, fraction={self.fraction})"

    @property
    def configuration(self) -> Mapping[str, Any]:
        """All parameters by name; those that do not apply are left out."""
        return self.parameters

    @property
    def checkpoint_dir(self) -> Path:
        """A folder for checkpoints; what is in it is there again when the trial is run again."""
        return self._link.checkpoint_dir()

    def report(
        self,
        *,
        step: SupportsFloat | SupportsIndex | None = None,
        fraction: int | float | str | Fraction | None = None,
        **metrics: object,
    ) -> None:
        """Tell how it goes: the last value of each metric is the trial's result.

        step: makes it a point of a learning curve. fraction: makes it a snapshot at that share of the data.
        """
        message: dict[str, object] = {name: self._checked(name, value) for name, value in metrics.items()}
        if not message and fraction is None:
            raise ObservationError("nothing was reported", where=self._place, hint="Write report(accuracy=0.93)")
        if step is not None:
            message["step"] = self._finite_step(step)
        if fraction is not None:
            message["fraction"] = str(self._share(fraction))
        self._link.send(message)

    @property
    def should_stop(self) -> bool:
        """Whether the trial was asked to end: save a checkpoint and leave.

        From the first time that this is read, SIGTERM no longer ends the program by itself.
        """
        self._listen()
        return self._asked_to_stop

    def on_stop(self, action: Callable[[], None]) -> None:
        """Call `action` when the trial is asked to end (once, in the main thread, between two instructions)."""
        self._listen()
        self._actions.append(action)

    def request_stop(self) -> None:
        """Ask the trial to end, as SIGTERM does."""
        if not self._asked_to_stop:
            self._asked_to_stop = True
            for action in self._actions:
                action()

    @property
    def _place(self) -> str:
        return f"trial {self.number}"

    def _listen(self) -> None:
        if self._listening:
            return
        if threading.current_thread() is not threading.main_thread():
            raise LeanTuneError(
                "only the main thread can begin to listen for SIGTERM",
                where=self._place,
                hint="Read trial.should_stop once in the main thread, before other threads do",
            )
        before = signal.getsignal(signal.SIGTERM)

        def asked(number: int, frame: FrameType | None) -> None:
            self.request_stop()
            if callable(before):
                before(number, frame)

        signal.signal(signal.SIGTERM, asked)
        self._listening = True

    def _checked(self, name: str, value: object) -> float:
        if name in _MEASURED_BY_US:
            raise ObservationError(
                f"{name!r} is not a metric", where=self._place, hint=f"LeanTune measures it: {_MEASURED_BY_US[name]}"
            )
        number = real_number(value)
        if number is None:
            raise ObservationError(f"{name} is {value!r}", where=self._place, hint="Report a number")
        return number

    def _finite_step(self, step: object) -> float:
        number = real_number(step)
        if number is None or not is_value(number):
            hint = f"Give a finite number of at most {LARGEST:g}"
            raise ObservationError(f"step is {step!r}", where=self._place, hint=hint)
        return number

    def _share(self, fraction: int | float | str | Fraction) -> Fraction:
        try:
            return parse_share(fraction)
        except InvalidInput as error:
            raise ObservationError(error.what, where=self._place, hint=error.hint) from None


def real_number(value: object) -> float | None:
    """A number of Python, numpy or torch as a float; None for booleans, text and everything else."""
    if isinstance(value, bool | str | bytes) or type(value).__name__ in ("bool_", "bool"):
        return None
    if not isinstance(value, SupportsFloat | SupportsIndex):
        return None
    try:
        return float(value)
    except (TypeError, ValueError, RuntimeError):  # an array of several numbers
        return None
    except OverflowError:
        return math.inf


_acting: ContextVar[CurrentTrial | None] = ContextVar("leantune_trial", default=None)
_of_process: dict[str, CurrentTrial] = {}


def current_trial() -> CurrentTrial:
    """The trial that this program, or this call of the training function, runs. NoTrial outside of one."""
    trial = _acting.get()
    if trial is not None:
        return trial
    path = os.environ.get(TRIAL_VARIABLE)
    if not path:
        raise NoTrial(
            "there is no trial here",
            where="current_trial()",
            hint="Start the program with `leantune run job.yaml`, or call it inside study.optimize(train)",
        )
    if path not in _of_process:
        _of_process[path] = _read_trial(Path(path))
    return _of_process[path]


@contextmanager
def acting(trial: CurrentTrial) -> Iterator[None]:
    """Make it the current trial of what is called inside."""
    token = _acting.set(trial)
    try:
        yield
    finally:
        _acting.reset(token)


def _read_trial(path: Path) -> CurrentTrial:
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        parameters = {
            name: ClusterView(**value) if isinstance(value, dict) else value
            for name, value in values["configuration"].items()
        }
        return CurrentTrial(
            number=values["number"],
            attempt=values["attempt"],
            seed=values["seed"],
            fraction=Fraction(values["fraction"]),
            snapshots=tuple(map(Fraction, values["snapshots"])),
            parameters=MappingProxyType(parameters),
            link=_ProcessLink(values["number"], Path(values["checkpoint_dir"])),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise NoTrial(
            f"the trial cannot be read: {error}",
            where=f"{TRIAL_VARIABLE}={path}",
            hint="Do not set that variable yourself; LeanTune does when it starts the program",
        ) from None


class _ProcessLink:
    """Of a program: reports go to its warden. Every process of the program opens the pipe for itself."""

    own_process = True

    def __init__(self, number: int, checkpoint_dir: Path) -> None:
        self._place, self._checkpoint_dir = f"trial {number}", checkpoint_dir
        self._opened: tuple[int, int] | None = None  # process id, file

    def checkpoint_dir(self) -> Path:
        return self._checkpoint_dir

    def send(self, message: dict[str, object]) -> None:
        line = json.dumps(message).encode() + b"\n"
        if len(line) > _ATOMIC:
            raise ObservationError(
                f"a report of {len(line)} bytes", where=self._place, hint=f"Report fewer metrics: up to {_ATOMIC} bytes"
            )
        try:
            os.write(self._file(), line)
        except OSError as error:
            raise NoTrial(
                f"the worker no longer reads reports: {error.strerror}",
                where=self._place,
                hint="The trial has ended; end the program too",
            ) from None

    def _file(self) -> int:
        if self._opened is None or self._opened[0] != os.getpid():
            # Without O_NONBLOCK, opening would wait for ever for a warden that is gone; writing waits for a busy one.
            file = os.open(os.environ.get(REPORTS_VARIABLE, ""), os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            os.set_blocking(file, True)
            self._opened = (os.getpid(), file)
        return self._opened[1]
