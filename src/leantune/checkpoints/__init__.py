"""Checkpoints of trials, and which of them outlive their trials."""

from enum import StrEnum


class Keep(StrEnum):
    """Whose checkpoints are kept when a trial has succeeded; that of the verified model is always kept.

    best: of the best result on all data. all: of every trial. none: of the verified model only.
    """

    BEST = "best"
    ALL = "all"
    NONE = "none"
