"""Who is paused, live and resumed; how trials stood at a moment; who of them goes on."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leantune.curves.base import Outlook, Prediction
from leantune.history import LEGAL_MOVES, History, TrialKind, TrialState
from leantune.strategies.spottune import SpotTune
from leantune.strategies.standings import (
    NOW,
    Census,
    Reader,
    TrialEnding,
    TrialStanding,
    choose_among,
    states_until,
)
from tests.strategies.trainings import Training, falling, numbers

S = TrialState


def history_of(*moves: tuple[int, TrialState]) -> History:
    """Trials 0 to 3 are proposed at time 0, then each move comes a second after the one before."""
    history, grid = History(), numbers(4).space.grid()
    for setting in grid:
        history, _ = history.propose(setting, numbers(4).fractions[0], time=0.0)
    for time, (number, state) in enumerate(moves, start=1):
        history = history.move(number, state, time=float(time))
    return history


def walked(number: int, *states: TrialState) -> list[tuple[int, TrialState]]:
    return [(number, state) for state in states]


PAUSED = (S.QUEUED, S.RUNNING, S.PAUSED)


def facts(census: Census) -> tuple[set[int], set[int], list[float]]:
    return census.paused, census.live, census.resumed


def counted(history: History) -> tuple[set[int], set[int], list[float]]:
    census = Census()
    census.follow(history)
    return facts(census)


def test_a_census_of_moves() -> None:
    moves = [*walked(0, *PAUSED), *walked(1, *PAUSED), *walked(2, S.QUEUED), (0, S.QUEUED), (1, S.STOPPED)]
    census = Census()
    history = history_of(*moves)
    census.follow(history)
    assert facts(census) == (set(), {0, 2, 3}, [8.0])
    assert [census.was_paused(trial) for trial in history.trials] == [True, True, False, False]
    assert [census.selected_at(trial) for trial in history.trials] == [8.0] * 4
    later, new = history.propose(numbers(4).space.grid()[0], numbers(4).fractions[0], time=9.0)
    census.follow(later)
    assert census.selected_at(new) is None


def test_who_verifies_is_not_counted() -> None:
    history, trial = History().propose(numbers(2).space.grid()[0], numbers(2).fractions[0], kind=TrialKind.VERIFICATION)
    history = history.move(trial.number, S.QUEUED, time=1.0)
    assert counted(history) == (set(), set(), [])


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000))
def test_a_census_that_follows_is_one_taken_afresh(seed: int) -> None:
    """Whatever histories it is shown, in whatever order: later ones, earlier ones, branches."""
    rng = np.random.default_rng(seed)
    known, census = [history_of()], Census()
    for _ in range(40):
        history = known[int(rng.integers(len(known)))]
        number = int(rng.integers(4))
        following = sorted(LEGAL_MOVES[history.trial(number).state] - {S.DONE, S.FAILED})
        if following:
            history = history.move(number, rng.choice(following), time=0.0)
            known.append(history)
        shown = known[int(rng.integers(len(known)))]
        if rng.random() < 0.1:
            shown = History(shown.trials[:2])
        census.follow(shown)
        assert facts(census) == counted(shown)
        again = Census()
        again.follow(shown)
        assert [census.was_paused(t) for t in shown.trials] == [again.was_paused(t) for t in shown.trials]


def test_states_up_to_a_moment() -> None:
    (trial, *_) = history_of(*walked(0, *PAUSED, S.QUEUED, S.RUNNING)).trials  # resumed at 4
    assert states_until(trial, -1.0) == []
    assert states_until(trial, 2.0) == [S.PROPOSED, S.QUEUED, S.RUNNING]
    assert states_until(trial, 4.0) == [S.PROPOSED, *PAUSED], "at that moment it was not resumed yet"
    assert states_until(trial, 4.5) == [S.PROPOSED, *PAUSED, S.QUEUED]
    assert states_until(trial, NOW)[-1] is S.RUNNING


def standing(number: int, mean: float, ending: TrialEnding | None = None, *, paused: bool = False) -> TrialStanding:
    return TrialStanding(number, Prediction(mean, 0.0 if ending else 0.1), ending, paused)


OUT = Prediction(math.nan, math.inf, Outlook.DIVERGED)


def test_the_best_go_on_and_results_count_among_them() -> None:
    paused = [standing(number, mean, paused=True) for number, mean in ((1, 0.5), (2, 0.2), (3, 0.9))]
    chosen = choose_among([standing(0, 0.1, TrialEnding.FINISHED), *paused], 2, maximize=False)
    assert chosen.ranking[:2] == (0, 2)
    assert chosen.going_on == {0, 2}
    assert choose_among([standing(0, 0.1, TrialEnding.CONVERGED), *paused], 2, maximize=True).going_on == {3, 1}


@pytest.mark.parametrize(
    "ending", [TrialEnding.FAILED, TrialEnding.DIVERGED, TrialEnding.NOT_SELECTED, TrialEnding.STOPPED]
)
def test_who_is_out_takes_nobodys_place(ending: TrialEnding) -> None:
    lost = TrialStanding(0, Prediction(0.0, 0.1), ending)
    assert choose_among([lost, standing(1, 0.5, paused=True), standing(2, 0.6)], 2, maximize=False).going_on == {1, 2}


def test_what_is_not_predictable_goes_on_besides() -> None:
    open_ended = TrialStanding(5, Prediction(0.4, math.inf, Outlook.NOT_PREDICTABLE))
    assert choose_among([standing(0, 0.5, paused=True), open_ended], 1, maximize=False).going_on == {0, 5}


def test_when_nothing_is_promising_what_is_paused_goes_on() -> None:
    lost = [TrialStanding(number, OUT, TrialEnding.DIVERGED) for number in range(3)]
    paused = [TrialStanding(number, OUT, paused=True) for number in (3, 4)]
    assert choose_among([*lost, *paused], 2, maximize=False).going_on == {0, 1, 3, 4}
    assert choose_among([*paused, *lost], 1, maximize=False).going_on == {3}, "a paused one is among the first"


def test_how_each_trial_stands() -> None:
    training = Training(SpotTune(), numbers(7), [falling(0.1 * n) for n in range(7)]).begin()
    for number in range(7):
        training.report(number, 14)
    training.report(0, 6)  # done
    training.end(1, math.nan)  # failed
    training.move(2, S.PAUSED, S.STOPPED)
    training.move(3, S.PAUSED)
    training.move(4, S.STOPPED)
    training.known[5] = type(training.known[5])((1.0, 2.0), (1.0, math.nan))
    training.move(5, S.STOPPED)
    reader = Reader(SpotTune().predictor, 0.7, True, {}, {})
    found = reader.standings(training.view)
    endings = [
        TrialEnding.FINISHED,
        TrialEnding.FAILED,
        TrialEnding.NOT_SELECTED,
        None,
        TrialEnding.STOPPED,
        TrialEnding.DIVERGED,
        None,
    ]
    assert [found[number].ending for number in range(7)] == endings
    assert [found[number].out for number in range(7)] == [False, True, True, False, True, True, False]
    assert [number for number in found if found[number].paused] == [3]
    assert found[0].prediction == Prediction(0.05, 0.0, why="trained to the end")
    assert found[3].prediction.outlook is Outlook.PREDICTED
    assert found[6].prediction.outlook is Outlook.NOT_PREDICTABLE, "it is not judged yet"
    assert found[6].prediction.mean == training.known[6].values[-1]
