"""What a study that is over has left on this machine and does not need any more: folders of trials, their logs, copies
of checkpoints. Only what LeanTune made is named: `trial-0003` and what is in it.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from leantune.checkpoints.store import study_folder
from leantune.errors import LeanTuneError
from leantune.study.program import StudyPlaces

_TRIAL = re.compile(r"trial-\d{4,}")
_CHECKPOINT = "checkpoint"


@dataclass(frozen=True)
class Cleaning:
    """What goes, how many bytes that is, and the model of the recommendation, which stays."""

    paths: tuple[Path, ...]
    bytes: int
    kept: Path | None


def cleaning(places: StudyPlaces, kept: Path | None) -> Cleaning:
    """What would go; nothing is changed. kept: the checkpoint that stays, here and as a copy."""
    key = "" if kept is None else next(part for part in reversed(kept.parts) if _TRIAL.fullmatch(part))
    paths: list[Path] = []
    for folder in _trials(places.runs):
        paths += [folder] if folder.name != key else [path for path in sorted(folder.iterdir()) if not _is_model(path)]
    if places.copies is not None:
        paths += [folder for folder in _trials(places.copies / study_folder(places.study)) if folder.name != key]
    return Cleaning(tuple(paths), sum(map(_size, paths)), kept)


def clean(places: StudyPlaces, what: Cleaning) -> None:
    """Remove it, and the study's own folders where nothing else is in them."""
    for path in what.paths:
        try:
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)
        except OSError as error:
            hint = "Look at its permissions; the same command goes on"
            raise LeanTuneError(f"it cannot be removed: {error.strerror}", where=str(path), hint=hint) from None
    for folder in (places.runs, *([] if places.copies is None else [places.copies / study_folder(places.study)])):
        with suppress(OSError):  # something else is in it, or it was never there
            folder.rmdir()


def _trials(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        yield from sorted(path for path in folder.iterdir() if _TRIAL.fullmatch(path.name))


def _is_model(path: Path) -> bool:
    """The checkpoint, and what was noted beside it."""
    return path.name == _CHECKPOINT or path.name.startswith(f".{_CHECKPOINT}.")


def _size(path: Path) -> int:
    if path.is_symlink() or not path.is_dir():
        return path.lstat().st_size
    return sum(_size(inside) for inside in path.iterdir())
