"""Lines out of bytes, without ever holding more than a bounded part of one."""

LONGEST_LINE = 64 * 1024  # bytes of a line that are looked at
TAIL = 4096  # bytes that are kept of the end


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
