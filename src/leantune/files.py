"""Files: written whole or not at all, and so that they survive a power cut; CSVs read row by row, each row with its
line; digests of contents.
"""

from __future__ import annotations

import csv
import errno
import hashlib
import io
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import zip_longest
from pathlib import Path
from typing import Any

from leantune.errors import TableError

_NO_SYNC = (errno.EBADF, errno.EINVAL, errno.ENOTSUP)  # of a folder, where the file system has no such thing


def write_whole(path: Path, content: str | bytes, *, durable: bool = False, new: bool = False) -> None:
    """Replace a file in one step: readers, also after this process was killed, find the old content or the new.

    An existing file keeps its permissions. durable: the new content is on the disk before the old one goes, and so is
    its name when this returns, so that it survives a power cut. new: FileExistsError where there is a file already.
    OSError where it cannot be written; then nothing is left beside the file.
    """
    part = path.with_name(f".{path.name.lstrip('.')}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            with suppress(FileNotFoundError):
                part.chmod(path.stat().st_mode & 0o7777)
            file.write(content.encode("utf-8") if isinstance(content, str) else content)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        if new:
            os.link(part, path)  # unlike a rename, refuses to replace
            part.unlink()
        else:
            part.replace(path)
        if durable:
            sync_folder(path.parent)
    except BaseException:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise


def write_new(path: Path, chunks: Iterable[bytes]) -> None:
    """A new file of these bytes, on the disk when this returns; its name is once `sync_folder` was called as well.

    For folders of many files: killed meanwhile, a part of one may be left. FileExistsError where there is one.
    """
    with path.open("xb") as file:
        file.writelines(chunks)
        file.flush()
        os.fsync(file.fileno())


def make_folder(folder: Path) -> None:
    """Make a folder and those above it; the names of new ones are on the disk when this returns."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk. Without effect where impossible (Windows, some network drives)."""
    if os.name == "nt":
        return
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise
    finally:
        os.close(opened)


def read_bytes(path: Path, hint: str) -> bytes:
    """All of a file; TableError where it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise TableError(f"the file cannot be read: {error.strerror}", where=str(path), hint=hint) from None


def csv_rows(
    raw: bytes | str, source: str, *, separator: str = ",", comment: str = ""
) -> Iterator[tuple[int, list[str]]]:
    """Each row that is not blank with the line it starts at; TableError for text that is no UTF-8 or no CSV.

    comment: how lines begin that come before the header and are left out.
    """
    stream = io.StringIO(raw if isinstance(raw, str) else _decoded(raw, source), newline="")
    first, begin = 1, 0
    while comment and stream.readline().startswith(comment):
        first, begin = first + 1, stream.tell()
    stream.seek(begin)
    reader = csv.reader(stream, delimiter=separator, strict=True)
    while True:
        line = reader.line_num + first
        try:
            row = next(reader, None)
        except csv.Error as error:
            hint = 'Close every quote, and write " inside quotes as ""'
            raise TableError(f"the row cannot be read: {error}", where=f"{source}, line {line}", hint=hint) from None
        if row is None:
            return
        if any(cell.strip() for cell in row):
            yield line, row


def csv_records(
    raw: bytes | str, source: str, columns: Sequence[str], hint: str, *, comment: str = ""
) -> Iterator[tuple[str, dict[str | Any, str | Any]]]:
    """Each row by the names of the header, with its place; TableError where one of `columns` is not in the header.

    As with csv.DictReader, a row that is too short has None for what it lacks, and one that is too long a key None.
    """
    rows = csv_rows(raw, source, comment=comment)
    line, names = next(rows, (1, []))
    header = [name.strip() for name in names]
    missing = [name for name in columns if name not in header]
    if missing:
        raise TableError(f"there is no column {missing[0]!r}", where=f"{source}, line {line}", hint=hint)
    for line, row in rows:
        yield f"{source}, line {line}", dict(zip_longest(header, row))


def digest(parts: Iterable[bytes]) -> str:
    """A hash of the parts, each with its length, so that no two lists of parts look alike."""
    total = hashlib.sha256()
    for part in parts:
        total.update(len(part).to_bytes(8, "big"))
        total.update(part)
    return total.hexdigest()


def _decoded(raw: bytes, source: str) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise TableError("the file is not UTF-8", where=f"{source}, line {line}", hint="Save it as UTF-8") from None
