"""Every recipe, end to end on a small problem."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from leantune.errors import StrategyError
from leantune.filters.ranked import NoFilter
from leantune.history import History, NoteKind, ObservationKind, TrialState, observe
from leantune.problem import Budget, Problem, maximize
from leantune.space import Space, linear, log, ordinal
from leantune.strategies.proposals import Proposal
from leantune.strategies.recipe import Caps, Recipe, Shares
from leantune.strategies.registry import RECIPES, at_work, named_tuner, recipe
from leantune.strategies.strategy import Strategy
from leantune.strategies.tuner import LearningCurve, Over, View
from tests.toy import (
    LIMIT,
    accuracy,
    asked,
    batch,
    best_feasible,
    measure,
    modelled,
    quick,
    recommended,
    seconds,
    told,
    toy_problem,
    toy_space,
)

CHEAPEST = ("nephele", "lynceus", "cherrypick")
MODELLED = tuple(name for name in RECIPES if name != "random")


def problem_for(name: str, budget: Budget | None = None) -> Problem:
    return toy_problem(anywhere=name in CHEAPEST, budget=budget or Budget(usd=2.0))


def run(used: Recipe, problem: Problem, trials: int, seed: int = 1) -> tuple[History, list[Proposal]]:
    strategy, history, proposals = at_work(used), History(), []
    for _ in range(trials):
        proposal = asked(strategy, problem, history, seed=seed)
        proposals.append(proposal)
        history, trial = history.propose(proposal.configuration, proposal.fraction, proposal.snapshots)
        history = history.record(trial.number, measure(problem, trial), time=0.0)
    return history, proposals


@pytest.mark.parametrize("name", RECIPES)
def test_proposals_are_new_and_inside_the_space(name: str) -> None:
    problem = problem_for(name)
    used = quick(name)
    history, proposals = run(used, problem, 16)
    pairs = [(p.configuration.id, p.fraction) for p in proposals]
    assert len(set(pairs)) == len(pairs)
    for proposal in proposals:
        assert problem.space.grid().index_of(proposal.configuration) is not None
        assert proposal.fraction in problem.fractions
        assert proposal.notes
        assert proposal.fraction == 1 or used.tests is not Shares.FULL
        assert proposal.fraction < 1 or used.tests is not Shares.PARTIAL
    assert len(history.finished) == 16


@pytest.mark.parametrize("name", ["trimtuner", "trimtuner-gp", "fabulinus", "eic", "eic-usd"])
def test_constrained_recipes_find_a_feasible_near_optimum(name: str) -> None:
    problem = problem_for(name)
    used = quick(name)
    strategy = at_work(used)
    history, _ = run(used, problem, 22)
    found = recommended(strategy, problem, history, seed=1)
    rate = found.configuration.usd_per_hour
    assert rate is not None
    assert found.feasible
    assert seconds(found.configuration, Fraction(1)) / 3600 * rate <= LIMIT
    assert accuracy(found.configuration, Fraction(1)) >= 0.97 * best_feasible(problem)


@pytest.mark.parametrize("name", CHEAPEST)
def test_cheapest_recipes_recommend_a_measured_pair_within_the_limits(name: str) -> None:
    problem = problem_for(name)
    history, _ = run(quick(name), problem, 16)
    found = recommended(at_work(quick(name)), problem, history, seed=1)
    assert found.feasible
    assert found.tested
    assert found.metrics["accuracy"].mean >= 0.75
    costs = [
        seen.cost
        for _, seen in history.observations
        if seen.cost is not None and seen.metrics["accuracy"] >= 0.75 and (seen.seconds or 0) <= 300
    ]
    assert found.metrics["cost"].mean == min(costs)


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("case", ["one", "constant", "infeasible", "failed", "repeated", "cut"])
def test_degenerate_histories_are_survived(name: str, case: str) -> None:
    problem = problem_for(name, Budget(trials=100))
    used = modelled(name)
    kinds = {"failed": ObservationKind.FAILED, "cut": ObservationKind.CENSORED}
    pairs = {"one": [(0, 2)], "repeated": [(3, 2)] * 4}.get(case, [(row, row % 3) for row in range(8)])
    history = told(problem, pairs, kinds.get(case, ObservationKind.MEASURED))
    if case in ("constant", "infeasible"):
        history = _with_metrics(problem, pairs, 0.5, 100.0 if case == "constant" else 1e6)
    proposal = asked(at_work(used), problem, history, seed=3)
    assert (proposal.configuration.id, proposal.fraction) not in {
        (trial.configuration.id, trial.fraction) for trial in history.trials
    }
    if case == "failed":
        assert any(note.kind in (NoteKind.FALLBACK, NoteKind.RANDOM) for note in proposal.notes)
        assert at_work(used).recommend(View(problem, history, 3)) is None
    else:
        found = recommended(at_work(used), problem, history, seed=3)
        assert all(np.isfinite([estimate.mean, estimate.sd]).all() for estimate in found.metrics.values())
        assert all(0.0 <= p <= 1.0 for p in found.probabilities.values())


def _with_metrics(problem: Problem, pairs: list[tuple[int, int]], value: float, took: float) -> History:
    history = History()
    for row, level in pairs:
        history, trial = history.propose(problem.space.grid()[row], problem.fractions[level])
        seen = observe(problem, trial, {"accuracy": value}, seconds=took)
        history = history.record(trial.number, [seen], time=0.0)
    return history


def test_a_batch_has_no_pair_twice() -> None:
    problem = toy_problem()
    strategy = Strategy(modelled("trimtuner-gp"))
    history = told(problem, [(0, 0), (5, 1), (9, 2), (14, 0), (20, 1)])
    proposals = batch(strategy, problem, history, seed=2, count=4)
    assert len({(p.configuration.id, p.fraction) for p in proposals}) == 4


def test_every_trial_runs_to_its_end() -> None:
    problem = toy_problem()
    history, trial = History().propose(problem.space.grid()[0], Fraction(1))
    history = history.move(trial.number, TrialState.QUEUED, time=0.0)
    curve = LearningCurve([1.0, 2.0], [0.5, float("nan")])
    assert at_work(recipe("eic")).judge(View(problem, history, 0, {trial.number: curve})) == {}


def test_pending_trials_change_the_proposal_through_their_simulated_outcome() -> None:
    problem = toy_problem()
    strategy = Strategy(modelled("eic"))
    history = told(problem, [(0, 2), (5, 2), (9, 2), (14, 2)])
    first = asked(strategy, problem, history, seed=2)
    pending, _ = history.propose(first.configuration, first.fraction)
    second = asked(strategy, problem, pending, seed=2)
    assert second.configuration != first.configuration


def test_same_order_of_results_whatever_the_order_of_arrival() -> None:
    problem = toy_problem()
    strategy = Strategy(modelled("trimtuner-gp"))
    orders = ([0, 1, 2, 3, 4, 5], [5, 3, 1, 0, 2, 4])
    proposals = []
    for order in orders:
        history = History()
        for row in range(6):
            history, _ = history.propose(problem.space.grid()[row * 3], problem.fractions[row % 3])
        for number in order:
            history = history.record(number, measure(problem, history.trial(number)), time=float(number))
        proposals.append(asked(strategy, problem, history, seed=7))
    assert proposals[0] == proposals[1]


_PROBE = """
import json
from leantune.filters.ranked import NoFilter
from leantune.history import History
from leantune.strategies.registry import at_work
from tests.strategies.quick_lean import modelled_lean
from tests.toy import asked, modelled, recommended, told, toy_problem
answers = []
for used in (*map(modelled, ("trimtuner-gp", "trimtuner", "fabolas", "eic")), modelled_lean()):
    problem = toy_problem(snapshots=True)
    history = told(problem, [(0, 0), (5, 1), (9, 2), (14, 0), (20, 1), (11, 2), (3, 1)])
    strategy = at_work(used)
    proposal = asked(strategy, problem, history, seed=11)
    found = recommended(strategy, problem, history, seed=11)
    expected = {key: [value.mean.hex(), value.sd.hex()] for key, value in sorted(proposal.expected.items())}
    reports = [str(share) for share in proposal.snapshots]
    answers.append([proposal.configuration.id, reports, expected, found.configuration.id,
                    found.metrics["accuracy"].mean.hex()])
