"""Every predictor keeps to one contract; each foresees curves of its own kind; intervals hold on real curves."""

import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.curve_data import ADAM, adam_tasks, curve_file
from leantune.arrays import FloatArray
from leantune.curves.base import Curve, Outlook
from leantune.curves.kernels import INVERSE
from leantune.curves.predictors import (
    DEFAULT,
    PREDICTORS,
    CurveFit,
    StagePredictor,
    curve_predictor,
    floor_of,
    local_steps,
)
from leantune.curves.stages import ChangeRate
from leantune.errors import InvalidInput
from tests.data import needs

STEPS = np.arange(1.0, 71.0)
END = 100.0
names = pytest.mark.parametrize("name", PREDICTORS)

values = st.floats(allow_nan=False, allow_infinity=False)
curves = st.lists(values, min_size=1, max_size=40).map(lambda v: Curve(np.arange(1.0, len(v) + 1), np.array(v)))
tame = st.integers(0, 2**32 - 1).map(lambda seed: noisy(np.random.default_rng(seed)))


def noisy(random: np.random.Generator) -> Curve:
    """A curve that falls, rises or stays, with noise."""
    size, power, scatter = random.uniform((-0.5, 0.1, 0.0), (2.0, 2.0, 0.05))
    return Curve(STEPS, 1.0 + size * STEPS**-power + random.normal(0.0, scatter, len(STEPS)))


@names
@given(curve=curves)
@settings(max_examples=60)
def test_any_finite_curve_gets_a_finite_answer(name: str, curve: Curve) -> None:
    told = curve_predictor(name).predict(curve, 60.0)
    if told.outlook is Outlook.DIVERGED:
        assert math.isnan(told.mean)
    else:
        assert math.isfinite(told.mean)
        assert told.sd >= 0.0
        assert math.isfinite(told.sd) == (told.outlook is not Outlook.NOT_PREDICTABLE)


@names
@given(curve=tame)
@settings(max_examples=20)
def test_a_metric_to_maximise_is_the_mirror_image(name: str, curve: Curve) -> None:
    predictor = curve_predictor(name)
    told = predictor.predict(curve, END)
    mirrored = predictor.predict(Curve(curve.steps, -curve.values, maximize=True), END)
    assert (mirrored.mean, mirrored.sd, mirrored.outlook) == (-told.mean, told.sd, told.outlook)


@names
@given(curve=tame, exponent=st.integers(-40, 40), unit=st.sampled_from([0.001, 1.0, 500.0]))
@settings(max_examples=20)
def test_the_units_of_metric_and_steps_do_not_matter(name: str, curve: Curve, exponent: int, unit: float) -> None:
    predictor = curve_predictor(name)
    told = predictor.predict(curve, END)
    scaled = predictor.predict(Curve(curve.steps, np.ldexp(curve.values, exponent)), END)
    assert (scaled.mean, scaled.sd) == (math.ldexp(told.mean, exponent), math.ldexp(told.sd, exponent))
    slower = predictor.predict(Curve(unit * curve.steps, curve.values), unit * END)
    assert [slower.mean, slower.sd] == pytest.approx([told.mean, told.sd], rel=1e-4)


@names
@given(curve=tame)
@settings(max_examples=10)
def test_equal_curves_get_equal_bits(name: str, curve: Curve) -> None:
    again = Curve(curve.steps.copy(), curve.values.copy())
    assert curve_predictor(name).predict(curve, END) == curve_predictor(name).predict(again, END)


KINDS = {
    "earlycurve": lambda k: 1.0 / (0.0005 * k**2 + 0.01 * k + 0.8) + 0.1,
    "slaq": lambda k: 1.0 / (0.05 * k + 0.8) + 0.1,
    "powerlaw": lambda k: 0.3 + 0.9 * k**-0.5,
    "exponential": lambda k: 0.1 + 0.8 * 0.97**k,
    "last": lambda k: 0.4 + 0.0 * k + 0.02 * np.sin(k),
    "stacked": lambda k: 0.3 + 0.6 * k**-0.8,
}


@names
def test_each_foresees_curves_of_its_own_kind(name: str) -> None:
    random = np.random.default_rng(5)
    told = curve_predictor(name).predict(Curve(STEPS, KINDS[name](STEPS) + random.normal(0.0, 0.002, 70)), END)
    truth = float(KINDS[name](np.array([END]))[0])
    assert told.outlook is Outlook.PREDICTED
    assert told.mean == pytest.approx(truth, abs=0.03)
    assert 0.0 < told.sd < 0.06


