"""The contents of a checkpoint folder, and the manifest of what was saved of it. No store is touched here."""

import json
import os
import posixpath
import re
import stat
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath

from leantune.errors import CheckpointError

VERSION = 1


@dataclass(frozen=True)
class FileState:
    """Size and times of a file: they differ when the file was written to between two looks."""

    size: int
    modified_ns: int
    changed_ns: int
    inode: int


@dataclass(frozen=True)
class Contents:
    """A folder at one moment: names relative to it, with / between folders; links by where they point."""

    files: Mapping[str, FileState] = field(default_factory=dict)
    folders: tuple[str, ...] = ()
    links: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SavedFile:
    """One file of a checkpoint; `path` is the object below the generation's folder, with a name of its own."""

    name: str
    path: str
    size: int
    sha256: str
    modified_ns: int


@dataclass(frozen=True)
class Manifest:
    """One complete generation of a checkpoint; `data` names the folder of its objects."""

    generation: int
    data: str
    files: tuple[SavedFile, ...]
    folders: tuple[str, ...]
    links: Mapping[str, str]

    def to_bytes(self) -> bytes:
        """As JSON; names that are not UTF-8 survive as escapes."""
        return json.dumps({"version": VERSION, **asdict(self)}, indent=1).encode("ascii")

    @classmethod
    def from_bytes(cls, raw: bytes, where: str) -> "Manifest":
        """Read what `to_bytes` wrote; CheckpointError for anything else, and for a name or a link that leads out."""
        try:
            stored = json.loads(raw)
            version = stored.pop("version")
            if version != VERSION:
                hint = f"This LeanTune reads version {VERSION}: use the one that saved it, or delete the checkpoint"
                raise CheckpointError(f"the checkpoint has the unknown version {version!r}", where=where, hint=hint)
            files = tuple(SavedFile(**entry) for entry in stored.pop("files"))
            manifest = cls(**{**stored, "files": files, "folders": tuple(stored["folders"])})
            is_sound = manifest._is_sound()
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            is_sound = False
        if not is_sound:
            hint = "Delete it: the trial then starts anew"
            raise CheckpointError("the checkpoint's manifest is damaged", where=where, hint=hint)
        return manifest

    def _is_sound(self) -> bool:
        """Whether it can have been saved: a restore writes below the folder alone, and through no link."""
        ends = [*(file.name for file in self.files), *self.links]
        names = [*ends, *self.folders]
        parents = {parent.as_posix() for name in names for parent in PurePosixPath(name).parents}
        return (
            _is_count(self.generation)
            and re.fullmatch(rf"{self.generation:08d}-[0-9a-f]{{8}}", self.data) is not None
            and all(_is_inside(name) for name in names)
            and len(set(names)) == len(names)
            and parents.isdisjoint(ends)
            and all(re.fullmatch(r"\d{6,}", file.path) and type(file.sha256) is str for file in self.files)
            and all(_is_count(file.size) and _is_count(abs(file.modified_ns)) for file in self.files)
            and all(_stays_inside(name, target) for name, target in self.links.items())
        )


def scan(folder: Path) -> Contents:
    """The files of a folder now; empty where there is no folder.

    Links are kept as links where they lead to something inside the folder. What cannot be restored as it was
    (a link out of the folder, a pipe, a socket) is refused.
    """
    files: dict[str, FileState] = {}
    folders: list[str] = []
    links: dict[str, str] = {}
    if not folder.exists():
        return Contents()
    for place, subfolders, names in os.walk(folder, onerror=_refuse):
        for name in sorted([*subfolders, *names]):
            path = Path(place, name)
            relative = path.relative_to(folder).as_posix()
            status = path.lstat()
            if stat.S_ISLNK(status.st_mode):
                links[relative] = _target(path, folder)
            elif stat.S_ISDIR(status.st_mode):
                folders.append(relative)
            elif stat.S_ISREG(status.st_mode):
                files[relative] = FileState(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
            else:
                hint = "Keep only files and folders in the checkpoint folder"
                raise CheckpointError(f"{relative!r} is neither a file nor a folder", where=str(folder), hint=hint)
    return Contents(files, tuple(sorted(folders)), links)


def _refuse(error: OSError) -> None:
    raise error


def _target(link: Path, folder: Path) -> str:
    """Where a link points, relative to its own folder."""
    root, end = Path(os.path.realpath(folder)), Path(os.path.realpath(link))
    if root != end and root not in end.parents:
        hint = "Put the file itself into the checkpoint folder: a trial may go on on another machine"
        raise CheckpointError(f"{link.name!r} is a link to {str(end)!r}, outside", where=str(folder), hint=hint)
    target = link.readlink().as_posix()
    if _stays_inside(link.relative_to(folder).as_posix(), target):
        return target
    return Path(os.path.relpath(end, os.path.realpath(link.parent))).as_posix()


def _is_inside(name: str) -> bool:
    """Whether it is a name as `scan` gives it: relative, without detours, and one that a file system can hold."""
    path = PurePosixPath(name)
    os.fsencode(name)  # ValueError for halves of surrogate pairs
    plain = bool(path.parts) and path.as_posix() == name and "\0" not in name
    return plain and not path.is_absolute() and ".." not in path.parts


def _stays_inside(name: str, target: str) -> bool:
    """Whether a link leads to something inside, as far as its words go; links by way of links: see `scan`."""
    os.fsencode(target)
    end = posixpath.normpath(posixpath.join(posixpath.dirname(name), target))
    return bool(target) and "\0" not in target and not target.startswith("/") and end.split("/")[0] != ".."


def _is_count(number: int) -> bool:
    return type(number) is int and 0 <= number < 2**63
