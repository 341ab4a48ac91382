"""What ended trials carry, what fits."""

from fractions import Fraction
from pathlib import Path

import pytest

from leantune.clock import SimulatedClock
from leantune.executors.base import Executor, Finished, FreeCapacity, Programs, cores_for
from leantune.executors.local import LocalExecutor
from leantune.executors.replay import ReplayExecutor
from leantune.history import Observation, ObservationKind, Trial, TrialState
from leantune.problem import Problem, maximize
from leantune.space import Space, boolean, machine
from leantune.units import Seconds
from tests.executors.programs import local, on, trial_of


def test_an_end_cannot_be_changed() -> None:
    end = Finished(
        3, (Observation(Fraction(1), ObservationKind.MEASURED, {"a": 1.0}, Seconds(1.0), None),), TrialState.DONE
    )
    assert (end.number, end.cause) == (3, "")
    with pytest.raises(AttributeError):
        end.number = 4  # type: ignore[misc]


@pytest.mark.parametrize(("vcpus", "cores"), [(0.1, 1), (1, 1), (1.5, 2), (2, 2), (0.1 * 3 / 0.3, 1), (3.0000001, 4)])
def test_cores_of_vcpus(vcpus: float, cores: int) -> None:
    assert cores_for(vcpus) == cores


BARE, SMALL = trial_of(), trial_of(on(machine("small", vcpus=1.5, memory=2)))


@pytest.mark.parametrize(
    ("capacity", "trial", "fits"),
    [
        (FreeCapacity(), SMALL, True),
        (FreeCapacity(frozenset({1})), BARE, True),
        (FreeCapacity(frozenset({0})), BARE, False),
        (FreeCapacity(slots=1), BARE, True),
        (FreeCapacity(slots=0), BARE, False),
        (FreeCapacity(cores=2, memory_gib=2.0), SMALL, True),
        (FreeCapacity(cores=1, memory_gib=2.0), SMALL, False),
        (FreeCapacity(cores=2, memory_gib=1.9), SMALL, False),
        (FreeCapacity(cores=0, memory_gib=0.0), BARE, True),
        (FreeCapacity(cores=-1), SMALL, False),
        (FreeCapacity(cores=2, free_cores=3), SMALL, True),
        (FreeCapacity(cores=2, free_cores=3), BARE, False),
        (FreeCapacity(cores=3, free_cores=3), BARE, True),
        (FreeCapacity(free_cores=3), BARE, True),
    ],
)
def test_what_fits(capacity: FreeCapacity, trial: Trial, fits: bool) -> None:
    assert capacity.fits(trial) is fits


def test_the_local_executor_runs_programs(tmp_path: Path) -> None:
    with local(tmp_path, ["true"]) as executor:
        programs: Programs = executor
        assert isinstance(programs, LocalExecutor)


def test_replay_is_an_executor() -> None:
    executor: Executor = ReplayExecutor({}, SimulatedClock(), problem=Problem(Space(x=boolean()), maximize("a")))
    assert executor.running == frozenset()
