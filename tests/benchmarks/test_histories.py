"""Histories for benchmarks have the length asked for and no pair twice."""

import pytest

from benchmarks.datasets import generated, trimtuner_space
from benchmarks.histories import history_of
from leantune import errors
from leantune.strategies.designs import LatinHypercube

DATASET = generated("history", trimtuner_space())
PROBLEM = DATASET.problem()
PARTS = LatinHypercube(1, at="partial")


@pytest.mark.parametrize("observations", [4, 48, 1_440])
def test_the_start_comes_first_and_no_pair_twice(observations: int) -> None:
    history = history_of(DATASET, PROBLEM, PARTS, observations=observations, seed=3)
    assert history.trials[0].snapshots == DATASET.fractions[:-1]
    assert PARTS.next(PROBLEM, history, 3) is None
    pairs = [(trial.configuration.id, seen.fraction) for trial, seen in history.observations]
    assert len(pairs) == len(set(pairs)) == observations
    assert not history.pending


def test_equal_seeds_give_equal_histories() -> None:
    first, second = (history_of(DATASET, PROBLEM, PARTS, observations=10, seed=3) for _ in range(2))
    other = history_of(DATASET, PROBLEM, PARTS, observations=10, seed=4)
    assert first == second
    assert first != other


@pytest.mark.parametrize("observations", [3, 1_441])
def test_a_length_that_cannot_be_had_is_refused(observations: int) -> None:
    with pytest.raises(errors.InvalidInput, match=f"{observations} observations of 1440 pairs"):
        history_of(DATASET, PROBLEM, PARTS, observations=observations, seed=3)
