"""Checkpoints of trials in an object store: a trial that is run again, here or elsewhere, finds its checkpoint.

    <location>/<study>/<key>/00000003-5f0c1a2b/000000, 000001, ...   the files of generation 3
    <location>/<study>/<key>/00000003.json                           its manifest, written last

Invariants: a generation exists once its manifest does, so that a crash at any moment leaves the one before it; the
manifest of the largest number counts; file names appear only inside manifests, so that any name comes back as it was.
A power cut is such a crash: the files are on the disk, then their names, then the manifest, then its name, and only
then does anything go. Files are written by `leantune.files`, as obstore brings nothing to the disk.
"""

import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

import obstore
from obstore.exceptions import BaseError
from obstore.store import LocalStore

from leantune.checkpoints.contents import Contents, Manifest, SavedFile, scan
from leantune.errors import CheckpointError
from leantune.files import make_folder, sync_folder, write_new, write_whole

ATTEMPTS = 3  # copies of a folder that changes meanwhile
CHUNK = 4 * 2**20  # bytes of a file in memory at once
_KEY = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")
_STUDY = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_MANIFEST = re.compile(r"(\d{8})\.json")
_PART = re.compile(r"\..*\.part")  # of a manifest whose writer was killed
_DATA = re.compile(r"(\d{8})-[0-9a-f]{8}")
_BOOT = Path("/proc/sys/kernel/random/boot_id")


