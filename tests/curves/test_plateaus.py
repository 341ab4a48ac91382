"""A curve watched point by point is flat when `plateaued` says so of all of it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leantune.curves.base import Curve
from leantune.curves.plateaus import PlateauWatch
from leantune.curves.rules import plateaued


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    points=st.integers(1, 130),
    noise=st.sampled_from([0.0, 1e-6, 1e-3, 0.05]),
    fall=st.sampled_from([1.0, 0.8, 0.3]),
    digits=st.sampled_from([1, 15]),
    drops=st.sampled_from([(), (20.0,), (10.0, 60.0)]),
    maximize=st.booleans(),
)
def test_it_is_plateaued_point_by_point(
    seed: int, points: int, noise: float, fall: float, digits: int, drops: tuple[float, ...], maximize: bool
) -> None:
    rng = np.random.default_rng(seed)
    steps = np.cumsum(rng.integers(1, 3, points)).astype(np.float64)
    values = rng.uniform(-1, 1) + np.exp(-np.arange(points) / rng.uniform(1, 20)) + rng.normal(0, noise, points)
    values[points // 2 :] *= fall
    values = np.round(-values if maximize else values, digits)
    watch = PlateauWatch(drops, maximize=maximize)
    for count in range(1, points + 1):
        flat = watch.add(float(steps[count - 1]), float(values[count - 1]))
        assert flat == plateaued(Curve(steps[:count], values[:count], drops, maximize))


@pytest.mark.parametrize("level", [0.3, -2.0])
def test_a_flat_curve_is_noticed_and_a_falling_one_is_not(level: float) -> None:
    flat, falling = PlateauWatch(), PlateauWatch()
    noticed = [flat.add(float(k), level + np.exp(-k / 2.0)) for k in range(1, 101)]
    assert noticed.index(True) in range(15, 40)
    assert not any(falling.add(float(k), level - 0.01 * k) for k in range(1, 101))


def test_a_run_that_has_become_far_worse_is_not_flat() -> None:
    watch = PlateauWatch()
    values = [*np.linspace(1.0, 0.5, 20), *np.full(30, 9.0)]
    told = [watch.add(float(k), float(value)) for k, value in enumerate(values)]
    assert not any(told)
