"""What has been tried: trials, their states and their observations. Immutable; every change is a new History.

    proposed -> queued -> running -> done
                  ^         |-> revoked -> queued   (never a failure; keeps its checkpoint)
                  |         |-> lost    -> queued   (the worker vanished; same)
                  |         |-> paused  -> queued   (judged midway: waits with its checkpoint until it is chosen again)
                  |         |-> failed  -> queued   (its own fault: an observation with its cost; `retry` queues it)
                  |         |-> stopped             (by us, with the prediction that decided it)
                  +---------+                       (taken off its machine by us, to run elsewhere)

A trial that waits, queued or paused, may be paused or stopped as well.

Invariants: trials are numbered 0, 1, 2, ... and stay in that order, never in the order they end; states follow
LEGAL_MOVES; a trial in a final state never changes, but for a failed one that the user has run again (what its failure
showed no longer counts, and its dollars are those of that move); what a trial observed lies at its own snapshots, in
increasing order; a trial is charged once, however many snapshots it brings.
"""

from leantune.history.histories import History, counted_notes, in_order
from leantune.history.moves import FINAL_STATES, LEGAL_MOVES, Move, MoveDetails, Moves, RunEndDetails, TrialState
from leantune.history.observations import Estimate, Note, NoteKind, Observation, ObservationKind, told_dollars
from leantune.history.trials import Trial, TrialDetails, TrialKind, moved, observe, proposed, recorded, was_ended

__all__ = [
    "FINAL_STATES",
    "LEGAL_MOVES",
    "Estimate",
    "History",
    "Move",
    "MoveDetails",
    "Moves",
    "Note",
    "NoteKind",
    "Observation",
    "ObservationKind",
    "RunEndDetails",
    "Trial",
    "TrialDetails",
    "TrialKind",
    "TrialState",
    "counted_notes",
    "in_order",
    "moved",
    "observe",
    "proposed",
    "recorded",
    "told_dollars",
    "was_ended",
]
