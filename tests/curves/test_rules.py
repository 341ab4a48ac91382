"""What is said of a curve before anything is fitted."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leantune.curves.base import Curve, Outlook
from leantune.curves.rules import (
    PLATEAU_POINTS,
    PLATEAU_SHARE,
    PLATEAU_TOLERANCE,
    PlateauWatch,
    diverged,
    drop_ahead,
    finite,
    plateaued,
    verdict,
    worsens,
)
from leantune.curves.stages import Jump, last_stage

STEPS = np.arange(1.0, 101.0)
FALLING = Curve(STEPS, 0.3 + STEPS**-0.7)


def flat(level: float = 0.3, **options: object) -> Curve:
    """Fast to its level, then there for long."""
    return Curve(STEPS, level + np.exp(-STEPS / 3.0), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("last", [math.nan, math.inf, -math.inf])
def test_no_number_at_the_end_is_divergence(last: float) -> None:
    told = verdict(Curve(STEPS[:3], np.array([1.0, 0.9, last])), 10.0)
    assert told is not None
    assert (told.outlook, math.isnan(told.mean)) == (Outlook.DIVERGED, True)
    assert "step 3" in told.why


def test_a_gap_in_the_values_is_no_divergence() -> None:
    holed = Curve(STEPS[:5], np.array([1.0, math.nan, 0.8, math.nan, 0.7]))
    assert diverged(holed) == ""
    assert list(finite(holed).steps) == [1.0, 3.0, 5.0]


def test_far_worse_than_it_was_is_divergence_and_one_peak_is_not() -> None:
    values = np.concatenate((np.linspace(1.0, 0.5, 20), np.linspace(0.5, 8.0, 10)))
    assert "far worse" in diverged(Curve(STEPS[:30], values))
    values[20:] = 0.5
    values[-1] = 50.0
    assert diverged(Curve(STEPS[:30], values)) == ""
    rising = Curve(STEPS, 0.8 + 0.2 * (1 - np.exp(-STEPS / 30)))  # overfits, but is of its old size
    assert diverged(rising) == ""


def test_an_accuracy_that_collapses_has_diverged_only_when_it_leaves_its_range() -> None:
    loss = np.concatenate((np.linspace(1.0, 0.5, 20), np.linspace(0.5, 8.0, 10)))
    assert diverged(Curve(STEPS[:30], -loss, maximize=True))
    assert not diverged(Curve(STEPS[:30], -loss, maximize=False))


@pytest.mark.parametrize(("known", "expected"), [(49.0, 50.0), (50.0, None), (60.0, None)])
def test_a_drop_is_ahead_until_it_is_reached(known: float, expected: float | None) -> None:
    curve = Curve(STEPS, FALLING.values, drops=(20.0, 50.0)).until(known)
    assert drop_ahead(curve, 100.0) == expected
    told = verdict(curve, 100.0)
    assert (told is not None and told.outlook is Outlook.NOT_PREDICTABLE) == (expected is not None)


def test_a_drop_after_the_end_does_not_matter() -> None:
    assert drop_ahead(Curve(STEPS, FALLING.values, drops=(150.0,)), 149.0) is None


def test_a_finished_run_needs_no_prediction() -> None:
    told = verdict(FALLING, 100.0)
    assert told is not None
    assert (told.mean, told.sd) == (FALLING.values[-1], 0.0)


def test_a_plateau_is_told_with_its_level() -> None:
    assert plateaued(flat())
    told = verdict(flat(), 1_000.0)
    assert told is not None
    assert told.outlook is Outlook.PLATEAU
    assert told.mean == pytest.approx(0.3, abs=1e-6)
    assert not plateaued(FALLING)
    assert verdict(FALLING, 1_000.0) is None


def test_never_a_plateau_before_the_last_declared_drop() -> None:
    assert not plateaued(flat(drops=(10.0, 101.0)))
    assert plateaued(flat(drops=(10.0,)))
    assert not plateaued(flat(drops=(10.0, 95.0)))  # too little of the last stage


@pytest.mark.parametrize("points", [1, 2, 10, 15])
def test_never_a_plateau_of_a_few_points(points: int) -> None:
    assert not plateaued(Curve(STEPS[:points], np.ones(points)))


def test_a_constant_curve_is_a_plateau_and_a_diverged_one_never() -> None:
    assert plateaued(Curve(STEPS, np.zeros(100)))
    ended = np.ones(100)
    ended[-1] = math.nan
    assert not plateaued(Curve(STEPS, ended))


def test_the_unit_of_the_metric_changes_no_verdict() -> None:
    for curve in (flat(), FALLING):
        for factor in (1e-9, 1e9):
            assert plateaued(Curve(STEPS, factor * curve.values)) == plateaued(curve)
        assert plateaued(Curve(STEPS, -curve.values, maximize=True)) == plateaued(curve)


def test_what_gets_worse_is_recognised() -> None:
    assert worsens(np.linspace(0.0, 1.0, 30))
    assert not worsens(np.linspace(1.0, 0.0, 30))
    assert not worsens(np.array([0.0, 1.0]))


def plateaued_slowly(curve: Curve) -> bool:
    """As `plateaued` says it, in numpy."""
    if (curve.drops and curve.drops[-1] > curve.steps[-1]) or diverged(curve):
        return False
    loss = -curve.values if curve.maximize else curve.values
    begin = last_stage(curve, Jump())
    window = max(PLATEAU_POINTS, math.ceil(PLATEAU_SHARE * (len(loss) - begin)))
    if len(loss) - begin <= window:
        return False
    thirds = [float(np.median(part)) for part in np.array_split(loss[-window:], 3)]
    return max(thirds) - min(thirds) <= PLATEAU_TOLERANCE * float(np.ptp(loss[begin:]))


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
        noticed = watch.add(float(steps[count - 1]), float(values[count - 1]))
        known = Curve(steps[:count], values[:count], drops, maximize)
        assert noticed == plateaued(known) == plateaued_slowly(known)


@pytest.mark.parametrize("level", [0.3, -2.0])
def test_a_flat_curve_is_noticed_and_a_falling_one_is_not(level: float) -> None:
    settling, falling = PlateauWatch(), PlateauWatch()
    noticed = [settling.add(float(k), level + np.exp(-k / 2.0)) for k in range(1, 101)]
    assert noticed.index(True) in range(15, 40)
    assert not any(falling.add(float(k), level - 0.01 * k) for k in range(1, 101))


def test_a_run_that_has_become_far_worse_is_not_flat() -> None:
    watch = PlateauWatch()
    values = [*np.linspace(1.0, 0.5, 20), *np.full(30, 9.0)]
    told = [watch.add(float(k), float(value)) for k, value in enumerate(values)]
    assert not any(told)
