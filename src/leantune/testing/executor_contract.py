"""The promises of `Executor` as tests: bind them to an implementation by a subclass that says how to make one."""

from abc import ABC, abstractmethod
from collections.abc import Mapping

import pytest

from leantune.clock import Clock, RealClock
from leantune.errors import IllegalMove, UnknownTrial
from leantune.executors.base import Begun, EndMode, Event, Executor, Finished, MachineLaunched, MachineUpdate, Terms
from leantune.history import History, ObservationKind, TrialState
from leantune.units import Seconds


class ExecutorContract(ABC):
    """Subclass it as `class TestMine(ExecutorContract)`.

    second: how long a second of a trial is; less for executors that really wait. at_once: whether trials run by
    themselves and beside each other; False for an executor that runs them one by one inside `wait`. clock: the loop's;
    `make` sets it where it is another than the wall's.
    """

    second: float = 1.0
    at_once: bool = True
    clock: Clock = RealClock()

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

    def events(self, executor: Executor, timeout: Seconds | None = None) -> list[Event]:
        """What is told after a wait."""
        executor.wait(timeout)
        return executor.step(self.clock.now())

    def until_idle(self, executor: Executor) -> list[Finished]:
        """All ends of what runs, in their order."""
        return [event for event in self.all_events(executor) if isinstance(event, Finished)]

    def all_events(self, executor: Executor) -> list[Event]:
        """Everything that is told until nothing runs any more."""
        told: list[Event] = []
        while executor.running:
            told += self.events(executor)
        return told

    def only_at_once(self) -> None:
        """Skip what can only be asked of an executor whose trials run by themselves."""
        if not self.at_once:
            pytest.skip("runs trials one by one, inside wait")

    def test_nothing_to_wait_for(self) -> None:
        executor, _ = self.make({0: 1.0})
        assert self.events(executor) == []
        assert executor.running == frozenset()

    def test_ends_are_told_in_their_order(self) -> None:
        self.only_at_once()
        executor, _ = self.start_all({0: 3.0, 1: 1.0, 2: 2.0})
        assert executor.running == {0, 1, 2}
        assert [finished.number for finished in self.until_idle(executor)] == [1, 2, 0]
        assert executor.running == frozenset()

    def test_each_trial_is_told_once(self) -> None:
        executor, _ = self.start_all({0: 1.0, 1: 1.0, 2: 1.0, 3: 1.0})
        assert sorted(finished.number for finished in self.until_idle(executor)) == [0, 1, 2, 3]
        assert self.events(executor) == []

    def test_history_takes_what_is_told(self) -> None:
        executor, history = self.start_all({0: 1.0, 1: 2.0}, failing=frozenset({1}))
        for end in self.until_idle(executor):
            history = history.record(end.number, end.observations, time=0.0, state=end.state, cause=end.cause)
        assert [trial.state for trial in history.trials] == [TrialState.DONE, TrialState.FAILED]

    def test_a_failure_is_told_with_its_cause_and_seconds(self) -> None:
        executor, _ = self.start_all({0: 1.0}, failing=frozenset({0}))
        (end,) = self.until_idle(executor)
        assert end.state is TrialState.FAILED
        assert end.cause
        assert end.observations[-1].kind is ObservationKind.FAILED
        assert end.observations[-1].seconds is not None

    def test_time_runs_out_before_the_trial_ends(self) -> None:
        executor, _ = self.start_all({0: 30.0})
        assert not any(isinstance(event, Finished) for event in self.events(executor, Seconds(0.0)))
        self.only_at_once()
        assert not any(isinstance(event, Finished) for event in self.events(executor, Seconds(0.1)))
        assert executor.running == {0}
        executor.end(0, EndMode.KILL)

    def test_stepping_does_not_wait(self) -> None:
        executor, _ = self.start_all({0: 30.0})
        began = self.clock.monotonic()
        for _ in range(3):
            assert not any(isinstance(event, Finished) for event in executor.step(self.clock.now()))
        assert self.clock.monotonic() - began < 15.0 * self.second
        executor.end(0, EndMode.KILL)

    def test_a_killed_trial_is_not_told(self) -> None:
        executor, _ = self.start_all({0: 1.0, 1: 2.0})
        executor.end(0, EndMode.KILL)
        assert executor.running == {1}
        assert {event.number for event in self.all_events(executor)} == {1}

    def test_an_end_that_was_not_told_yet_can_be_killed(self) -> None:
        executor, _ = self.start_all({0: 1.0})
        executor.wait()
        executor.end(0, EndMode.KILL)
        assert executor.running == frozenset()
        assert executor.step(self.clock.now()) == []

    def test_a_run_begins_once_and_first(self) -> None:
        executor, _ = self.start_all({0: 1.0, 1: 1.0})
        told = self.all_events(executor)
        for number in (0, 1):
            own = [
                event
                for event in told
                if event.number == number and not isinstance(event, MachineLaunched | MachineUpdate)
            ]
            assert isinstance(own[0], Begun)
            assert [type(event) for event in own].count(Begun) == 1
            assert isinstance(own[-1], Finished)
            assert own[0].time <= self.clock.now()

    def test_the_next_event_is_in_the_future_where_it_is_known(self) -> None:
        executor, history = self.make({0: self.second})
        assert executor.next_event_time() is None
        executor.start(history.trial(0))
        time = executor.next_event_time()
        assert time is None or self.clock.now() < time <= self.clock.now() + 2 * self.second
        self.until_idle(executor)
        assert executor.next_event_time() is None

    def test_a_capacity_is_a_snapshot(self) -> None:
        executor, history = self.make({0: 30.0 * self.second, 1: self.second})
        before = executor.capacity()
        assert before.fits(history.trial(0))
        executor.start(history.trial(0))
        assert before.fits(history.trial(0)), "it does not change"
        assert not executor.capacity().fits(history.trial(0))
        executor.end(0, EndMode.KILL)
        assert executor.capacity().fits(history.trial(0))

    def test_what_is_stopped_is_forgotten_unless_it_runs(self) -> None:
        executor, _ = self.start_all({0: 30.0})
        with pytest.raises(IllegalMove, match="trial 0"):
            executor.forget(0)
        executor.end(0, EndMode.KILL)
        executor.forget(0)
        executor.forget(7)
        assert executor.kept([7]) == frozenset()

    def test_a_run_that_takes_too_long_has_failed_by_timeout(self) -> None:
        executor, _ = self.start_all({0: 30.0}, terms=Terms(time_limit=Seconds(0.5), grace=Seconds(0.2)))
        (end,) = self.until_idle(executor)
        assert end.state is TrialState.FAILED
        assert end.timed_out
        assert end.cause.startswith("timeout")
        (seen,) = end.observations
        assert seen.kind is ObservationKind.FAILED
        for seconds in (end.seconds, seen.seconds):
            assert seconds is not None
            assert seconds >= 0.5
            assert seconds < 30.0 * self.second or not self.at_once

    @pytest.mark.parametrize("mode", [EndMode.SAVE, EndMode.EVICT])
    def test_an_interrupted_trial_is_to_be_queued_again(self, mode: EndMode) -> None:
        executor, _ = self.start_all({0: 30.0, 1: 1.0}, terms=Terms(grace=Seconds(0.5)))
        executor.end(0, mode)
        ends = {end.number: end for end in self.until_idle(executor)}
        assert ends[0].state is TrialState.QUEUED
        assert ends[0].observations == ()
        assert ends[0].kept_step in (None, 0.0)
        assert ends[1].state is TrialState.DONE
        with pytest.raises(UnknownTrial, match="0"):
            executor.end(0, mode)

    def test_seconds_are_those_of_the_run(self) -> None:
        executor, history = self.make({0: self.second})
        executor.check(history.trial(0))
        assert executor.capacity().fits(history.trial(0))
        executor.start(history.trial(0))
        (end,) = self.until_idle(executor)
        for seconds in (end.seconds, end.observations[-1].seconds):
            assert seconds is not None
            assert 0.5 * self.second < seconds < 10 * self.second, "a busy machine starts programs late"

    def test_a_renewal_may_come_at_any_time(self) -> None:
        executor, history = self.make({0: self.second})
        executor.renew(0)
        executor.start(history.trial(0), Terms(lease=Seconds(30.0)))
        executor.renew(0)
        assert [end.state for end in self.until_idle(executor)] == [TrialState.DONE]
        executor.renew(0)

    def test_closing_ends_everything(self) -> None:
        executor, _ = self.start_all({0: 30.0, 1: 30.0})
        executor.close()
        assert executor.running == frozenset()
        assert self.events(executor) == []
        executor.close()

    def test_a_running_trial_cannot_be_started_again(self) -> None:
        executor, history = self.start_all({0: 1.0})
        with pytest.raises(IllegalMove, match="trial 0"):
            executor.start(history.trial(0))
        assert len(self.until_idle(executor)) == 1

    @pytest.mark.parametrize("mode", list(EndMode))
    def test_only_a_running_trial_can_be_ended(self, mode: EndMode) -> None:
        executor, history = self.make({0: self.second})
        with pytest.raises(UnknownTrial, match="0"):
            executor.end(0, mode)
        executor.start(history.trial(0))
        self.until_idle(executor)
        with pytest.raises(UnknownTrial, match="0"):
            executor.end(0, mode)
