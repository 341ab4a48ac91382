"""What becomes of a run, by its learning curve alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leantune.curves.base import Curve, Outlook, Prediction
from leantune.curves.predictors import curve_predictor
from leantune.strategies.midway import TrainingSchedule, Turn, TurnKind, Walk
from leantune.strategies.tuner import LearningCurve

NAN = math.nan


@dataclass(frozen=True)
class Told:
    """A predictor that always says the same, and counts how often."""

    outlook: Outlook = Outlook.PREDICTED
    seen: list[int] = field(default_factory=list)
    name = "told"

    def predict(self, curve: Curve, final_step: float) -> Prediction:
        self.seen.append(len(curve.steps))
        return Prediction(float(curve.values[-1]) / 2, 0.1, self.outlook)


def curve(*values: float) -> LearningCurve:
    return LearningCurve([float(k) for k in range(1, len(values) + 1)], values)


def falls(points: int) -> LearningCurve:
    return curve(*(1.0 / k for k in range(1, points + 1)))


def turn(
    known: LearningCurve, schedule: TrainingSchedule, *, chosen: bool = False, told: Told | None = None
) -> Turn | None:
    return Walk(schedule, told or Told()).follow(known, chosen=chosen)


def kind(
    known: LearningCurve, schedule: TrainingSchedule, *, chosen: bool = False, told: Told | None = None
) -> TurnKind | None:
    found = turn(known, schedule, chosen=chosen, told=told)
    return None if found is None else found.kind


def test_before_theta_a_run_goes_on() -> None:
    assert turn(curve(), TrainingSchedule(10)) is None
    assert turn(falls(6), TrainingSchedule(10)) is None


def test_at_theta_it_is_predicted_by_what_was_known_there() -> None:
    at_theta = Turn(TurnKind.THETA, 7.0, 1.0 / 7, Prediction(1.0 / 14, 0.1))
    assert turn(falls(7), TrainingSchedule(10)) == at_theta
    assert turn(falls(9), TrainingSchedule(10)) == at_theta, "points that came later change nothing"
    between = LearningCurve([3.0, 6.9, 8.0], [3.0, 2.0, 1.0])
    assert turn(between, TrainingSchedule(10)) == Turn(TurnKind.THETA, 8.0, 1.0, Prediction(0.5, 0.1))


def test_a_chosen_run_goes_on_after_theta() -> None:
    assert turn(falls(9), TrainingSchedule(10), chosen=True) is None
    assert kind(falls(10), TrainingSchedule(10), chosen=True) is TurnKind.OVER
    assert kind(curve(*[1.0] * 8, NAN), TrainingSchedule(10), chosen=True) is TurnKind.DIVERGED


def test_what_is_not_predictable_goes_on_and_is_not_asked_again() -> None:
    told = Told(Outlook.NOT_PREDICTABLE)
    assert turn(falls(9), TrainingSchedule(10), told=told) is None
    assert told.seen == [7]


@pytest.mark.parametrize("theta", [0.7, 1.0])
def test_the_last_step_ends_it(theta: float) -> None:
    assert kind(LearningCurve([5.0, 10.0], [1.0, 0.5]), TrainingSchedule(10, theta=theta)) is TurnKind.OVER
    assert kind(falls(9), TrainingSchedule(10, theta=1.0)) is None, "theta = 1: nobody pauses"


@pytest.mark.parametrize("value", [NAN, math.inf, -math.inf])
def test_no_number_is_divergence_wherever_it_comes_first(value: float) -> None:
    assert kind(curve(1.0, value), TrainingSchedule(10)) is TurnKind.DIVERGED
    assert kind(curve(1.0, value, 0.8), TrainingSchedule(10)) is TurnKind.DIVERGED
    assert kind(curve(*[1.0] * 9, value), TrainingSchedule(10), chosen=True) is TurnKind.DIVERGED
    assert kind(curve(*[1.0 / k for k in range(1, 8)], value), TrainingSchedule(10)) is TurnKind.THETA, (
        "it had paused before"
    )


def test_a_flat_run_has_converged() -> None:
    flat = curve(*(0.3 + math.exp(-k) for k in range(60)))
    found = turn(flat, TrainingSchedule(100))
    assert found is not None
    assert found.kind is TurnKind.CONVERGED
    assert found.step < 40
    assert turn(flat, TrainingSchedule(100, plateau=False)) is None
    assert turn(flat, TrainingSchedule(100, drops=(80.0,))) is None, "a drop is to come"


def test_who_pauses_does_not_converge_at_the_same_point() -> None:
    flat = curve(*(0.3 + math.exp(-k) for k in range(60)))
    found = turn(flat, TrainingSchedule(100))
    assert found is not None
    at = TrainingSchedule(100, theta=found.step / 100)
    assert kind(flat, at) is TurnKind.THETA
    assert kind(flat, at, told=Told(Outlook.NOT_PREDICTABLE)) is TurnKind.CONVERGED
    later = turn(flat, at, chosen=True)
    assert later is not None
    assert (later.kind, later.step) == (TurnKind.CONVERGED, found.step + 1)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 80), st.booleans(), st.sampled_from([(), (30.0,)]), st.booleans())
def test_however_it_is_walked_the_turn_is_the_same(
    seed: int, points: int, maximize: bool, drops: tuple[float, ...], chosen: bool
) -> None:
    rng = np.random.default_rng(seed)
    values = 0.3 + np.exp(-np.arange(points) / rng.uniform(1, 30)) + rng.normal(0, 10.0 ** rng.integers(-8, -1), points)
    values[rng.random(points) < 0.01] = NAN
    whole = curve(*(-values if maximize else values).tolist())
    schedule = TrainingSchedule(60, drops, maximize, theta=float(rng.choice([0.5, 0.7, 1.0])))
    walk, predictor = Walk(schedule, curve_predictor("last")), curve_predictor("last")
    expected = Walk(schedule, predictor).follow(whole, chosen=chosen)
    for count in sorted(rng.integers(0, points + 1, 5).tolist()):
        part = LearningCurve(whole.steps[:count], whole.values[:count])
        assert walk.leads_to(part, schedule)
        so_far = walk.follow(part, chosen=chosen)
        if so_far is not None:
            assert _same(so_far, expected), "what came first counts"
    assert _same(walk.follow(whole, chosen=chosen), expected)


def _same(one: Turn | None, other: Turn | None) -> bool:
    return repr(one) == repr(other)


def test_a_walk_leads_only_to_its_own_curve() -> None:
    schedule = TrainingSchedule(10)
    walk = Walk(schedule, Told())
    walk.follow(falls(5), chosen=False)
    assert walk.leads_to(falls(6), schedule)
    assert walk.leads_to(LearningCurve(np.arange(1.0, 7.0).tolist(), falls(6).values), TrainingSchedule(10))
    assert not walk.leads_to(falls(4), schedule)
    assert not walk.leads_to(curve(*[1.0] * 6), schedule)
    assert not walk.leads_to(falls(6), TrainingSchedule(11))
