"""The only reader of the clock. Everything that needs the time is given a Clock.

This room and `errors` do not know each other, so a wrong number of seconds is a plain ValueError.
"""

import math
import time
from typing import Protocol, runtime_checkable


@runtime_checkable
class Clock(Protocol):
    """Tells the time and waits; `now` never decreases while only this clock's `sleep` is used."""

    def now(self) -> float:
        """Seconds since the epoch."""
        ...

    def sleep(self, seconds: float) -> None:
        """Return when `now` has advanced by at least `seconds` (0 returns at once)."""
        ...


class RealClock:
    """The machine's clock."""

    def now(self) -> float:
        """Seconds since 1970-01-01 UTC."""
        return time.time()

    def sleep(self, seconds: float) -> None:
        """Block the calling thread for `seconds`."""
        time.sleep(_checked(seconds))


class SimulatedClock:
    """A clock that stands still until somebody sleeps: hours pass in no time, and always the same ones."""

    def __init__(self, start: float = 0.0) -> None:
        if not math.isfinite(start):
            raise ValueError(f"a simulated clock cannot start at {start}; give finite seconds")
        self._now = float(start)

    def now(self) -> float:
        """Seconds slept so far, plus the start."""
        return self._now

    def sleep(self, seconds: float) -> None:
        """Advance the time by `seconds`."""
        self._now += _checked(seconds)


def _checked(seconds: float) -> float:
    if not (math.isfinite(seconds) and seconds >= 0):
        raise ValueError(f"cannot sleep for {seconds} seconds; give a finite number of at least 0")
    return seconds
