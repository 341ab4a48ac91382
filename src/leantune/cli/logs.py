"""A log file of what a worker decides, and what the store knows of what all workers did."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from leantune.cli.command import Answer
from leantune.cli.studies import StudyTarget
from leantune.cli.terminal import printable, utc, warn
from leantune.errors import InvalidInput
from leantune.history import Trial, TrialState
from leantune.run.logs import LOGGER, decision_words
from leantune.study import Study

NOBODY = "-"


class _FileHandler(logging.Handler):
    """One line a record: time, worker, trial, attempt, decision. A full disk ends the log, not the study."""

    def __init__(self, file: int) -> None:
        super().__init__(logging.INFO)
        self._file = file
        self._works = True

    def emit(self, record: logging.LogRecord) -> None:
        worker, trial, attempt = (getattr(record, name, "") or NOBODY for name in ("worker", "trial", "attempt"))
        line = _line(record.created, worker, trial, attempt, record.getMessage())
        try:
            if self._works:
                os.write(self._file, f"{line}\n".encode())  # one write: other workers may append to the same file
        except OSError as error:
            self._works = False
            warn(f"the log file ends here: {error.strerror}; the study goes on")


@contextmanager
def logging_to(path: Path) -> Iterator[None]:
    """Within the block what this worker decides is appended to the file, which only its owner may read."""
    try:
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    except OSError as error:
        what, hint = f"the log file cannot be written: {error.strerror}", "Name another file with --log-file"
        raise InvalidInput(what, where=str(path), hint=hint) from None
    handler, level = _FileHandler(file), LOGGER.level
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    try:
        yield
    finally:
        LOGGER.removeHandler(handler)
        LOGGER.setLevel(level)
        os.close(file)


@dataclass(frozen=True)
class Decision:
    """What became of a trial at some time; worker: who ran it, empty where it did not run."""

    time: float
    worker: str
    trial: int
    attempt: int
    decision: str


def workers(target: StudyTarget) -> Answer:
    """What all workers did, by time, as the store has it."""
    with target.open() as study:
        decisions, name = _decisions(study), study.name
    lines = [_line(at.time, at.worker or NOBODY, str(at.trial), str(at.attempt), at.decision) for at in decisions]
    return Answer({"study": name, "decisions": decisions}, lines or ["Nothing was decided yet"])


def programs(target: StudyTarget) -> Answer:
    """Where the output of every run is kept, as far as it is on this machine."""
    with target.open() as study:
        name, folder = study.name, study.job.logs / study.name
    paths = sorted(folder.glob("trial-*/attempt-*.log"))
    return Answer({"study": name, "logs": paths}, list(map(str, paths)) or [f"There is no log in {folder}"])


def _decisions(study: Study) -> list[Decision]:
    ran = {(row.number, row.attempt): row.worker for row in study.store.ledger()}
    decisions = [decision for trial in study.history.trials for decision in _of_trial(trial, ran)]
    return sorted(decisions, key=lambda decision: decision.time)


def _of_trial(trial: Trial, ran: dict[tuple[int, int], str]) -> Iterator[Decision]:
    attempt, running = 0, False
    for move in trial.moves:
        begins = move.state is TrialState.RUNNING
        attempt += begins
        worker = ran.get((trial.number, attempt), "") if begins or running else ""
        yield Decision(move.time, worker, trial.number, attempt, decision_words(move))
        running = begins


def _line(time: float, worker: str, trial: str, attempt: str, decision: str) -> str:
    words = " ".join(printable(decision).split())
    return f"{utc(time):%Y-%m-%dT%H:%M:%S.%fZ} worker {worker} trial {trial} attempt {attempt}: {words}"