print(json.dumps(answers))
"""


def test_bit_for_bit_in_other_processes_and_with_one_or_two_threads() -> None:
    root = Path(__file__).parents[2]
    answers = []
    for threads, hash_seed in (("1", "1"), ("2", "2")):
        environment = {
            **os.environ,
            "LEANTUNE_THREADS": threads,
            "PYTHONHASHSEED": hash_seed,
            "OPENBLAS_NUM_THREADS": threads,
        }
        done = subprocess.run(
            [sys.executable, "-c", _PROBE], env=environment, cwd=root, capture_output=True, text=True, check=True
        )
        answers.append(json.loads(done.stdout))
    assert answers[0] == answers[1]
    assert all(answer[2] for answer in answers[0])  # every proposal came from models


def test_failures_teach() -> None:
    problem = toy_problem()
    strategy = Strategy(modelled("eic"))
    grid = problem.space.grid()
    crashing = [row for row in range(len(grid)) if grid[row]["lr"] == 1e-2]
    fine = [row for row in range(len(grid)) if grid[row]["lr"] != 1e-2][::3]
    history = told(problem, [(row, 2) for row in fine])
    for row in crashing[:4]:
        history, trial = history.propose(grid[row], Fraction(1))
        failed = observe(problem, trial, {}, seconds=3.0, kind=ObservationKind.FAILED, cause="out of memory")
        history = history.record(trial.number, [failed], time=0.0, state=TrialState.FAILED, cause="out of memory")
    proposals = batch(strategy, problem, history, seed=5, count=4)
    assert all(proposal.configuration["lr"] != 1e-2 for proposal in proposals)
    assert recommended(strategy, problem, history, seed=5).configuration["lr"] != 1e-2


def test_nothing_left_to_test() -> None:
    space = Space(lr=ordinal(1.0, 2.0))
    problem = Problem(space, maximize("accuracy"), (), (1,))
    history = History()
    for row in range(2):
        history, trial = history.propose(space.grid()[row], Fraction(1))
        history = history.record(trial.number, [observe(problem, trial, {"accuracy": 0.5 + row / 10})], time=0.0)
    over = at_work(quick("eic")).ask(View(problem, history, 0))
    assert over == Over("every pair that the strategy may test has been tested")
    again = replace(quick("eic"), repeats=2)
    assert asked(Strategy(again), problem, history, seed=0).configuration in list(space.grid())


def test_infinite_spaces_are_searched_by_pools_that_say_so() -> None:
    space = Space(lr=log(1e-5, 1e-1), momentum=linear(0, 1), valid=lambda c: float(str(c["momentum"])) <= 0.9)
    problem = Problem(space, maximize("accuracy"), (), ("1/4", 1))
    used = replace(quick("trimtuner-gp"), caps=Caps(pool=128))
    history = History()
    for _ in range(16):
        proposal = asked(at_work(used), problem, history, seed=4)
        assert float(str(proposal.configuration["momentum"])) <= 0.9
        history, trial = history.propose(proposal.configuration, proposal.fraction, proposal.snapshots)
        rate = np.log10(float(str(trial.configuration["lr"])))
        value = 0.9 - 0.05 * (rate + 3.0) ** 2 - 0.1 * (1.0 - float(proposal.fraction))
        seen = observe(problem, trial, {"accuracy": max(value, 0.0)}, seconds=60 * float(proposal.fraction))
        history = history.record(trial.number, [seen], time=0.0)
    assert any(note.kind is NoteKind.POOL for note in proposal.notes)
    found = recommended(at_work(used), problem, history, seed=4)
    assert abs(np.log10(float(str(found.configuration["lr"]))) + 3.0) < 0.2


def test_caps_that_bite_are_visible() -> None:
    problem = toy_problem()
    history = told(problem, [(0, 0), (5, 1), (9, 2), (14, 0), (20, 1)])
    tight = Caps(candidates=4, representers=6, incumbents=5)
    plain = replace(modelled("trimtuner-gp"), filter=NoFilter())
    capped = asked(at_work(replace(plain, caps=tight)), problem, history, seed=2)
    assert len([note for note in capped.notes if note.kind is NoteKind.CAP]) == 3
    free = asked(Strategy(plain), problem, history, seed=2)
    assert not [note for note in free.notes if note.kind is NoteKind.CAP]


def test_limits_with_their_own_certainty_decide_who_qualifies() -> None:
    history_pairs = [(row, 2) for row in range(0, 24, 2)]
    loose = Problem(toy_space(), maximize("accuracy"), [f"cost <= {LIMIT} USD @ 0.5"], ("1/10", "1/2", 1))
    strict = Problem(toy_space(), maximize("accuracy"), [f"cost <= {LIMIT} USD @ 0.999"], ("1/10", "1/2", 1))
    strategy = at_work(quick("eic"))
    for problem, least in ((loose, 0.5), (strict, 0.999)):
        found = recommended(strategy, problem, told(problem, history_pairs), seed=1)
        assert found.feasible
        assert min(found.probabilities.values()) >= least


def test_recipes_that_cannot_serve_a_problem_say_so() -> None:
    single = Problem(toy_space(), maximize("accuracy"), (), (1,))
    with pytest.raises(StrategyError, match="parts of the data"):
        at_work(recipe("fabulinus")).check(single)
    for name in ("fabulinus", "trimtuner", "fabolas"):
        with pytest.raises(StrategyError, match="Choose 'lean', 'nephele'"):
            at_work(recipe(name)).check(toy_problem(anywhere=True))
    with pytest.raises(StrategyError, match="Choose 'lean' or 'eic'"):
        at_work(recipe("nephele")).check(toy_problem())
    at_work(recipe("eic")).check(single)


@pytest.mark.parametrize("name", RECIPES)
def test_only_listed_settings_are_proposed_and_recommended(name: str) -> None:
    plain = toy_problem(anywhere=name == "nephele")
    listed = [plain.space.grid()[row] for row in (17, 3, 8, 20, 11)]
    problem = Problem(plain.space, plain.goal, plain.constraints, plain.fractions, settings=listed)
    strategy, history = at_work(quick(name)), History()
    for _ in range(16):
        answer = strategy.ask(View(problem, history, 2))
        if isinstance(answer, Over):
            assert history.tested(listed[0].id), "it ends when all of them are tested"
            break
        assert isinstance(answer, Proposal)
        assert answer.configuration in listed
        history, trial = history.propose(answer.configuration, answer.fraction, answer.snapshots)
        history = history.record(trial.number, measure(problem, trial), time=0.0)
    assert recommended(strategy, problem, history, seed=2).configuration in listed


def test_what_a_stopped_run_had_shown_midway_is_not_learned_from() -> None:
    """Proposal and recommendation are those of a trial that was stopped without showing anything."""
    problem = toy_problem()
    history = told(problem, [(0, 0), (5, 1), (9, 2), (14, 0), (20, 1)])
    history, trial = history.propose(problem.space.grid()[3], Fraction(1))
    best = dict.fromkeys(problem.required_metrics, 1.0)
    midway = observe(problem, trial, best, seconds=1.0, cost=0.0, kind=ObservationKind.PARTIAL)
    shown = history.record(trial.number, [midway], time=1.0, state=TrialState.STOPPED)
    silent = history.record(trial.number, [], time=1.0, state=TrialState.STOPPED)
    used = Strategy(modelled("eic"))
    assert asked(used, problem, shown, seed=2) == asked(used, problem, silent, seed=2)
    assert recommended(used, problem, shown, seed=2) == recommended(used, problem, silent, seed=2)
    assert shown.tested(trial.configuration.id) == silent.tested(trial.configuration.id) == {Fraction(1)}


@pytest.mark.parametrize("name", ["lean", "trimtuner-gp", "random"])
def test_what_is_compiled_ahead_changes_no_proposal(name: str) -> None:
    problem, history = toy_problem(), told(toy_problem(), [(0, 0), (5, 1), (9, 2), (14, 0)])
    fresh, prepared = named_tuner(name), named_tuner(name)
    prepared.prepare()
    assert prepared.ask(View(problem, history, 3)) == fresh.ask(View(problem, history, 3))