class CheckpointStore:
    """The checkpoints of one study, by key (one per trial).

    One process saves a key at a time (a trial runs once at a time); a second one gets a CheckpointError and
    damages nothing. Restoring needs no such care.
    """

    def __init__(self, location: str | Path, study: str) -> None:
        """location: a folder, or a file:// URL of one; it is made where there is none."""
        self._root = _local_folder(location)
        self._study = study_folder(study)
        try:
            make_folder(self._root)
            self._store = LocalStore(prefix=self._root, automatic_cleanup=True)
        except OSError as error:
            raise CheckpointError(
                f"checkpoints cannot be kept in {str(self._root)!r}: {_reason(error)}",
                where="checkpoints",
                hint="Name a folder that can be written to",
            ) from None

    def save(self, key: str, folder: Path) -> int:
        """Keep what is in the folder as a new generation, and return its number; 0 when there is no file to keep.

        Generations before it are deleted afterwards. CheckpointError when the folder keeps changing.
        """
        prefix, folder = self._prefix(key), _real(folder)
        with self._outside_errors("saved", key):
            for _ in range(ATTEMPTS):
                manifest = self._copy(prefix, folder)
                if manifest is None:
                    continue
                if not manifest.files:
                    return 0
                self._commit(prefix, manifest)
                with suppress(OSError):  # without a marker the folder is restored once more than needed
                    _write_marker(folder, manifest)
                self._delete_before(prefix, manifest)
                return manifest.generation
        hint = "Write checkpoints to another name first and rename them when they are complete"
        raise CheckpointError(
            f"files changed while they were copied, {ATTEMPTS} times in a row", where=str(folder), hint=hint
        )

    def restore(self, key: str, folder: Path) -> int:
        """Put the newest generation into the folder, and return its number; 0 when there is none.

        A folder that this host saved or restored at that generation since it was booted is kept: what is in it is as
        new or newer. Any other is replaced as a whole, once everything is here and found undamaged: of a folder from
        before a power cut it is unknown what reached the disk. It exists afterwards in any case.
        """
        prefix, folder = self._prefix(key), _real(folder)
        with self._outside_errors("restored", key):
            folder.parent.mkdir(parents=True, exist_ok=True)
            _sweep(folder)
            missing = ""
            for _ in range(ATTEMPTS):
                manifest = self._newest(prefix)
                if manifest is None:
                    folder.mkdir(exist_ok=True)
                    return 0
                if folder.is_dir() and _is_at(folder, manifest):
                    return manifest.generation
                missing = self._restore(prefix, manifest, folder)
                if not missing:
                    return manifest.generation
        raise self._damaged(prefix, missing, "is missing")

    def borrow(self, key: str, folder: Path) -> int:
        """Put the newest generation of another trial's checkpoint into the folder, as `restore` does.

        From now on the files belong to the folder: they are not taken for a generation of that key.
        """
        generation = self.restore(key, folder)
        _beside(_real(folder), "generation").unlink(missing_ok=True)
        return generation

    def generation(self, key: str) -> int:
        """Number of the newest complete generation; 0 when there is none."""
        prefix = self._prefix(key)
        with self._outside_errors("read", key):
            return max(self._manifests(prefix), default=0)

    def delete(self, key: str) -> None:
        """Forget all generations of a key; nothing happens when there are none."""
        prefix = self._prefix(key)
        with self._outside_errors("deleted", key):
            self._remove([f"{prefix}/{number:08d}.json" for number in self._manifests(prefix)])
            self._remove_folder(prefix)

    def keys(self) -> list[str]:
        """Every key with a complete generation, sorted."""
        with self._outside_errors("listed", self._study):
            prefixes = obstore.list_with_delimiter(self._store, self._study)["common_prefixes"]
            return sorted(prefix.rsplit("/", 1)[-1] for prefix in prefixes if self._manifests(prefix))

    def places(self) -> list[str]:
        """Every key with any file here, also leftovers of a killed process, sorted."""
        with self._outside_errors("listed", self._study):
            prefixes = obstore.list_with_delimiter(self._store, self._study)["common_prefixes"]
            return sorted(prefix.rsplit("/", 1)[-1] for prefix in prefixes)

    def _prefix(self, key: str) -> str:
        if _KEY.fullmatch(key) is None:
            hint = "Use small letters, digits, '-', '_' and '.', such as trial-0003"
            raise CheckpointError(f"{key!r} cannot name a checkpoint", where="checkpoints", hint=hint)
        return f"{self._study}/{key}"

    def _names(self, prefix: str) -> list[str]:
        objects = obstore.list_with_delimiter(self._store, prefix)["objects"]
        return [meta["path"].rsplit("/", 1)[-1] for meta in objects]

    def _manifests(self, prefix: str) -> list[int]:
        return [int(match[1]) for name in self._names(prefix) if (match := _MANIFEST.fullmatch(name))]

    def _data_folders(self, prefix: str) -> dict[str, int]:
        """Every folder of files, complete or left behind by a crash, with its generation."""
        paths = obstore.list_with_delimiter(self._store, prefix)["common_prefixes"]
        names = (path.rsplit("/", 1)[-1] for path in paths)
        return {name: int(match[1]) for name in names if (match := _DATA.fullmatch(name))}

    def _newest(self, prefix: str) -> Manifest | None:
        number = max(self._manifests(prefix), default=0)
        if not number:
            return None
        path = f"{prefix}/{number:08d}.json"
        manifest = Manifest.from_bytes(bytes(obstore.get(self._store, path).bytes()), str(self._root / path))
        if manifest.generation != number:
            raise self._damaged(prefix, path, f"says that it is generation {manifest.generation}")
        return manifest

    def _copy(self, prefix: str, folder: Path) -> Manifest | None:
        """Copy the folder under a number not yet used; None, and nothing left, when it changed meanwhile."""
        number = 1 + max([*self._manifests(prefix), *self._data_folders(prefix).values()], default=0)
        data = f"{number:08d}-{secrets.token_hex(4)}"
        complete = False
        try:
            before = scan(folder)
            files = tuple(self._upload(f"{prefix}/{data}", folder, before))
            complete = scan(folder) == before
            return Manifest(number, data, files, before.folders, before.links) if complete else None
        except FileNotFoundError:  # between looking and reading
            return None
        finally:
            if not complete:
                self._remove_folder(f"{prefix}/{data}")

    def _upload(self, data: str, folder: Path, contents: Contents) -> Iterator[SavedFile]:
        if not contents.files:
            return
        place = self._root / data
        make_folder(place)
        for index, (name, state) in enumerate(contents.files.items()):
            chunks = _Chunks(folder / name)
            path = f"{index:06d}"
            write_new(place / path, chunks)
            yield SavedFile(name, path, chunks.size, chunks.sha256, state.modified_ns)
        sync_folder(place)

    def _commit(self, prefix: str, manifest: Manifest) -> None:
        path = f"{prefix}/{manifest.generation:08d}.json"
        try:
            write_whole(self._root / path, manifest.to_bytes(), durable=True, new=True)
        except FileExistsError:
            self._remove_folder(f"{prefix}/{manifest.data}")
            hint = "Let one process run the trial at a time"
            raise CheckpointError("another process saved the same checkpoint just now", where=path, hint=hint) from None

    def _delete_before(self, prefix: str, manifest: Manifest) -> None:
        """Older manifests first, so that no manifest ever names files that are gone."""
        older = [number for number in self._manifests(prefix) if number < manifest.generation]
        self._remove([f"{prefix}/{number:08d}.json" for number in older])
        self._remove([f"{prefix}/{name}" for name in self._names(prefix) if _PART.fullmatch(name)])
        for name, number in self._data_folders(prefix).items():
            if number <= manifest.generation and name != manifest.data:
                self._remove_folder(f"{prefix}/{name}")

    def _remove(self, paths: list[str]) -> None:
        for path in paths:
            with suppress(FileNotFoundError):
                obstore.delete(self._store, path)

    def _remove_folder(self, prefix: str) -> None:
        self._remove([meta["path"] for metas in obstore.list(self._store, prefix) for meta in metas])
        shutil.rmtree(self._root / prefix, ignore_errors=True)  # parts of a killed upload, which obstore does not list

    def _restore(self, prefix: str, manifest: Manifest, folder: Path) -> str:
        """Download beside the folder, then swap; name of a file that is not in the store, or nothing."""
        fresh = _beside(folder, f"restoring-{secrets.token_hex(4)}")
        fresh.mkdir()
        try:
            for name in manifest.folders:
                (fresh / name).mkdir(parents=True, exist_ok=True)
            for file in manifest.files:
                if not self._download(prefix, manifest, file, fresh / file.name):
                    return file.name
            for name, target in manifest.links.items():
                (fresh / name).parent.mkdir(parents=True, exist_ok=True)
                (fresh / name).symlink_to(target)
            self._check_links(prefix, manifest, fresh)
            _swap(fresh, folder)
            _write_marker(folder, manifest)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
        return ""

    def _check_links(self, prefix: str, manifest: Manifest, fresh: Path) -> None:
        """Refuse a link that leads out by way of another; nothing has been written through it."""
        root = os.path.realpath(fresh)
        for name in manifest.links:
            if os.path.commonpath([root, os.path.realpath(fresh / name)]) != root:
                raise self._damaged(prefix, name, "is a link that leads out of the folder")

    def _download(self, prefix: str, manifest: Manifest, file: SavedFile, to: Path) -> bool:
        """False when the object is gone: a newer generation may have replaced it since the manifest was read."""
        try:
            stored = obstore.get(self._store, f"{prefix}/{manifest.data}/{file.path}")
        except FileNotFoundError:
            return False
        to.parent.mkdir(parents=True, exist_ok=True)
        digest, size = hashlib.sha256(), 0
        with to.open("wb") as copy:
            for chunk in stored.stream(min_chunk_size=CHUNK):
                copy.write(chunk)
                digest.update(chunk)
                size += len(chunk)
        if size != file.size:
            raise self._damaged(prefix, file.name, f"has {size} bytes where {file.size} were saved")
        if digest.hexdigest() != file.sha256:
            raise self._damaged(prefix, file.name, "is not what was saved (its SHA-256 differs)")
        os.utime(to, ns=(file.modified_ns, file.modified_ns))  # programs look for the newest file
        return True

    def _damaged(self, prefix: str, name: str, what: str) -> CheckpointError:
        hint = "Delete that folder: the trial then starts anew"
        return CheckpointError(f"checkpoint file {name!r} {what}", where=str(self._root / prefix), hint=hint)

    @contextmanager
    def _outside_errors(self, verb: str, key: str) -> Iterator[None]:
        """Errors of the file system become a CheckpointError that names the operation."""
        try:
            yield
        except (BaseError, OSError) as error:
            hint = "Look at its permissions and its free space"
            what = f"the checkpoint {key!r} cannot be {verb}: {_reason(error)}"
            raise CheckpointError(what, where=str(self._root), hint=hint) from None


