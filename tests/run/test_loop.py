"""The loop: money that is never exceeded, workers that vanish, interruptions, batches, failures."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leantune.clock import SimulatedClock
from leantune.executors.base import Event as ExecutorEvent
from leantune.executors.base import Finished, Terms
from leantune.executors.replay import Measurement, ReplayExecutor, Table
from leantune.history import ObservationKind, Trial, TrialState, was_ended
from leantune.problem import Budget, Fidelity, Problem
from leantune.run.events import (
    Event,
    RunEnded,
    RunStarted,
    Stopping,
    TrialProposed,
    TrialRecovered,
    Waiting,
    no_observer,
)
from leantune.run.ledger import TimeRules
from leantune.run.loop import End, Loop, LoopSettings, Outcome
from leantune.run.workers import this_worker
from leantune.store.database import Database
from leantune.store.rows import Booking, ReportRow
from leantune.store.study import StudyStore
from leantune.strategies.cutoffs import useful_seconds
from leantune.strategies.proposals import Proposal
from leantune.strategies.registry import recipe
from leantune.strategies.strategy import Strategy
from leantune.strategies.tuner import Judgement, Over, Tuner, View
from leantune.study.definition import describe, open_or_create
from leantune.units import NO_USD, Seconds, Usd
from tests import toy

FULL = Fraction(1)


class Bench:
    """A study in memory with everything that a loop needs, on a simulated clock."""

    def __init__(self, budget: Budget, strategy: str = "random", fidelity: Fidelity = "data") -> None:
        self.problem = toy.toy_problem(budget=budget, fidelity=fidelity)
        self.strategy: Tuner = Strategy(toy.quick(strategy))
        self.clock = SimulatedClock(1000.0)
        self.database = Database("sqlite://")
        document = describe(self.problem, strategy, {}, 1)
        self.store: StudyStore = open_or_create(self.database, "s", self.problem, document, "", self.clock)
        self.table = toy.measurements(self.problem)
        self.events: list[Event] = []

    def loop(
        self, rules: TimeRules, observer: Callable[[Event], None] = no_observer, max_failures: int | None = 5
    ) -> Loop:
        def watch(event: Event) -> None:
            self.events.append(event)
            money = self.store.money()
            assert money.left >= 0.0
            observer(event)

        plan = LoopSettings(self.problem, self.strategy, 1, rules, lease=None, poll=None, max_failures=max_failures)
        executor = ReplayExecutor(self.table, self.clock, problem=self.problem)
        return Loop(self.store, plan, executor, self.clock, watch)

    def run(self, rules: TimeRules = TimeRules(grace=1.0), max_failures: int | None = 5) -> End:  # noqa: B008 - frozen
        return self.loop(rules, max_failures=max_failures).run()

    def seen(self, kind: type[Event]) -> list[Event]:
        return [event for event in self.events if isinstance(event, kind)]


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench(Budget(usd=5.0, trials=8))
    yield made
    made.database.close()


def test_a_study_runs_to_its_end_and_its_ledger_adds_up(bench: Bench) -> None:
    end = bench.run()
    assert end == End(Outcome.OVER, "all 8 trials of the budget are used")
    history = bench.store.history()
    assert [trial.state for trial in history.trials] == [TrialState.DONE] * 8
    assert sum(row.settled or 0.0 for row in bench.store.ledger()) == pytest.approx(history.cost)
    assert len(bench.seen(TrialProposed)) == len(bench.seen(RunStarted)) == len(bench.seen(RunEnded)) == 8
    assert bench.store.workers() == []


def test_every_move_has_its_time_and_the_clock_went_on(bench: Bench) -> None:
    bench.run()
    for trial in bench.store.history().trials:
        states = [move.state for move in trial.moves]
        assert states == [TrialState.PROPOSED, TrialState.QUEUED, TrialState.RUNNING, TrialState.DONE]
        assert trial.moves[-1].time - trial.moves[-2].time == pytest.approx(trial.seconds)


@settings(max_examples=25)
@given(st.floats(0.01, 0.5), st.integers(1, 5), st.one_of(st.none(), st.floats(20.0, 400.0)), st.floats(0.0, 60.0))
def test_spend_and_reservations_never_exceed_the_budget(
    usd: float, parallel: int, time_limit: float | None, grace: float
) -> None:
    bench = Bench(Budget(usd=usd, trials=12))
    end = bench.run(TimeRules(time_limit, grace, parallel))  # `watch` looks at the money after every event
    money = bench.store.money()
    assert money.reserved == 0.0
    assert money.spent <= usd
    assert end.outcome in (Outcome.OVER, Outcome.FAILING)
    bench.database.close()


def test_a_trial_whose_worst_case_does_not_fit_is_not_started() -> None:
    bench = Bench(Budget(usd=0.05, trials=12))
    end = bench.run(TimeRules(time_limit=3600.0))
    assert end.outcome is Outcome.OVER
    assert "do not cover the worst case" in end.reason
    assert len(bench.store.history()) == 0


def test_a_timeout_is_failed_with_its_cost_and_its_time_a_bound(bench: Bench) -> None:
    bench.run(TimeRules(time_limit=30.0, grace=1.0), max_failures=None)
    late = [trial for trial in bench.store.history().trials if trial.state is TrialState.FAILED]
    assert late
    for trial in late:
        (seen,) = trial.observations
        assert trial.moves[-1].cause.startswith("timeout")
        assert seen.kind is ObservationKind.FAILED
        assert seen.seconds == 30.0
        assert seen.cost == pytest.approx(30.0 * (trial.configuration.usd_per_hour or 0.0) / 3600)


def test_when_trial_after_trial_fails_the_loop_gives_up(bench: Bench) -> None:
    bench.table = {pair: Measurement({}, row.seconds, "broken") for pair, row in bench.table.items()}
    end = bench.run(max_failures=3)
    assert end.outcome is Outcome.FAILING
    assert len(bench.store.history()) == 3
    again = bench.run(max_failures=3)  # after a repair the same command tries again
    assert again.outcome is Outcome.FAILING
    assert len(bench.store.history()) == 6


def vanished(bench: Bench, *, host: str | None = None, lease: float = 1e12) -> Trial:
    """A trial that a worker claimed before its process went away."""
    trial = bench.store.propose(bench.problem.space.grid()[0], FULL, time=bench.clock.now(), time_limit=300.0)
    worker = this_worker(1, bench.clock)
    worker = replace(worker, process_started=worker.process_started - 1.0, host=host or worker.host)
    bench.store.join(worker)
    claim = bench.store.claim(
        worker.id, time=bench.clock.now(), lease=lease, fitting=lambda trial, _: Booking(Usd(0.1), 0.5, Seconds(300.0))
    )
    assert claim is not None
    return trial


def test_the_trial_of_a_dead_worker_is_lost_not_failed_and_runs_again(bench: Bench) -> None:
    trial = vanished(bench)
    bench.clock.sleep(36.0)
    bench.run()
    again = bench.store.history().trial(trial.number)
    states = [move.state for move in again.moves]
    assert states[2:] == [TrialState.RUNNING, TrialState.LOST, TrialState.QUEUED, TrialState.RUNNING, TrialState.DONE]
    assert again.moves[3].dollars == pytest.approx(36.0 * 0.5 / 3600)
    assert "vanished" in again.moves[3].cause
    assert len(bench.seen(TrialRecovered)) == 1
    assert sum(row.settled or 0.0 for row in bench.store.ledger()) == pytest.approx(bench.store.history().cost)


class Haunted(ReplayExecutor):
    """Something of a vanished worker's run is left here until `free_at`."""

    free_at = 1100.0

    def remains(self, number: int, attempt: int, grace: Seconds) -> bool:
        assert (number, attempt, grace) == (0, 1, 1.0)
        return self._clock.now() < self.free_at


