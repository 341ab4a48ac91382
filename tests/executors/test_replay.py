"""Replay: the contract, the simulated time, snapshots, limits, gaps in the table."""

from collections.abc import Mapping
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leantune.clock import SimulatedClock
from leantune.cloud.catalog import clusters
from leantune.errors import ObservationError
from leantune.executors.base import Begun, EndMode, Finished, Report, Terms
from leantune.executors.replay import Measurement, ReplayExecutor
from leantune.history import History, ObservationKind, TrialState
from leantune.problem import Problem, maximize
from leantune.space import Space, integer, machine
from leantune.testing.executor_contract import ExecutorContract
from leantune.units import Seconds

TENTH, HALF, FULL = Fraction(1, 10), Fraction(1, 2), Fraction(1)
SPACE = Space(n=integer(0, 99), cluster=clusters([machine("m", vcpus=1, memory=1, usd_per_hour=3.6)]))
PROBLEM = Problem(SPACE, maximize("a"), ["cost <= 1 USD"], [TENTH, HALF, FULL])
CONFIGURATIONS = SPACE.grid()


def history_of(trials: int, snapshots: tuple[Fraction, ...] = (FULL,)) -> History:
    history = History()
    for number in range(trials):
        history, _ = history.propose(CONFIGURATIONS[number], snapshots[-1], snapshots)
    return history


def table_of(
    seconds: Mapping[int, float], failing: frozenset[int] = frozenset()
) -> dict[tuple[str, Fraction], Measurement]:
    return {
        (CONFIGURATIONS[number].id, FULL): Measurement({"a": 0.5}, duration, "broken" if number in failing else "")
        for number, duration in seconds.items()
    }


class TestContract(ExecutorContract):
    """Replay keeps the promises of every executor."""

    def make(
        self, seconds: Mapping[int, float], failing: frozenset[int] = frozenset()
    ) -> tuple[ReplayExecutor, History]:
        self.clock = SimulatedClock()
        executor = ReplayExecutor(table_of(seconds, failing), self.clock, problem=PROBLEM)
        return executor, history_of(len(seconds))


def ends(executor: ReplayExecutor, clock: SimulatedClock, timeout: float | None = None) -> list[Finished]:
    """What ends in the next wait."""
    executor.wait(None if timeout is None else Seconds(timeout))
    return [event for event in executor.step(clock.now()) if isinstance(event, Finished)]


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=8), st.floats(0, 1e9))
def test_trials_at_once_end_at_their_own_times(seconds: list[float], start: float) -> None:
    clock = SimulatedClock(start)
    executor = ReplayExecutor(table_of(dict(enumerate(seconds))), clock, problem=PROBLEM)
    for trial in history_of(len(seconds)).trials:
        executor.start(trial)
    ended: list[int] = []
    while executor.running:
        for end in ends(executor, clock):
            ended.append(end.number)
            assert clock.now() == pytest.approx(start + seconds[end.number], rel=1e-12)
    assert sorted(ended) == list(range(len(seconds)))
    assert [seconds[number] for number in ended] == pytest.approx(sorted(seconds), abs=1e-6)
    assert clock.now() == pytest.approx(start + max(seconds))


def test_later_starts_end_later() -> None:
    clock = SimulatedClock()
    executor = ReplayExecutor(table_of({0: 10.0, 1: 5.0}), clock, problem=PROBLEM)
    history = history_of(2)
    executor.start(history.trial(0))
    assert ends(executor, clock, 7.0) == []
    assert clock.now() == 7.0
    executor.start(history.trial(1))
    assert [end.number for end in ends(executor, clock)] == [0]
    assert [end.number for end in ends(executor, clock)] == [1]
    assert clock.now() == 12.0


def test_ties_come_together_in_the_order_of_starts() -> None:
    clock = SimulatedClock()
    executor = ReplayExecutor(table_of({0: 5.0, 1: 5.0}), clock, problem=PROBLEM)
    history = history_of(2)
    executor.start(history.trial(1))
    executor.start(history.trial(0))
    assert [end.number for end in ends(executor, clock)] == [1, 0]


def test_waiting_for_nothing_takes_no_time() -> None:
    clock = SimulatedClock()
    assert ends(ReplayExecutor({}, clock, problem=PROBLEM), clock, 60.0) == []
    assert clock.now() == 0.0


def test_the_next_event_is_the_earliest_end() -> None:
    clock = SimulatedClock(100.0)
    executor = ReplayExecutor(table_of({0: 10.0, 1: 5.0}), clock, problem=PROBLEM)
    for trial in history_of(2).trials:
        executor.start(trial)
    assert executor.next_event_time() == 105.0
    ends(executor, clock)
    assert executor.next_event_time() == 110.0


def test_events_are_told_in_the_order_of_time() -> None:
    """Trial 0 ends while the clock goes on for other reasons; trial 1 is started after that."""
    clock = SimulatedClock()
    executor = ReplayExecutor(table_of({0: 10.0, 1: 5.0}), clock, problem=PROBLEM)
    first, second = history_of(2).trials
    executor.start(first)
    clock.sleep(20.0)
    executor.start(second)
    events = [(type(event), event.number) for event in executor.step(clock.now())]
    assert events == [(Begun, 0), (Finished, 0), (Begun, 1)]


