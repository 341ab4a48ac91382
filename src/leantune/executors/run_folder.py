"""The folder of one trial: its logs, what its program is told, its checkpoint."""

from __future__ import annotations

import errno
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path

from leantune.errors import LeanTuneError
from leantune.executors.base import Terms
from leantune.executors.outcome import ReportLog
from leantune.files import write_whole
from leantune.history import Trial
from leantune.space import Cluster

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
Fingerprint = tuple[tuple[str, int, int], ...]  # path, size and time of every file


class RunFolder:
    """<runs>/trial-0003: attempt-1.log and attempt-1.json of each attempt, checkpoint/."""

    def __init__(self, runs: Path, number: int) -> None:
        self.key = f"trial-{number:04d}"
        self.path = runs.absolute() / self.key
        self.checkpoint = self.path / "checkpoint"
        self._snapshots = self.path / "snapshots.json"
        self._anew = self.path / "anew"
        self._elsewhere: Path | None = None

    def make(self) -> None:
        """Create it; LeanTuneError where that cannot be done."""
        with self._folder_errors("made"):
            self.path.mkdir(parents=True, exist_ok=True)

    def log(self, attempt: int) -> Path:
        """Where an attempt's output is kept."""
        return self.path / f"attempt-{attempt}.log"

    def reports(self, attempt: int) -> Path:
        """Where the named pipe of a running attempt lies."""
        return self.path / f"attempt-{attempt}.reports"

    def write_trial(self, trial: Trial, terms: Terms, study: str) -> Path:
        """What `current_trial()` reads; among temporary files where the disk of the folder is full."""
        values = {
            "study": study,
            "number": trial.number,
            "attempt": terms.attempt,
            "seed": terms.seed,
            "configuration": {name: _plain(value) for name, value in trial.configuration.items()},
            "fraction": str(trial.fraction),
            "snapshots": [str(share) for share in trial.snapshots],
            "checkpoint_dir": str(self.checkpoint),
        }
        path, text = self.path / f"attempt-{terms.attempt}.json", json.dumps(values, indent=1)
        with self._folder_errors("written to"):
            try:
                _write_new(path, text)
            except OSError as error:
                if error.errno not in _NO_ROOM:
                    raise
                self._elsewhere = Path(tempfile.mkdtemp(prefix="leantune-trial-"))
                path = self._elsewhere / path.name
                try:
                    _write_new(path, text)
                except OSError:
                    self.remove_temporary()
                    raise
        return path

    def remove_temporary(self) -> None:
        """What had no room in the folder, once the run has ended."""
        if self._elsewhere is not None:
            shutil.rmtree(self._elsewhere, ignore_errors=True)

    def prepare_checkpoint(self, *, empty: bool) -> None:
        """Make the checkpoint folder; empty: without what a study of the same name may have left there."""
        with self._folder_errors("prepared"):
            if empty:
                self.remove_checkpoint()
            self.checkpoint.mkdir(exist_ok=True)

    def begin_with(self, other: RunFolder) -> None:
        """Copy another trial's checkpoint into the empty one: all of it, or (killed meanwhile) nothing."""
        unfinished = self.path / f".{self.checkpoint.name}.unfinished"  # `remove_checkpoint` knows it
        shutil.copytree(other.checkpoint, unfinished, symlinks=True)
        unfinished.replace(self.checkpoint)

    @property
    def began_anew(self) -> bool:
        """Whether the trial could not go on from the checkpoint of a smaller share; known on this machine only."""
        return self._anew.exists()

    def note_anew(self) -> None:
        """The trial could not go on from the checkpoint of a smaller share: later attempts are to know that."""
        with self._folder_errors("written to"):
            self._anew.touch()

    def remove_checkpoint(self) -> None:
        """Remove the checkpoint folder and the notes beside it."""
        shutil.rmtree(self.checkpoint, ignore_errors=True)
        self._snapshots.unlink(missing_ok=True)
        self._anew.unlink(missing_ok=True)
        for beside in self.path.glob(f".{self.checkpoint.name}.*"):
            if beside.is_dir():
                shutil.rmtree(beside, ignore_errors=True)
            else:
                beside.unlink(missing_ok=True)

    @property
    def has_checkpoint(self) -> bool:
        """Whether anything lies in the checkpoint folder."""
        try:
            return any(self.checkpoint.iterdir())
        except OSError:
            return False

    def fingerprint(self) -> Fingerprint:
        """Of the checkpoint: different when a file came, went, grew or was written again; empty without files."""
        files = []
        for folder, _, names in os.walk(self.checkpoint):
            for name in names:
                path = Path(folder, name)
                with suppress(FileNotFoundError):
                    status = path.lstat()
                    files.append((str(path), status.st_size, status.st_mtime_ns))
        return tuple(sorted(files))

    def remember(self, log: ReportLog) -> None:
        """Note what was reported at each share: an attempt that goes on from a checkpoint will not report it again."""
        results = {str(share): [at.metrics, at.seconds] for share, at in log.results.items()}
        with suppress(OSError):  # a full disk: the next attempt does without
            write_whole(self._snapshots, json.dumps(results))

    def recall(self, log: ReportLog) -> None:
        """What earlier attempts reported."""
        with suppress(OSError, ValueError):
            for share, (metrics, seconds) in json.loads(self._snapshots.read_text(encoding="utf-8")).items():
                if Fraction(share) in log.trial.snapshots[:-1]:
                    log.take(Fraction(share), metrics, seconds)

    @contextmanager
    def _folder_errors(self, verb: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise LeanTuneError(
                f"the folder of a run cannot be {verb}: {error.strerror}",
                where=str(self.path),
                hint="Free some space, or name a folder for logs that can be written to",
            ) from None


def _write_new(path: Path, text: str) -> None:
    """A new file in place of whatever has the name: a link is not followed."""
    path.unlink(missing_ok=True)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError:
        path.unlink(missing_ok=True)
        raise


def _plain(value: object) -> object:
    """A parameter's value as JSON; a cluster with all of its facts."""
    if not isinstance(value, Cluster):
        return value
    values: Mapping[str, object] = {
        "type": value.type,
        "nodes": value.nodes,
        "vcpus": value.vcpus,
        "memory_gib": value.memory_gib,
        "accelerators": value.accelerators,
        "usd_per_hour": value.usd_per_hour,
    }
    return values
