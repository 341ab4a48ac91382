"""The only reader of the clock. Everything that needs the time is given a Clock.

This module does not import `errors`, so a wrong number of seconds is a plain ValueError.
"""

import math
import time
from typing import Protocol, runtime_checkable


@runtime_checkable
class Clock(Protocol):
    """Tells the time and waits.

    `now` is for moments that are stored or shown; it may jump when the machine's clock is set. `monotonic` is
    for durations and deadlines: it never decreases, and its zero means nothing.
    """

    def now(self) -> float:
        """Seconds since the epoch."""
        ...

    def monotonic(self) -> float:
        """Seconds since some moment that stays the same; only differences mean something."""
        ...

    def sleep(self, seconds: float) -> None:
        """Return when `monotonic` has advanced by at least `seconds` (0 returns at once)."""
        ...


class RealClock:
    """The machine's clock."""

    def now(self) -> float:
        """Seconds since 1970-01-01 UTC."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds that cannot be set; the same for all processes of this machine."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Block the calling thread for `seconds`."""
        time.sleep(_checked(seconds))


class SimulatedClock:
    """A clock that stands still until `sleep` is called: simulated hours take no time and are the same in every run."""

    speed = 1.0  # as a market's clock

    def __init__(self, start: float = 0.0) -> None:
        if not math.isfinite(start):
            raise ValueError(f"a simulated clock cannot start at {start}; give finite seconds")
        self._now = float(start)

    def now(self) -> float:
        """Seconds slept so far, plus the start."""
        return self._now

    def monotonic(self) -> float:
        """The same as `now`."""
        return self._now

    def sleep(self, seconds: float) -> None:
        """Advance the time by `seconds`."""
        self._now += _checked(seconds)


class ScaledClock:
    """A clock that runs `speed` times as fast as another and has its own beginning.

    now = start + speed * (the other's now - the other's now when this clock was made)
    """

    def __init__(self, base: Clock, speed: float, start: float) -> None:
        if not (math.isfinite(speed) and speed > 0):
            raise ValueError(f"a clock cannot run {speed} times as fast; give a finite number above 0")
        if not math.isfinite(start):
            raise ValueError(f"a clock cannot start at {start}; give finite seconds")
        self._base, self._origin, self._start = base, base.now(), float(start)
        self.speed = float(speed)

    def now(self) -> float:
        """The start, and the scaled seconds since then."""
        return self._start + self.speed * (self._base.now() - self._origin)

    def monotonic(self) -> float:
        """The other's, scaled."""
        return self.speed * self._base.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait for `seconds` of this clock, which are fewer of the other where this one runs faster."""
        self._base.sleep(_checked(seconds) / self.speed)


def _checked(seconds: float) -> float:
    if not (math.isfinite(seconds) and seconds >= 0):
        raise ValueError(f"cannot sleep for {seconds} seconds; give a finite number of at least 0")
    return seconds
