"""Recorded runs are played as if somebody had counted every second, and keep the promises of programs."""

import math
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leantune.arrays import FloatArray
from leantune.clock import SimulatedClock
from leantune.errors import IllegalMove, InvalidInput, UnknownTrial
from leantune.executors.base import Begun, CheckpointSaved, EndMode, Event, Finished, Report, Terms
from leantune.history import History, Trial, TrialState
from leantune.lab.simulate.programs import RecordedPrograms, TrainingRun
from leantune.space import Cluster, Clusters, Machine, Space, integer
from leantune.testing.executor_contract import ExecutorContract
from leantune.units import Seconds

FAST, SLOW = (Cluster(Machine(name, 2.0, 8.0, usd_per_hour=0.5, provider="sim"), 1) for name in ("fast", "slow"))
SPACE = Space(n=integer(0, 99), cluster=Clusters((FAST, SLOW)))
FULL = Fraction(1)
STEPS: FloatArray = np.linspace(10.0, 100.0, 10)
RUN = TrainingRun(STEPS, 1.0 / STEPS, STEPS * 6.0, {"fast": 1.0, "slow": 2.0}, 30.0, 15.0)


def history_of(trials: int, cluster: Cluster = SLOW) -> History:
    history = History()
    for number in range(trials):
        history, _ = history.propose(SPACE.configuration({"n": number, "cluster": cluster}), FULL, (FULL,))
    return history


def trial_on(cluster: Cluster) -> Trial:
    return history_of(1, cluster).trial(0)


class TestContract(ExecutorContract):
    """Recorded programs keep the promises of every executor."""

    def make(
        self, seconds: Mapping[int, float], failing: frozenset[int] = frozenset()
    ) -> tuple[RecordedPrograms, History]:
        self.clock = SimulatedClock()
        runs = {
            number: TrainingRun(
                np.array([1.0, 2.0]),
                np.array([0.5, math.nan if number in failing else 0.4]),
                np.array([span / 2, span]),
                {"slow": 1.0},
                save_seconds=0.0,
            )
            for number, span in seconds.items()
        }
        return RecordedPrograms(lambda trial: runs[trial.number], "loss", self.clock), history_of(len(seconds))

    def test_the_next_event_is_in_the_future_where_it_is_known(self) -> None:
        """It begins at once: its first event is now."""
        executor, history = self.make({0: 1.0})
        assert executor.next_event_time() is None
        executor.start(history.trial(0))
        assert executor.next_event_time() == self.clock.now()
        assert [type(event) for event in executor.step(self.clock.now())] == [Begun]
        assert executor.next_event_time() == pytest.approx(0.5)
        self.until_idle(executor)
        assert executor.next_event_time() is None


def counted_by_hand(run: TrainingRun, elapsed: float) -> float:
    """Whole steps after so many seconds, report by report."""
    step, second = 0.0, 0.0
    for reached, until in zip(run.steps, run.elapsed, strict=True):
        if elapsed < until:
            return math.floor(step + float((reached - step) * (elapsed - second) / (until - second)) + 1e-6)
        step, second = float(reached), float(until)
    return step


runs = st.builds(
    lambda steps, seconds: TrainingRun(
        np.cumsum(steps).astype(float), np.zeros(len(steps)), np.cumsum(seconds[: len(steps)]), {"fast": 1.0}
    ),
    st.lists(st.integers(1, 50), min_size=1, max_size=8),
    st.lists(st.floats(0.5, 900.0), min_size=8, max_size=8),
)


@given(run=runs, share=st.floats(0.0, 1.2))
def test_steps_and_seconds_of_a_run_are_those_counted_by_hand(run: TrainingRun, share: float) -> None:
    elapsed = share * float(run.elapsed[-1])
    assert run.step_at(elapsed) == pytest.approx(counted_by_hand(run, elapsed), abs=1.0)
    step = run.step_at(elapsed)
    assert run.elapsed_at(step) <= elapsed + 1e-3
    assert run.step_at(run.elapsed_at(step) + 1e-4) >= step


@given(
    run=runs,
    asked=st.lists(st.tuples(st.floats(0.0, 1.1), st.sampled_from([*EndMode, None])), max_size=4),
)
def test_whatever_is_asked_of_it_no_report_is_left_out(
    run: TrainingRun, asked: list[tuple[float, EndMode | None]]
) -> None:
    """Ended, saved (None) or killed at any moment: each run goes on from what was saved, and all is told once."""
    saving = replace(run, save_seconds=7.0, restore_seconds=3.0)
    world = Playing(saving)
    kept, told = 0.0, list[float]()
    for share, mode in [*asked, (2.0, EndMode.KILL)]:
        world.programs.start(trial_on(FAST))
        events = world.until(world.clock.now() + share * float(run.elapsed[-1]) + 100.0 * (share > 1.5))
        if 0 in world.programs.running:
            if mode is None:
                world.programs.save(0)
            else:
                world.programs.end(0, mode)
            events += world.until_idle()
        begun = [event for event in events if isinstance(event, Begun)]
        assert len(begun) <= 1
        assert all(event.step == kept for event in begun)
        reports = [float(event.step) for event in events if isinstance(event, Report) and event.step is not None]
        assert reports == sorted(set(reports))
        assert all(step >= kept for step in reports)
        told += [step for step in reports if not told or step > told[-1]]
        for event in events:
            if isinstance(event, CheckpointSaved):
                assert event.step is not None and event.step >= kept
                kept = event.step
        if events and isinstance(events[-1], Finished) and events[-1].state is TrialState.DONE:
            break
    assert told == list(run.steps)
    assert kept == run.steps[-1]


