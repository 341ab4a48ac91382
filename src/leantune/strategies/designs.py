"""Starts: tests before the models have data (ALGORITHMS.md, "Start, incumbent, stop").

A design is a list of tests that depends only on the problem and the study's seed; the next one is the first that the
history has not seen. So a resumed study goes on with the same design, and parallel workers share it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from math import ceil
from typing import Literal, Protocol

import numpy as np

from leantune.history import History, Note, NoteKind
from leantune.problem import COST, TIME, Problem
from leantune.space import Configuration
from leantune.strategies.budgets import Resources
from leantune.strategies.proposals import Proposal, derived_seed

ROUND = 16  # tests of one Latin hypercube while a budget decides how many there will be
SMALL = Fraction(15, 100)  # of the data: a start where money is limited
BUDGET_SHARE = 1 / 6  # of the study's dollars, where the recipe names no initial budget of its own


class Design(Protocol):
    """A start."""

    def next(self, problem: Problem, history: History, seed: int) -> Proposal | None:
        """The next starting test; None when the start is complete."""


def starting_test(configuration: Configuration, snapshots: tuple[Fraction, ...], *notes: Note) -> Proposal:
    """A test of a start that reports at these fractions, and ends at the last."""
    return Proposal(configuration, snapshots[-1], snapshots, notes=(Note(NoteKind.START, "start"), *notes))


def first_unseen(problem: Problem, tests: Iterator[Proposal], history: History) -> Proposal | None:
    """The first test that can be made, and whose configuration was not yet run up to its last fraction."""
    seen = {_run(trial.configuration, trial.fraction) for trial in history.trials}
    unseen = (test for test in tests if _run(test.configuration, test.fraction) not in seen)
    return next((test for test in unseen if (test.configuration.id, test.fraction) not in problem.gaps), None)


def _run(configuration: Configuration, fraction: Fraction) -> tuple[str, tuple[int, int]]:
    """By integers: a Fraction takes microseconds to hash, and there may be 10,000 trials."""
    return configuration.id, fraction.as_integer_ratio()


def as_runs(problem: Problem, configuration: Configuration, fractions: tuple[Fraction, ...]) -> Iterator[Proposal]:
    """One run that reports at every fraction where the program can do that, else one run a fraction."""
    if problem.snapshots or len(fractions) == 1:
        yield starting_test(configuration, fractions)
        return
    for fraction in fractions:
        words = (
            f"the program gives no snapshots: the start is one run for each of {len(fractions)} fractions, each charged"
        )
        yield starting_test(configuration, (fraction,), Note(NoteKind.EXTRA_RUNS, words))


@dataclass(frozen=True)
class LatinHypercube:
    """`points` configurations, or that `share` of the space, at full data or at every s < 1.

    TrimTuner, Fabolas: one configuration, at every s < 1. Fabulinus: 3 % of the space, at every s < 1.
    """

    points: int = 4
    share: float | None = None
    at: Literal["full", "partial"] = "full"

    def next(self, problem: Problem, history: History, seed: int) -> Proposal | None:
        fractions = problem.fractions[-1:] if self.at == "full" else (problem.fractions[:-1] or problem.fractions)
        chosen = problem.choices.latin_hypercube(self._count(problem), seed=derived_seed(seed, "start"))
        return first_unseen(problem, (run for x in chosen for run in as_runs(problem, x, fractions)), history)

    def _count(self, problem: Problem) -> int:
        if self.share is None or not problem.choices.enumerable:
            return self.points
        return max(1, ceil(self.share * len(problem.choices.grid())))


@dataclass(frozen=True)
class BudgetedStart:
    """`lean`: configurations of Latin hypercubes until `points` of them have ended, on as much data as the budget
    allows.

    Parallel workers go on with these meanwhile: they cost little, and what models choose by fewer results may not.
    """

    points: int = 3

    def next(self, problem: Problem, history: History, seed: int) -> Proposal | None:
        if len(history.finished) >= self.points:
            return None
        share = _start_share(problem, history)
        rounds = 2 + len(history.trials) // self.points
        drawn = (
            problem.choices.latin_hypercube(self.points, seed=derived_seed(seed, "start", number))
            for number in range(rounds)
        )
        seen = {trial.configuration.id for trial in history.trials}
        fresh = (configuration for hypercube in drawn for configuration in hypercube if configuration.id not in seen)
        return first_unseen(problem, (starting_test(configuration, (share,)) for configuration in fresh), history)


def _start_share(problem: Problem, history: History) -> Fraction:
    """All data where only trials are limited, in the last trial, or where money is no matter: every trial could cost as
    much as the limits allow. Else little of it; the least, where there is no budget.
    """
    fractions, left = problem.fractions, Resources.of(problem, history)
    if not left.any:
        return fractions[0]
    if left.trials is not None and left.trials <= 1:
        return fractions[-1]
    limits = {limit.metric: limit.limit for limit in problem.constraints if limit.upper}
    per_trial = {COST: left.usd, TIME: left.seconds}
    enough = left.trials is not None and all(
        rest is None or limits.get(metric, math.inf) <= rest / left.trials for metric, rest in per_trial.items()
    )
    return fractions[-1] if enough else max((share for share in fractions if share <= SMALL), default=fractions[0])


def _foreseen_cost(history: History) -> float:
    """Dollars spent, and those of pending trials at the average cost of finished trials."""
    finished = len(history.finished)
    return history.cost * (1.0 + len(history.pending) / finished) if finished else 0.0


@dataclass(frozen=True)
class UntilSpent:
    """Nephele: a Latin hypercube over configurations (and fractions) until an initial budget is spent.

    dollars: None means a sixth of the study's budget. A study without a dollar budget, or whose tests cost nothing,
    starts with `points` tests. At least two tests are made.
    """

    dollars: float | None = None
    points: int = 4
    at: Literal["full", "all"] = "all"

    def next(self, problem: Problem, history: History, seed: int) -> Proposal | None:
        limit = self.dollars
        if limit is None and problem.budget.usd is not None:
            limit = BUDGET_SHARE * problem.budget.usd
        tests = len(history.trials)
        enough = tests >= self.points if limit is None else _foreseen_cost(history) >= limit and tests >= 2
        if enough or (limit is not None and tests >= self.points and history.cost == 0 and not history.pending):
            return None
        return first_unseen(problem, islice(self._starts(problem, seed), tests + ROUND * ROUND), history)

    def _starts(self, problem: Problem, seed: int) -> Iterator[Proposal]:
        """Rounds of a joint Latin hypercube; within a round every fraction comes equally often."""
        fractions = problem.fractions if self.at == "all" else problem.fractions[-1:]
        round_number = 0
        while True:
            chosen = problem.choices.latin_hypercube(ROUND, seed=derived_seed(seed, "start", round_number))
            order = np.random.default_rng(derived_seed(seed, "fractions", round_number)).permutation(len(chosen))
            for x, position in zip(chosen, order.tolist(), strict=True):
                yield starting_test(x, (fractions[position % len(fractions)],))
            round_number += 1
