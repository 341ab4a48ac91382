"""Histories of a given length: what a strategy has seen when a benchmark asks it for the next test."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from benchmarks.datasets import Dataset
from leantune import errors
from leantune.history import History, Observation, ObservationKind, Trial, observe
from leantune.problem import Problem
from leantune.space import Configuration
from leantune.strategies.designs import Design
from leantune.strategies.proposals import Proposal, derived_seed
from leantune.strategies.tuner import Tuner, View


def proposed(tuner: Tuner, problem: Problem, history: History, seed: int) -> Proposal:
    """The next test, where there is one."""
    answer = tuner.ask(View(problem, history, seed))
    if not isinstance(answer, Proposal):
        raise errors.StudyOver(answer.why, where="benchmark", hint="Give it a shorter history")
    return answer


def history_of(dataset: Dataset, problem: Problem, start: Design, *, observations: int, seed: int) -> History:
    """The start of a recipe under that seed, then random pairs, no pair twice; `observations` in all."""
    history = History()
    while (begun := start.next(problem, history, seed)) is not None:
        history = _tested(dataset, problem, history, begun.configuration, begun.snapshots)
    missing = observations - sum(1 for _ in history.observations)
    if not 0 <= missing <= dataset.pairs - (observations - missing):
        raise errors.InvalidInput(
            f"{observations} observations of {dataset.pairs} pairs after a start of {observations - missing}",
            where="history_of",
            hint="Ask for a number between the two",
        )
    for configuration, share in _random_pairs(dataset, history, missing, seed):
        history = _tested(dataset, problem, history, configuration, (share,))
    return history


def _random_pairs(dataset: Dataset, history: History, count: int, seed: int) -> list[tuple[Configuration, Fraction]]:
    rng = np.random.default_rng(derived_seed(seed, "random pairs"))
    configurations = dataset.space.grid()
    levels = len(dataset.fractions)
    seen = {
        (configurations.index_of(trial.configuration), dataset.fractions.index(observation.fraction))
        for trial, observation in history.observations
    }
    drawn = rng.choice(dataset.pairs, size=count + len(seen), replace=False)
    rows = [divmod(int(flat), levels) for flat in drawn]
    unseen = [row for row in rows if row not in seen][:count]
    return [(configurations[configuration], dataset.fractions[level]) for configuration, level in unseen]


def _tested(
    dataset: Dataset, problem: Problem, history: History, configuration: Configuration, shares: tuple[Fraction, ...]
) -> History:
    history, trial = history.propose(configuration, shares[-1], shares)
    return history.record(trial.number, [_seen(dataset, problem, trial, share) for share in shares], time=0.0)


def _seen(dataset: Dataset, problem: Problem, trial: Trial, share: Fraction) -> Observation:
    measured = dataset.measure(trial.configuration, share)
    kind = ObservationKind.CENSORED if measured.cut else ObservationKind.MEASURED
    seconds, dollars = measured.seconds, measured.cost
    return observe(problem, trial, measured.metrics, seconds=seconds, cost=dollars, fraction=share, kind=kind)
