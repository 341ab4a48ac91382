"""Results of replays, kept on disk: the same table, strategy, settings, seed and program are never run twice.

One JSON file a run, written whole or not at all. Its name is a hash of everything that decides the result, the sources
of the rooms that choose tests among it; a file that cannot be read is counted as missing, and said to be.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path

from pydantic import TypeAdapter

from leantune.errors import StoreError
from leantune.files import digest, write_whole
from leantune.lab.replay.contenders import source_files
from leantune.lab.replay.runs import Row, Settings
from leantune.lab.replay.tables import MeasuredTable

FORMAT = 2  # of the rows: raise it when they mean something else
# What decides which tests are made, and how they and the recommendations are judged. A change here runs everything kept
# again: too often rather than too seldom.
DECISIVE = (
    "acquisition",
    "cloud",
    "executors/replay.py",
    "files.py",
    "filters",
    "history",
    "lab/replay/contenders.py",
    "lab/replay/noise.py",
    "lab/replay/runs.py",
    "lab/replay/tables",
    "lab/replay/truth.py",
    "models",
    "problem.py",
    "run",
    "space",
    "strategies",
    "units.py",
)

_ROWS = TypeAdapter(list[Row])


@dataclass(frozen=True)
class Key:
    """The inputs that decide the result of a run; `program` is a hash of sources."""

    table: str
    settings: Settings
    seed: int
    program: str

    @classmethod
    def of(cls, table: MeasuredTable, settings: Settings, seed: int) -> Key:
        """The key of a run by the program as it is installed now."""
        own = digest(path.read_bytes() for path in source_files(settings.strategy))
        return cls(table.digest, settings, seed, digest([program_digest().encode(), own.encode()]))

    @property
    def name(self) -> str:
        """A file name, the same for equal keys."""
        text = json.dumps({"format": FORMAT, **asdict(self)}, sort_keys=True)
        return f"{digest([text.encode()])[:24]}.json"


@dataclass
class Kept:
    """A folder of results. damaged: files that could not be read, and were run again."""

    folder: Path
    damaged: list[Path] = field(default_factory=list)

    def get(self, key: Key) -> list[Row] | None:
        """The rows of that run, or None."""
        path = self.folder / key.name
        try:
            return _ROWS.validate_python(json.loads(path.read_text(encoding="utf-8"))["rows"])
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError, OSError):
            self.damaged.append(path)
            return None

    def put(self, key: Key, rows: Iterable[Row]) -> None:
        """Keep the rows of a run; a process killed meanwhile leaves nothing half-written."""
        document = {"format": FORMAT, "key": asdict(key), "rows": [asdict(row) for row in rows]}
        self._write(self.folder / key.name, json.dumps(document, separators=(",", ":")))

    def prepare(self) -> None:
        """Make the folder, and see that it can be written to, before hours are spent on its results."""
        probe = self.folder / f".probe.{os.getpid()}"
        self._write(probe, "")
        probe.unlink(missing_ok=True)

    def _write(self, path: Path, text: str) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_whole(path, text)
        except OSError as error:
            hint = "Name a folder of yours for the results (--results DIR)"
            raise StoreError(f"results cannot be kept: {error.strerror}", where=str(self.folder), hint=hint) from error


@cache
def program_digest() -> str:
    """Of the sources that decide a result, and of the catalogue of machines."""
    root = Path(str(files("leantune")))
    sources = decisive_files(root, DECISIVE, (".py", ".csv"))
    return digest(part for path in sources for part in (str(path.relative_to(root)).encode(), path.read_bytes()))


def decisive_files(root: Path, names: Iterable[str], suffixes: tuple[str, ...] = (".py",)) -> list[Path]:
    """The files of these folders and modules, sorted. Missing names are refused: the digest would not cover them."""
    places = [root / name for name in names]
    gone = [place.name for place in places if not place.exists()]
    if gone:
        raise StoreError(f"no {', '.join(gone)} to make the digest of", where=str(root), hint="Name the new room")
    files = [path for place in places for path in ([place] if place.is_file() else place.rglob("*"))]
    return sorted(path for path in files if path.suffix in suffixes)
