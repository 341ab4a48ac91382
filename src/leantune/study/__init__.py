"""The face of a study, from Python and from a job file."""

from leantune.study.study import Study
from leantune.study.trials import AskedTrial, Snapshot

__all__ = ["AskedTrial", "Snapshot", "Study"]
