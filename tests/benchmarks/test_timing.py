"""The first call is not counted, and memory is that of this process."""

import time
from functools import partial

import numpy as np

from benchmarks.timing import median_seconds, peak_mb


def test_the_first_call_only_warms_up() -> None:
    waits = (0.2, 0.0, 0.001, 0.002)
    assert median_seconds([partial(time.sleep, seconds) for seconds in waits]) < 0.1


def test_the_peak_grows_with_what_is_held() -> None:
    before = peak_mb()
    held = np.ones(20_000_000)
    assert peak_mb() >= max(before, held.nbytes / 1e6)
