"""How far trials go, as a placement is told."""

from fractions import Fraction

import pytest

from leantune.history import History, Trial, TrialState
from leantune.problem import Problem, minimize
from leantune.run.placing import course_of
from leantune.space import Space, choice
from leantune.strategies.registry import recipe
from leantune.strategies.spottune import SpotTune
from leantune.strategies.strategy import Strategy

SPACE = Space(n=choice(0, 1))
PROBLEM = Problem(SPACE, minimize("loss"), steps=100)


def trial(*states: TrialState) -> Trial:
    history, made = History().propose(SPACE.grid()[0], Fraction(1))
    for state in states:
        history = history.move(made.number, state, time=1.0)
    return history.trial(0)


RAN = (TrialState.QUEUED, TrialState.RUNNING)


def test_spottune_judges_at_theta_and_who_was_chosen_goes_to_the_end() -> None:
    course = course_of(SpotTune(theta=0.7), PROBLEM)
    assert (course.theta, course.last(trial())) == (0.7, 100.0)
    assert course.goal(trial(*RAN), 10.0) == pytest.approx(70.0)
    assert course.goal(trial(*RAN), 70.0) == 100.0, "it was not predictable there"
    assert course.goal(trial(*RAN, TrialState.PAUSED, TrialState.QUEUED), 69.0) == 100.0
    assert course.goal(trial(*RAN, TrialState.REVOKED, TrialState.QUEUED), 69.0) == pytest.approx(70.0)


def test_settings_may_have_last_steps_of_their_own() -> None:
    first, second = SPACE.grid()
    course = course_of(SpotTune(theta=0.5, last_steps={first.id: 40.0}), PROBLEM)
    assert course.last(trial()) == 40.0
    assert course.goal(trial(), 0.0) == 20.0
    assert course.last(History().propose(second, Fraction(1))[1]) == 100.0


def test_other_tuners_let_trials_train_to_their_end() -> None:
    course = course_of(Strategy(recipe("random")), PROBLEM)
    assert (course.theta, course.goal(trial(), 0.0)) == (1.0, 100.0)
    assert course_of(Strategy(recipe("random")), Problem(SPACE, minimize("loss"))).goal(trial(), 0.0) == 1.0