class Playing:
    """One recording on a clock, and what its program said."""

    def __init__(self, run: TrainingRun = RUN) -> None:
        self.clock = SimulatedClock()
        self.programs = RecordedPrograms(lambda trial: run, "loss", self.clock)

    def until(self, time: float) -> list[Event]:
        """Everything that is said by then."""
        events = self.programs.step(self.clock.now())
        while self.clock.now() < time:
            self.programs.wait(Seconds(time - self.clock.now()))
            if self.programs.next_event_time() is None and not self.programs.running:
                self.clock.sleep(max(time - self.clock.now(), 0.0))
            events += self.programs.step(self.clock.now())
        return events

    def until_idle(self) -> list[Event]:
        """Everything that is said until nothing runs."""
        events: list[Event] = []
        while self.programs.running:
            self.programs.wait()
            events += self.programs.step(self.clock.now())
        return events


def test_a_program_begins_trains_and_reports_at_the_times_of_its_speed() -> None:
    for cluster, speed in ((SLOW, 2.0), (FAST, 1.0)):
        world = Playing()
        world.clock.sleep(60.0)
        world.programs.start(trial_on(cluster))
        begun, *reports = world.until(60.0 + 300.0 * speed)
        assert begun == Begun(0, 60.0, 0.0)
        assert [report.step for report in reports if isinstance(report, Report)] == [10.0, 20.0, 30.0, 40.0, 50.0]
        expected = [60.0 * speed * count for count in range(1, 6)]  # 10 steps of 6 s on the recording machine
        assert [report.seconds for report in reports if isinstance(report, Report)] == pytest.approx(expected)
        first = reports[0]
        assert isinstance(first, Report)
        assert first.metrics == {"loss": 0.1}


def test_saving_pauses_the_training_and_keeps_whole_steps() -> None:
    world = Playing()
    world.programs.start(trial_on(SLOW))
    world.until(190.0)  # 190 s of training at half the speed: 15.8 steps
    world.programs.save(0)
    saved, report = world.until(270.0)
    assert saved == CheckpointSaved(0, 220.0, 15.0, 30.0)
    assert isinstance(report, Report)
    assert (report.step, report.seconds) == (20.0, 270.0)  # later by the save
    world.programs.end(0, EndMode.KILL)
    assert world.programs.running == frozenset()
    world.programs.start(trial_on(FAST))
    begun, report = world.until(270.0 + 15.0 + 30.0)
    assert begun == Begun(0, 285.0, 15.0)
    assert isinstance(report, Report)
    assert (report.step, report.seconds) == (20.0, 30.0)  # five steps of 6 s since it began


@pytest.mark.parametrize("mode", [EndMode.SAVE, EndMode.EVICT])
def test_asked_to_end_it_saves_first_and_says_where_it_can_go_on(mode: EndMode) -> None:
    world = Playing()
    world.programs.start(trial_on(SLOW))
    world.until(190.0)
    world.programs.end(0, mode)
    assert world.until(219.0) == []
    saved, finished = world.until(220.0)
    assert saved == CheckpointSaved(0, 220.0, 15.0, 30.0)
    assert finished == Finished(0, (), TrialState.QUEUED, "interrupted", Seconds(220.0), kept_step=15.0)


def test_asked_to_end_while_it_saves_it_ends_with_that_checkpoint() -> None:
    world = Playing()
    world.programs.start(trial_on(SLOW))
    world.until(190.0)
    world.programs.save(0)
    world.until(215.0)
    world.programs.end(0, EndMode.EVICT)
    saved, finished = world.until(220.0)
    assert saved == CheckpointSaved(0, 220.0, 15.0, 30.0)
    assert isinstance(finished, Finished)
    assert finished.kept_step == 15.0


def test_asked_to_end_while_it_restores_it_ends_at_once_with_what_it_had() -> None:
    world = Playing()
    world.programs.start(trial_on(SLOW))
    world.until(190.0)
    world.programs.end(0, EndMode.SAVE)
    world.until(220.0)
    world.programs.start(trial_on(SLOW))
    world.until(230.0)
    world.programs.end(0, EndMode.SAVE)
    (finished,) = world.until(230.5)
    assert finished == Finished(0, (), TrialState.QUEUED, "interrupted", Seconds(10.0), kept_step=15.0)


