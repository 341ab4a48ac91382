"""Running sums agree with math.fsum to the last bit, whatever is added and taken away."""

import math

from hypothesis import given
from hypothesis import strategies as st

from leantune.units import NOTHING, RunningSum, added, total

NUMBERS = st.lists(st.floats(-1e300, 1e300) | st.floats(0.0, 1.0), max_size=40)


def summed(numbers: list[float]) -> float:
    partials = NOTHING
    for number in numbers:
        partials = added(partials, number)
    return total(partials)


@given(NUMBERS)
def test_as_fsum(numbers: list[float]) -> None:
    assert summed(numbers) == math.fsum(numbers)


@given(NUMBERS, NUMBERS)
def test_what_is_taken_away_leaves_no_trace(kept: list[float], taken: list[float]) -> None:
    assert summed([*kept, *taken, *(-number for number in taken)]) == math.fsum(kept)


def test_few_partials_suffice() -> None:
    partials = NOTHING
    for number in range(100_000):
        partials = added(partials, 0.1 + number * 1e-5)
    assert len(partials) <= 4
    assert total(partials) == math.fsum(0.1 + number * 1e-5 for number in range(100_000))


@given(NUMBERS, NUMBERS)
def test_a_running_sum_that_is_asked_now_and_then(first: list[float], second: list[float]) -> None:
    running = RunningSum()
    for numbers in (first, second):
        for number in numbers:
            running.add(number)
        running.total  # noqa: B018 - asking must change nothing
    assert running.total == math.fsum([*first, *second])
    for number in first:
        running.add(-number)
    assert running.total == math.fsum(second)