@pytest.mark.parametrize("lease", [60.0, 1e12])
def test_a_trial_is_claimed_and_paid_for_until_nothing_of_its_run_is_left_here(bench: Bench, lease: float) -> None:
    """Also beyond its lease: whoever may look here ends what is left first."""
    trial = vanished(bench, lease=lease)

    def watch(event: Event) -> None:
        if bench.clock.now() < Haunted.free_at:
            assert bench.store.money().reserved >= 0.1
            assert bench.store.history().trial(trial.number).state is TrialState.RUNNING

    plan = LoopSettings(bench.problem, bench.strategy, 1, TimeRules(grace=1.0), lease=None, poll=None)
    executor = Haunted(bench.table, bench.clock, problem=bench.problem)
    assert Loop(bench.store, plan, executor, bench.clock, watch).run(only=trial.number).outcome is Outcome.ENOUGH
    lost = next(move for move in bench.store.history().trial(trial.number).moves if move.state is TrialState.LOST)
    assert Haunted.free_at <= lost.time < Haunted.free_at + 2.0
    assert lost.dollars >= 99.0 * 0.5 / 3600


def test_a_worker_elsewhere_is_given_up_when_its_lease_is_over(bench: Bench) -> None:
    trial = vanished(bench, host="elsewhere", lease=60.0)
    end = bench.loop(TimeRules(grace=1.0)).run(only=trial.number)  # waits, on the simulated clock, for the lease to end
    assert end.outcome is Outcome.ENOUGH
    assert any(isinstance(event, Waiting) for event in bench.events)
    again = bench.store.history().trial(trial.number)
    assert again.state is TrialState.DONE
    lost = next(move for move in again.moves if move.state is TrialState.LOST)
    assert 60.0 <= lost.time - 1000.0 < 63.0
    assert lost.dollars == pytest.approx(60.0 * 0.5 / 3600)  # paid for until the lease ended, not until it was found


