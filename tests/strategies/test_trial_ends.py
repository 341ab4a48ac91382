"""Which runs `lean` stops, by synthetic curves, and what it learns from those that were stopped."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from leantune.acquisition.worth import MeasuredResults
from leantune.curves.base import Outlook, Prediction
from leantune.history import (
    History,
    Note,
    NoteKind,
    Observation,
    ObservationKind,
    Trial,
    TrialKind,
    TrialState,
    observe,
)
from leantune.problem import Fidelity, Problem, maximize, minimize
from leantune.space import Space, choice
from leantune.strategies.beliefs import build_belief
from leantune.strategies.candidates import Table
from leantune.strategies.evidence import Evidence
from leantune.strategies.registry import at_work
from leantune.strategies.trial_ends import (
    CHANCE,
    LEAST_SHARE,
    StoppedTrial,
    best_result_on_all_data,
    chance,
    closed,
    informed,
    judgements,
    last_step,
    stopped_trials,
)
from leantune.strategies.tuner import Judgement, LearningCurve, Verdict, View
from leantune.units import Seconds
from tests.strategies.quick_lean import quick_lean

HALF, FULL = Fraction(1, 2), Fraction(1)
SPACE = Space(n=choice(*range(10)))
STEPS = 100.0


def problem_of(goal: str = "maximize", fidelity: Fidelity = "data", limits: Sequence[str] = ()) -> Problem:
    wanted = maximize("a") if goal == "maximize" else minimize("a")
    return Problem(SPACE, wanted, limits, [HALF, FULL], steps=STEPS, fidelity=fidelity)


def rising(level: float, points: int) -> LearningCurve:
    """Nears its level as 1 / step."""
    steps = [float(k) for k in range(1, points + 1)]
    return LearningCurve(steps, [level - 0.3 / k for k in steps])


def flat(level: float, points: int = 60) -> LearningCurve:
    """Has levelled off long ago."""
    steps = [float(k) for k in range(1, points + 1)]
    return LearningCurve(steps, [level - 0.3 * 0.3**k for k in steps])


def done(problem: Problem, history: History, n: int, value: float, share: Fraction = FULL, **more: float) -> History:
    history, trial = history.propose(SPACE.grid()[n], share)
    seen = observe(problem, trial, {"a": value, **more}, seconds=100.0)
    return history.record(trial.number, [seen], time=0.0)


def running(
    history: History,
    n: int,
    share: Fraction = FULL,
    *,
    kind: TrialKind = TrialKind.SEARCH,
    note: NoteKind | None = None,
) -> tuple[History, Trial]:
    notes = () if note is None else (Note(note, "why"),)
    history, trial = history.propose(SPACE.grid()[n], share, notes=notes, kind=kind)
    for state in (TrialState.QUEUED, TrialState.RUNNING):
        history = history.move(trial.number, state, time=0.0)
    return history, history.trial(trial.number)


def judged(
    curve: LearningCurve,
    share: Fraction = FULL,
    *,
    kind: TrialKind = TrialKind.SEARCH,
    note: NoteKind | None = None,
) -> Judgement | None:
    """What becomes of a run with this curve, beside a result of 0.9 on all data."""
    problem = problem_of()
    history, trial = running(done(problem, History(), 0, 0.9), 1, share, kind=kind, note=note)
    return judgements(View(problem, history, 0, {trial.number: curve})).get(trial.number)


# -- who is stopped


def test_a_run_that_will_not_pay_is_stopped_with_its_prediction_as_the_reason() -> None:
    judgement = judged(rising(0.7, 40))
    assert judgement is not None and judgement.predicted is not None
    assert judgement.verdict is Verdict.STOP
    assert judgement.predicted.mean == pytest.approx(0.7, abs=0.02)
    assert judgement.why == f"will end at about {judgement.predicted}; the best measured is 0.9"


@pytest.mark.parametrize("level", [0.91, 0.95, 1.2])
@pytest.mark.parametrize("points", [5, 10, 20, 40, 80, 99])
def test_a_promising_run_is_never_stopped(level: float, points: int) -> None:
    assert judged(rising(level, points)) is None


def test_the_same_of_a_goal_to_minimise_and_of_the_mirror_image() -> None:
    problem = problem_of("minimize")
    history = done(problem, History(), 0, 0.1)
    for number, (level, stops) in enumerate([(0.3, True), (0.05, False)], start=1):
        history, trial = running(history, number)
        curve = rising(-level, 40)
        falling = LearningCurve(curve.steps, [-value for value in curve.values])
        found = judgements(View(problem, history, 0, {trial.number: falling}))
        assert (trial.number in found) is stops


def test_nobody_is_judged_too_early_or_without_a_result_to_beat() -> None:
    early = int(LEAST_SHARE * STEPS) - 1
    assert judged(rising(0.5, early)) is None
    assert judged(rising(0.5, early + 1)) is not None
    history, trial = running(History(), 1)
    assert judgements(View(problem_of(), history, 0, {0: rising(0.1, 60)})) == {}
    assert trial.number == 0


def test_a_result_that_broke_a_limit_is_none_to_beat() -> None:
    problem = problem_of(limits=["size <= 2"])
    history = done(problem, done(problem, History(), 0, 0.9, size=3.0), 2, 0.4, size=1.0)
    assert best_result_on_all_data(View(problem, history, 0)) == 0.4
    history = done(problem, history, 2, 0.6, size=1.0)
    assert best_result_on_all_data(View(problem, history, 0)) == pytest.approx(0.5), "the mean of its runs"
    history = done(problem, done(problem, history, 2, 0.8, size=9.0), 3, 0.3, share=HALF, size=1.0)
    assert best_result_on_all_data(View(problem, history, 0)) is None


@pytest.mark.parametrize(
    ("kind", "note"),
    [
        (TrialKind.VERIFICATION, None),
        (TrialKind.ENQUEUED, None),
        (TrialKind.SEARCH, NoteKind.BASELINE),
        (TrialKind.SEARCH, NoteKind.FAVOURITE),
    ],
)
def test_some_run_to_their_end_unless_they_diverge(kind: TrialKind, note: NoteKind | None) -> None:
    assert judged(rising(0.5, 60), kind=kind, note=note) is None
    curve = rising(0.5, 10)
    broken = judged(LearningCurve([*curve.steps, 11.0], [*curve.values, math.nan]), kind=kind, note=note)
    assert broken == Judgement(Verdict.STOP, "diverged: the value at step 11 is nan")


def test_on_a_part_of_the_data_only_a_flat_run_is_stopped() -> None:
    assert judged(rising(0.5, 40), share=HALF) is None, "it teaches"
    judgement = judged(flat(0.5), share=HALF)
    assert judgement is not None and judgement.why.startswith("has levelled off at 0.5")
    assert judged(flat(0.95), share=HALF) is not None, "whatever it promises"
    assert judged(flat(0.95)) is None


def test_where_shares_are_of_epochs_a_flat_run_leaves_its_checkpoint() -> None:
    problem = problem_of(fidelity="epochs")
    history, trial = running(done(problem, History(), 0, 0.9), 1, HALF)
    assert judgements(View(problem, history, 0, {trial.number: flat(0.5, 40)})) == {}


def test_only_those_that_changed_are_looked_at_until_a_result_comes() -> None:
    problem = problem_of()
    history, first = running(done(problem, History(), 0, 0.9), 1)
    history, second = running(history, 2)
    curves = {one.number: rising(0.5, 40) for one in (first, second)}
    view = View(problem, history, 0, curves)
    assert set(judgements(view)) == {1, 2}
    assert set(judgements(view, {2})) == {2}
    assert set(judgements(view, {0})) == {1, 2}, "trial 0 has ended: there may be more to beat"


def test_lean_judges_only_if_it_is_asked_to() -> None:
    problem = problem_of()
    history, _ = running(done(problem, History(), 0, 0.9), 1)
    view = View(problem, history, 0, {1: rising(0.5, 40)})
    for curves in (False, True):
        tuner = at_work(quick_lean(curves=curves))
        assert tuner.judges is curves
        assert (1 in tuner.judge(view)) is curves


def test_the_chance_is_that_of_a_normal_end() -> None:
    problem, lower = problem_of(), problem_of("minimize")
    assert chance(problem, Prediction(0.5, 0.1), 0.6) == pytest.approx(0.158655, abs=1e-6)
    assert chance(lower, Prediction(0.5, 0.1), 0.6) == pytest.approx(0.841345, abs=1e-6)
    assert chance(problem, Prediction(0.5, 0.0), 0.6) == 0.0
    assert chance(problem, Prediction(0.7, 0.0), 0.6) == 1.0
    assert 0.0 < CHANCE < 0.5


def test_the_last_step_of_a_share() -> None:
    trials = [History().propose(SPACE.grid()[0], share)[1] for share in (HALF, FULL)]
    by_share = Problem(SPACE, maximize("a"), (), [HALF, FULL], snapshots=True)
    nothing = Problem(SPACE, maximize("a"), (), [HALF, FULL])
    ends = [[last_step(one, trial) for trial in trials] for one in (problem_of(fidelity="epochs"), problem_of())]
    assert ends == [[50.0, 100.0], [None, 100.0]]
    assert [last_step(by_share, trial) for trial in trials] == [0.5, 1.0]
    assert [last_step(nothing, trial) for trial in trials] == [None, None]


# -- what is learned


def world(curve: LearningCurve, share: Fraction = FULL) -> View:
    """Eight results, and a ninth trial that was stopped with this curve, after 30 s."""
    problem = problem_of()
    history = History()
    for n in range(8):
        history = done(problem, history, n, 0.5 + 0.05 * n)
    history, trial = running(history, 8, share)
    shown = Observation(share, ObservationKind.PARTIAL, {"a": curve.values[-1]}, Seconds(30.0), None)
    history = history.record(trial.number, [shown], time=1.0, state=TrialState.STOPPED)
    return View(problem, history, 0, {trial.number: curve})


def learned(view: View) -> Evidence:
    evidence = Evidence.of(view.problem, view.history)
    return informed(evidence, stopped_trials(view), natural=True)


def test_a_well_known_end_is_told_to_the_models() -> None:
    view = world(rising(0.6, 60))
    known = learned(view)
    assert len(known.level) == 9 and known.level[-1] == 1
    assert known.metrics["a"][-1] == pytest.approx(0.6, abs=0.01)
    np.testing.assert_array_equal(known.points.x[-1], Evidence.of(view.problem, done_at_8()).points.x[0])
    assert known.cut[-1] and not known.failed[-1]
    assert known.metrics["time"][-1] == 30.0, "a lower bound"
    assert known.data("time", known.transform("time")).censored.tolist() == [False] * 8 + [True]


def done_at_8() -> History:
    return done(problem_of(), History(), 8, 0.5)


@pytest.mark.parametrize(("sd", "points", "is_told"), [(0.001, 60, True), (10.0, 60, False), (0.001, 19, False)])
def test_an_end_that_is_not_well_known_is_not_told(sd: float, points: int, is_told: bool) -> None:
    view = world(rising(0.6, 60))
    evidence = Evidence.of(view.problem, view.history)
    stopped = [StoppedTrial(view.history.trials[-1], Prediction(0.6, sd), points)]
    value = informed(evidence, stopped, natural=True).metrics["a"][-1]
    assert (value == 0.6) if is_told else math.isnan(value)


def test_an_end_beyond_all_that_was_seen_is_not_believed() -> None:
    view = world(rising(0.6, 60))
    stopped = [StoppedTrial(view.history.trials[-1], Prediction(-3.0, 0.001), 60)]
    known = informed(Evidence.of(view.problem, view.history), stopped, natural=True)
    assert known.metrics["a"][-1] == 0.5
    assert known.transform("a").kind == "share"


def test_a_diverged_run_is_a_failure() -> None:
    curve = rising(0.6, 10)
    view = world(LearningCurve([*curve.steps, 11.0], [*curve.values, math.nan]))
    (stopped,) = stopped_trials(view)
    assert stopped.diverged and stopped.end is not None and stopped.end.outlook is Outlook.DIVERGED
    known = learned(view)
    assert known.failed[-1] and math.isnan(known.metrics["a"][-1])
    assert known.successes().y.tolist() == [1.0] * 8 + [-1.0]


@pytest.mark.parametrize(("share", "is_closed"), [(FULL, True), (HALF, False)])
def test_what_was_stopped_on_all_data_is_closed(share: Fraction, is_closed: bool) -> None:
    view = world(rising(0.6, 60), share)
    recipe = quick_lean(curves=True)
    table = Table.of(view.problem, view.history, recipe, 0)
    evidence = Evidence.of(view.problem, view.history)
    belief, _ = build_belief(recipe, evidence, table.candidates, 0)
    before = MeasuredResults(np.array([0]), np.array([0.1]), np.array([True]))
    after = closed(before, stopped_trials(view), table, belief)
    assert after.rows.tolist() == [0, 8] if is_closed else after is before
    assert after.kept.tolist() == [True, False][: len(after.rows)]


def test_lean_neither_tests_nor_recommends_again_what_it_stopped() -> None:
    """Its curve says 0.6; all around it are better, so that the models alone would take it for one of the best."""
    view = world(rising(0.6, 60))
    tuner = at_work(quick_lean(curves=True))
    advice = tuner.recommend(view)
    assert advice is not None and advice.configuration["n"] != 8
    proposal = tuner.ask(view)
    assert getattr(proposal, "configuration", {}) != view.history.trials[-1].configuration


def test_without_curves_what_somebody_stopped_says_nothing() -> None:
    view = world(rising(0.6, 60))
    tuner = at_work(quick_lean())
    assert tuner.recommend(view) == tuner.recommend(replace(view, curves={}))
