"""Drives an executor from a thread, so that machines are watched while the tuner thinks.

Idle machines are given back and no notice is missed meanwhile. The thread only calls `step` and keeps what it hears;
everything that decides is in the executor inside, which sees one call at a time.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

from leantune.clock import Clock
from leantune.executors.base import BaseExecutor, EndMode, Event, Executor, Finished, FreeCapacity, MachineUpdate, Terms
from leantune.history import Trial
from leantune.units import NO_SECONDS, Seconds

LOOK_SECONDS = 0.02  # of this world, between looks at machines and programs


class WatchedExecutor(BaseExecutor):
    """An executor that is stepped every LOOK_SECONDS: callers need not know the time of the next event."""

    def __init__(self, inner: Executor, clock: Clock) -> None:
        self._inner, self._clock = inner, clock
        self._events: list[Event] = []
        self._error: BaseException | None = None
        self._news = threading.Condition()
        self._closing = False
        self._watch = threading.Thread(target=self._watching, name="leantune-machines", daemon=True)
        self._watch.start()

    @property
    def running(self) -> frozenset[int]:
        """Numbers of the trials that are started and not yet told."""
        with self._news:
            return self._inner.running | {event.number for event in self._events if isinstance(event, Finished)}

    @property
    def owes(self) -> bool:
        """As inside."""
        with self._news:
            return self._inner.owes

    def check(self, trial: Trial) -> None:
        """As inside."""
        with self._news:
            self._inner.check(trial)

    def capacity(self) -> FreeCapacity:
        """As inside."""
        with self._news:
            return self._inner.capacity()

    def start(self, trial: Trial, terms: Terms = Terms()) -> None:  # noqa: B008 - frozen
        """As inside."""
        with self._news:
            self._inner.start(trial, terms)
            self._news.notify_all()

    def end(self, number: int, mode: EndMode) -> None:
        """As inside; a run that has ended and was not returned yet is returned as it ended, unless killed."""
        with self._news:
            if not any(isinstance(event, Finished) and event.number == number for event in self._events):
                self._inner.end(number, mode)
            if mode is EndMode.KILL:
                self._events = [
                    event for event in self._events if event.number != number or isinstance(event, MachineUpdate)
                ]

    def forget(self, number: int) -> None:
        """As inside; a run that has ended and was not returned yet still runs for the caller."""
        with self._news:
            self._refuse_running(number)
            self._inner.forget(number)

    def renew(self, number: int, ago: Seconds = NO_SECONDS) -> None:
        """As inside."""
        with self._news:
            self._inner.renew(number, ago)

    def step(self, now: float) -> list[Event]:
        """Events since the last call; an error of the thread is raised here."""
        with self._news:
            if self._error is not None:
                raise self._error
            self._look(now)
            events, self._events = self._events, []
            return events

    def wait(self, timeout: Seconds | None = None) -> None:
        """Until something was heard, or for `timeout` seconds; not where nothing can be heard."""
        with self._news:
            if not self._events and self._error is None and self._busy:
                self._news.wait(timeout)

    def kept(self, numbers: Iterable[int]) -> frozenset[int]:
        """As inside."""
        with self._news:
            return self._inner.kept(numbers)

    def remains(self, number: int, attempt: int, grace: Seconds) -> bool:
        """As inside."""
        with self._news:
            return self._inner.remains(number, attempt, grace)

    def close(self) -> None:
        """Stop watching, and close the executor inside."""
        with self._news:
            self._closing = True
            self._news.notify_all()
        if self._watch is not threading.current_thread():
            self._watch.join()
        self._inner.close()
        self._events.clear()

    @property
    def _busy(self) -> bool:
        """Whether there are runs to look at."""
        return bool(self._inner.running) or self._inner.owes

    def _look(self, now: float) -> None:
        self._events += self._inner.step(now)

    def _watching(self) -> None:
        with self._news:
            while not self._closing and self._error is None:
                try:
                    self._look(self._clock.now())
                except BaseException as error:  # noqa: BLE001 - raised again in the loop's own thread, by step
                    self._error = error
                if self._events or self._error is not None:
                    self._news.notify_all()
                self._news.wait(LOOK_SECONDS if self._busy else None)
