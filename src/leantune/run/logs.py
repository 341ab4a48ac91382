"""A log of what a worker decides, through the standard `logging`: off unless asked for.

    logging.getLogger("leantune").setLevel(logging.INFO)  # before the study is run; or `leantune run --log-file FILE`

Every record has `worker`, `trial` and `attempt` (empty where it is about none). What a training program said is not in
it: a program may print its keys. Parameters are not either; the store has both.
"""

from __future__ import annotations

import logging

from leantune.errors import without_passwords
from leantune.history import Move, Trial, TrialState
from leantune.run.events import (
    Event,
    MachineRented,
    Observer,
    ReportReceived,
    RunEnded,
    RunStarted,
    Stopping,
    TrialJudged,
    TrialProposed,
    TrialRecovered,
    Waiting,
)

LOGGER = logging.getLogger("leantune.run")


class DecisionLog:
    """What one worker decided, a record each."""

    def __init__(self, worker: str) -> None:
        self._worker = worker

    def __call__(self, event: Event) -> None:
        """Log an event of the loop; reports of programs are left out."""
        match event:
            case TrialProposed(trial, seconds):
                self._log(f"proposed in {seconds:.3f} s, share {trial.fraction}", trial)
            case RunStarted(trial, _, booking):
                limit = "no time limit" if booking.time_limit is None else f"time limit {booking.time_limit:.3f} s"
                self._log(f"started, {limit}, ${booking.usd:.6f} set aside", trial)
            case MachineRented(trial, stay):
                self._log(f"on machine {stay.machine}, {stay.market}, ${stay.usd_per_hour:.6f} per hour", trial)
            case TrialJudged(trial, judgement):
                self._log(f"{judgement.verdict.value}: {judgement.why}", trial)
            case RunEnded(trial, dollars, seconds):
                self._log(f"{decision_words(trial.moves[-1])}; {seconds:.3f} s, ${dollars:.6f}", trial)
            case TrialRecovered(trial, cause):
                self._log(f"recovered: {cause}", trial)
            case Waiting(reason):
                self._log(f"waiting: {reason}")
            case Stopping(gently, running):
                self._log(f"stopping {'gently' if gently else 'at once'}, {running} running")
            case ReportReceived():
                pass

    def _log(self, words: str, trial: Trial | None = None) -> None:
        number, attempt = ("", "") if trial is None else (str(trial.number), str(attempts_of(trial)))
        _log(words, self._worker, number, attempt)


def logged(worker: str, observer: Observer) -> Observer:
    """The observer, with a log of what it observes where one was asked for."""
    if not LOGGER.isEnabledFor(logging.INFO):
        return observer
    log = DecisionLog(worker)

    def both(event: Event) -> None:
        log(event)
        observer(event)

    return both


def _log(words: str, worker: str, trial: str = "", attempt: str = "") -> None:
    LOGGER.info("%s", without_passwords(words), extra={"worker": worker, "trial": trial, "attempt": attempt})


def attempts_of(trial: Trial) -> int:
    """How often its program was started."""
    return sum(move.state is TrialState.RUNNING for move in trial.moves)


def decision_words(move: Move) -> str:
    """What became of a trial, and why; of a failure the program's own words are left out."""
    words = move.state.value
    return words if move.state is TrialState.FAILED or not move.cause else f"{words}: {move.cause}"
