"""What ended trials carry."""

from dataclasses import FrozenInstanceError
from fractions import Fraction

import pytest

from leantune.clock import SimulatedClock
from leantune.executors.base import Executor, Finished
from leantune.executors.replay import ReplayExecutor
from leantune.history import Observation, ObservationKind, TrialState
from leantune.problem import Problem, maximize
from leantune.space import Space, boolean


def test_an_end_cannot_be_changed() -> None:
    end = Finished(3, (Observation(Fraction(1), ObservationKind.MEASURED, {"a": 1.0}, 1.0, None),), TrialState.DONE)
    assert (end.number, end.cause) == (3, "")
    with pytest.raises(FrozenInstanceError):
        end.number = 4  # type: ignore[misc]


def test_replay_is_an_executor() -> None:
    executor: Executor = ReplayExecutor({}, SimulatedClock(), problem=Problem(Space(x=boolean()), maximize("a")))
    assert executor.running == frozenset()
