"""A TCP proxy before a test's PostgreSQL: as if the server were far away."""

from __future__ import annotations

import heapq
import select
import socket
import threading
import time
from contextlib import suppress
from typing import Self
from urllib.parse import parse_qs, urlsplit


class SlowProxy:
    """Listens on 127.0.0.1; whatever passes arrives half of `round_trip` seconds later, in either direction."""

    def __init__(self, url: str, round_trip: float) -> None:
        parts = urlsplit(url)
        self._target = f"{parse_qs(parts.query)['host'][0]}/.s.PGSQL.5432"
        self._delay = round_trip / 2.0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"postgresql://{parts.username}@127.0.0.1:{self._listener.getsockname()[1]}{parts.path}"
        self._over = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._listener.close()

    def _accept(self) -> None:
        while not self._over.is_set():
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(self._target)
            threading.Thread(target=self._carry, args=(client, server), daemon=True).start()

    def _carry(self, client: socket.socket, server: socket.socket) -> None:
        """One connection; what waits to arrive is a heap of (when, order, where to, what)."""
        other, under_way, count = {client: server, server: client}, list[tuple[float, int, socket.socket, bytes]](), 0
        with client, server, suppress(OSError):
            while not self._over.is_set():
                left = 0.1 if not under_way else min(0.1, max(0.0, under_way[0][0] - time.monotonic()))
                for end in select.select(list(other), [], [], left)[0]:
                    data = end.recv(65536)
                    count += 1
                    heapq.heappush(under_way, (time.monotonic() + self._delay, count, other[end], data))
                    if not data:
                        del other[end]
                while under_way and under_way[0][0] <= time.monotonic():
                    _, _, target, data = heapq.heappop(under_way)
                    if not data:
                        return
                    target.sendall(data)
