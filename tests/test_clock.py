"""The real and the simulated clock."""

import math
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leantune.clock import Clock, RealClock, SimulatedClock

SOURCE = Path(__file__).parent.parent / "src" / "leantune"


@given(st.floats(-1e9, 1e9), st.lists(st.floats(0, 1e6)))
def test_simulated_time_is_what_was_slept(start: float, naps: list[float]) -> None:
    clock = SimulatedClock(start)
    seen = [clock.now()]
    for nap in naps:
        clock.sleep(nap)
        seen.append(clock.now())
    assert seen == sorted(seen)
    assert clock.now() == pytest.approx(start + sum(naps))


def test_simulated_time_stands_still() -> None:
    clock = SimulatedClock()
    assert clock.now() == clock.now() == 0.0


@pytest.mark.parametrize("clock", [RealClock(), SimulatedClock()])
@pytest.mark.parametrize("seconds", [-1.0, math.nan, math.inf])
def test_nobody_sleeps_backwards_or_for_ever(clock: Clock, seconds: float) -> None:
    with pytest.raises(ValueError, match="at least 0"):
        clock.sleep(seconds)


def test_simulated_clock_starts_at_a_number() -> None:
    with pytest.raises(ValueError, match="finite"):
        SimulatedClock(math.nan)


def test_real_clock_advances_by_its_sleep() -> None:
    clock = RealClock()
    before = clock.now()
    clock.sleep(0.01)
    assert clock.now() - before >= 0.009
    assert before > 1.7e9, "seconds since 1970"


def test_both_are_clocks() -> None:
    assert isinstance(RealClock(), Clock)
    assert isinstance(SimulatedClock(), Clock)


def test_only_the_clock_reads_the_clock() -> None:
    readers = r"import time|from time import|datetime\.now|datetime\.utcnow|date\.today"
    found = subprocess.run(
        ["grep", "-rlE", "--include=*.py", readers, str(SOURCE)], capture_output=True, text=True, check=False
    ).stdout.split()
    # The warden's modules run in a process of their own that has the standard library only; real time is their job.
    warden = {f"worker/{name}.py" for name in ("outbox", "program", "supervision", "tree")}
    assert {Path(name).relative_to(SOURCE).as_posix() for name in found} == {"clock.py"} | warden