def test_interrupted_gently_the_running_trials_are_queued_and_the_same_command_goes_on(bench: Bench) -> None:
    loops: list[Loop] = []

    def stop_at_the_third(event: Event) -> None:
        if isinstance(event, RunStarted) and event.trial.number == 2:
            loops[0].interrupt()

    loops.append(bench.loop(TimeRules(grace=1.0), stop_at_the_third))
    assert loops[0].run().outcome is Outcome.INTERRUPTED
    assert Stopping(True, 1) in bench.events
    waiting = bench.store.history().trial(2)
    assert waiting.state is TrialState.QUEUED
    assert bench.store.money().reserved == 0.0
    assert bench.run().outcome is Outcome.OVER
    unharmed = Bench(Budget(usd=5.0, trials=8))
    unharmed.run()
    pairs = [[(t.configuration.id, t.fraction) for t in b.store.history().trials] for b in (bench, unharmed)]
    assert pairs[0] == pairs[1]


def test_a_worker_that_lost_its_lease_may_not_record(bench: Bench) -> None:
    """Another worker takes the trial while this one runs it; only the other's result counts."""

    class Slow(ReplayExecutor):
        taken = False

        def step(self, now: float) -> list[ExecutorEvent]:
            if self.running and not self.taken:
                self.taken = True
                (claim,) = bench.store.running()
                assert bench.store.lose(claim, time=bench.clock.now(), cause="taken away", dollars=NO_USD)
            return super().step(now)

    executor = Slow(bench.table, bench.clock, problem=bench.problem)
    plan = LoopSettings(bench.problem, bench.strategy, 1, TimeRules(grace=1.0), lease=None, poll=None)
    events: list[Event] = []
    Loop(bench.store, plan, executor, bench.clock, events.append).run(trials=1)
    assert len([event for event in events if isinstance(event, RunEnded)]) == 1
    (trial,) = bench.store.history().trials
    assert [move.state for move in trial.moves].count(TrialState.RUNNING) == 2
    assert trial.state is TrialState.DONE
    assert [(row.attempt, row.settled) for row in bench.store.ledger()] == [(1, 0.0), (2, pytest.approx(trial.cost))]


class Shuffled(ReplayExecutor):
    """Ends trials in a random order."""

    draw = random.Random(0)

    def start(self, trial: Trial, terms: Terms = Terms()) -> None:  # noqa: B008 - frozen
        super().start(trial, terms)
        run = self._runs[trial.number]
        self._runs[trial.number] = replace(run, end=self._clock.now() + self.draw.uniform(1.0, 2.0))


def test_deterministic_batches_give_the_same_trials_in_any_order_of_results() -> None:
    proposals = []
    for seed in range(3):
        bench = Bench(Budget(usd=5.0, trials=9), "trimtuner")
        executor = Shuffled(bench.table, bench.clock, problem=bench.problem)
        executor.draw = random.Random(seed)
        plan = LoopSettings(
            bench.problem,
            bench.strategy,
            1,
            TimeRules(grace=1.0, parallel=3),
            lease=None,
            poll=None,
            deterministic=True,
            batch=3,
        )
        Loop(bench.store, plan, executor, bench.clock).run()
        proposals.append([(t.configuration.id, t.fraction, t.time_limit) for t in bench.store.history().trials])
        bench.database.close()
    assert proposals[0] == proposals[1] == proposals[2]


