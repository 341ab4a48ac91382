"""A part of a processor, by stopping and continuing: pure arithmetic, so that it can be tested without waiting."""

PERIOD = 0.05  # seconds of one turn of running and standing still
SHORTEST = 0.001  # seconds between two looks


class Throttle:
    """CPU seconds are earned at `vcpus` a second and spent as the processes use them, on `cores` >= vcpus cores.

    At full load they run for PERIOD * vcpus / cores seconds, then stand still until the debt is paid and as much is
    saved as the next turn spends beyond what it earns. Idle time saves no more than one period's worth.
    """

    def __init__(self, vcpus: float, cores: int, now: float) -> None:
        self._vcpus = vcpus
        share = vcpus / cores
        self._turn = PERIOD * share
        self._saved_to_run = vcpus * PERIOD * (1.0 - share)
        self._balance = self._saved_to_run
        self._time, self._used = now, 0.0
        self.running = True

    def step(self, now: float, used: float) -> float:
        """Account for `used` CPU seconds in all, set `running`, and say after how many seconds to look again."""
        earned = self._vcpus * (now - self._time)
        self._balance = min(self._balance + earned, self._vcpus * PERIOD) - (used - self._used)
        self._time, self._used = now, used
        lacking = (0.0 if self.running else self._saved_to_run) - self._balance
        if self.running and lacking >= 0.0:
            self.running = False
            return max(SHORTEST, (self._saved_to_run + lacking) / self._vcpus)
        if not self.running and lacking > 0.0:
            return max(SHORTEST, lacking / self._vcpus)
        self.running = True
        return self._turn
