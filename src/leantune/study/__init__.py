"""The face of a study: from Python (`Study`), and from a job file (`launch`)."""

from leantune.study.study import AskedTrial, Snapshot, Study

__all__ = ["AskedTrial", "Snapshot", "Study"]