def test_idle_time_after_a_crash_is_paid_for_but_is_not_training(bench: Bench) -> None:
    """A run is lost 10 s after it began, found an hour later, and goes on from its checkpoint."""
    trial = vanished(bench)
    bench.store.add_reports([ReportRow(trial.number, 1, 10.0, {"accuracy": 0.5}, 1.0, None)])
    bench.clock.sleep(3600.0)

    class Resuming(ReplayExecutor):
        def step(self, now: float) -> list[ExecutorEvent]:
            return [self._resumed(told) if isinstance(told, Finished) else told for told in super().step(now)]

        def _resumed(self, end: Finished) -> Finished:
            (seen,) = end.observations
            longer = replace(seen, seconds=(Seconds(Seconds(seen.seconds or 0.0) + self.earlier)), cost=None)
            rate = trial.configuration.usd_per_hour or 0.0
            priced = replace(longer, cost=(Usd(Usd(longer.seconds or 0.0) * rate / 3600)))
            return end._replace(observations=(priced,), resumed=True)

        def start(self, trial: Trial, terms: Terms = Terms()) -> None:  # noqa: B008 - frozen
            self.earlier = terms.earlier_seconds
            super().start(trial, terms)

    executor = Resuming(bench.table, bench.clock, problem=bench.problem)
    plan = LoopSettings(bench.problem, bench.strategy, 1, TimeRules(grace=1.0), lease=None, poll=None)
    Loop(bench.store, plan, executor, bench.clock).run(only=trial.number)
    ended = bench.store.history().trial(trial.number)
    assert ended.seconds == pytest.approx(10.0 + toy.seconds(trial.configuration, FULL))
    assert ended.cost == pytest.approx(sum(row.settled or 0.0 for row in bench.store.ledger()))


def test_a_lost_run_is_paid_for_no_longer_than_it_could_have_lasted(bench: Bench) -> None:
    trial = vanished(bench)  # limit 300 s, 0.1 USD reserved at 0.5 USD per hour
    bench.clock.sleep(100 * 3600.0)
    bench.run()
    lost = next(m for m in bench.store.history().trial(trial.number).moves if m.state is TrialState.LOST)
    assert lost.dollars == pytest.approx(0.1)


def test_a_run_that_nobody_works_on_is_recovered_though_its_worker_has_left(bench: Bench) -> None:
    trial = vanished(bench, host="elsewhere")
    for worker in bench.store.workers():
        bench.store.leave(worker.id)
    bench.run()
    assert bench.store.history().trial(trial.number).state is TrialState.DONE


def test_interrupted_during_a_proposal_nothing_more_is_started(bench: Bench) -> None:
    loops: list[Loop] = []

    def stop(event: Event) -> None:
        if isinstance(event, TrialProposed):
            loops[0].interrupt()

    loops.append(bench.loop(TimeRules(grace=1.0, parallel=4), stop))
    assert loops[0].run().outcome is Outcome.INTERRUPTED
    assert bench.seen(RunStarted) == []
    assert len(bench.seen(TrialProposed)) == 1


def test_what_has_ended_before_a_hard_stop_is_recorded(bench: Bench) -> None:
    loops: list[Loop] = []

    def stop_at_once(event: Event) -> None:
        if isinstance(event, RunStarted):
            bench.clock.sleep(3600.0)  # the run ends while the worker is busy with something else
            loops[0].interrupt()
            loops[0].interrupt()

    loops.append(bench.loop(TimeRules(grace=1.0), stop_at_once))
    loops[0].run()
    (trial,) = bench.store.history().trials
    assert trial.state is TrialState.DONE


def test_a_success_before_a_restart_counts(bench: Bench) -> None:
    bench.loop(TimeRules(grace=1.0)).run(trials=1)
    bench.table = {pair: Measurement({}, row.seconds, "broken") for pair, row in bench.table.items()}
    assert bench.run(max_failures=3).outcome is Outcome.OVER


