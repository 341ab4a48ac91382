"""The face of a study: from Python (`Study`), and from a job file (`launch`), which has no need of the other."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leantune.study.study import AskedTrial, Snapshot, Study
else:

    def __getattr__(name: str) -> object:
        """Import `study` when one of its names is first asked for."""
        if name not in __all__:
            raise AttributeError(f"module 'leantune.study' has no attribute {name!r}")
        from leantune.study import study

        return getattr(study, name)


__all__ = ["AskedTrial", "Snapshot", "Study"]