def test_after_its_last_step_it_saves_and_is_done() -> None:
    world = Playing()
    world.programs.start(trial_on(SLOW))
    *_, report, saved, finished = world.until_idle()
    assert isinstance(report, Report)
    assert (report.step, report.seconds) == (100.0, 1200.0)
    assert saved == CheckpointSaved(0, 1230.0, 100.0, 30.0)
    assert isinstance(finished, Finished)
    assert (finished.state, finished.seconds, finished.kept_step) == (TrialState.DONE, 1230.0, 100.0)
    assert finished.observations[-1].metrics == {"loss": 0.01}


@pytest.mark.parametrize("seed", range(6))
def test_after_its_last_report_all_steps_are_done_whatever_seconds_round_to(seed: int) -> None:
    """A clock of this century counts quarters of a microsecond, in which a quick program does many steps."""
    random = np.random.default_rng(seed)
    seconds = np.cumsum(random.uniform(0.05, 0.1, len(STEPS)))
    world = Playing(TrainingRun(STEPS * 1e5, RUN.values, seconds, {"fast": float(random.uniform(0.3, 3.0))}, 0.1, 0.1))
    world.clock.sleep(1_456_000_000.0 + float(random.random()))
    world.programs.start(trial_on(FAST))
    *_, saved, finished = world.until_idle()
    assert isinstance(saved, CheckpointSaved)
    assert isinstance(finished, Finished)
    assert (saved.step, finished.state) == (1e7, TrialState.DONE)


def test_a_report_that_nobody_has_heard_is_told_before_the_checkpoint() -> None:
    """Whoever looks at 1205 and asks it to save at once has not heard of its end at 1200."""
    world = Playing()
    world.programs.start(trial_on(SLOW))
    world.until(1190.0)
    world.clock.sleep(15.0)
    world.programs.end(0, EndMode.EVICT)
    report, saved, finished = world.until_idle()
    assert isinstance(report, Report)
    assert report.step == 100.0
    assert saved == CheckpointSaved(0, 1230.0, 100.0, 30.0)  # it was saving since 1200
    assert isinstance(finished, Finished)
    assert finished.state is TrialState.DONE


def test_a_checkpoint_a_moment_before_its_report_tells_it_on_the_next_machine() -> None:
    """Steps are whole up to rounding: ten are kept a hundred-thousandth of a second before they are told."""
    world = Playing()
    world.programs.start(trial_on(SLOW))
    world.until(120.0 - 1e-5)
    world.programs.end(0, EndMode.EVICT)
    saved, _ = world.until_idle()
    assert isinstance(saved, CheckpointSaved)
    assert saved.step == 10.0
    world.programs.start(trial_on(SLOW))
    begun, report = world.until(world.clock.now() + 15.0 + 1e-3)
    assert isinstance(begun, Begun)
    assert isinstance(report, Report)
    assert (begun.step, report.step) == (10.0, 10.0)


def test_what_is_killed_unheard_is_never_told() -> None:
    world = Playing()
    world.programs.start(trial_on(SLOW))
    world.until(1190.0)
    world.clock.sleep(15.0)
    world.programs.save(0)
    world.programs.end(0, EndMode.KILL)
    assert world.until(3000.0) == []


def test_what_is_forgotten_starts_from_nothing() -> None:
    world = Playing()
    world.programs.start(trial_on(SLOW))
    world.until(190.0)
    world.programs.end(0, EndMode.SAVE)
    world.until_idle()
    world.programs.forget(0)
    world.programs.start(trial_on(SLOW))
    assert world.until(230.0)[0] == Begun(0, 220.0, 0.0)


def test_a_time_limit_counts_while_it_saves() -> None:
    world = Playing()
    world.programs.start(trial_on(SLOW), Terms(time_limit=Seconds(200.0)))
    world.until(190.0)
    world.programs.save(0)
    (finished,) = world.until_idle()
    assert isinstance(finished, Finished)
    assert (finished.state, finished.seconds) == (TrialState.FAILED, 200.0)
    assert finished.cause == "timeout: not ended after 200 s"


def test_a_metric_that_is_no_number_is_told_as_none_and_fails_at_the_end() -> None:
    values = RUN.values.copy()
    values[3:] = math.nan
    world = Playing(replace(RUN, values=values))
    world.programs.start(trial_on(FAST))
    events = world.until_idle()
    reports = [event for event in events if isinstance(event, Report)]
    assert [bool(report.metrics) for report in reports] == [True] * 3 + [False] * 7
    assert isinstance(events[-1], Finished)
    assert (events[-1].state, events[-1].cause) == (TrialState.FAILED, "loss is nan")


def test_what_cannot_be_is_refused() -> None:
    world = Playing()
    world.programs.start(trial_on(SLOW))
    with pytest.raises(IllegalMove, match="it is running already"):
        world.programs.start(trial_on(SLOW))
    with pytest.raises(UnknownTrial, match="trial 7 is not running"):
        world.programs.save(7)
    with pytest.raises(InvalidInput, match="needs reports"):
        TrainingRun(np.array([]), np.array([]), np.array([]), {})
    with pytest.raises(InvalidInput, match="do not increase"):
        TrainingRun(np.array([2.0, 1.0]), np.zeros(2), np.array([1.0, 2.0]), {})
