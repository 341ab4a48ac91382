"""Starts are pure functions of the problem and the seed, and end."""

from __future__ import annotations

from fractions import Fraction

import pytest

from leantune.history import History, NoteKind
from leantune.problem import Budget, Problem, maximize
from leantune.space import Space, choice, linear
from leantune.strategies.designs import BudgetedStart, Design, LatinHypercube, UntilSpent
from leantune.strategies.proposals import Proposal
from tests.toy import FRACTIONS, LIMIT, measure, toy_problem, toy_space

PARTS = LatinHypercube(1, at="partial")


def starts(design: Design, problem: Problem, seed: int = 3, most: int = 60) -> list[Proposal]:
    """All starting tests, each told before the next is asked for."""
    history = History()
    found: list[Proposal] = []
    while len(found) < most:
        start = design.next(problem, history, seed)
        if start is None:
            return found
        found.append(start)
        history, trial = history.propose(start.configuration, start.snapshots[-1], start.snapshots)
        history = history.record(trial.number, measure(problem, trial), time=0.0)
    raise AssertionError(f"the start did not end within {most} tests")


def test_snapshots_of_one_run_where_the_program_gives_them() -> None:
    found = starts(PARTS, toy_problem(snapshots=True))
    assert [start.snapshots for start in found] == [FRACTIONS[:-1]]
    assert list(map(str, found[0].notes)) == ["start"]


def test_one_run_a_fraction_where_it_does_not_and_the_study_says_so() -> None:
    found = starts(PARTS, toy_problem())
    assert [start.snapshots for start in found] == [(Fraction(1, 10),), (Fraction(1, 2),)]
    assert len({start.configuration.id for start in found}) == 1
    assert all(start.notes[-1].kind is NoteKind.EXTRA_RUNS for start in found)
    assert all("each charged" in str(start.notes[-1]) for start in found)


def test_more_starting_points_differ() -> None:
    found = starts(LatinHypercube(5, at="partial"), toy_problem(snapshots=True))
    assert len({start.configuration.id for start in found}) == 5


def test_single_fraction_starts_at_full_data() -> None:
    problem = Problem(toy_space(), maximize("accuracy"), (), (1,))
    assert [start.snapshots for start in starts(PARTS, problem)] == [(Fraction(1),)]


def test_latin_hypercube_at_full_data() -> None:
    found = starts(LatinHypercube(4), toy_problem())
    assert [start.snapshots for start in found] == [(Fraction(1),)] * 4
    assert len({start.configuration.id for start in found}) == 4


@pytest.mark.parametrize("snapshots", [True, False])
def test_without_a_budget_a_start_is_on_the_least_data(snapshots: bool) -> None:
    found = starts(BudgetedStart(3), toy_problem(snapshots=snapshots))
    assert [start.snapshots for start in found] == [(Fraction(1, 10),)] * 3
    assert len({start.configuration.id for start in found}) == 3
    single = Problem(toy_space(), maximize("accuracy"), (), (1,))
    assert [start.snapshots for start in starts(BudgetedStart(2), single)] == [(Fraction(1),)] * 2


@pytest.mark.parametrize(
    ("budget", "share"),
    [
        (Budget(trials=20), Fraction(1)),  # nothing else is limited
        (Budget(usd=5.0), Fraction(3, 20)),  # the largest share that is small
        (Budget(trials=20, usd=40 * LIMIT), Fraction(1)),  # each may cost as much as the limit allows
        (Budget(trials=20, usd=10 * LIMIT), Fraction(3, 20)),
        (Budget(trials=20, hours=1.0), Fraction(3, 20)),  # nothing is known of seconds
    ],
)
def test_how_much_data_a_start_sees_depends_on_the_budget(budget: Budget, share: Fraction) -> None:
    shares = (Fraction(1, 20), Fraction(3, 20), Fraction(1, 2), 1)
    problem = Problem(toy_space(), maximize("accuracy"), [f"cost <= {LIMIT} USD"], shares, budget)
    first = BudgetedStart().next(problem, History(), 1)
    assert first is not None
    assert first.snapshots == (share,)


def test_its_tests_go_on_until_enough_have_ended() -> None:
    problem, design, history = toy_problem(), BudgetedStart(3), History()
    for _ in range(8):
        start = design.next(problem, history, 1)
        assert start is not None
        history, _ = history.propose(start.configuration, start.snapshots[-1], start.snapshots)
    assert len({trial.configuration.id for trial in history.trials}) == 8
    for trial in history.trials[:3]:
        history = history.record(trial.number, measure(problem, trial), time=0.0)
    assert design.next(problem, history, 1) is None


def test_its_tests_of_a_small_space_end() -> None:
    problem, history = Problem(Space(a=choice("x", "y")), maximize("accuracy")), History()
    while (start := BudgetedStart(3).next(problem, history, 1)) is not None:
        history, _ = history.propose(start.configuration, start.snapshots[-1], start.snapshots)
    assert len(history.trials) == 2


def test_a_share_of_the_space_at_every_part_of_the_data() -> None:
    found = starts(LatinHypercube(points=9, share=0.1, at="partial"), toy_problem())
    assert len({start.configuration.id for start in found}) == 3  # ceil(0.1 x 24)
    assert len(found) == 3 * 2
    together = starts(LatinHypercube(points=9, share=0.1, at="partial"), toy_problem(snapshots=True))
    assert len(together) == 3


def test_a_share_of_an_infinite_space_is_a_number_of_points() -> None:
    problem = Problem(Space(x=linear(0, 1)), maximize("accuracy"), (), (1,))
    first = LatinHypercube(points=5, share=0.03).next(problem, History(), 1)
    assert first is not None


def test_until_spent_ends_with_the_initial_budget() -> None:
    problem = toy_problem(anywhere=True, budget=Budget(usd=1.2))
    found = starts(UntilSpent(), problem)
    history = History()
    for start in found:
        assert history.cost < 0.2 or len(history) < 2
        history, trial = history.propose(start.configuration, start.snapshots[-1])
        history = history.record(trial.number, measure(problem, trial), time=0.0)
    assert history.cost >= 1.2 / 6
    assert {start.snapshots[0] for start in found} == set(FRACTIONS)


def test_until_spent_at_full_data_and_with_its_own_budget() -> None:
    problem = toy_problem(anywhere=True, budget=Budget(usd=100))
    found = starts(UntilSpent(dollars=0.1, at="full"), problem)
    assert {start.snapshots for start in found} == {(Fraction(1),)}


def test_until_spent_without_a_budget_counts_tests() -> None:
    assert len(starts(UntilSpent(points=6), toy_problem(anywhere=True))) == 6


@pytest.mark.parametrize(
    "design", [LatinHypercube(3, at="partial"), LatinHypercube(5), BudgetedStart(5), UntilSpent(dollars=0.3)]
)
def test_starts_depend_on_the_seed_alone(design: Design) -> None:
    problem = toy_problem()
    assert starts(design, problem, seed=1) == starts(design, problem, seed=1)
    assert starts(design, problem, seed=1) != starts(design, problem, seed=2)


def test_pending_starts_count_with_what_the_finished_ones_cost() -> None:
    problem = toy_problem(anywhere=True, budget=Budget(usd=100))
    history = History()
    for number in range(2):
        history, trial = history.propose(problem.space.grid()[number], Fraction(1))
        history = history.record(trial.number, measure(problem, trial), time=0.0)
    design = UntilSpent(dollars=2.5 * history.cost)
    assert design.next(problem, history, 1) is not None
    for number in range(2, 5):
        history, _ = history.propose(problem.space.grid()[number], Fraction(1))
    assert design.next(problem, history, 1) is None
