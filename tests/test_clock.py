"""The real and the simulated clock."""

import math
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leantune.clock import Clock, RealClock, ScaledClock, SimulatedClock

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


@pytest.mark.parametrize("clock", [RealClock(), SimulatedClock(), ScaledClock(SimulatedClock(), 60.0, 0.0)])
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


@given(st.floats(0.01, 1e4), st.floats(-1e9, 1e9), st.lists(st.floats(0, 1e5), max_size=20))
def test_scaled_time_is_the_others_times_the_speed(speed: float, start: float, naps: list[float]) -> None:
    base = SimulatedClock(1e6)
    clock = ScaledClock(base, speed, start)
    assert clock.now() == start
    for nap in naps:
        clock.sleep(nap)
    assert clock.now() - start == pytest.approx(sum(naps), rel=1e-6, abs=1e-5 * max(1.0, speed))
    assert base.now() - 1e6 == pytest.approx(sum(naps) / speed, rel=1e-9, abs=1e-6)


def test_an_hour_of_a_scaled_clock_is_a_minute() -> None:
    base = SimulatedClock()
    clock = ScaledClock(base, 60.0, 5.0)
    base.sleep(60.0)
    assert clock.now() == 3605.0
    clock.sleep(3600.0)
    assert base.now() == 120.0


@pytest.mark.parametrize(
    ("speed", "start"), [(0.0, 0.0), (-1.0, 0.0), (math.inf, 0.0), (math.nan, 0.0), (1.0, math.nan)]
)
def test_a_scaled_clock_has_a_speed_and_a_start(speed: float, start: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        ScaledClock(SimulatedClock(), speed, start)


def test_durations_do_not_follow_a_clock_that_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = RealClock()
    market = ScaledClock(clock, 60.0, 5.0)
    began, market_began = clock.monotonic(), market.monotonic()
    monkeypatch.setattr(time, "time", lambda: 0.0)  # somebody sets the machine's clock back by decades
    assert clock.now() == 0.0
    clock.sleep(0.01)
    assert 0.009 <= clock.monotonic() - began < 5.0
    assert 0.5 <= market.monotonic() - market_began < 300.0


@given(st.floats(0.01, 1e4), st.lists(st.floats(0, 1e5), max_size=20))
def test_durations_of_simulated_clocks_are_those_of_now(speed: float, naps: list[float]) -> None:
    base = SimulatedClock(1e6)
    clock = ScaledClock(base, speed, 0.0)
    began = clock.monotonic()
    for nap in naps:
        clock.sleep(nap)
        assert base.monotonic() == base.now()
        assert clock.monotonic() - began == pytest.approx(clock.now(), rel=1e-6, abs=1e-5 * max(1.0, speed))


def test_all_are_clocks() -> None:
    assert isinstance(ScaledClock(RealClock(), 2.0, 0.0), Clock)
    assert isinstance(RealClock(), Clock)
    assert isinstance(SimulatedClock(), Clock)


def test_only_the_clock_reads_the_clock() -> None:
    readers = r"import time|from time import|datetime\.now|datetime\.utcnow|date\.today"
    found = subprocess.run(
        ["grep", "-rlE", "--include=*.py", readers, str(SOURCE)], capture_output=True, text=True, check=False
    ).stdout.split()
    # The warden's modules run in a process of their own that has the standard library only; real time is their job.
    warden = {f"worker/{name}.py" for name in ("messages", "program", "supervision", "tree")}
    assert {Path(name).relative_to(SOURCE).as_posix() for name in found} == {"clock.py"} | warden