def test_a_run_whose_end_has_come_is_told_as_what_it_is() -> None:
    clock = SimulatedClock()
    executor = ReplayExecutor(table_of({0: 10.0, 1: 40.0}), clock, problem=PROBLEM)
    for trial in history_of(2).trials:
        executor.start(trial)
    clock.sleep(15.0)
    executor.end(0, EndMode.EVICT)
    executor.end(1, EndMode.EVICT)
    done, queued = ends(executor, clock)
    assert (done.state, done.seconds) == (TrialState.DONE, 10.0)
    assert (queued.state, queued.seconds, queued.kept_step) == (TrialState.QUEUED, 15.0, 0.0)


def snapshot_table(**failures: str) -> dict[tuple[str, Fraction], Measurement]:
    identity = CONFIGURATIONS[0].id
    return {
        (identity, TENTH): Measurement({"a": 0.1}, 10.0),
        (identity, HALF): Measurement({"a": 0.5}, 50.0, failures.get("half", "")),
        (identity, FULL): Measurement({"a": 0.9}, 100.0),
    }


def test_snapshots_are_one_run() -> None:
    clock = SimulatedClock()
    executor = ReplayExecutor(snapshot_table(), clock, problem=PROBLEM)
    history = history_of(1, (TENTH, HALF))
    executor.start(history.trial(0))
    (end,) = ends(executor, clock)
    assert [(seen.fraction, seen.metrics["a"], seen.seconds) for seen in end.observations] == [
        (TENTH, 0.1, 10.0),
        (HALF, 0.5, 50.0),
    ]
    assert clock.now() == 50.0, "not 60"
    history = history.record(0, end.observations, time=clock.now())
    assert history.cost == pytest.approx(50.0 / 3600 * 3.6), "charged once"


def test_a_failure_ends_the_run_at_its_share() -> None:
    clock = SimulatedClock()
    executor = ReplayExecutor(snapshot_table(half="out of memory"), clock, problem=PROBLEM)
    executor.start(history_of(1, (TENTH, HALF, FULL)).trial(0))
    (end,) = ends(executor, clock)
    assert (end.state, end.cause) == (TrialState.FAILED, "out of memory")
    assert [seen.kind for seen in end.observations] == [ObservationKind.MEASURED, ObservationKind.FAILED]
    assert clock.now() == 50.0


def test_a_cut_run_is_a_bound() -> None:
    clock, identity = SimulatedClock(), CONFIGURATIONS[0].id
    table = {
        **snapshot_table(),
        (identity, HALF): Measurement({"a": 0.5}, 50.0, cut=True),
        (identity, FULL): Measurement({"a": 0.6}, 51.0, cut=True),
    }
    executor = ReplayExecutor(table, clock, problem=PROBLEM)
    executor.start(history_of(1, (TENTH, HALF, FULL)).trial(0))
    (end,) = ends(executor, clock)
    assert end.state is TrialState.DONE
    kinds = [(seen.kind, seen.seconds) for seen in end.observations]
    assert kinds == [
        (ObservationKind.MEASURED, 10.0),
        (ObservationKind.CENSORED, 50.0),
        (ObservationKind.CENSORED, 51.0),
    ]
    assert end.observations[-1].cause == "cut after 51 s"
    assert clock.now() == 51.0


def test_dollars_that_the_table_tells_count() -> None:
    table = {(CONFIGURATIONS[0].id, FULL): Measurement({"a": 0.5}, 100.0, cost=7.0)}
    clock = SimulatedClock()
    executor = ReplayExecutor(table, clock, problem=PROBLEM)
    executor.start(history_of(1).trial(0))
    (end,) = ends(executor, clock)
    assert end.observations[0].cost == 7.0, "not 100 s at 3.60 USD per hour"


def test_a_run_that_is_ended_early_costs_its_part() -> None:
    table = {(CONFIGURATIONS[0].id, FULL): Measurement({"a": 0.5}, 100.0, cost=7.0)}
    clock = SimulatedClock()
    executor = ReplayExecutor(table, clock, problem=PROBLEM)
    executor.start(history_of(1).trial(0), Terms(time_limit=Seconds(25.0)))
    (end,) = ends(executor, clock)
    assert (end.state, end.seconds) == (TrialState.FAILED, 25.0)
    assert end.observations[0].cost == pytest.approx(7.0 / 4)


def test_a_gap_in_the_table_is_named() -> None:
    executor = ReplayExecutor(snapshot_table(), SimulatedClock(), problem=PROBLEM)
    history, _ = history_of(1).propose(CONFIGURATIONS[7], HALF)
    with pytest.raises(
        ObservationError, match=r"no measurement of Configuration\(n=7, .*\) at the share 1/2"
    ) as caught:
        executor.start(history.trial(1))
    assert caught.value.where == "trial 1"
    assert executor.running == frozenset()


