"""Checkpoints of trials, and which of them outlive their trials."""

from enum import StrEnum


class Keep(StrEnum):
    """Whose checkpoints are kept when a trial has come through; of the verified model it always is.

    best: of the best result on all data. all: of every trial. none: of no other.
    """

    BEST = "best"
    ALL = "all"
    NONE = "none"
