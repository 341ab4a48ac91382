"""What `lean` promises of its final recommendation: on programs whose time hardly depends on the data, of measured
winners, of limits that nothing reaches, and that it was tested.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from leantune.history import History, Observation, Trial, observe
from leantune.problem import Budget, Problem, maximize
from leantune.space import Space, choice, ordinal
from leantune.strategies.proposals import Proposal, State
from leantune.strategies.registry import at_work, recipe
from leantune.strategies.tuner import View
from tests.lab.replay.laws import LAWS, Law
from tests.strategies.quick_lean import quick_lean
from tests.toy import recommended


def same_time(problem: Problem, trial: Trial, seed: int) -> Observation:
    """A program that takes about 1.5 s at any share."""
    rate, layers = float(str(trial.configuration["lr"])), float(str(trial.configuration["layers"]))
    scatter = np.random.default_rng([seed, trial.number]).normal(0.0, 0.02)
    error = (0.1 + 0.1 * (np.log10(rate) + 2.5) ** 2 + 0.02 * layers) * (1.0 + 0.5 * (1.0 - float(trial.fraction)))
    return observe(problem, trial, {"accuracy": 1.0 - error}, seconds=1.5 * float(np.exp(scatter)))


@pytest.mark.parametrize("budget", [Budget(trials=10), Budget(hours=0.004), Budget(trials=10, hours=0.004)])
def test_where_the_time_hardly_depends_on_the_share_all_data_is_tested(budget: Budget) -> None:
    problem = Problem(
        Space(lr=ordinal(1e-4, 1e-3, 1e-2, 1e-1, scale="log"), layers=ordinal(1, 2, 3)),
        maximize("accuracy"),
        ["time <= 5 s"],
        (Fraction(1, 4), 1),
        budget,
    )
    for seed in range(6):
        strategy, history = at_work(quick_lean()), History()
        while isinstance(proposal := strategy.ask(View(problem, history, seed)), Proposal):
            history, trial = history.propose(proposal.configuration, proposal.fraction)
            history = history.record(trial.number, [same_time(problem, trial, seed)], time=0.0)
        assert any(trial.fraction == 1 for trial in history.trials)
        assert recommended(strategy, problem, history, seed=seed).state is State.VERIFIED, seed


def measured(problem: Problem, results: list[tuple[dict[str, object], str, float, float]]) -> History:
    """Trials with (setting, share, accuracy, seconds)."""
    history = History()
    for setting, share, accuracy, seconds in results:
        (configuration,) = [one for one in problem.space.grid() if one.as_json() == setting]
        history, trial = history.propose(configuration, Fraction(share))
        seen = observe(problem, trial, {"accuracy": accuracy}, seconds=seconds)
        history = history.record(trial.number, [seen], time=0.0)
    return history


@pytest.mark.parametrize("budget", [Budget(), Budget(trials=9), Budget(trials=20, hours=2)])
def test_a_measured_winner_is_not_replaced_by_a_worse_measured_one(budget: Budget) -> None:
    """It is near its limit, so that models alone would doubt that it keeps it."""
    space = Space(lr=ordinal(1e-3, 1e-2, 1e-1, scale="log"), batch=ordinal(32, 64, 128, scale="log"))
    problem = Problem(space, maximize("accuracy"), ["time <= 184.6 s"], (Fraction(1, 4), 1), budget)
    history = measured(
        problem,
        [
            ({"lr": 1e-2, "batch": 32}, "1", 0.9892, 168.0),
            ({"lr": 1e-2, "batch": 128}, "1", 0.9754, 61.0),
            ({"lr": 1e-3, "batch": 32}, "1", 0.9921, 197.0),
            ({"lr": 1e-1, "batch": 32}, "1", 0.9520, 190.0),
            ({"lr": 1e-3, "batch": 128}, "1", 0.9610, 59.0),
            ({"lr": 1e-2, "batch": 64}, "1/4", 0.9650, 31.0),
            ({"lr": 1e-3, "batch": 64}, "1/4", 0.9480, 30.0),
            ({"lr": 1e-1, "batch": 64}, "1/4", 0.9310, 33.0),
            ({"lr": 1e-1, "batch": 128}, "1/4", 0.9150, 20.0),
        ],
    )
    for seed in range(3):
        found = recommended(at_work(recipe("lean")), problem, history, seed=seed)
        assert found.configuration.as_json() == {"lr": 1e-2, "batch": 32}
        assert found.state is State.VERIFIED


@pytest.mark.parametrize("full", [True, False])
def test_a_limit_beyond_everything_that_was_seen_is_not_a_toss_up(full: bool) -> None:
    problem = Problem(
        Space(lr=ordinal(1e-3, 1e-2, 1e-1, scale="log"), kind=choice("a", "b", "c")),
        maximize("accuracy"),
        ["score >= 2"],
        (Fraction(1, 4), 1),
    )
    history = History()
    for row in range(4):
        history, trial = history.propose(problem.space.grid()[2 * row], Fraction(1 if full else Fraction(1, 4)))
        seen = observe(problem, trial, {"accuracy": 0.8 + 0.01 * row, "score": 1.0}, seconds=10.0)
        history = history.record(trial.number, [seen], time=0.0)
    found = recommended(at_work(recipe("lean")), problem, history, seed=1)
    assert not found.feasible
    assert found.probabilities["score >= 2"] <= 0.1


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@example(law=Law("hill", 0), trials=None, runs=None, limited=True, seed=0)  # the last test changed its mind
@example(law=Law("exponential", 0), trials=1, runs=3.0, limited=False, seed=0)  # the start took all trials
@given(
    law=st.builds(Law, st.sampled_from(LAWS), st.integers(0, 1000)),
    trials=st.none() | st.integers(1, 10),
    runs=st.none() | st.floats(2.5, 6.0),
    limited=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_every_final_recommendation_was_tested_on_all_data(
    law: Law, trials: int | None, runs: float | None, limited: bool, seed: int
) -> None:
    """Unless nothing that was tested there kept the limits; and something was tested there.

    runs: dollars for so many of the dearest runs on all data; a start on little data leaves at least one of them.
    """
    table = law.load()
    dearest = max(one.cost or 0.0 for one in table.measurements.values())
    budget = Budget(trials=trials if trials or runs else 6, usd=None if runs is None else runs * dearest)
    limits = table.problem.constraints if limited else ()
    problem = Problem(table.problem.space, table.problem.goal, limits, table.problem.fractions, budget)
    strategy, history = at_work(quick_lean()), History()
    while isinstance(proposal := strategy.ask(View(problem, history, seed)), Proposal):
        history, trial = history.propose(proposal.configuration, proposal.fraction)
        row = table.measurements[trial.configuration.id, trial.fraction]
        seen = observe(problem, trial, row.metrics, seconds=row.seconds, cost=row.cost)
        if budget.usd is not None and history.cost + (row.cost or 0.0) > budget.usd:  # the loop does not start it
            history = History(history.trials[:-1])
            break
        history = history.record(trial.number, [seen], time=0.0)
    on_all = [seen for _, seen in history.observations if seen.fraction == 1]
    assert on_all
    kept = [seen for seen in on_all if all(one.holds(seen.value(one.metric)) for one in problem.constraints)]
    found = recommended(strategy, problem, history, seed=seed)
    assert found.state is State.VERIFIED or not kept