def test_a_run_that_goes_on_takes_the_difference() -> None:
    clock = SimulatedClock()
    executor = ReplayExecutor(snapshot_table(), clock, problem=PROBLEM)
    history = history_of(1, (HALF,))
    executor.start(history.trial(0))
    history = history.record(0, ends(executor, clock)[0].observations, time=50.0)
    history, full = history.propose(CONFIGURATIONS[0], FULL)
    executor.start(full, Terms(continues=history.continued(CONFIGURATIONS[0].id, FULL)))
    (end,) = ends(executor, clock)
    assert (clock.now(), end.seconds, end.continued) == (100.0, 50.0, True)
    assert end.observations[0].seconds == 100.0, "as of a run from nothing: limits judge the whole"
    history, again = history.propose(CONFIGURATIONS[0], FULL)
    executor.start(again, Terms(time_limit=Seconds(20.0), continues=history.continued(CONFIGURATIONS[0].id, FULL)))
    (end,) = ends(executor, clock)
    assert (end.state, end.seconds, end.observations[0].seconds) == (TrialState.FAILED, 20.0, 70.0)


def test_a_run_reports_nothing_where_the_table_has_nothing() -> None:
    clock = SimulatedClock()
    table, identity = snapshot_table(), CONFIGURATIONS[0].id
    del table[identity, HALF]
    gappy = Problem(SPACE, maximize("a"), ["cost <= 1 USD"], [TENTH, HALF, FULL], gaps=[(identity, HALF)])
    executor = ReplayExecutor(table, clock, problem=gappy)
    trial = history_of(1, (TENTH, HALF, FULL)).trial(0)
    executor.check(trial)
    executor.start(trial)
    assert [seen.fraction for seen in ends(executor, clock)[0].observations] == [TENTH, FULL]
    with pytest.raises(ObservationError, match="no measurement"):
        executor.check(history_of(1, (TENTH, HALF)).trial(0))


SNAPSHOTS = {
    (CONFIGURATIONS[0].id, share): Measurement({"a": float(share)}, 10.0 * float(share))
    for share in (TENTH, HALF, FULL)
}


def test_shares_are_reported_when_they_are_passed() -> None:
    clock = SimulatedClock(100.0)
    executor = ReplayExecutor(SNAPSHOTS, clock, problem=PROBLEM, reports=True)
    executor.start(history_of(1, (TENTH, HALF, FULL)).trial(0))
    told = []
    while executor.running:
        executor.wait()
        told += [(clock.now(), event) for event in executor.step(clock.now())]
    assert [(time, type(event)) for time, event in told] == [
        (101.0, Begun),
        (101.0, Report),
        (105.0, Report),
        (110.0, Finished),
    ]
    assert [event for _, event in told[1:3]] == [
        Report(0, 1.0, {"a": 0.1}, fraction=TENTH),
        Report(0, 5.0, {"a": 0.5}, fraction=HALF),
    ]


def test_reports_change_nothing_about_the_end() -> None:
    found = []
    for reports in (False, True):
        clock = SimulatedClock()
        executor = ReplayExecutor(SNAPSHOTS, clock, problem=PROBLEM, reports=reports)
        executor.start(history_of(1, (TENTH, HALF, FULL)).trial(0))
        clock.sleep(20.0)
        *before, finished = executor.step(clock.now())
        found.append(finished)
        assert [type(event) for event in before] == [Begun, *([Report, Report] if reports else [])]
    assert found[0] == found[1]


def test_a_run_that_goes_on_reports_from_its_own_start() -> None:
    clock = SimulatedClock()
    executor = ReplayExecutor(SNAPSHOTS, clock, problem=PROBLEM, reports=True)
    history = history_of(1, (TENTH,))
    smaller = executor.outcome(history.trial(0), Terms()).observations[0]
    _, larger = history.propose(CONFIGURATIONS[0], FULL, (HALF, FULL))
    executor.start(larger, Terms(continues=(history.trial(0), smaller)))
    executor.wait()
    assert executor.step(clock.now())[1:] == [Report(1, 4.0, {"a": 0.5}, fraction=HALF)]
    executor.end(1, EndMode.EVICT)
    (ended,) = executor.step(clock.now())
    assert ended == Finished(1, (), TrialState.QUEUED, "interrupted", Seconds(4.0), kept_step=0.0, continued=True)


def test_the_dollars_of_an_interrupted_run_go_with_its_seconds() -> None:
    """Where the table tells dollars, as no machine has a price."""
    space = Space(n=integer(0, 9))
    problem = Problem(space, maximize("a"), (), [TENTH, FULL])
    configuration, clock = space.grid()[0], SimulatedClock()
    table = {
        (configuration.id, TENTH): Measurement({"a": 0.5}, 2.0, cost=1.0),
        (configuration.id, FULL): Measurement({"a": 0.5}, 10.0, cost=5.0),
    }
    executor = ReplayExecutor(table, clock, problem=problem)
    _, trial = History().propose(configuration, FULL)
    executor.start(trial)
    clock.sleep(4.0)
    executor.end(0, EndMode.EVICT)
    _, ended = executor.step(clock.now())
    assert isinstance(ended, Finished)
    assert (ended.seconds, ended.usd) == (4.0, 2.0)
