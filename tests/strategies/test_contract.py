"""What every tuner and every start promises, bound to all of them."""

from __future__ import annotations

import pytest

from leantune.history import History
from leantune.problem import Budget, Problem, minimize
from leantune.space import Space, ordinal
from leantune.strategies.designs import BudgetedStart, Design, LatinHypercube, UntilSpent
from leantune.strategies.proposals import Proposal
from leantune.strategies.registry import RECIPES, STRATEGIES, at_work, named_tuner
from leantune.strategies.tuner import Over, Tuner, View
from tests.toy import measure, quick, told, toy_problem

NO_BUDGET = Budget()


def tuner_of(name: str) -> Tuner:
    return at_work(quick(name)) if name in RECIPES else named_tuner(name)


def problem_of(name: str, budget: Budget = NO_BUDGET) -> Problem:
    if name in RECIPES:
        return toy_problem(anywhere=name in ("nephele", "lynceus"), budget=budget)
    return Problem(Space(lr=ordinal(0.1, 0.2, 0.3)), minimize("loss"), (), (1,), budget, steps=20)


@pytest.mark.parametrize("name", STRATEGIES)
class TestTunerContract:
    def test_it_serves_the_problem_and_begins_with_a_test(self, name: str) -> None:
        tuner, problem = tuner_of(name), problem_of(name)
        tuner.check(problem)
        answer = tuner.ask(View(problem, History(), 3))
        assert isinstance(answer, Proposal)
        assert answer.configuration in problem.choices.grid()
        assert answer.snapshots[-1] == answer.fraction

    def test_answers_depend_on_the_view_alone(self, name: str) -> None:
        problem = problem_of(name)
        history = told(problem, [(0, 0), (5, 1), (9, 2), (14, 2)]) if name in RECIPES else History()
        view = View(problem, history, 3)
        used = tuner_of(name)
        used.ask(View(problem, History(), 4))
        assert used.ask(view) == tuner_of(name).ask(view)
        assert used.stop_reason(view) == tuner_of(name).stop_reason(view)
        assert used.recommend(view) == tuner_of(name).recommend(view)

    def test_nothing_is_recommended_or_judged_before_the_first_result(self, name: str) -> None:
        view = View(problem_of(name), History(), 3)
        assert tuner_of(name).recommend(view) is None
        assert tuner_of(name).judge(view) == {}

    def test_a_reason_to_stop_is_what_ask_answers(self, name: str) -> None:
        tuner, problem = tuner_of(name), problem_of(name)
        closed = View(problem, History(), 3, closed="no dollars are left")
        spent = View(problem_of(name, Budget(trials=1)), _one_trial(problem), 3)
        for view in (closed, spent):
            answer = tuner.ask(view)
            assert isinstance(answer, Over)
            assert answer.why == tuner.stop_reason(view)
        assert tuner.stop_reason(View(problem, History(), 3)) is None


def _one_trial(problem: Problem) -> History:
    return History().propose(problem.choices.grid()[0], problem.fractions[-1])[0]


STARTS: dict[str, Design] = {
    "snapshots": LatinHypercube(2, at="partial"),
    "hypercube": LatinHypercube(4),
    "hypercube on parts": LatinHypercube(3, at="partial"),
    "budgeted": BudgetedStart(3),
    "until spent": UntilSpent(points=4),
    "until dollars are spent": UntilSpent(dollars=0.05),
}


@pytest.mark.parametrize("name", STARTS)
def test_a_start_never_repeats_a_run_goes_on_from_any_history_and_ends(name: str) -> None:
    problem, history, runs = toy_problem(), History(), set()
    for _ in range(60):
        start = STARTS[name].next(problem, history, 7)
        assert start == STARTS[name].next(problem, history, 7)
        if start is None:
            break
        run = (start.configuration.id, start.snapshots[-1])
        assert run not in runs
        assert start.configuration in problem.choices.grid()
        assert set(start.snapshots) <= set(problem.fractions)
        runs.add(run)
        history, trial = history.propose(start.configuration, start.snapshots[-1], start.snapshots)
        history = history.record(trial.number, measure(problem, trial), time=0.0)
    assert start is None
    assert len(runs) >= 2
