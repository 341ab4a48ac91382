"""The promises of `Executor` as tests: bind them to an implementation by a subclass that says how to make one."""

from abc import ABC, abstractmethod
from collections.abc import Mapping

import pytest

from leantune.errors import IllegalMove, UnknownTrial
from leantune.executors.base import Executor, Finished, Terms
from leantune.history import History, ObservationKind, TrialState
from leantune.units import Seconds


class ExecutorContract(ABC):
    """Subclass it as `class TestMine(ExecutorContract)`.

    second: how long a second of a trial is; less for executors that really wait. at_once: whether trials run by
    themselves and beside each other; False for an executor that runs them one by one inside `wait`.
    """

    second: float = 1.0
    at_once: bool = True

    @abstractmethod
    def make(self, seconds: Mapping[int, float], failing: frozenset[int] = frozenset()) -> tuple[Executor, History]:
        """An executor, and a history of proposed trials 0, 1, ... that take so long and, if `failing`, then fail."""

    def start_all(
        self,
        seconds: Mapping[int, float],
        failing: frozenset[int] = frozenset(),
        terms: Terms = Terms(),  # noqa: B008
    ) -> tuple[Executor, History]:
        """An executor with all of these trials started."""
        executor, history = self.make({number: span * self.second for number, span in seconds.items()}, failing)
        for trial in history.trials:
            executor.start(trial, terms)
        return executor, history

    def only_at_once(self) -> None:
        """Skip what can only be asked of an executor whose trials run by themselves."""
        if not self.at_once:
            pytest.skip("runs trials one by one, inside wait")

    def test_nothing_to_wait_for(self) -> None:
        executor, _ = self.make({0: 1.0})
        assert executor.wait() == []
        assert executor.running == frozenset()

    def test_reports_in_the_order_of_ending(self) -> None:
        self.only_at_once()
        executor, _ = self.start_all({0: 3.0, 1: 1.0, 2: 2.0})
        assert executor.running == {0, 1, 2}
        assert [finished.number for finished in _until_idle(executor)] == [1, 2, 0]
        assert executor.running == frozenset()

    def test_each_trial_is_reported_once(self) -> None:
        executor, _ = self.start_all({0: 1.0, 1: 1.0, 2: 1.0, 3: 1.0})
        assert sorted(finished.number for finished in _until_idle(executor)) == [0, 1, 2, 3]
        assert executor.wait() == []

    def test_history_takes_what_is_reported(self) -> None:
        executor, history = self.start_all({0: 1.0, 1: 2.0}, failing=frozenset({1}))
        for end in _until_idle(executor):
            history = history.record(end.number, end.observations, time=0.0, state=end.state, cause=end.cause)
        assert [trial.state for trial in history.trials] == [TrialState.DONE, TrialState.FAILED]

    def test_a_failure_is_reported_with_its_cause_and_seconds(self) -> None:
        executor, _ = self.start_all({0: 1.0}, failing=frozenset({0}))
        (end,) = _until_idle(executor)
        assert end.state is TrialState.FAILED
        assert end.cause
        assert end.observations[-1].kind is ObservationKind.FAILED
        assert end.observations[-1].seconds is not None

    def test_time_runs_out_before_the_trial_ends(self) -> None:
        executor, _ = self.start_all({0: 30.0})
        assert executor.wait(Seconds(0.0)) == []
        self.only_at_once()
        assert executor.wait(Seconds(0.1)) == []
        assert executor.running == {0}
        executor.stop(0)

    def test_a_stopped_trial_is_not_reported(self) -> None:
        executor, _ = self.start_all({0: 1.0, 1: 2.0})
        executor.stop(0)
        assert executor.running == {1}
        assert [finished.number for finished in _until_idle(executor)] == [1]

    def test_a_run_that_takes_too_long_has_failed_by_timeout(self) -> None:
        executor, _ = self.start_all({0: 30.0}, terms=Terms(time_limit=Seconds(0.5), grace=Seconds(0.2)))
        (end,) = _until_idle(executor)
        assert end.state is TrialState.FAILED
        assert end.cause.startswith("timeout")
        (seen,) = end.observations
        assert seen.kind is ObservationKind.FAILED
        for seconds in (end.seconds, seen.seconds):
            assert seconds is not None
            assert seconds >= 0.5
            assert seconds < 30.0 * self.second or not self.at_once

    def test_an_interrupted_trial_is_to_be_queued_again(self) -> None:
        executor, _ = self.start_all({0: 30.0, 1: 1.0}, terms=Terms(grace=Seconds(0.5)))
        executor.interrupt(0)
        ends = {end.number: end for end in _until_idle(executor)}
        assert ends[0].state is TrialState.QUEUED
        assert ends[0].observations == ()
        assert ends[1].state is TrialState.DONE
        with pytest.raises(UnknownTrial, match="0"):
            executor.interrupt(0)

    def test_seconds_are_those_of_the_run(self) -> None:
        executor, history = self.make({0: self.second})
        executor.check(history.trial(0))
        assert executor.room_for(history.trial(0))
        executor.start(history.trial(0))
        (end,) = _until_idle(executor)
        assert end.seconds == pytest.approx(self.second, rel=0.5)
        assert end.observations[-1].seconds == pytest.approx(self.second, rel=0.5)

    def test_a_renewal_may_come_at_any_time(self) -> None:
        executor, history = self.make({0: self.second})
        executor.renew(0)
        executor.start(history.trial(0), Terms(lease=Seconds(30.0)))
        executor.renew(0)
        assert [end.state for end in _until_idle(executor)] == [TrialState.DONE]
        executor.renew(0)

    def test_closing_ends_everything(self) -> None:
        executor, _ = self.start_all({0: 30.0, 1: 30.0})
        executor.close()
        assert executor.running == frozenset()
        assert executor.wait() == []
        executor.close()

    def test_a_running_trial_cannot_be_started_again(self) -> None:
        executor, history = self.start_all({0: 1.0})
        with pytest.raises(IllegalMove, match="trial 0"):
            executor.start(history.trial(0))
        assert len(_until_idle(executor)) == 1

    def test_only_a_running_trial_can_be_stopped(self) -> None:
        executor, history = self.make({0: self.second})
        with pytest.raises(UnknownTrial, match="0"):
            executor.stop(0)
        executor.start(history.trial(0))
        _until_idle(executor)
        with pytest.raises(UnknownTrial, match="0"):
            executor.stop(0)


def _until_idle(executor: Executor) -> list[Finished]:
    ended: list[Finished] = []
    while executor.running:
        ended += executor.wait()
    return ended