def test_a_failure_to_record_leaves_the_trial_to_be_run_again(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    finish, failures = bench.store.finish, iter([True])

    def failing(*arguments: object, **options: object) -> Trial:
        if next(failures, False):
            raise KeyboardInterrupt
        return finish(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(bench.store, "finish", failing)
    with pytest.raises(KeyboardInterrupt):
        bench.run()
    assert bench.store.history().trial(0).state is TrialState.QUEUED
    assert bench.run().outcome is Outcome.OVER


def test_as_many_trials_as_asked_for(bench: Bench) -> None:
    end = bench.loop(TimeRules(grace=1.0)).run(trials=3)
    assert end.outcome is Outcome.ENOUGH
    assert len(bench.store.history()) == 3


def test_a_budget_that_is_raised_while_the_loop_runs_counts(bench: Bench) -> None:
    def extend(event: Event) -> None:
        if isinstance(event, RunStarted) and event.trial.number == 7:
            bench.store.set_budget(Budget(usd=5.0, trials=10), time=bench.clock.now(), cause="more")

    bench.loop(TimeRules(grace=1.0), extend).run()
    assert len(bench.store.history()) == 10


def test_what_a_recipe_cannot_propose_any_more_ends_the_study() -> None:
    bench = Bench(Budget(usd=1000.0))
    bench.strategy = Strategy(recipe("random"))
    end = bench.run()
    assert "every pair" in end.reason
    assert len(bench.store.history()) == len(bench.problem.space.grid())


class Billed(ReplayExecutor):
    """Machines with bills of their own; every first attempt is revoked halfway, after a checkpoint.

    revoked: seconds that those were ours.
    """

    def __init__(self, table: Table, clock: SimulatedClock, problem: Problem) -> None:
        super().__init__(table, clock, problem=problem)
        self.terms: dict[int, Terms] = {}
        self.revoked: dict[int, float] = {}

    def start(self, trial: Trial, terms: Terms = Terms()) -> None:  # noqa: B008 - frozen
        super().start(trial, terms)
        self.terms[trial.number] = terms

    def step(self, now: float) -> list[ExecutorEvent]:
        return [self._with_bill(told) if isinstance(told, Finished) else told for told in super().step(now)]

    def _with_bill(self, end: Finished) -> Finished:
        terms, usd = self.terms[end.number], 0.001 * (end.number + 1)
        if terms.attempt == 1:
            self.revoked[end.number] = end.seconds / 2
            return Finished(
                end.number, (), TrialState.REVOKED, "revoked: x", Seconds(end.seconds / 2), usd=Usd(2 * usd)
            )
        shown = tuple(replace(seen, cost=Usd(usd + terms.earlier_usd)) for seen in end.observations)
        return end._replace(observations=shown, resumed=True, usd=Usd(usd))


def test_bills_are_settled_and_counted_once(bench: Bench) -> None:
    """A revoked attempt costs its bill, the trial's observation all of its bills, and the ledger adds up."""
    executor = Billed(bench.table, bench.clock, bench.problem)
    rules = TimeRules(time_limit=1000.0, grace=1.0, billed=True, speed=10.0)
    plan = LoopSettings(bench.problem, bench.strategy, 1, rules, lease=None, poll=None)
    Loop(bench.store, plan, executor, bench.clock, no_observer).run()
    history = bench.store.history()
    assert [trial.state for trial in history.trials] == [TrialState.DONE] * 8
    for trial in history.trials:
        states = [move.state for move in trial.moves]
        assert states[2:6] == [TrialState.RUNNING, TrialState.REVOKED, TrialState.QUEUED, TrialState.RUNNING]
        assert trial.moves[3].dollars == pytest.approx(0.002 * (trial.number + 1))
        assert trial.observations[-1].cost == pytest.approx(0.003 * (trial.number + 1))
        assert trial.cost == pytest.approx(0.003 * (trial.number + 1))
        assert executor.terms[trial.number].earlier_seconds == trial.moves[3].seconds == executor.revoked[trial.number]
    assert bench.store.money().spent == pytest.approx(history.cost) == pytest.approx(0.003 * 36)


def test_a_vanished_run_on_a_faster_market_is_paid_for_at_its_pace(bench: Bench) -> None:
    trial = vanished(bench)
    bench.clock.sleep(3.6)
    bench.run(TimeRules(grace=1.0, billed=True, speed=10.0))
    assert bench.store.history().trial(trial.number).moves[3].dollars == pytest.approx(36.0 * 0.5 / 3600)


@dataclass
class Listed:
    """A tuner that proposes these pairs of the space's grid, in that order."""

    pairs: list[tuple[int, Fraction]]
    judges: bool = False
    useful: float | None = None

    def check(self, problem: Problem) -> None: ...

    def prepare(self) -> None: ...

    def ends_by_itself(self, problem: Problem) -> bool:
        return True

    def ask(self, view: View) -> Proposal | Over:
        number = len(view.history)
        if number == len(self.pairs):
            return Over("all are tested")
        row, share = self.pairs[number]
        useful, notes = useful_seconds(math.inf if self.useful is None else self.useful)
        return Proposal(view.problem.space.grid()[row], share, (share,), notes=notes, useful_seconds=useful)

    def judge(self, view: View, only: object = None) -> dict[int, Judgement]:
        return {}

    def recommend(self, view: View) -> None: ...

    def stop_reason(self, view: View) -> None: ...


@pytest.mark.parametrize(
    ("limit", "useful", "state"),
    [(None, 40.0, TrialState.STOPPED), (60.0, 40.0, TrialState.STOPPED), (20.0, 40.0, TrialState.FAILED)],
)
def test_a_run_is_stopped_where_its_use_ends_and_fails_at_the_users_own_limit(
    bench: Bench, limit: float | None, useful: float, state: TrialState
) -> None:
    """All runs on all data take longer; whoever sets the shorter limit is named."""
    bench.strategy = Listed([(row, FULL) for row in range(3)], useful=useful)
    bench.run(TimeRules(time_limit=limit, grace=1.0), max_failures=None)
    trials = bench.store.history().trials
    assert [trial.state for trial in trials] == [state] * 3
    assert all(trial.seconds == min(limit or useful, useful) for trial in trials)
    assert all(was_ended(trial, trial.observations[-1]) is (state is TrialState.STOPPED) for trial in trials)
    assert all(trial.moves[-1].cause.startswith("timeout") is (state is TrialState.FAILED) for trial in trials)


@pytest.mark.parametrize(("budget", "tests"), [(Budget(), 3), (Budget(trials=5), 5)])
def test_a_program_that_never_ends_is_given_up_where_no_budget_ends_the_study(budget: Budget, tests: int) -> None:
    bench = Bench(budget)
    bench.strategy = Listed([(row, FULL) for row in range(5)], useful=40.0)
    bench.run(TimeRules(grace=1.0), max_failures=3)
    assert len(bench.store.history()) == tests
    bench.database.close()


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from(toy.FRACTIONS)), max_size=12), st.sampled_from([1, 3]))
def test_epochs_pay_the_difference_and_data_the_whole(pairs: list[tuple[int, Fraction]], parallel: int) -> None:
    for fidelity in ("data", "epochs"):
        bench = Bench(Budget(), fidelity=fidelity)
        bench.strategy = Listed(pairs)
        bench.run(TimeRules(grace=1.0, parallel=parallel))
        history = bench.store.history()
        for trial in sorted(history.trials, key=lambda one: one.moves[-2].time):  # as they were started
            ended = [before for before in history.trials if before.moves[-1].time <= trial.moves[-2].time]
            known = [
                (one.fraction, toy.seconds(one.configuration, one.fraction))
                for one in ended
                if one.configuration == trial.configuration and one.fraction < trial.fraction
            ]
            goes_on = fidelity == "epochs" and not history.repeat_of(trial)  # what repeats a run starts from nothing
            earlier = max(known, default=(0, 0.0))[1] if goes_on else 0.0
            whole = toy.seconds(trial.configuration, trial.fraction)
            assert trial.observations[0].seconds == whole
            assert trial.seconds == pytest.approx(whole - earlier)
            assert trial.cost == pytest.approx((whole - earlier) / 3600 * (trial.configuration.usd_per_hour or 0.0))
        assert sum(row.settled or 0.0 for row in bench.store.ledger()) == pytest.approx(history.cost)
        bench.database.close()
