"""Deterministic batches see earlier batches only."""

from fractions import Fraction

from leantune.history import History, TrialState, observe
from leantune.problem import Problem, maximize
from leantune.run.proposing import before_batch
from leantune.space import Space, integer
from leantune.units import Seconds, Usd

PROBLEM = Problem(Space(n=integer(0, 99)), maximize("a"))
CONFIGURATIONS = PROBLEM.space.grid()


def history(trials: int, done: set[int]) -> History:
    grown = History()
    for number in range(trials):
        grown, trial = grown.propose(CONFIGURATIONS[number], Fraction(1))
        if number in done:
            grown = grown.record(number, [observe(PROBLEM, trial, {"a": 1.0})], time=1.0)
    return grown


def test_the_next_batch_waits_for_all_of_the_last() -> None:
    assert before_batch(history(4, {0, 1, 2}), 4) is None
    assert before_batch(history(4, {0, 1, 2, 3}), 4) == history(4, {0, 1, 2, 3})


def test_results_of_the_own_batch_are_not_seen() -> None:
    seen = before_batch(history(6, {0, 1, 2, 3, 5}), 4)
    assert seen is not None
    assert [trial.pending for trial in seen.trials] == [False] * 4 + [True] * 2
    assert seen.trials[5].observations == ()
    assert {trial.state for trial in seen.trials[4:]} == {TrialState.QUEUED}
    other = before_batch(history(6, {0, 1, 2, 3}), 4)
    assert other is not None
    assert [t.observations for t in other.trials] == [t.observations for t in seen.trials]


def paused(grown: History, number: int, dollars: float) -> History:
    for state in (TrialState.QUEUED, TrialState.RUNNING):
        grown = grown.move(number, state, time=2.0)
    return grown.move(number, TrialState.PAUSED, time=3.0, dollars=Usd(dollars), seconds=Seconds(1.0))


def test_a_paused_trial_keeps_nobody_waiting() -> None:
    grown = paused(history(4, {0, 1, 2}), 3, 0.5)
    assert before_batch(grown, 4) == grown


def test_nor_does_the_money_of_the_own_batch_count() -> None:
    """Who has paused already has cost something: time limits must not depend on who that is."""
    seen = before_batch(paused(history(6, {0, 1, 2, 3}), 5, 0.5), 4)
    assert seen is not None
    assert seen.cost == 0.0
    assert [len(trial.moves) for trial in seen.trials[4:]] == [2, 2]


def test_a_paused_trial_keeps_no_batch_waiting() -> None:
    grown = history(4, {0, 1, 2})
    for state in (TrialState.QUEUED, TrialState.RUNNING, TrialState.PAUSED):
        assert before_batch(grown, 4) is None
        grown = grown.move(3, state, time=2.0)
    assert before_batch(grown, 4) == grown
    assert before_batch(grown.move(3, TrialState.QUEUED, time=3.0), 4) is None, "it is chosen again"
