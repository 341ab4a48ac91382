"""From the warden to its worker: JSON lines that never wait for their reader."""

import json
import os
import select
import time  # noqa: TID251 - in the warden, which measures for itself
from collections import deque

MOST_UNREAD = 8 << 20  # bytes kept for a worker that does not read; the oldest lines are dropped
LONGEST_GOODBYE = 600.0  # seconds that a stopped worker has to read the last ones


class Outbox:
    """Written as far as the worker reads; a bounded amount is kept for one that does not. dropped: lines it lost."""

    def __init__(self, file: int, most_unread: int = MOST_UNREAD) -> None:
        self._file, self._most_unread = file, most_unread
        self._lines: deque[bytes] = deque()
        self._size = 0
        self._partly = memoryview(b"")  # the line that is under way
        self.dropped = 0
        os.set_blocking(file, False)

    @property
    def waiting(self) -> bool:
        """Whether something could not be written yet."""
        return bool(self._partly or self._lines)

    def put(self, message: object, *, last: bool = False) -> None:
        """Send a message, now or when there is room; the last one costs no other its place."""
        line = json.dumps(message).encode() + b"\n"
        self._lines.append(line)
        self._size += len(line)
        while not last and self._size > self._most_unread and len(self._lines) > 1:
            self._size -= len(self._lines.popleft())
            self.dropped += 1
        self.flush()

    def flush(self) -> None:
        """Write what the pipe takes; a worker that is gone takes everything."""
        try:
            while self.waiting:
                if not self._partly:
                    line = self._lines.popleft()
                    self._size -= len(line)
                    self._partly = memoryview(line)
                self._partly = self._partly[os.write(self._file, self._partly) :]
        except BlockingIOError:
            pass
        except OSError:
            self._lines.clear()
            self._size, self._partly = 0, memoryview(b"")

    def flush_to_the_end(self) -> None:
        """Wait for a reader that is only slow."""
        poll = select.poll()
        poll.register(self._file, select.POLLOUT)
        end = time.monotonic() + LONGEST_GOODBYE
        while self.waiting and time.monotonic() < end:
            poll.poll(1000)
            self.flush()
