"""Small parts of what is told."""

import pytest

from leantune.cli.failures import printable
from leantune.cli.words import (
    LONGEST_CAUSE,
    aligned,
    best_words,
    budget_words,
    cause_words,
    count_words,
    expected_words,
    goal_words,
    money_words,
    outcome_words,
    reported_words,
    stopping_words,
    trial_words,
)
from leantune.executors.base import Report
from leantune.history import Estimate, History
from leantune.problem import Budget, Problem, minimize
from leantune.run.events import Stopping
from leantune.store.rows import Money
from tests.cli.samples import FULL, PROBLEM, QUARTER, SPACE, done, mixed, proposed, standing


def test_columns_line_up() -> None:
    assert aligned([("lr", "0.1"), ("batch", "16"), ("", "x")]) == ["  lr     0.1", "  batch  16", "         x"]
    assert aligned([]) == []


def test_money_is_spent_reserved_and_left() -> None:
    assert money_words(Money(5.0, 1.25, 0.25)) == "spent $1.25, reserved $0.25, left $3.50"
    assert money_words(Money(None, 1.25, 0.0)) == "spent $1.25, reserved $0.00, no limit"
    assert money_words(Money(1.0, 1.25, 0.0)).endswith("left $0.00")  # a budget that was lowered


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        (Budget(usd=5, trials=44, hours=8), "$5.00, 44 trials and 8 h of training"),
        (Budget(trials=1), "1 trial"),
        (Budget(), "no limit"),
    ],
)
def test_a_budget_in_words(budget: Budget, words: str) -> None:
    assert budget_words(budget) == words


def test_trials_against_the_budget() -> None:
    assert count_words(standing(mixed())) == "5 of 10 (3 done, 1 failed, 1 running)"
    assert count_words(standing(History())) == "0 of 10"
    assert count_words(standing(mixed(), PROBLEM.with_budget(Budget(usd=5)))) == "5 (3 done, 1 failed, 1 running)"


def test_a_long_cause_keeps_its_end_which_names_the_log() -> None:
    cause = f"exit code 1: {'x' * 1000}\n see runs/trial-0003/attempt-1.log"
    words = cause_words(cause)
    assert len(words) <= LONGEST_CAUSE + 3
    assert words.startswith("exit code 1: xx")
    assert words.endswith("see runs/trial-0003/attempt-1.log")
    assert cause_words("a\nb") == "a b"


def test_what_a_run_brought() -> None:
    history = mixed()
    assert outcome_words(PROBLEM, history.trial(3), "") == "accuracy 0.91"
    assert outcome_words(PROBLEM, history.trial(2), "exit code 3") == "exit code 3"


def test_the_best_says_where_it_was_measured_and_what_it_breaks() -> None:
    assert best_words(PROBLEM, None) == "no result yet"
    assert best_words(PROBLEM, standing(mixed()).best) == "accuracy 0.91, all data, all limits kept, trial 3"
    slow = done(proposed(History(), FULL)[0], 0, 0.9, 90.0)
    assert (
        printable(best_words(PROBLEM, standing(slow).best))
        == "accuracy 0.9, all data, breaks time ≤ 60 s (90 s), trial 0"
    )
    part = done(proposed(History(), QUARTER)[0], 0, 0.9, 1.0)
    words = best_words(PROBLEM, standing(part).best)
    assert words == "accuracy 0.9, 1/4 of the data (no result on all data yet), trial 0"


def test_without_limits_none_are_kept() -> None:
    problem = Problem(SPACE, minimize("accuracy"), budget=Budget(usd=5))
    history = done(proposed(History(), FULL)[0], 0, 0.9, 1.0)
    assert best_words(problem, standing(history, problem).best) == "accuracy 0.9, all data, trial 0"


def test_goal_trial_prediction_and_report() -> None:
    assert printable(goal_words(PROBLEM)) == "maximize accuracy, subject to cost ≤ $0.10 and time ≤ 60 s"
    assert printable(trial_words(mixed().trial(0))) == "lr = 0.01, batch = 16, cluster = 1 × small; 1/4 of the data"
    assert expected_words({"accuracy": Estimate(0.9, 0.02)}) == "accuracy 0.900 ± 0.020"
    assert reported_words(Report(0, 1.0, {"accuracy": 0.5}, step=3)) == "accuracy 0.5, step 3"
    assert reported_words(Report(0, 1.0, {"accuracy": 0.5}, fraction=QUARTER)) == "accuracy 0.5, 1/4 of the data"


@pytest.mark.parametrize(
    ("stopping", "words"),
    [
        (Stopping(True, 2), "asking 2 running trials to save a checkpoint; Ctrl-C again to end them at once"),
        (Stopping(False, 1), "ending 1 running trial at once"),
        (Stopping(True, 0), "nothing is running"),
    ],
)
def test_what_ctrl_c_does(stopping: Stopping, words: str) -> None:
    assert stopping_words(stopping) == words
