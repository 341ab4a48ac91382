"""How long and how much memory."""

from __future__ import annotations

import re
import resource
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

STATUS = Path("/proc/self/status")


def median_seconds(calls: Sequence[Callable[[], object]]) -> float:
    """Median wall-clock seconds of the calls but the first, which only warms up (caches, compiled code)."""
    taken = []
    for call in calls:
        begun = time.perf_counter()
        call()
        taken.append(time.perf_counter() - begun)
    return median(taken[1:])


def peak_mb() -> float:
    """Largest resident memory of this process so far, in 10^6 bytes.

    Linux counts what the parent held before `exec` into `ru_maxrss`, so its own high-water mark is read there.
    """
    if STATUS.exists():
        found = re.search(r"VmHWM:\s+(\d+) kB", STATUS.read_text(encoding="ascii"))
        if found is not None:
            return int(found.group(1)) * 1024 / 1e6
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return largest / 1e6 if sys.platform == "darwin" else largest * 1024 / 1e6
