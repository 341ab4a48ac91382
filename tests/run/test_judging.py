"""Verdicts carried out by the loop: pauses, resumptions, stops; their money, and whoever else works on the study."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import pytest

from leantune.errors import Outdated
from leantune.executors.base import EndMode, Finished
from leantune.history import ObservationKind, Trial, TrialState
from leantune.problem import Budget
from leantune.run.curves import Curves, learning_curves
from leantune.run.events import Event, ReportReceived, RunEnded, RunStarted, TrialJudged, no_observer
from leantune.run.judging import Judge
from leantune.run.ledger import KILL_SECONDS, TimeRules
from leantune.run.loop import Loop, Outcome
from leantune.run.workers import LoopSettings, Workplace, this_worker
from leantune.store.rows import Booking, Claim, JudgedMove, ReportRow
from leantune.strategies.spottune import SpotTune
from leantune.strategies.standings import TrialEnding
from leantune.strategies.tuner import Judgement, Verdict, View
from leantune.units import NO_USD, Seconds, Usd
from tests.run.judged_worlds import (
    RULES,
    SAVE_SECONDS,
    START,
    STEP_SECONDS,
    Scripted,
    World,
    at_step,
    falling,
    numbers,
    reached,
    states,
    world,
)

S = TrialState
FULL = Fraction(1)
RAN = [S.PROPOSED, S.QUEUED, S.RUNNING]
HALF = SpotTune(theta=0.5, mcnt=1)
TO_STEP_5 = 5 * STEP_SECONDS + SAVE_SECONDS


@pytest.fixture(params=["memory", "sqlite"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def make(kind: str) -> Iterator[Callable[..., World]]:
    made: list[World] = []

    def new(count: int = 4, **options: object) -> World:
        made.append(world(kind, count, **options))  # type: ignore[arg-type]
        return made[-1]

    yield new
    for one in made:
        one.check_books()
        if one.database is not None:
            one.database.close()


# -- pause


def test_a_paused_trial_gives_back_its_machine_and_its_reservation(make: Callable[..., World]) -> None:
    here = make()
    reserved: list[float] = []

    def look(event: Event) -> None:
        if isinstance(event, RunStarted):
            reserved.append(here.store.money().reserved)

    end = here.run(Scripted(at_step(5, Verdict.PAUSE, 0), trials=2), observer=look)
    first, second = here.trials
    assert states(first) == [*RAN, S.PAUSED]
    pause = first.moves[-1]
    assert (pause.cause, pause.seconds) == ("pause at 5", TO_STEP_5)
    assert pause.dollars == pytest.approx(TO_STEP_5 * 0.01) == pytest.approx(first.cost)
    assert first.observations == ()
    assert second.moves[2].time == pause.time == START + TO_STEP_5, "the only place is free at once"
    assert reserved == [pytest.approx((400 + 5 + KILL_SECONDS) * 0.01)] * 2
    assert states(second) == [*RAN, S.DONE]
    assert end.outcome is Outcome.OVER, "nobody is waited for that nobody resumes"
    assert here.judged == [(0, Verdict.PAUSE)]
    assert here.executor is not None and here.executor.asked == [(0, EndMode.EVICT)], (
        "asked once, though it takes a while"
    )


def paused_then(step: float, verdict: Verdict, *which: int) -> Callable[[View], Mapping[int, Judgement]]:
    """All pause at a step; when nobody runs, these get the verdict."""
    pausing = at_step(step, Verdict.PAUSE)

    def rule(view: View) -> Mapping[int, Judgement]:
        paused = [trial.number for trial in view.history.trials if trial.state is S.PAUSED]
        busy = any(trial.state in (S.RUNNING, S.QUEUED) for trial in view.history.trials)
        if busy or len(view.history) < 3:
            return pausing(view)
        return {number: Judgement(verdict, f"{verdict} it") for number in which if number in paused}

    return rule


def test_a_resumed_trial_is_queued_and_goes_on_from_its_checkpoint(make: Callable[..., World]) -> None:
    here = make()
    here.run(Scripted(paused_then(5, Verdict.RESUME, 2), trials=3))
    assert [trial.state for trial in here.trials] == [S.PAUSED, S.PAUSED, S.DONE]
    again = here.trials[2]
    assert states(again) == [*RAN, S.PAUSED, S.QUEUED, S.RUNNING, S.DONE]
    assert (again.moves[4].cause, again.moves[4].dollars, again.moves[4].seconds) == ("resume it", 0.0, None)
    steps = {attempt: [row.step for row in here.store.reports(2) if row.attempt == attempt] for attempt in (1, 2)}
    assert steps[1] == [1, 2, 3, 4, 5]
    assert steps[2][:2] == [5, 6], "told again, where it was saved"
    seconds = TO_STEP_5 + SAVE_SECONDS + 15 * STEP_SECONDS + SAVE_SECONDS
    assert again.seconds == pytest.approx(seconds)
    assert again.cost == pytest.approx(seconds * 0.01)
    assert [row.settled for row in here.store.ledger() if row.number == 2] == [
        pytest.approx(TO_STEP_5 * 0.01),
        pytest.approx((seconds - TO_STEP_5) * 0.01),
    ]


def test_a_verdict_to_go_on_changes_nothing(make: Callable[..., World]) -> None:
    here = make()
    go_on = {0: Judgement(Verdict.GO_ON), 1: Judgement(Verdict.RESUME, "it runs anyway")}
    here.run(Scripted(lambda view: {number: one for number, one in go_on.items() if number < len(view.history)}, 2))
    assert [states(trial) for trial in here.trials] == [[*RAN, S.DONE]] * 2
    assert (here.judged, here.executor and here.executor.asked) == ([], [])


# -- stop


def check_partial(trial: Trial, step: int, seconds: float) -> None:
    (seen,) = trial.observations
    assert seen.kind is ObservationKind.PARTIAL
    assert seen.metrics == {"loss": pytest.approx(0.1 * trial.number + 1 / step)}
    assert [seen.seconds, seen.cost] == pytest.approx([seconds, seconds * 0.01])
    assert [trial.seconds, trial.cost] == pytest.approx([seconds, seconds * 0.01])


def test_a_running_trial_that_is_stopped_has_shown_what_it_had_shown(make: Callable[..., World]) -> None:
    here = make()
    here.run(Scripted(at_step(7, Verdict.STOP, 1), trials=2))
    done, stopped = here.trials
    assert states(stopped) == [*RAN, S.STOPPED]
    assert stopped.moves[-1].cause == "stop at 7"
    check_partial(stopped, 7, 7 * STEP_SECONDS + SAVE_SECONDS)
    assert [trial.number for trial, _ in here.store.history().observations] == [done.number]
    assert stopped.tested == (FULL,)
    assert here.executor is not None and here.executor.forgotten == [0, 1], "their checkpoints only take space"
    assert 1 not in here.checkpoints
    told = [event for event in here.events if isinstance(event, TrialJudged | RunEnded)]
    assert [type(event) for event in told] == [RunEnded, TrialJudged, RunEnded]


def test_a_trial_that_went_on_and_is_stopped_has_the_dollars_of_all_attempts(make: Callable[..., World]) -> None:
    here, pauses = make(), paused_then(5, Verdict.RESUME, 0)

    def rule(view: View) -> Mapping[int, Judgement]:
        if view.history.trials and view.history.trial(0).runs.paused and reached(view, 0) >= 8:
            return {0: Judgement(Verdict.STOP, "enough")}
        return pauses(view)

    here.run(Scripted(rule, trials=3))
    stopped = here.trials[0]
    assert states(stopped) == [*RAN, S.PAUSED, S.QUEUED, S.RUNNING, S.STOPPED]
    check_partial(stopped, 8, TO_STEP_5 + SAVE_SECONDS + 3 * STEP_SECONDS + SAVE_SECONDS)


def test_a_run_that_was_lost_is_paid_for_when_its_trial_is_stopped(make: Callable[..., World]) -> None:
    """What it cost until that was noticed is not training, but the stopped trial has cost it."""
    here = make()
    claim = claimed(here, lease=100.0)
    here.store.add_reports([ReportRow(0, 1, 20.0, {"loss": 0.5}, 2.0)])
    here.clock.sleep(100.0)
    here.run(Scripted(at_step(7, Verdict.STOP), trials=1))
    (stopped,) = here.trials
    assert states(stopped) == [*RAN, S.LOST, S.QUEUED, S.RUNNING, S.STOPPED]
    lost = stopped.moves[3]
    assert [lost.dollars, lost.seconds, claim.attempt] == pytest.approx([1.0, 20.0, 1])
    (seen,) = stopped.observations
    run = 7 * STEP_SECONDS + SAVE_SECONDS
    assert [seen.seconds, seen.cost] == pytest.approx([20.0 + run, 1.0 + run * 0.01])


def test_a_paused_trial_that_is_stopped_has_the_dollars_of_its_run(make: Callable[..., World]) -> None:
    here = make()
    here.run(Scripted(paused_then(5, Verdict.STOP, 1, 2), trials=3))
    assert [trial.state for trial in here.trials] == [S.PAUSED, S.STOPPED, S.STOPPED]
    for stopped in here.trials[1:]:
        assert states(stopped) == [*RAN, S.PAUSED, S.STOPPED]
        assert (stopped.moves[-1].dollars, stopped.moves[-1].seconds) == (0.0, None), "it did not run"
        check_partial(stopped, 5, TO_STEP_5)
    assert here.executor is not None and here.executor.forgotten == [1, 2]
    assert here.judged == [
        (0, Verdict.PAUSE),
        (1, Verdict.PAUSE),
        (2, Verdict.PAUSE),
        (1, Verdict.STOP),
        (2, Verdict.STOP),
    ]


def claimed(here: World, *, lease: float = 1e12, worker: str = "elsewhere") -> Claim:
    """The first setting, claimed by a worker that nobody knows."""
    here.store.propose(here.problem.space.grid()[0], FULL, time=here.clock.now(), time_limit=400.0)
    found = here.store.claim(
        worker, time=here.clock.now(), lease=lease, fitting=lambda trial, _: Booking(Usd(4.06), 36.0, Seconds(400.0))
    )
    assert found is not None
    return found


def test_a_queued_trial_is_stopped_before_it_costs_more(make: Callable[..., World]) -> None:
    """One that was interrupted after it had reported, and one that never ran."""
    here = make()
    claim = claimed(here)
    here.store.add_reports([ReportRow(0, 1, 30.0, {"loss": 1 / 3}, 3.0)])
    here.store.finish(
        claim, observations=(), state=S.QUEUED, cause="x", time=START, dollars=Usd(0.4), seconds=Seconds(40.0)
    )
    here.store.propose(here.problem.space.grid()[1], FULL, time=START)
    queued = {0: Judgement(Verdict.STOP, "no more"), 1: Judgement(Verdict.STOP, "never")}
    here.run(Scripted(lambda view: queued, trials=2))
    ran, never = here.trials
    assert states(ran) == [*RAN, S.QUEUED, S.STOPPED]
    check_partial(ran, 3, 40.0)
    assert (states(never), never.observations, never.cost) == ([S.PROPOSED, S.QUEUED, S.STOPPED], (), 0.0)
    assert here.executor is not None and here.executor.started == []


def test_a_queued_trial_can_be_paused(make: Callable[..., World]) -> None:
    """Its worker vanished after it had come to its pause, and before that was written down."""
    here = make()
    claim = claimed(here, lease=100.0)
    here.store.add_reports([ReportRow(0, claim.attempt, 50.0 + k, {"loss": 1 / k}, float(k)) for k in range(1, 11)])
    here.clock.sleep(200.0)
    here.run(SpotTune(theta=0.5, mcnt=4))
    first = here.trials[0]
    assert states(first)[:6] == [*RAN, S.LOST, S.QUEUED, S.PAUSED], "it runs no step in vain"
    assert [trial.state for trial in here.trials] == [S.DONE] * 4


def test_what_had_shown_no_number_leaves_no_observation(make: Callable[..., World]) -> None:
    here = make(runs=[falling(n, last=math.nan) for n in range(4)])
    for run in here.runs:
        run.values[:] = math.nan
    here.run(HALF)
    for trial in here.trials:
        assert (trial.state, trial.observations) == (S.STOPPED, ())
        assert trial.moves[-1].cause == "diverged: the value at step 1 is nan"
        assert trial.cost == pytest.approx((STEP_SECONDS + SAVE_SECONDS) * 0.01)
    assert HALF.recommend(view_of(here)) is None


def test_what_was_stopped_is_never_proposed_again(make: Callable[..., World]) -> None:
    here = make()
    for tuner in (Scripted(at_step(2, Verdict.STOP), trials=2), SpotTune(theta=0.1, mcnt=1)):
        here.run(tuner)
    settings = [trial.configuration.id for trial in here.trials]
    assert len(settings) == len(set(settings)) == 4
    assert [trial.state for trial in here.trials[:2]] == [S.STOPPED] * 2


# -- what comes between a verdict and its end


def test_a_run_that_ended_by_itself_is_what_it_is(make: Callable[..., World]) -> None:
    here = make(2)
    here.run(Scripted(at_step(20, Verdict.STOP), trials=1))
    (trial,) = here.trials
    assert (trial.state, here.judged) == (S.DONE, []), "it was saving its last step"


def test_a_hard_stop_while_it_saves_keeps_the_verdict(make: Callable[..., World]) -> None:
    here = make(2)
    tuner = Scripted(at_step(5, Verdict.PAUSE), trials=1)
    loops = [here.loop(tuner)]
    evict = here.executor.end if here.executor is not None else None

    def interrupting(number: int, mode: EndMode) -> None:
        assert evict is not None
        evict(number, mode)
        loops[0].interrupt()
        loops[0].interrupt()

    here.executor.end = interrupting  # type: ignore[method-assign, union-attr]
    assert loops[0].run().outcome is Outcome.INTERRUPTED
    assert states(here.trials[0]) == [*RAN, S.PAUSED]
    assert here.store.money().reserved == 0.0


def test_a_verdict_dies_with_its_run(make: Callable[..., World]) -> None:
    """The lease was lost while it saved; when the same worker runs the trial again, it is judged anew."""
    here = make(2)
    claim = claimed(here)
    programs = here.programs()
    programs.start(claim.trial)
    here.store.add_reports([ReportRow(0, 1, 10.0, {"loss": 1.0}, 5.0)])
    curves = Curves(here.store, numbers(4))
    tuner = Scripted(at_step(5, Verdict.PAUSE), trials=1)
    settings = LoopSettings(numbers(4), tuner, 0, RULES)
    judge = Judge(Workplace(here.store, settings, programs, here.clock, no_observer), curves)
    judge.look(lambda closed: replace(view_of(here), closed=closed), {0: claim})
    assert programs.asked == [(0, EndMode.EVICT)]
    judge.forget(0)
    told = Finished(0, (), S.QUEUED, "interrupted by the user", Seconds(3.0))
    assert judge.ended(told, claim) == (told, None)


def test_a_trial_that_another_worker_runs_is_left_to_it(make: Callable[..., World]) -> None:
    here = make()
    other = replace(this_worker(1, here.clock), id="other", host="elsewhere")
    here.store.join(other)
    claim = claimed(here, worker=other.id)
    here.store.add_reports([ReportRow(0, 1, 10.0, {"loss": 1.0}, 5.0)])

    def finish(event: Event) -> None:
        if isinstance(event, RunEnded) and event.trial.number == 1:
            assert here.store.history().trial(0).state is S.RUNNING
            here.store.finish(claim, observations=(), state=S.STOPPED, cause="its own", time=START, dollars=NO_USD)

    here.run(Scripted(at_step(5, Verdict.STOP), trials=2), observer=finish)
    assert [trial.moves[-1].cause for trial in here.trials] == ["its own", "stop at 5"]


# -- whole selections


def test_the_best_go_on_and_the_others_are_stopped(make: Callable[..., World]) -> None:
    here = make()
    end = here.run(SpotTune(theta=0.5, mcnt=2), replace(RULES, parallel=2))
    assert end.outcome is Outcome.OVER
    assert [trial.state for trial in here.trials] == [S.DONE, S.DONE, S.STOPPED, S.STOPPED]
    for chosen in here.trials[:2]:
        assert states(chosen) == [*RAN, S.PAUSED, S.QUEUED, S.RUNNING, S.DONE]
        assert chosen.moves[4].cause.startswith("selected: predicted ")
    for other in here.trials[2:]:
        check_partial(other, 10, 10 * STEP_SECONDS + SAVE_SECONDS)
        assert other.moves[-1].cause.startswith("not selected: predicted ")
    chosen_at = {trial.moves[4].time for trial in here.trials}
    assert len(chosen_at) == 1, "one moment"
    rows = SpotTune(theta=0.5, mcnt=2).ranking(view_of(here))
    assert [row.trial.number for row in rows] == [0, 1, 2, 3]
    assert [row.ending for row in rows] == [TrialEnding.FINISHED] * 2 + [TrialEnding.NOT_SELECTED] * 2


def view_of(here: World) -> View:
    """What any worker sees in the store."""
    return View(here.problem, here.store.history(), 1, learning_curves(here.store, here.problem))


def test_a_selection_is_made_as_a_whole_or_not_at_all(
    make: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    here = make()
    with monkeypatch.context() as patch:
        interrupt_third(patch, "leantune.store.base.judged_trial")
        with pytest.raises(KeyboardInterrupt):
            here.run(SpotTune(theta=0.5, mcnt=2))
    assert [states(trial) for trial in here.trials] == [[*RAN, S.PAUSED]] * 4
    here.check_books()
    here.run(SpotTune(theta=0.5, mcnt=2))
    assert [trial.state for trial in here.trials] == [S.DONE, S.DONE, S.STOPPED, S.STOPPED]


def interrupt_third(patch: pytest.MonkeyPatch, name: str) -> None:
    """The third trial of a transaction is not reached."""
    from leantune.store.rules import judged_trial

    seen: list[int] = []

    def interrupted(trial: Trial, *others: object) -> Trial:
        seen.append(trial.number)
        if len(seen) == 3:
            raise KeyboardInterrupt
        return judged_trial(trial, *others)  # type: ignore[arg-type]

    patch.setattr(name, interrupted)


@pytest.mark.parametrize("first", [1, 3, 4])
def test_another_worker_that_was_faster_is_survived(
    make: Callable[..., World], monkeypatch: pytest.MonkeyPatch, first: int
) -> None:
    """It has made the first few moves of the selection, or all of them, when this one tries to."""
    here = make()
    judge, refused = here.store.judge, list[Outdated]()

    def late(changes: Sequence[JudgedMove], *, time: float) -> list[Trial]:
        if len(changes) == 4:
            judge(changes[:first], time=time)
        try:
            return judge(changes, time=time)
        except Outdated as error:
            refused.append(error)
            raise

    monkeypatch.setattr(here.store, "judge", late)
    here.run(SpotTune(theta=0.5, mcnt=2))
    assert len(refused) == 1
    assert [trial.state for trial in here.trials] == [S.DONE, S.DONE, S.STOPPED, S.STOPPED]
    assert [len(trial.moves) for trial in here.trials] == [7, 7, 5, 5], "nothing was done twice"


def test_judgements_depend_on_what_is_stored_alone(make: Callable[..., World], monkeypatch: pytest.MonkeyPatch) -> None:
    """Every answer is that of a SpotTune which has seen nothing but the store."""
    here, judge, told = make(), SpotTune.judge, list[Judgement]()

    def compared(tuner: SpotTune, view: View, only: Collection[int] | None = None) -> Mapping[int, Judgement]:
        found = judge(tuner, view, only)
        stored = replace(view_of(here), closed=view.closed, due=view.due)
        fresh = judge(SpotTune(tuner.theta, tuner.mcnt), stored)
        same = {n: one for n, one in fresh.items() if only is None or n in only or n in found}
        assert list(found.items()) == list(same.items())
        told.extend(found.values())
        return found

    monkeypatch.setattr(SpotTune, "judge", compared)
    here.run(SpotTune(theta=0.5, mcnt=2), replace(RULES, parallel=3))
    assert [one.verdict for one in told if one.verdict is not Verdict.PAUSE] == [Verdict.RESUME] * 2 + [
        Verdict.STOP
    ] * 2


def outcome(here: World) -> list[tuple[object, ...]]:
    """What must not depend on who did it."""
    return [(trial.configuration.id, trial.state, trial.observations) for trial in here.trials]


def test_one_worker_after_the_other_makes_the_same_selection(make: Callable[..., World]) -> None:
    """Stopped gently after every fifth report, each with a SpotTune, curves and programs of its own."""
    here, unharmed = make(), make()
    unharmed.run(SpotTune(theta=0.5, mcnt=2))
    loops: list[Loop] = []
    seen: list[Event] = []

    def stop(event: Event) -> None:
        if isinstance(event, ReportReceived):
            seen.append(event)
            if len(seen) % 5 == 0:
                loops[-1].interrupt()

    while not loops or loops[-1].run().outcome is Outcome.INTERRUPTED:
        loops.append(here.loop(SpotTune(theta=0.5, mcnt=2), observer=stop))
    assert len(loops) >= 10
    assert [row[:2] for row in outcome(here)] == [row[:2] for row in outcome(unharmed)]
    assert [states(trial)[-2:] for trial in here.trials[2:]] == [[S.PAUSED, S.STOPPED]] * 2
    found, other = (SpotTune(theta=0.5, mcnt=2).ranking(view_of(one)) for one in (here, unharmed))
    assert [(row.rank, row.trial.number, row.predicted) for row in found] == [
        (row.rank, row.trial.number, row.predicted) for row in other
    ]


def test_whole_batches_do_not_wait_for_the_paused(make: Callable[..., World]) -> None:
    here = make(6)
    here.run(SpotTune(theta=0.5, mcnt=2), replace(RULES, parallel=2), deterministic=True, batch=2)
    assert [trial.state for trial in here.trials] == [S.DONE] * 2 + [S.STOPPED] * 4


# -- money


def test_a_run_that_was_lost_near_its_end_has_time_to_do_its_steps_again(make: Callable[..., World]) -> None:
    """Found by killing at random: the reported step 19 left time for one step, its checkpoint at 10 asked for ten."""
    here = make(2)

    def kill(event: Event) -> None:
        if isinstance(event, ReportReceived) and event.report.step == 19:
            raise ConnectionError

    with pytest.raises(ConnectionError):
        here.run(HALF, TimeRules(grace=5.0, steps=20), observer=kill)
    assert here.checkpoints[0] == 10.0
    here.run(HALF, TimeRules(grace=5.0, steps=20))
    assert [trial.state for trial in here.trials] == [S.DONE, S.STOPPED]


def test_when_not_all_that_were_chosen_can_be_paid_the_best_go_on(make: Callable[..., World]) -> None:
    """Worst case of what is left: ten times the 100 s that the next ten steps should take, and the grace."""
    here = make(3, budget=Budget(usd=20.0))
    here.run(SpotTune(theta=0.5, mcnt=3), TimeRules(grace=5.0, steps=20))
    assert [trial.state for trial in here.trials] == [S.DONE, S.STOPPED, S.STOPPED]
    worst = (10 * (10 * STEP_SECONDS + SAVE_SECONDS) + 5 + KILL_SECONDS) * 0.01
    booked = [row.reserved for row in here.store.ledger() if row.number == 0]
    assert booked[1] == pytest.approx(worst)
    for other in here.trials[1:]:
        assert other.moves[-1].cause.startswith("the 6.29 USD that are left do not cover the worst case")
        assert f"{worst:.4g} USD" in other.moves[-1].cause
        check_partial(other, 10, 10 * STEP_SECONDS + SAVE_SECONDS)
    assert [one for one in here.judged if one[1] is not Verdict.PAUSE] == [
        (0, Verdict.RESUME),
        (1, Verdict.STOP),
        (2, Verdict.STOP),
    ]


def test_when_the_money_runs_out_the_best_of_the_paused_go_on(make: Callable[..., World]) -> None:
    """No third trial can be started, and one more step of the best can be paid for."""
    here = make(budget=Budget(usd=9.0))
    end = here.run(SpotTune(theta=0.95, mcnt=1), replace(RULES, time_limit=600.0))
    assert [trial.state for trial in here.trials] == [S.DONE, S.STOPPED]
    assert end.outcome is Outcome.OVER
    assert "do not cover the worst case" in end.reason
    assert here.trials[1].moves[-1].cause.startswith("not selected: ")


def test_a_tuner_is_told_that_nothing_more_can_be_proposed(make: Callable[..., World]) -> None:
    here, closed = make(budget=Budget(usd=6.2)), list[str]()

    def rule(view: View) -> Mapping[int, Judgement]:
        closed.append(view.closed)
        return at_step(5, Verdict.PAUSE)(view)

    end = here.run(Scripted(rule), replace(RULES, time_limit=500.0))
    assert closed[-1] == end.reason != ""
    assert set(closed[:-1]) == {""}
    assert [trial.state for trial in here.trials] == [S.PAUSED] * len(here.trials)


def test_when_nothing_can_be_paid_all_are_stopped_and_say_so(make: Callable[..., World]) -> None:
    here = make(2, budget=Budget(usd=6.0))  # a quarter of it is 150 s, enough for half of a training
    here.run(SpotTune(theta=0.5, mcnt=2), TimeRules(grace=5.0, steps=20))
    assert {trial.state for trial in here.trials} == {S.STOPPED}
    assert all("do not cover the worst case" in trial.moves[-1].cause for trial in here.trials)
    assert here.executor is not None and len(here.executor.started) == len(here.trials)


def test_a_call_that_has_proposed_its_trials_selects_nobody_yet(make: Callable[..., World]) -> None:
    here = make()
    end = here.loop(SpotTune(theta=0.5, mcnt=1)).run(trials=2)
    assert end.outcome is Outcome.ENOUGH
    assert [trial.state for trial in here.trials] == [S.PAUSED] * 2, "two settings are to come"
    here.run(SpotTune(theta=0.5, mcnt=1))
    assert [trial.state for trial in here.trials] == [S.DONE] + [S.STOPPED] * 3
