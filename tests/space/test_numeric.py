"""Real and whole numbers: codes, features, quantiles, steps."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leantune.errors import SpaceError
from leantune.space import Float, Integer
from leantune.testing.generators import floats, integers

UNITS = np.linspace(0.0, 1.0, 101)


@given(floats())
def test_quantiles_of_a_float_are_values_of_it(parameter: Float) -> None:
    codes = parameter.from_unit(UNITS)
    assert np.all(np.diff(codes) >= 0)
    for code in codes.tolist():
        assert parameter.code(parameter.value(code), "p") == code


@given(floats())
def test_features_of_quantiles_are_the_quantiles(parameter: Float) -> None:
    features = parameter.encode(parameter.from_unit(UNITS))
    assert features.shape == (101, 1)
    np.testing.assert_allclose(features[:, 0], UNITS, atol=1e-6)


@given(integers())
def test_quantiles_reach_every_integer(parameter: Integer) -> None:
    codes = parameter.from_unit(np.linspace(0, 1, 5000))
    assert set(codes.tolist()) == {float(i) for i in range(parameter.low, parameter.high + 1)}
    assert parameter.count == len(set(codes.tolist()))


@given(integers())
def test_ends_of_the_range_are_0_and_1(parameter: Integer) -> None:
    ends = parameter.encode(np.array([parameter.low, parameter.high], dtype=np.float64))
    assert ends.ravel().tolist() == [0.0, 1.0]


def test_log_features_are_equal_for_equal_ratios() -> None:
    features = Float(1e-5, 1e-1, log=True).encode(np.array([1e-5, 1e-4, 1e-3, 1e-2, 1e-1]))
    np.testing.assert_allclose(features[:, 0], [0, 0.25, 0.5, 0.75, 1], atol=1e-12)
    assert Integer(1, 16, log=True).encode(np.array([4.0]))[0, 0] == pytest.approx(0.5)


@given(st.one_of(floats(), integers()), st.floats(0, 1), st.integers(0, 2**32))
def test_steps_stay_inside_and_go_somewhere(parameter: Float | Integer, unit: float, seed: int) -> None:
    code = float(parameter.from_unit(np.array([unit]))[0])
    steps = parameter.near(code, np.random.default_rng(seed))
    assert 1 <= len(steps) <= 2
    assert code not in steps
    for step in steps.tolist():
        parameter.code(step, "p")


def test_steps_are_a_tenth_of_the_range() -> None:
    rng = np.random.default_rng(0)
    steps = np.concatenate([Float(0.0, 10.0).near(5.0, rng) for _ in range(2000)])
    assert np.std(steps) == pytest.approx(1.0, rel=0.05)
    edge = np.concatenate([Float(0.0, 10.0).near(0.0, rng) for _ in range(200)])
    assert edge.min() > 0.0, "a step over the edge is reflected, not clipped"


@pytest.mark.parametrize(
    ("low", "high", "is_log", "says"),
    [
        (1, 0, False, "lower bound 1 is not below upper bound 0"),
        (2, 2, False, "not below"),
        (0, 1, True, "log scale needs a lower bound above 0, got 0"),
        (-1, 1, True, "above 0"),
        (0, math.inf, False, "inf is not a finite number"),
        (math.nan, 1, False, "nan is not a finite number"),
        (-1.7e308, 1.7e308, False, "too far apart"),
        ("0", 1, False, "'0' is not a finite number"),
        (False, 1, False, "not a finite number"),
    ],
)
def test_wrong_bounds(low: float, high: float, is_log: bool, says: str) -> None:
    with pytest.raises(SpaceError, match=says) as caught:
        Float(low, high, log=is_log)
    assert caught.value.where.startswith("log(" if is_log else "linear(")
    assert caught.value.hint


@pytest.mark.parametrize(
    ("low", "high", "says"),
    [(1.5, 3, "not a whole number"), (3, 1, "not below"), (0, 2**60, "too large"), (True, 3, "not a whole number")],
)
def test_wrong_integer_bounds(low: int, high: int, says: str) -> None:
    with pytest.raises(SpaceError, match=says):
        Integer(low, high)


@pytest.mark.parametrize("value", ["0.5", None, True, math.nan, 2.0, -0.1])
def test_not_a_value_of_a_float(value: object) -> None:
    with pytest.raises(SpaceError, match=r"not a number|out of bounds") as caught:
        Float(0.0, 1.0).code(value, "parameter 'x'")
    assert caught.value.where == "parameter 'x'"
    assert "0.0 to 1.0" in caught.value.hint


@pytest.mark.parametrize("value", ["3", None, True, math.nan, math.inf, 2.5, 11, -1])
def test_not_a_value_of_an_integer(value: object) -> None:
    with pytest.raises(SpaceError, match=r"not a whole number|out of bounds") as caught:
        Integer(0, 10).code(value, "parameter 'x'")
    assert "0 to 10" in caught.value.hint


def test_values_have_their_own_type() -> None:
    assert type(Float(0, 2).value(Float(0, 2).code(1, "p"))) is float
    assert type(Integer(0, 2).value(Integer(0, 2).code(np.float64(1.0), "p"))) is int
    assert str(Float(-1, 1).value(Float(-1, 1).code(-0.0, "p"))) == "0.0"
