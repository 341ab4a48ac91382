"""How a tuner's plans look to a placement: how far each trial goes, and where it is judged on the way."""

from __future__ import annotations

from leantune.history import Trial
from leantune.problem import Problem
from leantune.rent.placement import Course
from leantune.strategies.spottune import SpotTune
from leantune.strategies.tuner import Tuner


def course_of(tuner: Tuner, problem: Problem) -> Course:
    """SpotTune judges trials at theta; other tuners let them train to their end."""
    theta = tuner.theta if isinstance(tuner, SpotTune) else 1.0
    last_steps = tuner.last_steps if isinstance(tuner, SpotTune) else {}
    usual = 1.0 if problem.steps is None else problem.steps

    def last(trial: Trial) -> float:
        return last_steps.get(trial.configuration.id, usual) if last_steps else usual

    def goal(trial: Trial, done: float) -> float:
        whole = last(trial)
        judged_at = theta * whole
        return whole if trial.runs.paused or done >= judged_at else judged_at

    return Course(last, goal, theta)
