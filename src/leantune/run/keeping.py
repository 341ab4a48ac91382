"""Which checkpoints outlive their trials, and the removal of all others.

    verified        a run of `leantune verify` that succeeded: always
    best            the best result where an answer may lie, as `status` shows it (keep: best)
    all             every trial that succeeded (keep: all)
    continuable     where shares are of epochs, and until the study is over: the end of each trial that a run of its
                    configuration at a larger share, not yet done, would go on from

A checkpoint is removed after the store knows that its trial has ended, and never before. A worker that is killed in
between leaves one too many: the next worker that begins removes it. Removing is idempotent, and what is kept is a
function of the history, so that workers do not disturb each other: a result that was surpassed stays so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction

from leantune.checkpoints import Keep
from leantune.executors.base import Executor
from leantune.history import History, ObservationKind, Trial, TrialState
from leantune.problem import Problem
from leantune.strategies.recommending import answers, best_result


def may_be_kept(problem: Problem, trial: Trial, keep: Keep) -> bool:
    """Whether the checkpoint of a trial may be kept when it succeeds: then it has to be saved."""
    if trial.verifies or keep is Keep.ALL or (problem.fidelity == "epochs" and trial.fraction < 1):
        return True
    return keep is Keep.BEST and answers(problem, trial.fraction)


def kept_trials(problem: Problem, history: History, keep: Keep, *, over: bool = False) -> frozenset[int]:
    """The finished trials whose checkpoints are kept; over: nothing will be started any more."""
    done = [trial for trial in history.finished if trial.state is TrialState.DONE]
    if keep is Keep.ALL:
        return frozenset(trial.number for trial in done)
    kept = {trial.number for trial in done if trial.verifies}
    best = best_result(problem, history) if keep is Keep.BEST else None
    if best is not None and answers(problem, best[1].fraction):
        kept.add(best[0].number)
    if problem.fidelity == "epochs" and not over:
        kept |= _continuable(problem, done)
    return frozenset(kept)


def _continuable(problem: Problem, done: Iterable[Trial]) -> set[int]:
    """What `History.continued` gives for any share at which a configuration is not done."""
    ends: dict[str, dict[Fraction, int]] = {}
    for trial in done:
        seen = trial.results[-1]
        if seen.kind is ObservationKind.MEASURED:
            ends.setdefault(trial.configuration.id, {})[trial.fraction] = trial.number
    numbers: set[int] = set()
    for shares in ends.values():
        for larger in problem.fractions:
            below = [share for share in shares if share < larger]
            if below and larger not in shares:
                numbers.add(shares[max(below)])
    return numbers


class KeptCheckpoints:
    """The checkpoints of finished trials, as far as one worker handles them."""

    def __init__(self, problem: Problem, keep: Keep, executor: Executor) -> None:
        self._problem, self._keep, self._executor = problem, keep, executor
        self._here: set[int] = set()  # finished trials that may have one

    def begin(self, history: History) -> None:
        """Remove the checkpoints that a killed worker has left."""
        self._here = set(self._executor.kept([trial.number for trial in history.finished]))
        self._tidy(history)

    def wanted(self, trial: Trial) -> bool:
        """Whether a run of the trial is to save its checkpoint when it succeeds."""
        return may_be_kept(self._problem, trial, self._keep)

    def ended(self, trial: Trial, history: Callable[[], History]) -> None:
        """The store knows that the trial is over: remove its checkpoint, or those that it replaces."""
        if trial.state is TrialState.DONE and self.wanted(trial):
            self._here.add(trial.number)
            self._tidy(history())
        else:
            self._executor.forget(trial.number)

    def close(self, history: History) -> None:
        """The study is over: nothing will go on from a smaller share."""
        self._tidy(history, over=True)

    def _tidy(self, history: History, *, over: bool = False) -> None:
        if not self._here:
            return
        kept = kept_trials(self._problem, history, self._keep, over=over)
        for number in sorted(self._here - kept):
            self._executor.forget(number)
        self._here &= kept
