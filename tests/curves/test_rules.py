"""What is said of a curve before anything is fitted."""

import math

import numpy as np
import pytest

from leantune.curves.base import Curve, Outlook
from leantune.curves.rules import diverged, drop_ahead, finite, plateaued, verdict, worsens

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