class _Chunks:
    """A file's bytes piece by piece, counted and hashed on the way."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._digest = hashlib.sha256()
        self.size = 0

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()

    def __iter__(self) -> Iterator[bytes]:
        with self._path.open("rb") as file:
            while chunk := file.read(CHUNK):
                self._digest.update(chunk)
                self.size += len(chunk)
                yield chunk


def _local_folder(location: str | Path) -> Path:
    text = str(location)
    scheme = text.partition("://")[0].lower() if "://" in text else ""
    if scheme == "file":
        url = urlsplit(text)
        if url.netloc not in ("", "localhost"):
            hint = "Write three slashes, as in file:///data/checkpoints"
            raise CheckpointError(f"{text!r} is on another machine", where="checkpoints", hint=hint)
        text = unquote(url.path)
    elif scheme:
        hint = "Name a folder, such as ./checkpoints; other places come with a later version"
        raise CheckpointError(f"checkpoints cannot be kept at {scheme}:// yet", where="checkpoints", hint=hint)
    if not text or "\0" in text:
        raise CheckpointError(f"{text!r} is not a folder", where="checkpoints", hint="Write ./checkpoints")
    return Path(text).absolute()


def place_of(location: str | Path, study: str, key: str) -> Path | None:
    """The folder of a key's newest generation, its files by number, named in the manifest beside it; None where there
    is none. Nothing is made.
    """
    place = _local_folder(location) / study_folder(study) / key
    numbers = [int(match[1]) for path in place.glob("*.json") if (match := _MANIFEST.fullmatch(path.name))]
    if not numbers:
        return None
    path = place / f"{max(numbers):08d}.json"
    return place / Manifest.from_bytes(path.read_bytes(), str(path)).data


def study_folder(study: str) -> str:
    """A folder name of the study, different for different studies, also where files ignore case."""
    if _STUDY.fullmatch(study):
        return study
    readable = re.sub(r"[^a-z0-9]+", "-", study.lower()).strip("-")[:40]
    return f"{readable or 'study'}@{hashlib.sha256(study.encode(errors='surrogatepass')).hexdigest()[:16]}"


def _real(folder: Path) -> Path:
    return Path(os.path.realpath(folder))  # unlike Path.resolve, a circle of links is no error


def _reason(error: Exception) -> str:
    """Without numbers of errors, and without the debug text that obstore appends."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error).split("\n", 1)[0]


