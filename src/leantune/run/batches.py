"""Deterministic batches: with them, parallel workers run the same trials whatever their order of arrival.

Trial n belongs to batch floor(n / size). It is proposed when all earlier batches have ended, from their results alone:
trials of its own batch count as pending even if they have ended already. A paused trial waits for a decision, not for a
machine: it keeps no batch waiting.
"""

from __future__ import annotations

from dataclasses import replace

from leantune.history import History, Move, Moves, Trial, TrialState
from leantune.units import NO_USD


def before_batch(history: History, size: int) -> History | None:
    """The history that the next proposal may see; None while an earlier batch is still running."""
    first = len(history) // size * size
    if any(trial.pending and trial.state is not TrialState.PAUSED for trial in history.trials[:first]):
        return None
    return History((*history.trials[:first], *map(_unseen, history.trials[first:])))


def _unseen(trial: Trial) -> Trial:
    """As it was when it had not run yet: neither its results nor its dollars count."""
    proposed = trial.moves[0]
    queued = Move(TrialState.QUEUED, proposed.time)
    return replace(
        trial, state=TrialState.QUEUED, observations=(), moves=Moves((proposed, queued)), resumed_dollars=NO_USD
    )
