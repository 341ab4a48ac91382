"""The strategy `lean`, end to end on the toy problem: what it tests within which budget, and what it recommends."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from leantune.history import History, ObservationKind, observe
from leantune.problem import Budget, Problem, maximize
from leantune.strategies.proposals import Proposal, State
from leantune.strategies.recipe import Recipe
from leantune.strategies.registry import at_work
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
    strategy, history, proposals = at_work(used), History(), []
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
    found = recommended(at_work(quick_lean()), problem, history, seed=1)
    rate = found.configuration.usd_per_hour
    assert rate is not None
    assert found.feasible
    assert seconds(found.configuration, Fraction(1)) / 3600 * rate <= LIMIT
    assert accuracy(found.configuration, Fraction(1)) >= 0.97 * best_feasible(problem)


def test_lean_serves_the_cheapest_anywhere_too() -> None:
    problem = toy_problem(anywhere=True)
    at_work(quick_lean()).check(problem)
    history, _ = run(quick_lean(), problem, 14)
    found = recommended(at_work(quick_lean()), problem, history, seed=1)
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


def test_a_single_share_leaves_nothing_to_report_on_the_way() -> None:
    problem = Problem(toy_space(), maximize("accuracy"), [f"cost <= {LIMIT} USD"], (1,), snapshots=True)
    history, proposals = run(quick_lean(), problem, 6)
    assert {proposal.snapshots for proposal in proposals} == {(Fraction(1),)}
    assert np.isfinite(recommended(at_work(quick_lean()), problem, history, seed=1).metrics["accuracy"].mean)


def test_where_only_trials_are_limited_everything_is_tested_on_all_data() -> None:
    _, proposals = run(quick_lean(), toy_problem(budget=Budget(trials=8)), 8)
    assert {proposal.fraction for proposal in proposals} == {Fraction(1)}


def test_where_dollars_are_limited_it_starts_small_and_ends_on_all_data() -> None:
    problem = toy_problem(snapshots=True, budget=Budget(usd=4 * LIMIT))
    strategy, history = at_work(quick_lean()), History()
    while isinstance(proposal := strategy.ask(View(problem, history, 1)), Proposal):
        history, trial = history.propose(proposal.configuration, proposal.fraction, proposal.snapshots)
        history = history.record(trial.number, measure(problem, trial), time=0.0)
    assert [trial.fraction for trial in history.trials[:3]] == [FRACTIONS[0]] * 3
    found = recommended(strategy, problem, history, seed=1)
    assert found.feasible
    assert found.tested, "what is recommended was tested on all data"
    assert history.cost <= 1.2 * 4 * LIMIT


def test_the_last_trial_tests_the_favourite_on_all_data() -> None:
    problem = toy_problem(budget=Budget(trials=6, usd=1.0))
    history = told(problem, PAIRS)  # five tests, one of them on all data
    proposal = asked(at_work(modelled_lean()), problem, history, seed=1)
    assert proposal.fraction == 1
    tested = {trial.configuration.id for trial in history.trials if trial.fraction == 1}
    assert proposal.configuration.id not in tested


def test_a_measured_winner_is_not_replaced_by_a_guess() -> None:
    """All configurations were tested on all data but one, of which nothing good is known."""
    problem = toy_problem()
    history = told(problem, [(row, 2) for row in range(23)])
    found = recommended(at_work(quick_lean()), problem, history, seed=1)
    assert found.tested
    assert found.feasible
    best = max(
        accuracy(trial.configuration, Fraction(1))
        for trial in history.trials
        if seconds(trial.configuration, Fraction(1)) / 3600 * (trial.configuration.usd_per_hour or 0.0) <= LIMIT
    )
    assert accuracy(found.configuration, Fraction(1)) == best


def test_nothing_that_does_not_fit_is_proposed() -> None:
    problem = toy_problem(budget=Budget(usd=1.0))
    history = told(problem, PAIRS)
    poor = problem.with_budget(Budget(usd=history.cost * (1.0 + 1e-9)))
    answer = at_work(modelled_lean()).ask(View(poor, history, 1))
    assert isinstance(answer, Over)
    assert "fits" in answer.why


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
    strategy = at_work(modelled_lean())
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
    one, again = (asked(at_work(modelled_lean()), problem, history, seed=7) for _ in range(2))
    assert one == again
    assert one.expected
    replayed = History(told(problem, PAIRS).trials)
    assert asked(at_work(modelled_lean()), problem, replayed, seed=7) == one
    advice = [recommended(at_work(modelled_lean()), problem, history, seed=7) for _ in range(2)]
    assert advice[0] == advice[1]


def test_same_order_of_results_whatever_the_order_of_arrival() -> None:
    problem, strategy = toy_problem(snapshots=True), at_work(modelled_lean())
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
    problem, strategy = toy_problem(snapshots=True), at_work(modelled_lean())
    proposals = batch(strategy, problem, told(problem, PAIRS), seed=2, count=3)
    reported = [(proposal.configuration.id, share) for proposal in proposals for share in proposal.snapshots]
    assert len(set(reported)) == len(reported)


def test_while_nothing_is_known_tests_are_on_the_least_data() -> None:
    """Every run so far has failed, so that there is nothing to learn from."""
    problem = toy_problem()
    history = told(problem, [(0, 0), (5, 0), (9, 0)], kind=ObservationKind.FAILED)
    proposal = asked(at_work(quick("lean")), problem, history, seed=3)
    assert proposal.fraction == problem.fractions[0]
    assert "least data" in proposal.notes[0].text


@pytest.mark.parametrize("budget", [Budget(trials=20, usd=1e-9), Budget(trials=5), Budget(hours=1e-6)])
def test_a_budget_that_is_used_ends_the_study(budget: Budget) -> None:
    problem = toy_problem(budget=budget)
    strategy, view = at_work(quick_lean()), View(problem, told(problem, PAIRS), 1)
    assert strategy.ask(view) == Over(str(strategy.stop_reason(view)))


def to_its_end(problem: Problem, seed: int = 1, most: int = 60) -> tuple[History, str]:
    strategy, history = at_work(quick_lean()), History()
    while isinstance(answer := strategy.ask(View(problem, history, seed)), Proposal):
        assert len(history) < most, "it goes on and on"
        history, trial = history.propose(answer.configuration, answer.fraction, answer.snapshots)
        history = history.record(trial.number, measure(problem, trial), time=0.0)
    return history, answer.why


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_without_a_budget_it_ends_with_a_tested_recommendation_that_is_good_enough(seed: int) -> None:
    problem = toy_problem(stop="auto", snapshots=True)
    history, why = to_its_end(problem, seed)
    found = recommended(at_work(quick_lean()), problem, history, seed=seed)
    assert found.state is State.VERIFIED
    assert accuracy(found.configuration, Fraction(1)) >= 0.99 * best_feasible(problem)
    assert "something better by 1.00%" in why
    assert len(history) < len(problem.space.grid())
    assert at_work(quick_lean()).stop_reason(View(problem, history, seed)) == why


def test_with_a_budget_it_ends_early_only_where_that_is_asked_for_and_says_what_is_left() -> None:
    rich = toy_problem(budget=Budget(trials=20, usd=5.0), stop="auto")
    _, why = to_its_end(rich)
    assert "20 trials of the budget are used" in why
    history, why = to_its_end(rich.with_stop(0.02))
    assert len(history) < 20
    assert f"and {20 - len(history)} trials of the budget are left" in why


def test_an_untested_favourite_says_why_the_best_measured_one_was_not_taken() -> None:
    problem = toy_problem()
    nothing = recommended(at_work(quick_lean()), problem, told(problem, [(0, 0), (5, 0), (9, 0)]), seed=1)
    assert nothing.state is not State.VERIFIED
    assert "Nothing was measured on all data yet" in nothing.why


def test_shares_of_epochs_are_called_so() -> None:
    problem, tuner = toy_problem(fidelity="epochs"), at_work(quick_lean())
    advice = recommended(tuner, problem, told(problem, [(0, 0), (5, 0), (9, 0)]), seed=1)
    assert "tested up to 1/10 of the epochs, not on all epochs. Nothing was measured on all epochs yet." in advice.why
    failed = told(problem, [(0, 0), (5, 0), (9, 0)], ObservationKind.FAILED)
    notes = [asked(tuner, problem, known, seed=1).notes[0].text for known in (told(problem, PAIRS), failed)]
    assert "epochs" in notes[0] and notes[1].endswith("on the fewest epochs")
    assert "data" not in " ".join([advice.why, *notes])


def test_where_the_promising_are_too_dear_a_cheaper_one_is_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    """One configuration is near: those that do not fit must not end the study while others do."""
    problem = toy_problem(budget=Budget(usd=1.0))
    history = told(problem, PAIRS)
    dearest = max(trial.cost for trial in history.trials)
    poor = problem.with_budget(Budget(usd=history.cost + dearest))
    many = at_work(modelled_lean()).ask(View(poor, history, 1))
    monkeypatch.setattr("leantune.strategies.lean.NEAR", 1)
    few = at_work(modelled_lean()).ask(View(poor, history, 1))
    assert isinstance(many, Proposal)
    assert isinstance(few, Proposal)


def test_where_no_test_on_all_data_fits_any_more_small_ones_are_not_bought() -> None:
    """Unless nothing was measured on all data: then they make a better guess."""
    problem = toy_problem(budget=Budget(usd=1.0))
    history = told(problem, PAIRS)
    cheapest = min(trial.cost for trial in history.trials)
    poor = problem.with_budget(Budget(usd=history.cost + 2 * cheapest))
    answer = at_work(modelled_lean()).ask(View(poor, history, 1))
    assert isinstance(answer, Over)
    assert "the best result is measured" in answer.why
    small = told(problem, [(row, level) for row, level in PAIRS if level < 2])
    poor = problem.with_budget(Budget(usd=small.cost + 2 * cheapest))
    assert isinstance(at_work(modelled_lean()).ask(View(poor, small, 1)), Proposal)


def test_a_study_does_not_end_while_something_is_under_way() -> None:
    problem = toy_problem(stop=0.02)
    history, _ = to_its_end(problem)
    strategy = at_work(quick_lean())
    assert isinstance(strategy.ask(View(problem, history, 1)), Over)
    tested = {(trial.configuration.id, trial.fraction) for trial in history.trials}
    open_pair = next(
        (configuration, share)
        for configuration in problem.space.grid()
        for share in problem.fractions
        if (configuration.id, share) not in tested
    )
    under_way, _ = history.propose(*open_pair)
    assert isinstance(strategy.ask(View(problem, under_way, 1)), Proposal)