def _beside(folder: Path, suffix: str) -> Path:
    return folder.with_name(f".{folder.name}.{suffix}")


def _sweep(folder: Path) -> None:
    """Remove what killed restores of this folder left behind."""
    ours = tuple(_beside(folder, kind).name for kind in ("restoring-", "replaced-"))
    for path in folder.parent.iterdir():
        if path.name.startswith(ours):
            shutil.rmtree(path, ignore_errors=True)


def _swap(fresh: Path, folder: Path) -> None:
    replaced = _beside(folder, f"replaced-{secrets.token_hex(4)}")
    with suppress(FileNotFoundError):
        folder.rename(replaced)
    fresh.rename(folder)
    shutil.rmtree(replaced, ignore_errors=True)


def _write_marker(folder: Path, manifest: Manifest) -> None:
    """Beside the folder, not inside: which generation it is known to hold, as long as this machine is not booted."""
    write_whole(_beside(folder, "generation"), f"{manifest.data} {_boot()}")


def _is_at(folder: Path, manifest: Manifest) -> bool:
    """Whether the folder holds that generation or a later one."""
    try:
        marked, _, boot = _beside(folder, "generation").read_text(encoding="ascii").partition(" ")
    except (FileNotFoundError, UnicodeDecodeError):
        return False
    if not boot or boot != _boot():
        return False
    match = _DATA.fullmatch(marked)
    return match is not None and (int(match[1]) > manifest.generation or marked == manifest.data)


def _boot() -> str:
    """What changes whenever the machine is booted; empty where unknown."""
    try:
        return _BOOT.read_text(encoding="ascii").strip()
    except OSError:
        return ""
