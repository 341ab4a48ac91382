"""Where stages begin."""

import numpy as np
import pytest

from leantune.arrays import FloatArray
from leantune.curves.base import Curve
from leantune.curves.stages import ChangeRate, Jump, last_stage


def stepped(noise: float = 0.003, drop: float = 0.3) -> FloatArray:
    """Sixty points around 0.4 after a fall from 1, then forty a drop lower."""
    random = np.random.default_rng(0)
    k = np.arange(60.0)
    return np.concatenate((0.4 + 0.6 * np.exp(-k / 6), np.full(40, 0.4 - drop))) + random.normal(0, noise, 100)


def test_declared_drops_come_first() -> None:
    curve = Curve(np.arange(1.0, 101.0), stepped(), drops=(31.0, 90.5, 200.0))
    assert last_stage(curve, Jump()) == 90  # step 91, the first at or after 90.5
    assert last_stage(curve.until(50.0), Jump()) == 30
    assert last_stage(curve.until(30.0), Jump()) == 0


def test_with_nothing_declared_the_rule_decides() -> None:
    curve = Curve(np.arange(1.0, 101.0), stepped())
    assert last_stage(curve, Jump()) == 60
    assert last_stage(curve, None) == 0
    mirrored = Curve(curve.steps, -curve.values, maximize=True)
    assert last_stage(mirrored, Jump()) == 60


def test_a_jump_is_found_once_and_a_smooth_fall_is_none() -> None:
    assert Jump().starts(stepped()) == [60]
    assert Jump().starts(stepped(drop=0.0)) == []
    assert Jump().starts(1.0 / np.arange(1.0, 101.0)) == []
    assert Jump().starts(np.ones(100)) == []


def test_the_printed_thresholds_fire_on_a_clean_halving_only() -> None:
    clean = np.concatenate((np.full(10, 1.0), np.full(10, 0.4)))
    assert ChangeRate().starts(clean) == [10]
    assert ChangeRate().starts(np.concatenate((np.full(10, 1.0), np.full(10, 0.6)))) == []
    assert ChangeRate().starts(stepped(noise=0.01)) == []  # rates before the drop exceed 1 %
    assert ChangeRate(xi=0.3, eps=0.2).starts(stepped(noise=0.01))[-1] == 60


@pytest.mark.parametrize("rule", [ChangeRate(), Jump()])
def test_short_curves_and_zeros_have_one_stage(rule: ChangeRate | Jump) -> None:
    assert rule.starts(np.array([1.0])) == []
    assert rule.starts(np.zeros(30)) == []
