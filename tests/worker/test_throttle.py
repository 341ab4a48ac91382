"""A part of a processor, on a simulated machine."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leantune.worker.throttle import PERIOD, Throttle


def play(vcpus: float, cores: int, seconds: float, load: float = 1.0) -> tuple[float, int]:
    """CPU seconds used by a program of so much load on each core, and how often it was stopped."""
    throttle = Throttle(vcpus, cores, 100.0)
    now, used, stops = 100.0, 0.0, 0
    while now < 100.0 + seconds:
        running = throttle.running
        pause = throttle.step(now, used)
        assert pause > 0.0
        stops += running and not throttle.running
        now += pause
        used += pause * cores * load if throttle.running else 0.0
    return used, stops


@given(st.floats(0.05, 4.0))
def test_a_busy_program_gets_its_part(vcpus: float) -> None:
    cores = max(1, -int(-vcpus // 1))
    used, stops = play(vcpus, cores, 60.0)
    assert used / 60.0 == pytest.approx(vcpus, rel=0.05, abs=0.005)
    assert stops > 60.0 / PERIOD / 3, "often, so that it looks like a slower machine, not like one that hangs"


def test_a_program_that_needs_less_than_its_part_is_never_stopped() -> None:
    used, stops = play(0.5, 1, 60.0, load=0.4)
    assert stops == 0
    assert used == pytest.approx(24.0, rel=0.01)


def test_idle_time_is_not_saved_up() -> None:
    throttle = Throttle(0.25, 1, 0.0)
    throttle.step(1000.0, 0.0)
    assert throttle.running
    throttle.step(1000.1, 0.1)
    assert not throttle.running
