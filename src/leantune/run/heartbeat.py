"""Renews a worker's leases from a thread of its own, so that a long proposal, or a training function in this process,
does not cost it its trials.
"""

from __future__ import annotations

import signal
import threading
from types import TracebackType
from typing import TYPE_CHECKING

from leantune.clock import Clock
from leantune.executors.base import Executor

if TYPE_CHECKING:
    from leantune.store.base import Store

RENEWALS = 4  # in one lease: three may be missed
SLOWEST_SHARE, SLOWEST_SECONDS = 0.1, 1.0  # of the lease: how much sooner than its lease ends a run is dead


class Heartbeat:
    """While it beats, every trial it was told to `hold` keeps its lease; `lost` are those that were given away."""

    def __init__(self, store: Store, executor: Executor, worker: str, lease: float, clock: Clock) -> None:
        self._store, self._executor, self._worker, self._lease, self._clock = store, executor, worker, lease, clock
        self._lock = threading.Lock()
        self._held: set[int] = set()
        self._lost: set[int] = set()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="leantune-heartbeat", daemon=True)
        self._failure: Exception | None = None

    def hold(self, number: int) -> None:
        """Renew this trial's lease from now on."""
        with self._lock:
            self._held.add(number)
            self._lost.discard(number)

    def release(self, number: int) -> None:
        """Its run has ended."""
        with self._lock:
            self._held.discard(number)

    def take_lost(self) -> frozenset[int]:
        """Trials that another worker has been given meanwhile; each is told once. Raises what stopped the heart."""
        if self._failure is not None:
            raise self._failure
        with self._lock:
            lost, self._lost = frozenset(self._lost), set()
        return lost

    def __enter__(self) -> Heartbeat:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def _beat(self) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})  # they are for the main thread
        while not self._over.wait(self._lease / RENEWALS):
            with self._lock:
                held = frozenset(self._held)
            now, began = self._clock.now(), self._clock.monotonic()
            try:
                self._store.seen(self._worker, now)
                kept = self._store.renew(self._worker, held, time=now, lease=self._lease)
            except Exception as error:  # noqa: BLE001 - raised again in the loop's own thread, by take_lost
                self._failure = error
                return
            # The executor counts a lease from now, the store from when the renewal began: a slow one is not passed on.
            if self._clock.monotonic() - began <= min(SLOWEST_SHARE * self._lease, SLOWEST_SECONDS):
                for number in kept:
                    self._executor.renew(number)
            with self._lock:
                self._lost |= (held - kept) & self._held
                self._held -= self._lost
