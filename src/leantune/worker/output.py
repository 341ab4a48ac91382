"""What a program writes: cut into lines, and kept in a log. A bounded amount of it is held, however much it is."""

import os
import stat
from contextlib import suppress

LONGEST_LINE = 64 * 1024  # bytes of a line that are looked at
TAIL = 4096  # bytes that are kept of the end
_COPY = 1 << 20


class LineSplitter:
    """Cuts a stream into lines, at carriage returns too (progress bars); of each, LONGEST_LINE bytes are looked at.

    last: the last line with something in it. tail: the last bytes, whatever they are.
    """

    def __init__(self) -> None:
        self._open = b""  # the beginning of a line whose end has not come
        self.last = b""
        self.tail = b""

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that `data` completes, empty ones left out."""
        self.tail = (self.tail + data[-TAIL:])[-TAIL:]
        return self._cut(data)

    def end(self) -> list[bytes]:
        """The last line, where it has no end."""
        return self._cut(b"\n")

    def _cut(self, data: bytes) -> list[bytes]:
        first, *rest = data.replace(b"\r", b"\n").split(b"\n")
        self._open += first[: LONGEST_LINE - len(self._open)]
        if not rest:
            return []
        *middle, unfinished = rest
        lines = [line[:LONGEST_LINE] for line in (self._open, *middle) if line.strip()]
        self._open = unfinished[:LONGEST_LINE]
        if lines:
            self.last = lines[-1]
        return lines


class LogFile:
    """Keeps at most `limit` bytes: the first half, and the last half in a ring beside it until `close` puts them
    together with one line that says how much is left out.

    Never raises: a log that cannot be written ends there, and `error` says why. cut: bytes left out.
    """

    def __init__(self, path: str, limit: int) -> None:
        self._path, self._ring_path = path, path + ".end"
        self._limit = limit
        self._head_room, self._ring_size = limit // 2, limit - limit // 2
        self._ringed = 0  # bytes that went into the ring in all
        self._head = self._ring = -1
        self.error = ""
        self.cut = 0
        try:
            self._head = _private(path)
        except OSError as error:
            self.error = error.strerror or str(error)

    def write(self, data: bytes) -> None:
        """Append, as far as there is room."""
        if self.error or not data:
            return
        try:
            begin = data[: self._head_room]
            self._head_room -= len(begin)
            _write_all(self._head, begin)
            if len(begin) < len(data):
                self._write_ring(data[len(begin) :])
        except OSError as error:
            self.error = error.strerror or str(error)

    def _write_ring(self, data: bytes) -> None:
        if self._ring < 0:
            self._ring = _private(self._ring_path)
        kept = data[-self._ring_size :]
        position = (self._ringed + len(data) - len(kept)) % self._ring_size
        until_end = self._ring_size - position
        _write_all(self._ring, kept[:until_end], position)
        _write_all(self._ring, kept[until_end:], 0)
        self._ringed += len(data)

    def close(self) -> None:
        """Append the end to the beginning; a note where something is left out, or where the log had to stop."""
        self.cut = max(0, self._ringed - self._ring_size)
        try:
            if self.error and self._head >= 0:
                _write_all(self._head, f"\n[leantune: the log stops here: {self.error}]\n".encode())
            elif self._ring >= 0:
                self._append_ring()
        except OSError as error:
            self.error = self.error or error.strerror or str(error)
        for file in (self._head, self._ring):
            if file >= 0:
                os.close(file)

    def _append_ring(self) -> None:
        if self.cut:
            note = f"\n[leantune: {self.cut:,} bytes are left out here; the log keeps {self._limit:,}]\n"
            _write_all(self._head, note.encode())
        begin = self._ringed % self._ring_size if self.cut else 0
        parts = ((begin, min(self._ringed, self._ring_size)), (0, begin))
        for start, stop in parts:
            for position in range(start, stop, _COPY):
                _write_all(self._head, os.pread(self._ring, min(_COPY, stop - position), position))
        os.unlink(self._ring_path)  # noqa: PTH108 - pathlib takes 5 ms to load


def _private(path: str) -> int:
    """An empty file that only its owner may read, also where it was there before: a program may print its keys."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    if stat.S_ISREG(os.fstat(file).st_mode):
        with suppress(OSError):  # a file system without rights
            os.fchmod(file, 0o600)
    return file


def _write_all(file: int, data: bytes, position: int | None = None) -> None:
    """All of it, or OSError."""
    view = memoryview(data)
    while view:
        written = os.write(file, view) if position is None else os.pwrite(file, view, position)
        view = view[written:]
        position = None if position is None else position + written