def staged_values() -> FloatArray:
    """Thirty steps down to 0.5, then down from 0.3 to 0.1."""
    k = np.arange(1.0, 41.0)
    return np.concatenate((0.5 + 0.5 / np.arange(1.0, 31.0), 0.1 + 0.2 / k))


def test_stages_are_fitted_on_their_own() -> None:
    declared = Curve(STEPS, staged_values(), drops=(31.0,))
    truth = 0.1 + 0.2 / 70.0
    assert curve_predictor("earlycurve").predict(declared, END).mean == pytest.approx(truth, abs=0.01)
    found = curve_predictor("earlycurve").predict(Curve(STEPS, staged_values()), END)
    assert found.mean == pytest.approx(truth, abs=0.01)
    assert abs(curve_predictor("slaq").predict(declared, END).mean - truth) > 0.02
    printed = StagePredictor("printed", (CurveFit(INVERSE),), 5, rule=ChangeRate())
    assert printed.predict(Curve(STEPS, staged_values()), END) == curve_predictor("slaq").predict(declared, END)


@names
def test_a_drop_to_come_and_few_points_are_not_predictable(name: str) -> None:
    predictor = curve_predictor(name)
    ahead = predictor.predict(Curve(STEPS, 1.0 / STEPS, drops=(80.0,)), END)
    assert (ahead.outlook, ahead.mean, ahead.sd) == (Outlook.NOT_PREDICTABLE, 1.0 / 70.0, math.inf)
    assert "step 80" in ahead.why
    short = predictor.predict(Curve(STEPS[:1], np.array([0.5])), END)
    assert (short.outlook, short.mean) == (Outlook.NOT_PREDICTABLE, 0.5)


@names
def test_a_metric_that_does_not_improve_is_said_and_not_foreseen_to_fall(name: str) -> None:
    rising = Curve(STEPS, 0.5 + 0.004 * STEPS)
    told = curve_predictor(name).predict(rising, END)
    assert "does not improve" in told.why
    assert told.mean >= 0.5 + 0.004 * 60.0


@names
def test_a_loss_is_not_foreseen_below_zero(name: str) -> None:
    assert curve_predictor(name).predict(Curve(STEPS, 1.0 - STEPS / 71.0), 10_000.0).mean >= 0.0


def test_negative_values_and_their_floor() -> None:
    assert floor_of(np.array([3.0, 1.0])) == 0.0
    assert floor_of(np.array([1.0, -2.0])) == -5.0
    told = curve_predictor().predict(Curve(STEPS, -3.0 + STEPS**-0.5), END)
    assert told.mean == pytest.approx(-2.9, abs=0.01)


def test_local_steps_start_at_one_in_the_usual_distance() -> None:
    k, target = local_steps(np.array([1_000.0, 1_500.0, 2_000.0, 3_000.0]), 4_000.0)
    assert (list(k), target) == ([1.0, 2.0, 3.0, 5.0], 7.0)


def test_names() -> None:
    assert {"earlycurve", "slaq", "last", "powerlaw", "exponential", DEFAULT} <= PREDICTORS.keys()
    assert [curve_predictor(name).name for name in PREDICTORS] == list(PREDICTORS)
    with pytest.raises(InvalidInput, match="earlycurve"):
        curve_predictor("prophet")


def test_many_curves_are_predicted_quickly() -> None:
    """1,000 curves of 200 points in under 10 s: here 200, so a fifth of that."""
    random = np.random.default_rng(2)
    k = np.arange(1.0, 201.0)
    made = [Curve(k, 0.2 + b * k**-0.6 + random.normal(0, 0.01, 200)) for b in random.uniform(0.5, 2.0, 200)]
    predictor = curve_predictor()
    predictor.predict(made[0], 300.0)  # compiled before it is timed
    begin = time.process_time()
    for curve in made:
        predictor.predict(curve, 300.0)
    assert time.process_time() - begin < 2.0


@pytest.mark.slow
@names
def test_intervals_hold_on_real_curves(name: str) -> None:
    needs(curve_file(ADAM))
    tasks = [task for task in adam_tasks()[::5] if math.isfinite(task.truth)]
    ends = [(curve_predictor(name).predict(task.known(0.7), task.end), task.truth) for task in tasks]
    pairs = [(abs(end.mean - truth), end.sd) for end, truth in ends if end.sd < math.inf]
    assert len(pairs) > 150
    assert 0.6 < np.mean([error <= sd for error, sd in pairs]) < 0.9
    assert np.mean([error <= 1.96 * sd for error, sd in pairs]) > 0.88
