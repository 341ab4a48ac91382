"""SpotTune as a tuner: each of its rules, and that answers depend on the view alone."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leantune.cloud.catalog import clusters
from leantune.curves.base import Curve, Prediction
from leantune.curves.predictors import curve_predictor
from leantune.errors import StrategyError
from leantune.history import LEGAL_MOVES, Estimate, History, ObservationKind, TrialKind, TrialState, observe
from leantune.problem import Budget, Problem, maximize, minimize
from leantune.space import Space, choice, integer, linear, log, machine
from leantune.strategies.proposals import Proposal
from leantune.strategies.spottune import RankedTrial, SpotTune
from leantune.strategies.standings import TrialEnding
from leantune.strategies.tuner import LearningCurve, Over, Verdict, View
from tests.strategies.trainings import LEADS_TO, Points, Training, falling, numbers

S = TrialState
NAN = math.nan


def training(count: int, tuner: SpotTune | None = None, **options: object) -> Training:
    """Settings 0, 1, ... end near 0, 0.1, ...: the first is the best."""
    problem = numbers(count, **options)  # type: ignore[arg-type]
    return Training(tuner or SpotTune(), problem, [falling(0.1 * n) for n in range(count)])


def flat(points: int = 60) -> Points:
    return [(float(k), 0.3 + math.exp(-k)) for k in range(1, points + 1)]


# What it serves


@pytest.mark.parametrize("options", [{"theta": 0.0}, {"theta": 1.1}, {"theta": NAN}, {"mcnt": 0}])
def test_wrong_options(options: dict[str, float]) -> None:
    with pytest.raises(StrategyError, match=f"{next(iter(options))} is"):
        SpotTune(**options)  # type: ignore[arg-type]


ENDLESS, LARGE = Space(lr=log(1e-3, 1.0)), Space(a=integer(1, 10**7))


@pytest.mark.parametrize(
    ("problem", "says"),
    [
        (Problem(numbers(3).space, minimize("loss")), r"how many steps.*\(steps\).*steps: 100"),
        (Problem(numbers(3).space, minimize("loss"), fractions=["1/2", 1], steps=9), r"all the data.*\[1/2, 1\]"),
        (Problem(numbers(3).space, minimize("time"), steps=9), "time has none"),
        (Problem(ENDLESS, minimize("loss"), steps=9), r"no end of them \(space\).*settings:"),
        (Problem(LARGE, minimize("loss"), steps=9), r"too large.*\(space\).*settings:"),
    ],
)
def test_problems_that_it_cannot_serve(problem: Problem, says: str) -> None:
    with pytest.raises(StrategyError, match=says):
        SpotTune().check(problem)


def test_problems_that_it_serves() -> None:
    SpotTune().check(numbers(3))
    SpotTune().check(Problem(ENDLESS, minimize("loss"), steps=9, settings=[{"lr": 0.1}]))
    known = {setting.id: 9.0 for setting in numbers(3).space.grid()}
    SpotTune(last_steps=known).check(Problem(numbers(3).space, minimize("loss")))


# What it proposes


def asked(view: View) -> Proposal:
    answer = SpotTune().ask(view)
    assert isinstance(answer, Proposal)
    return answer


def test_settings_are_proposed_in_their_order_and_each_once() -> None:
    listed = [{"lr": 0.3}, {"lr": 0.1}, {"lr": 0.2}]
    problem = Problem(Space(lr=linear(0, 1)), minimize("loss"), steps=9, settings=listed)
    history = History()
    for place, setting in enumerate(listed, start=1):
        proposal = asked(View(problem, history, 0))
        assert dict(proposal.configuration) == setting
        assert (proposal.fraction, proposal.snapshots) == (Fraction(1), (Fraction(1),))
        assert [str(note) for note in proposal.notes] == [f"setting {place} of 3"]
        history, _ = history.propose(proposal.configuration, proposal.fraction)
    assert SpotTune().ask(View(problem, history, 0)) == Over("all 3 settings are proposed")
    assert SpotTune().stop_reason(View(problem, history, 0)) == "all 3 settings are proposed"


def test_a_setting_that_was_enqueued_is_not_proposed_again_and_one_that_was_verified_is() -> None:
    problem = numbers(3)
    history, _ = History().propose(problem.space.grid()[1], Fraction(1), kind=TrialKind.ENQUEUED)
    assert asked(View(problem, history, 0)).configuration["n"] == 0
    history, _ = History().propose(problem.space.grid()[0], Fraction(1), kind=TrialKind.VERIFICATION)
    assert asked(View(problem, history, 0)).configuration["n"] == 0


def test_a_setting_is_proposed_once_whatever_its_machine() -> None:
    small = machine("small", vcpus=1, memory=2)
    space = Space(flag=choice(True, 1, "1"), cluster=clusters([small], nodes=[1, 2]))
    problem = Problem(space, minimize("loss"), steps=9)
    history, found = History(), []
    while isinstance(answer := SpotTune().ask(View(problem, history, 0)), Proposal):
        found.append(answer.configuration["flag"])
        history, _ = history.propose(answer.configuration, answer.fraction)
    assert [repr(flag) for flag in found] == ["True", "1", "'1'"]


@pytest.mark.parametrize(("budget", "says"), [(Budget(trials=2), "all 2 trials"), (Budget(usd=1.0), "of 1 USD is")])
def test_a_budget_ends_it(budget: Budget, says: str) -> None:
    problem = numbers(5, budget=budget)
    history = History()
    for setting in list(problem.space.grid())[:2]:
        history, trial = history.propose(setting, Fraction(1))
        seen = observe(problem, trial, {"value": 1.0}, seconds=1.0, cost=0.6)
        history = history.record(trial.number, [seen], time=0.0)
    over = SpotTune().ask(View(problem, history, 0))
    assert isinstance(over, Over)
    assert says in over.why


def test_the_loop_may_know_that_it_is_over() -> None:
    assert SpotTune().ask(View(numbers(3), History(), 0, closed="no dollars")) == Over("no dollars")


# What it judges midway


def test_before_theta_everybody_goes_on() -> None:
    world = training(3).begin()
    assert world.judge() == {}
    for number in range(3):
        world.report(number, 13)
    assert world.judge() == {}


def test_at_theta_a_trial_pauses_with_its_prediction() -> None:
    world = training(3).begin()
    world.report(1, 14)
    ((number, judged),) = world.judge().items()
    assert (number, judged.verdict) == (1, Verdict.PAUSE)
    assert isinstance(judged.predicted, Estimate)
    assert judged.predicted.mean == pytest.approx(0.15, abs=0.01)
    assert judged.why == f"predicted {judged.predicted}, by step 14"
    world.report(1, 3)
    assert world.judge() == {1: judged}, "what comes before it has paused does not change the prediction"


def test_a_queued_trial_is_judged_too() -> None:
    """Its machine was taken while it was to be paused."""
    world = training(2).begin()
    world.report(0, 14)
    world.move(0, S.REVOKED)
    assert world.judge() == {}, "it is on its way to be queued"
    world.move(0, S.QUEUED)
    assert world.judge()[0].verdict is Verdict.PAUSE


def test_the_last_step_is_left_to_the_program() -> None:
    world = training(2, SpotTune(theta=1.0)).begin()
    world.known[0] = LearningCurve([10.0, 20.0], [0.2, 0.1])
    assert world.judge() == {}


def test_no_number_stops_it() -> None:
    world = training(2).begin()
    world.known[1] = LearningCurve([1.0, 2.0, 3.0], [0.5, NAN, 0.4])
    ((number, judged),) = world.judge().items()
    assert (number, judged.verdict, judged.why) == (1, Verdict.STOP, "diverged: the value at step 2 is nan")


def test_a_flat_curve_stops_it() -> None:
    world = Training(SpotTune(), numbers(1, steps=100), [flat()]).begin()
    world.report(0, 60)
    judged = world.judge()[0]
    assert judged.verdict is Verdict.STOP
    assert judged.why.startswith("converged at step ")
    assert judged.why.endswith(" of 100")
    assert Training(SpotTune(plateau=False), world.problem, [flat()], world.history, world.known).judge() == {}


def test_what_cannot_be_predicted_is_trained_to_the_end() -> None:
    problem = numbers(2)
    late = {problem.space.grid()[0].id: (18.0,)}
    world = Training(SpotTune(drops=late, mcnt=1), problem, [falling(0.5), falling(0.1)]).begin()
    world.report(0, 16)
    world.report(1, 14)
    assert {number: judged.verdict for number, judged in world.judge().items()} == {1: Verdict.PAUSE}
    world.play()
    assert world.states == [S.DONE, S.DONE], "one is chosen besides"


def test_settings_may_have_their_own_last_steps() -> None:
    problem = numbers(2, steps=40)
    world = Training(SpotTune(last_steps={problem.space.grid()[0].id: 20.0}), problem, [falling(0.1), falling(0.2)])
    world.begin()
    world.report(0, 14)
    world.report(1, 14)
    assert list(world.judge()) == [0]


def test_a_goal_to_maximise() -> None:
    curves = [[(step, -value) for step, value in falling(0.1 * n)] for n in range(4)]
    world = Training(SpotTune(mcnt=1), numbers(4, larger=True), curves).begin().play()
    assert world.states == [S.DONE, S.STOPPED, S.STOPPED, S.STOPPED]


def test_a_verification_is_not_judged() -> None:
    world = training(1)
    world.history, trial = world.history.propose(
        world.problem.space.grid()[0], Fraction(1), kind=TrialKind.VERIFICATION
    )
    world.move(trial.number, S.QUEUED, S.RUNNING)
    world.known[0] = LearningCurve([1.0, 15.0], [0.5, NAN])
    assert world.judge() == {}


# Whom it chooses


def test_the_best_of_the_paused_go_on_when_all_have_paused() -> None:
    world = training(5, SpotTune(mcnt=2)).begin()
    for number in (3, 1, 4, 0):
        world.report(number, 14)
        world.look()
    assert world.judge() == {}, "one still trains"
    world.report(2, 14)
    world.look()
    judged = world.judge()
    assert {number: one.verdict for number, one in judged.items()} == {
        0: Verdict.RESUME,
        1: Verdict.RESUME,
        2: Verdict.STOP,
        3: Verdict.STOP,
        4: Verdict.STOP,
    }
    assert list(judged) == [0, 1, 2, 3, 4], "best first"
    assert judged[0].why.startswith("selected: predicted ")
    assert judged[3].why == f"not selected: predicted {judged[3].predicted}, place 4 of 5"
    world.play()
    assert world.states == [S.DONE, S.DONE, S.STOPPED, S.STOPPED, S.STOPPED]


def test_nobody_is_chosen_while_more_is_to_be_proposed() -> None:
    world = training(4, SpotTune(mcnt=1)).begin(2)
    for number in range(2):
        world.report(number, 14)
        world.look()
    assert world.judge() == {}
    world.closed = "no dollars are left"
    assert {number: one.verdict for number, one in world.judge().items()} == {0: Verdict.RESUME, 1: Verdict.STOP}
    world.closed, world.problem = "", world.problem.with_budget(Budget(trials=2))
    assert {number: one.verdict for number, one in world.judge().items()} == {0: Verdict.RESUME, 1: Verdict.STOP}


def test_results_count_among_those_that_go_on() -> None:
    problem = numbers(3)
    never = {problem.space.grid()[0].id: (18.0,)}
    world = Training(SpotTune(drops=never, mcnt=1), problem, [falling(0.1), falling(0.5), falling(0.6)]).begin()
    world.report(0, 20)
    assert world.states[0] is S.DONE
    for number in (1, 2):
        world.report(number, 14)
        world.look()
    assert [one.verdict for one in world.judge().values()] == [Verdict.STOP, Verdict.STOP]


def test_a_converged_trial_counts_and_failed_or_diverged_ones_do_not() -> None:
    worse = [(float(k), 6.0 - 0.01 * k) for k in range(1, 101)]
    curves = [flat(100), worse, [*worse[:30], (31.0, NAN)], worse]
    world = Training(SpotTune(mcnt=2), numbers(4, steps=100), curves).begin()
    world.end(3, NAN)
    world.play()
    assert world.states == [S.STOPPED, S.DONE, S.STOPPED, S.FAILED]
    assert [row.ending for row in by_number(world)] == [
        TrialEnding.CONVERGED,
        TrialEnding.FINISHED,
        TrialEnding.DIVERGED,
        TrialEnding.FAILED,
    ]


def test_when_everything_else_has_diverged_the_paused_go_on() -> None:
    """The paused ones are far worse than they were: none is promising."""
    worse = [(float(k), 1.0 if k < 10 else 50.0 * k) for k in range(1, 21)]
    world = Training(SpotTune(mcnt=1), numbers(3), [[(1.0, NAN)], worse, worse]).begin().play()
    assert world.states == [S.STOPPED, S.DONE, S.DONE]
    assert any(one.why.startswith("diverged: far worse") for _, one in world.verdicts)


def test_theta_1_trains_everything_to_the_end() -> None:
    world = training(4, SpotTune(theta=1.0, mcnt=1)).begin().play()
    assert world.states == [S.DONE] * 4


def test_a_chosen_trial_is_still_stopped_when_it_diverges_or_is_flat() -> None:
    curves = [[*falling(0.0)[:16], (17.0, NAN)], falling(0.1)]
    world = Training(SpotTune(mcnt=2), numbers(2), curves).begin().play()
    assert world.states == [S.STOPPED, S.DONE]
    assert world.verdicts[-1][1].why == "diverged: the value at step 17 is nan"
    late = [*((float(k), 1.0 / k) for k in range(1, 71)), *((float(k), 1.0 / 70) for k in range(71, 101))]
    world = Training(SpotTune(mcnt=1), numbers(1, steps=100), [late]).begin().play()
    assert world.states == [S.STOPPED]
    assert "converged" in world.verdicts[-1][1].why


def test_a_deadline_does_not_wait_for_those_not_at_theta() -> None:
    world = training(4, SpotTune(mcnt=1)).begin()
    for number in (0, 1):
        world.report(number, 14)
        world.look()
    world.report(2, 5)
    assert world.judge() == {}
    world.due = "the deadline"
    assert {number: one.verdict for number, one in world.judge().items()} == {0: Verdict.RESUME, 1: Verdict.STOP}
    world.look()
    world.due = ""
    world.play()
    assert world.states == [S.DONE, S.STOPPED, S.DONE, S.DONE], "who was not judged goes on to the end"


def test_a_second_round_after_more_was_proposed() -> None:
    world = training(6, SpotTune(mcnt=2), budget=Budget(trials=3)).begin().play()
    assert world.states == [S.DONE, S.DONE, S.STOPPED]
    world.problem = world.problem.with_budget(Budget(trials=6))
    world.curves = [*world.curves[:3], falling(0.9), falling(-0.5), falling(0.8)]
    world.begin().play()
    assert world.states[3:] == [S.STOPPED, S.DONE, S.STOPPED], "only one promises more than what there is"


# That answers depend on the view alone


def random_curves(rng: np.random.Generator, count: int) -> list[Points]:
    """Of 40 reports at steps of their own; some are flat, some diverge, some drop."""
    curves: list[Points] = []
    for _ in range(count):
        steps = np.cumsum(rng.uniform(0.5, 1.5, 40))
        values = rng.uniform(0, 1) + np.exp(-np.arange(40) / rng.uniform(1, 25)) + rng.normal(0, 1e-3, 40)
        if rng.random() < 0.2:
            values[rng.integers(40)] = NAN
        if rng.random() < 0.2:
            values[20:] *= 0.5
        curves.append(list(zip((40.0 * steps / steps[-1]).tolist(), values.tolist(), strict=True)))
    return curves


PREDICTOR = curve_predictor("last")


def tuner_of(rng: np.random.Generator, problem: Problem) -> SpotTune:
    drops = {one.id: (float(rng.uniform(20, 39)),) for one in problem.space.grid() if rng.random() < 0.2}
    theta, mcnt = float(rng.choice([0.4, 0.7, 1.0])), int(rng.integers(1, 4))
    return SpotTune(theta, mcnt, bool(rng.random() < 0.8), PREDICTOR, drops=drops)


def fresh(tuner: SpotTune) -> SpotTune:
    return replace(tuner)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), count=st.integers(1, 6), larger=st.booleans())
def test_the_same_trials_go_on_in_whatever_order_reports_come_and_are_judged(
    seed: int, count: int, larger: bool
) -> None:
    rng = np.random.default_rng(seed)
    problem = numbers(count, steps=40, larger=larger)
    curves, tuner = random_curves(rng, count), tuner_of(rng, problem)
    worlds = [Training(fresh(tuner), problem, curves).begin() for _ in range(3)]
    worlds[0].play(seed)
    play_oddly(worlds[1], np.random.default_rng(seed + 1))
    play_oddly(worlds[2], np.random.default_rng(seed + 2))
    assert worlds[0].states == worlds[1].states == worlds[2].states
    endings = [[row.ending for row in by_number(world)] for world in worlds]
    assert endings[0] == endings[1] == endings[2]
    assert all(trial.state in (S.DONE, S.STOPPED, S.FAILED) for world in worlds for trial in world.history.trials)


def by_number(world: Training) -> list[RankedTrial]:
    assert isinstance(world.tuner, SpotTune)
    return sorted(world.tuner.ranking(world.view), key=lambda row: row.trial.number)


def play_oddly(world: Training, rng: np.random.Generator) -> None:
    """Judge now and then, with and without `only`, by this or another tuner; carry out a part, lose machines."""
    changed: set[int] = set(range(len(world.history)))
    while world.live or world.judge():
        if world.live and rng.random() < 0.7:
            number = int(rng.choice(world.live))
            changed.add(number)
            if rng.random() < 0.1 and world.states[number] is S.RUNNING:
                world.move(number, S.REVOKED, S.QUEUED, S.RUNNING)
            else:
                if reaches_the_end(world, number):
                    look_oddly(world, rng, changed, part=False)
                if number in world.live:
                    world.report(number)
                    changed.add(number)
        else:
            look_oddly(world, rng, changed)


def reaches_the_end(world: Training, number: int) -> bool:
    """Whether its next report is its last: a trial that is done cannot be stopped any more."""
    return len(world.known.get(number, LearningCurve((), ())).steps) + 1 >= len(world.curves[number])


def look_oddly(world: Training, rng: np.random.Generator, changed: set[int], *, part: bool = True) -> None:
    """Whatever it is asked, and whoever is, the answer is the same; then a part of it is carried out."""
    assert isinstance(world.tuner, SpotTune)
    everything = world.judge()
    assert fresh(world.tuner).judge(world.view) == everything
    assert world.judge() == everything
    assert list(world.judge(changed)) == list(everything)
    for number in everything:
        following = LEADS_TO[everything[number].verdict]
        assert following in LEGAL_MOVES[world.states[number]], "every verdict is a legal move"
    world.apply(list(everything.items())[: int(rng.integers(0, len(everything) + 1)) if part else None])
    changed.clear()
    changed.update(everything)
    if rng.random() < 0.2:
        world.tuner = fresh(world.tuner)
        changed.update(range(len(world.history)))


def test_each_number_of_points_is_predicted_once() -> None:
    """What was found before is found again without work, and with the same answer."""
    world = training(3).begin()
    counting = Counting()
    world.tuner = SpotTune(predictor=counting)
    for number in range(3):
        world.report(number, 15)
    judged = [world.judge(), world.judge(), world.judge([1])]
    assert judged[0] == judged[1]
    assert judged[2] == {1: judged[0][1]}
    assert counting.curves == 3


class Counting:
    """A predictor that counts what it is asked."""

    name = "counting"

    def __init__(self) -> None:
        self.curves = 0

    def predict(self, curve: Curve, final_step: float) -> Prediction:
        self.curves += 1
        return PREDICTOR.predict(curve, final_step)


def test_one_tuner_may_serve_several_studies() -> None:
    tuner = SpotTune(mcnt=1)
    worlds = [training(3).begin(), training(4).begin()]
    worlds[1].curves = worlds[1].curves[::-1]
    for world in worlds:
        for number in world.live:
            world.report(number, 14)
        world.look()
    for world in (*worlds, *worlds):
        assert tuner.judge(world.view) == SpotTune(mcnt=1).judge(world.view)


# What it recommends


def test_before_the_first_report_there_is_nothing_to_recommend() -> None:
    world = training(2).begin()
    assert SpotTune().recommend(world.view) is None
    world.known[0] = LearningCurve([1.0], [NAN])
    assert SpotTune().recommend(world.view) is None, "nor when all have diverged"


def test_before_a_result_the_best_predicted_is_recommended() -> None:
    world = training(3).begin()
    world.report(0, 2)
    early = SpotTune().recommend(world.view)
    assert early is not None
    assert early.metrics == {}, "nobody knows how sure that is"
    assert "so far, 0.5, which is too early to predict its end; it was trained to step 2 of 20." in early.why
    world.report(2, 14)
    world.report(1, 12)
    found = SpotTune().recommend(world.view)
    assert found is not None
    assert (found.configuration["n"], found.tested, found.feasible, str(found.fraction)) == (1, False, True, "1")
    assert found.metrics["value"].mean == pytest.approx(0.15, abs=0.02)
    assert found.metrics["value"].sd > 0
    assert found.why.startswith("Smallest predicted value of 2 settings, ")
    assert found.why.endswith("it was trained to step 12 of 20.")


def test_results_come_before_predictions() -> None:
    world = training(4, SpotTune(mcnt=2)).begin().play()
    found = SpotTune().recommend(world.view)
    assert found is not None
    assert (found.configuration["n"], found.tested) == (0, True)
    assert found.metrics["value"] == Estimate(0.05, 0.0)
    assert found.why == "Smallest measured value among 2 results."


def test_a_converged_trial_may_be_the_best() -> None:
    worse = [(float(k), 6.0 - 0.01 * k) for k in range(1, 101)]
    world = Training(SpotTune(mcnt=2), numbers(2, steps=100), [flat(100), worse]).begin().play()
    assert world.states == [S.STOPPED, S.DONE]
    found = SpotTune().recommend(world.view)
    assert found is not None
    assert (found.configuration["n"], found.tested) == (0, True)
    assert found.metrics["value"].mean == pytest.approx(0.3, abs=1e-4)
    assert found.why.endswith("It had converged and was not trained any further.")


def test_limits_are_kept_where_they_are_measured() -> None:
    space = Space(n=choice(0, 1, 2))
    problem = Problem(space, maximize("accuracy"), ["latency <= 5"], steps=10)
    history = History()
    for setting, latency in zip(space.grid(), (9.0, 4.0, 3.0), strict=True):
        history, trial = history.propose(setting, Fraction(1))
        accuracy = 0.9 - 0.1 * trial.number
        seen = observe(problem, trial, {"accuracy": accuracy, "latency": latency}, seconds=1.0)
        history = history.record(trial.number, [seen], time=0.0)
    found = SpotTune().recommend(View(problem, history, 0))
    assert found is not None
    assert (found.configuration["n"], found.feasible, found.probabilities) == (1, True, {"latency <= 5": 1.0})
    begun, trial = History().propose(space.grid()[0], Fraction(1))
    early = SpotTune().recommend(View(problem, begun, 0, {0: LearningCurve([1.0], [0.5])}))
    assert early is not None
    assert not early.feasible
    assert [str(note) for note in early.notes] == ["fallback: the limits are checked when a training has ended"]


def test_a_converged_trial_whose_limits_nobody_knows_comes_last() -> None:
    problem = Problem(Space(n=choice(0, 1)), minimize("value"), ["latency <= 5"], steps=100)
    world = Training(SpotTune(), problem, [flat(100), flat(100)]).begin()
    world.report(0, 40)
    world.look()
    assert world.states[0] is S.STOPPED
    seen = observe(problem, world.history.trial(1), {"value": 9.0, "latency": 6.0}, seconds=1.0)
    world.history = world.history.record(1, [seen], time=99.0)
    found = SpotTune().recommend(world.view)
    assert found is not None
    assert (found.configuration["n"], found.feasible) == (1, False)


def test_what_a_converged_trial_had_shown_tells_whether_it_keeps_the_limits() -> None:
    problem = Problem(Space(n=choice(0, 1)), minimize("value"), ["latency <= 5"], steps=100)
    world = Training(SpotTune(), problem, [flat(100), flat(100)]).begin()
    world.report(0, 40)
    ((number, judged),) = world.judge().items()
    assert judged.verdict is Verdict.STOP
    trial, metrics = world.history.trial(number), {"value": 0.29, "latency": 4.0}
    seen = observe(problem, trial, metrics, seconds=9.0, kind=ObservationKind.PARTIAL)
    world.history = world.history.record(number, [seen], time=world.tick(), state=S.STOPPED)
    found = SpotTune().recommend(world.view)
    assert found is not None
    assert (found.configuration["n"], found.feasible, found.tested) == (0, True, True)
    assert (found.metrics["value"], found.metrics["latency"]) == (Estimate(0.29, 0.0), Estimate(4.0, 0.0))


# The ranking


def test_the_ranking_before_anybody_is_chosen() -> None:
    world = training(3).begin()
    assert SpotTune().ranking(View(world.problem, History(), 0)) == ()
    world.report(2, 14)
    world.report(1, 10)
    rows = SpotTune().ranking(world.view)
    assert [row.trial.number for row in rows] == [1, 2, 0]
    assert [row.rank for row in rows] == [1, 2, 3]
    assert [row.step for row in rows] == [10.0, 14.0, 0.0]
    assert not any(row.selected or row.ending for row in rows)
    assert [row.predicted is None for row in rows] == [False, False, True]
    assert rows[0].value == pytest.approx(0.2)


def test_the_ranking_keeps_the_places_of_the_selection() -> None:
    curves = [falling(0.1), falling(0.2), falling(0.3)]
    curves[0] = [*curves[0][:16], *((step, value + 5.0) for step, value in curves[0][16:])]  # worse than foreseen
    world = Training(SpotTune(mcnt=2), numbers(3), curves).begin().play()
    rows = SpotTune(mcnt=2).ranking(world.view)
    assert [row.trial.number for row in rows] == [0, 1, 2]
    assert [row.selected for row in rows] == [True, True, False]
    assert [row.ending for row in rows] == [TrialEnding.FINISHED, TrialEnding.FINISHED, TrialEnding.NOT_SELECTED]
    assert rows[0].predicted == Estimate(curves[0][-1][1], 0.0), "now it is known"
    assert rows[2].predicted is not None
    assert rows[2].predicted.sd > 0
    assert (rows[2].step, rows[2].value) == (14.0, curves[2][13][1])


def test_the_ranking_when_all_were_trained_to_the_end() -> None:
    world = training(4, SpotTune(theta=1.0, mcnt=2)).begin().play()
    rows = SpotTune(theta=1.0, mcnt=2).ranking(world.view)
    assert [(row.trial.number, row.selected) for row in rows] == [(0, True), (1, True), (2, False), (3, False)]
