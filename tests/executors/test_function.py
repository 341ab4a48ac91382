"""Functions in this process: the same rules as for programs."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leantune.checkpoints.store import CheckpointStore
from leantune.clock import SimulatedClock
from leantune.errors import NoTrial, ObservationError
from leantune.executors.base import Begun, EndMode, Event, Executor, Finished, Report, Terms
from leantune.executors.function import FunctionExecutor
from leantune.history import History, ObservationKind, TrialState
from leantune.problem import Problem, maximize
from leantune.testing.executor_contract import ExecutorContract
from leantune.units import Seconds
from leantune.worker.client import CurrentTrial, current_trial
from tests.executors.programs import FULL, PROBLEM, trial_of, trials_of

TENTH = Fraction(1, 10)
SNAPSHOTS = Problem(PROBLEM.space, maximize("accuracy"), [], [TENTH, FULL], snapshots=True)


@dataclass(frozen=True)
class Snapshot:
    """As `leantune.study` has it, which lies above executors."""

    fraction: Fraction
    metrics: Mapping[str, float]
    seconds: float | None = None
    cost: float | None = None


class TestContract(ExecutorContract):
    """A function that sleeps on a simulated clock and then returns, or raises."""

    at_once = False

    def make(self, seconds: Mapping[int, float], failing: frozenset[int] = frozenset()) -> tuple[Executor, History]:
        clock = self.clock = SimulatedClock()

        def train(trial: CurrentTrial) -> dict[str, float]:
            clock.sleep(seconds[trial.number])
            if trial.number in failing:
                raise ValueError("bad lr")
            return {"accuracy": 0.5}

        return FunctionExecutor(PROBLEM, train, clock, catch=(ValueError,)), trials_of(PROBLEM, len(seconds))


def ended(
    train: Callable[[CurrentTrial], Any],
    problem: Problem = PROBLEM,
    terms: Terms = Terms(),  # noqa: B008 - frozen
    **options: Any,
) -> Finished:
    executor = FunctionExecutor(problem, train, options.pop("clock", SimulatedClock()), **options)
    shares = (TENTH, FULL) if problem.snapshots else (FULL,)
    executor.start(trial_of(problem, shares), terms)
    end = called(executor)[-1]
    executor.close()
    assert isinstance(end, Finished)
    return end


def called(executor: FunctionExecutor) -> list[Event]:
    """What is told after the function of the next trial was called."""
    executor.wait()
    return executor.step(0.0)


def test_metrics_are_returned() -> None:
    end = ended(lambda trial: {"accuracy": np.float32(0.5), "loss": 1, "name": "x"})
    assert (end.state, end.cause) == (TrialState.DONE, "")
    assert end.observations[0].metrics == {"accuracy": 0.5, "loss": 1.0}


def test_metrics_are_reported() -> None:
    clock = SimulatedClock()

    def train(trial: CurrentTrial) -> None:
        assert trial is current_trial()
        assert trial["n"] == 0
        for step in range(3):
            clock.sleep(2.0)
            trial.report(step=step, accuracy=step / 10)

    executor = FunctionExecutor(PROBLEM, train, clock)
    executor.start(trial_of())
    begun, *reports, end = called(executor)
    assert begun == Begun(0, 0.0, 0.0)
    assert isinstance(end, Finished)
    assert end.observations[0].metrics == {"accuracy": 0.2}
    assert end.seconds == 6.0
    assert [(one.step, one.seconds) for one in reports if isinstance(one, Report)] == [(0, 2.0), (1, 4.0), (2, 6.0)]
    assert executor.step(0.0) == []
    with pytest.raises(NoTrial):
        current_trial()


@pytest.mark.parametrize("reported", [True, False])
def test_snapshots(reported: bool) -> None:
    clock = SimulatedClock()

    def train(trial: CurrentTrial) -> list[Snapshot] | None:
        shots = []
        for share in trial.snapshots:
            clock.sleep(5.0)
            if reported:
                trial.report(fraction=share, accuracy=float(share))
            shots.append(Snapshot(share, {"accuracy": float(share)}, seconds=clock.now()))
        return None if reported else shots

    end = ended(train, SNAPSHOTS, clock=clock)
    assert end.state is TrialState.DONE, end.cause
    assert [(seen.fraction, seen.metrics["accuracy"], seen.seconds) for seen in end.observations] == [
        (TENTH, 0.1, 5.0), (FULL, 1.0, 10.0),
    ]  # fmt: skip


def test_the_dollars_of_a_snapshot_may_be_told() -> None:
    end = ended(lambda trial: [Snapshot(FULL, {"accuracy": 1.0}, seconds=1.0, cost=3.5)])
    assert end.observations[0].cost == 3.5


@pytest.mark.parametrize(
    ("result", "cause"),
    [
        ({"accuracy": float("nan")}, "accuracy is nan"),
        ({"acuracy": 0.5}, "metric 'accuracy' was not reported (did you mean 'acuracy'?)"),
        (None, "metric 'accuracy' was not reported"),
        ([], "metric 'accuracy' was not reported"),
    ],
)
def test_what_is_wrong_with_the_result(result: object, cause: str) -> None:
    end = ended(lambda trial: result)
    assert (end.state, end.cause) == (TrialState.FAILED, cause)
    assert end.observations[0].kind is ObservationKind.FAILED


@pytest.mark.parametrize("result", [3.5, "accuracy=1", [{"accuracy": 1}]])
def test_results_that_are_none_are_refused(result: object) -> None:
    with pytest.raises(ObservationError, match="the training function returned"):
        ended(lambda trial: result)


def test_exceptions_that_are_to_be_caught() -> None:
    def broken(error: Exception) -> Callable[[CurrentTrial], None]:
        def train(trial: CurrentTrial) -> None:
            raise error

        return train

    assert ended(broken(ValueError("bad lr")), catch=(ValueError,)).cause == "ValueError: bad lr"
    assert ended(broken(MemoryError("no room")), catch=(MemoryError,)).cause == "out of memory: no room"
    with pytest.raises(KeyError):
        ended(broken(KeyError("a bug")), catch=(ValueError,))


def test_after_an_exception_the_trial_does_not_run_any_more() -> None:
    def train(trial: CurrentTrial) -> None:
        raise KeyboardInterrupt

    executor = FunctionExecutor(PROBLEM, train, SimulatedClock())
    executor.start(trial_of())
    assert not executor.capacity().fits(trials_of(PROBLEM, 2).trial(1))
    with pytest.raises(KeyboardInterrupt):
        executor.wait()
    assert executor.running == frozenset()
    assert executor.capacity().fits(trial_of())
    assert not any(isinstance(event, Finished) for event in called(executor))
    with pytest.raises(NoTrial):
        current_trial()


@pytest.mark.parametrize(
    ("mode", "result", "state"),
    [
        (EndMode.SAVE, None, TrialState.QUEUED),
        (EndMode.SAVE, {"accuracy": 1.0}, TrialState.DONE),
        (EndMode.EVICT, {"accuracy": 1.0}, TrialState.QUEUED),
    ],
)
def test_a_function_that_is_asked_to_stop(mode: EndMode, result: object, state: TrialState) -> None:
    def train(trial: CurrentTrial) -> object:
        assert not trial.should_stop
        executor.end(trial.number, mode)  # as a signal handler would
        assert trial.should_stop
        return result

    executor = FunctionExecutor(PROBLEM, train, SimulatedClock())
    executor.start(trial_of())
    end = called(executor)[-1]
    assert isinstance(end, Finished)
    assert end.state is state
    assert end.kept_step == (0.0 if state is TrialState.QUEUED else None)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL, "no handler is installed in the user's process"


def test_a_function_that_is_killed_is_not_told() -> None:
    def train(trial: CurrentTrial) -> dict[str, float]:
        executor.end(trial.number, EndMode.KILL)
        return {"accuracy": 1.0}

    executor = FunctionExecutor(PROBLEM, train, SimulatedClock())
    executor.start(trial_of())
    assert called(executor) == []
    assert executor.running == frozenset()


def test_a_time_limit_is_found_to_be_exceeded() -> None:
    clock = SimulatedClock()

    def train(trial: CurrentTrial) -> dict[str, float]:
        clock.sleep(11.0)
        return {"accuracy": 1.0}

    end = ended(train, terms=Terms(time_limit=Seconds(10.0)), clock=clock)
    assert end.cause == "timeout: not ended after 10 s"
    assert end.observations[0].seconds == 11.0


# -- checkpoints


def test_without_a_place_a_checkpoint_lives_as_long_as_its_run() -> None:
    seen: list[Path] = []

    def train(trial: CurrentTrial) -> dict[str, float]:
        seen.append(trial.checkpoint_dir)
        (trial.checkpoint_dir / "w").touch()
        assert trial.checkpoint_dir == seen[0]
        return {"accuracy": 1.0}

    ended(train)
    assert not seen[0].exists()


def test_a_second_attempt_goes_on(tmp_path: Path) -> None:
    """The first one is ended by an exception; the second, on another machine, finds what it saved."""

    def train(trial: CurrentTrial) -> dict[str, float]:
        saved = trial.checkpoint_dir / "w"
        if saved.exists():
            return {"accuracy": float(saved.read_text())}
        saved.write_text("0.25")
        raise KeyboardInterrupt

    store = CheckpointStore(tmp_path / "kept", "s")
    with pytest.raises(KeyboardInterrupt):
        ended(train, runs=tmp_path / "here", checkpoints=store)
    assert store.generation("trial-0000") == 1
    again = Terms(attempt=2, earlier_seconds=Seconds(7.0))
    end = ended(train, terms=again, runs=tmp_path / "there", checkpoints=store)
    assert end.observations[0].metrics == {"accuracy": 0.25}
    assert end.resumed
    assert end.observations[0].seconds == 7.0
    assert store.generation("trial-0000") == 1, "until the study knows that it is over"
