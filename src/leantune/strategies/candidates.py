"""Configurations and pairs that may be chosen."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import isnan

import numpy as np

from leantune.acquisition.base import Candidates
from leantune.arrays import BoolArray, IntArray
from leantune.history import History, Note, NoteKind, ObservationKind, Trial
from leantune.problem import Direction, Problem
from leantune.space import Configuration, Configurations
from leantune.strategies.proposals import derived_seed
from leantune.strategies.recipe import Recipe, Shares

NEIGHBOURHOODS = 5  # best results so far whose neighbours join the pool of a space that cannot be enumerated


@dataclass(frozen=True)
class Table:
    """The configurations on offer: all choices where they can be enumerated, else a pool drawn for this proposal and
    everything tested so far.
    """

    problem: Problem
    history: History
    configurations: Configurations
    notes: tuple[Note, ...] = ()

    @classmethod
    def of(cls, problem: Problem, history: History, recipe: Recipe, seed: int) -> Table:
        if problem.choices.enumerable:
            return cls(problem, history, problem.choices.grid())
        pool = problem.choices.pool(
            recipe.caps.pool, seed=derived_seed(seed, "pool"), around=best_tested(problem, history)
        )
        tested = Configurations.of(problem.space, [trial.configuration for trial in history.trials])
        words = f"the space cannot be enumerated: a pool of {len(pool)} configurations was drawn"
        return cls(problem, history, pool.union(tested), (Note(NoteKind.POOL, words),))

    @cached_property
    def candidates(self) -> Candidates:
        rates = self.configurations.rates
        features = np.array(self.configurations.features)  # a copy: compiled code has one version for writable arrays
        return Candidates(features, np.array(self.problem.levels), None if rates is None else np.array(rates))

    @cached_property
    def rows(self) -> IntArray:
        """Row of each trial's configuration."""
        places = self.configurations.indices_of(trial.configuration for trial in self.history.trials)
        return np.array([-1 if row is None else row for row in places], dtype=np.int64)

    def row_of(self, trial: Trial) -> int:
        """Row of a trial's configuration; -1 where it is not on offer."""
        return int(self.rows[trial.number])

    @cached_property
    def observed(self) -> IntArray:
        """Row of each observation's configuration, in the order of the evidence."""
        return np.array([self.row_of(trial) for trial, _ in self.history.observations], dtype=np.int64)

    def untested(self, recipe: Recipe) -> BoolArray:
        """Pairs that may be proposed, [N, k]: of the recipe's fractions, not pending, tested fewer than `repeats`
        times.
        """
        count = np.zeros((len(self.configurations), len(self.problem.fractions)), dtype=np.int64)
        # By integers: a Fraction takes microseconds to hash, and there may be 10,000 trials.
        level_of = {fraction.as_integer_ratio(): level for level, fraction in enumerate(self.problem.fractions)}
        tests = [
            (row, level_of[fraction.as_integer_ratio()], recipe.repeats if trial.pending else 1)
            for row, trial in zip(self.rows.tolist(), self.history.trials, strict=True)
            if row >= 0
            for fraction in trial.tested
        ]
        if tests:
            tested, level, times = np.array(tests).T
            np.add.at(count, (tested, level), times)
        open_pairs = count < recipe.repeats
        if self.problem.gaps:
            open_pairs &= self.problem.testable
        if len(self.problem.fractions) > 1:
            if recipe.tests is Shares.FULL:
                open_pairs[:, :-1] = False
            elif recipe.tests is Shares.PARTIAL:
                open_pairs[:, -1] = False
        return open_pairs


def best_tested(problem: Problem, history: History) -> list[Configuration]:
    """The configurations of the best results, at the largest fractions first; limits do not matter for where to look
    closer.
    """
    goal = problem.goal
    sign = -1.0 if goal.direction is Direction.MAXIMIZE else 1.0

    scored = [
        (-seen.fraction, sign * seen.value(goal.metric), trial.number, trial.configuration)
        for trial, seen in history.observations
        if seen.kind is not ObservationKind.FAILED and not isnan(seen.value(goal.metric))
    ]
    ordered = [configuration for *_, configuration in sorted(scored, key=lambda row: row[:3])]
    return list(dict.fromkeys(ordered))[:NEIGHBOURHOODS]
