"""Ctrl-C and SIGTERM while a study is worked on: once, gently; twice, at once. Both leave a study that goes on."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interruptible(Protocol):
    """The loop, as far as a signal is concerned."""

    def interrupt(self) -> None:
        """Stop gently; the second time, at once. Safe in a signal handler."""


class Interrupts:
    """Passes signals on to the loop.

    A loop that has not noticed the first one (it computes a proposal) when the second comes is left by
    KeyboardInterrupt: it then ends its runs and gives them back. Before there is a loop, the first does that.
    """

    def __init__(self) -> None:
        self.count = 0
        self._loop: Interruptible | None = None
        self._noticed = False

    def ready(self, loop: Interruptible) -> None:
        """There is a loop now."""
        self._loop = loop

    def noticed(self) -> None:
        """The loop is about to end."""
        self._noticed = True

    def interrupt(self) -> None:
        """As if the user had asked for the end."""
        self.count += 1
        if self._loop is None:
            raise KeyboardInterrupt
        self._loop.interrupt()
        if self.count > 1 and not self._noticed:
            self._noticed = True  # the loop cleans up from now on: a third must not disturb it
            raise KeyboardInterrupt


@contextmanager
def interruptible() -> Iterator[Interrupts]:
    """Within the block, signals go to the loop; afterwards they mean what they meant before."""
    interrupts = Interrupts()
    if threading.current_thread() is not threading.main_thread():  # where Python allows no handlers
        yield interrupts
        return
    before = {number: signal.signal(number, lambda *_: interrupts.interrupt()) for number in SIGNALS}
    try:
        yield interrupts
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
