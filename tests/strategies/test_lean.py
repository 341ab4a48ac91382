"""The strategy `lean` with its laws, end to end on the toy problem; snapshots of its tests."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest

from leantune.acquisition.base import Belief, Pairs
from leantune.arrays import FloatArray
from leantune.filters.ranked import NoFilter
from leantune.history import History, NoteKind, ObservationKind, observe
from leantune.problem import Budget, Problem, maximize
from leantune.strategies.proposals import Proposal
from leantune.strategies.recipe import Recipe
from leantune.strategies.strategy import Strategy
from leantune.strategies.tuner import Over, View
from tests.strategies.quick_lean import modelled_lean, quick_lean
from tests.toy import (
    FRACTIONS,
    LIMIT,
    accuracy,
    asked,
    batch,
    best_feasible,
    measure,
    quick,
    recommended,
    seconds,
    told,
    toy_problem,
    toy_space,
)

PAIRS = [(0, 0), (5, 1), (9, 2), (14, 0), (20, 1)]


def run(used: Recipe, problem: Problem, trials: int, seed: int = 1) -> tuple[History, list[Proposal]]:
    strategy, history, proposals = Strategy(used), History(), []
    for _ in range(trials):
        proposal = asked(strategy, problem, history, seed=seed)
        proposals.append(proposal)
        history, trial = history.propose(proposal.configuration, proposal.fraction, proposal.snapshots)
        history = history.record(trial.number, measure(problem, trial), time=0.0)
    return history, proposals


@pytest.mark.parametrize("snapshots", [True, False])
def test_lean_finds_a_feasible_near_optimum(snapshots: bool) -> None:
    problem = toy_problem(snapshots=snapshots)
    history, _ = run(quick_lean(), problem, 16)
    found = recommended(Strategy(quick_lean()), problem, history, seed=1)
    rate = found.configuration.usd_per_hour
    assert rate is not None
    assert found.feasible
    assert seconds(found.configuration, Fraction(1)) / 3600 * rate <= LIMIT
    assert accuracy(found.configuration, Fraction(1)) >= 0.97 * best_feasible(problem)


def test_lean_serves_the_cheapest_anywhere_too() -> None:
    problem = toy_problem(anywhere=True)
    Strategy(quick_lean()).check(problem)
    history, _ = run(quick_lean(), problem, 14)
    found = recommended(Strategy(quick_lean()), problem, history, seed=1)
    assert found.feasible
    assert found.tested
    assert found.metrics["accuracy"].mean >= 0.75


@pytest.mark.parametrize("snapshots", [True, False])
def test_every_reported_pair_is_new_and_the_fraction_comes_last(snapshots: bool) -> None:
    history, proposals = run(quick_lean(), toy_problem(snapshots=snapshots), 14)
    seen: set[tuple[str, Fraction]] = set()
    for proposal in proposals:
        reported = {(proposal.configuration.id, share) for share in proposal.snapshots}
        assert not reported & seen
        seen |= reported
        assert proposal.snapshots[-1] == proposal.fraction
        assert list(proposal.snapshots) == sorted(set(proposal.snapshots))
        assert snapshots or len(proposal.snapshots) == 1
    assert {(trial.configuration.id, report.fraction) for trial, report in history.observations} == seen


@dataclass(frozen=True)
class Wants:
    """An acquisition that wants one configuration at full data and nothing else."""

    row: int

    def values(self, belief: Belief, pairs: Pairs) -> FloatArray:
        wanted = (pairs.configuration == self.row) & (pairs.level == len(belief.candidates.levels) - 1)
        return np.where(wanted, 1.0, 0.0)


def wanted(used: Recipe, problem: Problem, history: History, row: int = 3) -> tuple[Fraction, ...]:
    """Where a full test of one configuration would report."""
    proposal = asked(Strategy(replace(used, acquisition=Wants(row), filter=NoFilter())), problem, history, seed=5)
    assert proposal.configuration == problem.space.grid()[row]
    return proposal.snapshots


def test_a_test_reports_at_the_smaller_shares_that_are_not_known_yet() -> None:
    problem, lean = toy_problem(snapshots=True), modelled_lean()
    history = told(problem, PAIRS)
    assert wanted(lean, problem, history) == FRACTIONS
    assert wanted(lean, problem, told(problem, [*PAIRS, (3, 0)])) == FRACTIONS[1:]
    assert wanted(lean, problem, told(problem, [*PAIRS, (3, 1)])) == (FRACTIONS[0], FRACTIONS[2])
    assert wanted(lean, problem, told(problem, [*PAIRS, (3, 0), (3, 1)])) == FRACTIONS[2:]
    pending, _ = history.propose(problem.space.grid()[3], FRACTIONS[1], FRACTIONS[:2])
    assert wanted(lean, problem, pending) == FRACTIONS[2:]
    assert wanted(replace(lean, repeats=2), problem, told(problem, [*PAIRS, (3, 0)])) == FRACTIONS


def test_snapshots_are_for_programs_that_give_them_and_recipes_that_want_them() -> None:
    history = told(toy_problem(), PAIRS)
    assert wanted(modelled_lean(), toy_problem(snapshots=False), history) == FRACTIONS[2:]
    assert wanted(modelled_lean(snapshots=False), toy_problem(snapshots=True), history) == FRACTIONS[2:]
    others = replace(quick("trimtuner-gp"), start=modelled_lean().start)
    assert wanted(others, toy_problem(snapshots=True), history) == FRACTIONS[2:]


def test_a_single_share_leaves_nothing_to_report_on_the_way() -> None:
    problem = Problem(toy_space(), maximize("accuracy"), [f"cost <= {LIMIT} USD"], (1,), snapshots=True)
    history, proposals = run(quick_lean(), problem, 6)
    assert {proposal.snapshots for proposal in proposals} == {(Fraction(1),)}
    assert np.isfinite(recommended(Strategy(quick_lean()), problem, history, seed=1).metrics["accuracy"].mean)


def test_it_starts_small() -> None:
    _, proposals = run(quick_lean(points=3), toy_problem(snapshots=True), 3)
    assert [proposal.snapshots for proposal in proposals] == [FRACTIONS[:1]] * 3
    assert all(proposal.notes[0].kind is NoteKind.START for proposal in proposals)
    assert len({proposal.configuration.id for proposal in proposals}) == 3


@pytest.mark.parametrize("anywhere", [False, True])
@pytest.mark.parametrize("case", ["one", "constant", "infeasible", "failed", "repeated", "cut"])
def test_degenerate_histories_are_survived(case: str, anywhere: bool) -> None:
    problem = toy_problem(anywhere=anywhere, budget=Budget(trials=100), snapshots=True)
    kinds = {"failed": ObservationKind.FAILED, "cut": ObservationKind.CENSORED}
    pairs = {"one": [(0, 2)], "repeated": [(3, 2)] * 4}.get(case, [(row, row % 3) for row in range(8)])
    history = told(problem, pairs, kinds.get(case, ObservationKind.MEASURED))
    if case in ("constant", "infeasible"):
        history = History()
        for row, level in pairs:
            history, trial = history.propose(problem.space.grid()[row], problem.fractions[level])
            seen = observe(problem, trial, {"accuracy": 0.5}, seconds=100.0 if case == "constant" else 1e6)
            history = history.record(trial.number, [seen], time=0.0)
    strategy = Strategy(modelled_lean())
    proposal = asked(strategy, problem, history, seed=3)
    assert (proposal.configuration.id, proposal.fraction) not in {
        (trial.configuration.id, trial.fraction) for trial in history.trials
    }
    assert all(np.isfinite([estimate.mean, estimate.sd]).all() for estimate in proposal.expected.values())
    if case == "failed":
        assert strategy.recommend(View(problem, history, 3)) is None
        return
    found = recommended(strategy, problem, history, seed=3)
    assert all(np.isfinite([estimate.mean, estimate.sd]).all() for estimate in found.metrics.values())
    assert all(0.0 <= p <= 1.0 for p in found.probabilities.values())


def test_equal_history_and_seed_give_the_equal_proposal() -> None:
    problem = toy_problem(snapshots=True)
    history = told(problem, PAIRS)
    one, again = (asked(Strategy(modelled_lean()), problem, history, seed=7) for _ in range(2))
    assert one == again
    assert one.expected
    replayed = History(told(problem, PAIRS).trials)
    assert asked(Strategy(modelled_lean()), problem, replayed, seed=7) == one
    advice = [recommended(Strategy(modelled_lean()), problem, history, seed=7) for _ in range(2)]
    assert advice[0] == advice[1]


def test_same_order_of_results_whatever_the_order_of_arrival() -> None:
    problem, strategy = toy_problem(snapshots=True), Strategy(modelled_lean())
    proposals = []
    for order in ([0, 1, 2, 3, 4, 5], [5, 3, 1, 0, 2, 4]):
        history = History()
        for row in range(6):
            level = row % 3
            history, _ = history.propose(problem.space.grid()[row * 3], FRACTIONS[level], FRACTIONS[: level + 1])
        for number in order:
            history = history.record(number, measure(problem, history.trial(number)), time=float(number))
        proposals.append(asked(strategy, problem, history, seed=7))
    assert proposals[0] == proposals[1]


def test_a_batch_reports_no_pair_twice() -> None:
    problem, strategy = toy_problem(snapshots=True), Strategy(modelled_lean())
    proposals = batch(strategy, problem, told(problem, PAIRS), seed=2, count=3)
    reported = [(proposal.configuration.id, share) for proposal in proposals for share in proposal.snapshots]
    assert len(set(reported)) == len(reported)


def test_while_nothing_is_known_tests_are_on_the_least_data() -> None:
    """Every run so far has failed, so that there is nothing to learn from."""
    problem = toy_problem()
    history = told(problem, [(0, 0), (5, 0), (9, 0)], kind=ObservationKind.FAILED)
    proposal = asked(Strategy(quick("lean")), problem, history, seed=3)
    assert proposal.fraction == problem.fractions[0]
    assert "least data" in proposal.notes[0].text


@dataclass(frozen=True)
class Listening:
    """An acquisition that remembers how much of the budget was left."""

    heard: list[float]

    def values(self, belief: Belief, pairs: Pairs) -> FloatArray:
        self.heard.append(belief.budget_left)
        return np.ones(len(pairs))


@pytest.mark.parametrize(
    ("budget", "left"),
    [(None, 1.0), (Budget(trials=20), 0.75), (Budget(trials=20, hours=0.25), 0.63), (Budget(trials=8), 0.375)],
)
def test_what_is_left_of_the_budget(budget: Budget | None, left: float) -> None:
    problem, heard = toy_problem(budget=budget), list[float]()
    strategy = Strategy(replace(quick("lean"), acquisition=Listening(heard)))
    asked(strategy, problem, told(problem, PAIRS), seed=1)
    assert heard == [pytest.approx(left, abs=0.01)]


@pytest.mark.parametrize("budget", [Budget(trials=20, usd=1e-9), Budget(trials=5), Budget(hours=1e-6)])
def test_a_budget_that_is_used_ends_the_study_before_anything_is_computed(budget: Budget) -> None:
    problem, heard = toy_problem(budget=budget), list[float]()
    strategy = Strategy(replace(quick("lean"), acquisition=Listening(heard)))
    view = View(problem, told(problem, PAIRS), 1)
    assert strategy.ask(view) == Over(str(strategy.stop_reason(view)))
    assert heard == []
