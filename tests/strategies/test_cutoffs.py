"""When runs are ended as of no more use, by hand; and that a replay pays only until then, and teaches it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from leantune.arrays import FloatArray
from leantune.history import History, NoteKind, ObservationKind, TrialState, observe
from leantune.lab.replay.runs import Settings, replay
from leantune.problem import Budget, Problem, minimize
from leantune.strategies.beliefs import SUCCESS, build_belief
from leantune.strategies.budgets import Resources, amount
from leantune.strategies.candidates import Table
from leantune.strategies.cutoffs import Cutoffs, useful_seconds
from leantune.strategies.evidence import Evidence
from leantune.strategies.proposals import Proposal
from leantune.strategies.prospects import measured_on_all_data
from leantune.strategies.registry import at_work
from leantune.strategies.tuner import Over, View
from leantune.text import duration
from tests.lab.replay.laws import LAWS, Law
from tests.strategies.quick_lean import quick_lean
from tests.toy import told, toy_problem

MONEY = Resources(usd=10.0)


def seconds(log_mean: float = 0.0, sd: float = 0.5) -> FloatArray:
    return amount(np.array([log_mean]), np.array([sd]))


def cutoffs(problem: Problem, left: Resources, history: History | None = None) -> Cutoffs:
    return Cutoffs.of(problem, Evidence.of(problem, history or History()), left)


def limited(*limits: str) -> Problem:
    problem = toy_problem()
    return Problem(problem.space, problem.goal, limits, problem.fractions)


def test_a_run_is_ended_a_tenth_beyond_a_limit_on_seconds_or_dollars() -> None:
    both = cutoffs(limited("time <= 100 s", "cost <= 0.01 USD"), Resources())
    rates = np.array([0.36, 3.6])  # 0.01 USD are 100 s of the first, 10 s of the second
    np.testing.assert_allclose(both.after(rates, None), [110.0, 11.0])
    assert cutoffs(limited(), Resources()).after(rates, None).tolist() == [np.inf, np.inf]


def test_where_only_trials_are_limited_nothing_is_ended() -> None:
    found = cutoffs(limited("time <= 100 s"), Resources(trials=5))
    assert found.after(np.array([1.0]), seconds()).tolist() == [np.inf]


def test_where_only_trials_are_limited_thrift_ends_what_has_broken_a_limit() -> None:
    found = cutoffs(limited("time <= 100 s"), Resources(trials=5, thrift=0.3))
    np.testing.assert_allclose(found.after(np.array([1.0]), seconds(np.log(1e6))), [110.0])


def test_a_run_may_take_three_times_its_trials_share_of_the_dollars_left() -> None:
    found = cutoffs(limited("time <= 10 s"), Resources(usd=0.36, trials=12)).after(
        np.array([3.6]), seconds(np.log(1e6))
    )
    np.testing.assert_allclose(found, [3.0 * 0.03 * 1000.0])


def test_a_run_that_cannot_be_the_cheapest_any_more_is_ended() -> None:
    problem = Problem(toy_problem().space, minimize("time"), [], toy_problem().fractions)
    history = told(problem, [(0, 2), (5, 2)])
    best = min(trial.seconds for trial in history.trials)
    found = cutoffs(problem, Resources(), history).after(None, None)
    np.testing.assert_allclose(found, [1.1 * best])


def test_a_surprise_is_ended_where_money_is_limited() -> None:
    expected = seconds(np.log(100.0), 0.5)
    found = cutoffs(limited(), Resources(usd=1e6)).after(np.array([1.0]), expected)
    np.testing.assert_allclose(found, [100.0 * np.exp(1.0)])
    assert cutoffs(limited(), Resources()).after(np.array([1.0]), expected).tolist() == [np.inf]


def test_a_run_takes_no_more_than_is_left_and_half_of_it_while_nothing_is_known() -> None:
    known = cutoffs(limited(), Resources(usd=0.01)).after(np.array([3.6]), seconds(np.log(1e6)))
    blind = cutoffs(limited(), Resources(usd=0.01)).after(np.array([3.6]), None)
    np.testing.assert_allclose([known[0], blind[0]], [10.0, 5.0])
    np.testing.assert_allclose(cutoffs(limited(), Resources(seconds=8.0)).after(None, None), [4.0])


def test_what_never_ends_a_run_is_not_said() -> None:
    assert useful_seconds(np.inf) == (None, ())
    seconds, (note,) = useful_seconds(12.0)
    assert seconds == 12.0
    assert note.kind is NoteKind.CUTOFF
    assert str(note).endswith(duration(12.0))


@pytest.mark.parametrize("foreseen", [True, False])
def test_a_run_that_we_ended_is_no_failure_of_the_program(foreseen: bool) -> None:
    """It teaches that it takes long; only a run that ended otherwise teaches that programs fail there."""
    problem = limited("time <= 100 s")
    history = told(problem, [(0, 0), (5, 0), (9, 0)])
    _, notes = useful_seconds(110.0)
    configuration = problem.space.grid()[3]
    history, trial = history.propose(configuration, Fraction(1), notes=notes if foreseen else (), time_limit=110.0)
    failed = observe(problem, trial, {}, seconds=110.0, kind=ObservationKind.FAILED, cause="timeout")
    history = history.record(
        trial.number, [failed], time=0.0, state=TrialState.STOPPED if foreseen else TrialState.FAILED
    )
    evidence = Evidence.of(problem, history)
    assert evidence.ended.tolist() == [False, False, False, foreseen]
    recipe = quick_lean()
    table = Table.of(problem, history, recipe, 0)
    names = [quantity.name for quantity in build_belief(recipe, evidence, table.candidates, 0)[0].quantities]
    assert (SUCCESS in names) is not foreseen


def test_every_proposal_of_a_limited_study_says_when_it_is_ended() -> None:
    problem = limited("time <= 100 s").with_budget(Budget(usd=1.0))
    tuner = at_work(quick_lean())
    for history in (History(), told(problem, [(0, 0), (5, 0), (9, 0)])):
        answer = tuner.ask(View(problem, history, 1))
        assert isinstance(answer, Proposal)
        assert answer.useful_seconds is not None
        assert answer.useful_seconds <= 110.0 + 1e-9
        assert any(note.kind is NoteKind.CUTOFF for note in answer.notes)


def test_a_replay_pays_a_run_until_it_is_ended_and_random_search_to_its_end() -> None:
    law = Law(next(iter(LAWS)), 0)
    table = law.load()
    seconds = sorted(one.seconds for (_, share), one in table.measurements.items() if share == 1)
    limit = seconds[len(seconds) // 4]  # three quarters of the settings break it
    problem = table.problem
    limited_problem = Problem(problem.space, problem.goal, [f"time <= {limit!r} s"], problem.fractions)
    table = replace(table, problem=limited_problem, digest=f"{table.digest}, limited")
    longest = {
        name: max(row.test_seconds for row in replay(table, Settings(name, iterations=8, own_at=(), common_at=()), 1))
        for name in ("lean", "random")
    }
    assert longest["lean"] <= 1.1 * limit * (1 + 1e-9)
    assert longest["random"] > 1.1 * limit


def test_what_is_left_pays_for_no_run_where_it_ends_at_a_tenth_of_the_shortest() -> None:
    """Else a study in which every run was ended goes on with ever shorter ones."""
    problem = Problem(toy_problem().space, minimize("cost"), ["time <= 1000 s"], [1])
    tuner = at_work(quick_lean())
    history = told(problem, [(0, 0), (5, 0), (9, 0)], ObservationKind.FAILED)
    answers = [
        tuner.ask(View(problem.with_budget(Budget(usd=history.cost * (1.0 + more))), history, 1))
        for more in (1e-9, 1e9)
    ]
    assert [type(answer) for answer in answers] == [Over, Proposal]


def test_a_limit_that_a_dear_machine_reaches_soon_ends_no_study() -> None:
    """Only what is left of the budget can pay for no run."""
    problem = limited("cost <= 0.001 USD").with_budget(Budget(usd=5.0))
    history = told(problem, [(0, 2)])
    longest = max(trial.seconds for trial in history.trials)
    found = cutoffs(problem, Resources(usd=5.0 - history.cost), history)
    dear = np.array([100.0])
    assert found.after(dear, None)[0] < 0.1 * longest
    assert not found.pays_for_none(dear)
    assert cutoffs(problem, Resources(usd=1e-9), history).pays_for_none(dear)


def test_a_surprise_takes_at_least_twice_what_was_expected_and_a_favourite_bears_it() -> None:
    expected = seconds(np.log(100.0), 0.01)
    found = cutoffs(limited(), Resources(usd=1e6))
    np.testing.assert_allclose(found.after(np.array([1.0]), expected), [200.0])
    assert found.after(np.array([1.0]), expected, patient=True)[0] > 1e6


def test_a_run_that_we_ended_before_it_broke_a_limit_leaves_an_earlier_result_as_it_is() -> None:
    problem = limited("time <= 10000 s").with_budget(Budget(usd=1.0))
    history = told(problem, [(0, 2), (5, 2), (9, 2)])
    _, notes = useful_seconds(50.0)
    first = history.trials[0].configuration
    history, trial = history.propose(first, Fraction(1), notes=notes, time_limit=50.0)
    ended = observe(
        problem, trial, {}, seconds=50.0, kind=ObservationKind.FAILED, cause="timeout: not ended after 50 s"
    )
    history = history.record(trial.number, [ended], time=0.0, state=TrialState.STOPPED)
    evidence = Evidence.of(problem, history)
    assert evidence.harmless.tolist() == [False, False, False, True]
    table = Table.of(problem, history, quick_lean(), 0)
    belief, _ = build_belief(quick_lean(), evidence, table.candidates, 0)
    measured = measured_on_all_data(table, evidence, belief)
    assert measured.kept.all()
    assert len(measured.rows) == 3
