"""A study and a run of it at one moment, and how it is told."""

from dataclasses import replace

import pytest

from leantune.cli.status import (
    ENDED_SHOWN,
    LONGEST_CAUSE,
    cause_words,
    expected_clause,
    reported_words,
    stopping_words,
    trial_words,
)
from leantune.cli.terminal import aligned, printable
from leantune.executors.base import Report
from leantune.history import Estimate, History
from leantune.problem import Budget, Problem, minimize
from leantune.run.events import ReportReceived, Stopping, TrialRecovered, Waiting
from leantune.space import Space, choice
from leantune.store.rows import Money
from leantune.text import budget_words, goal_words
from tests.cli.samples import (
    CHARGED,
    FULL,
    PROBLEM,
    QUARTER,
    SPACE,
    done,
    ended,
    failed,
    mixed,
    progress,
    proposal,
    proposed,
    started,
    status,
)


def test_the_best_keeps_all_limits_on_all_data() -> None:
    best = status(mixed()).best
    assert best is not None
    assert (best.trial.number, best.on_answer, best.limits_kept, best.broken) == (3, True, True, ())


def test_a_result_on_all_data_that_breaks_a_limit_comes_before_any_on_a_part() -> None:
    history, _ = proposed(History(), QUARTER)
    history, _ = proposed(history, FULL)
    history = done(done(history, 0, 0.99, 1.0), 1, 0.5, 90.0)
    best = status(history).best
    assert best is not None
    assert (best.trial.number, best.on_answer, best.limits_kept) == (1, True, False)
    assert [limit.metric for limit in best.broken] == ["time"]


def test_a_result_on_a_part_is_better_than_nothing_and_says_so() -> None:
    history, _ = proposed(History(), QUARTER)
    best = status(done(history, 0, 0.7, 1.0)).best
    assert best is not None
    assert (best.trial.number, best.on_answer) == (0, False)


@pytest.mark.parametrize("history", [History(), failed(proposed(History(), FULL)[0], 0, "boom")], ids=["new", "failed"])
def test_without_a_result_there_is_no_best(history: History) -> None:
    assert status(history).best is None


def test_where_answers_lie_anywhere_a_part_is_an_answer() -> None:
    problem = Problem(SPACE, minimize("cost", at="anywhere"), ["accuracy >= 0.6"], ["1/4", 1], Budget(usd=5))
    history, _ = proposed(History(), QUARTER)
    best = status(done(history, 0, 0.7, 1.0), problem).best
    assert best is not None
    assert best.on_answer
    assert best.limits_kept


def test_notes_are_counted_once_a_trial_whatever_their_numbers() -> None:
    notes = {str(note): count for note, count in status(mixed()).notes.items()}
    assert notes == {
        "fallback: none of 8 pairs promises anything; the largest expected accuracy": 2,
        str(CHARGED): 1,
        "cap: the optimum is sought among 10 of 80 configurations": 1,
    }


def test_dollars_matter_where_there_are_prices_a_budget_or_a_bill() -> None:
    free = Problem(Space(a=choice(1, 2)), minimize("loss"), budget=Budget(trials=3))
    assert status(History()).has_dollars
    assert not status(History(), free).has_dollars
    assert status(History(), free.with_budget(Budget(usd=3))).has_dollars


def test_trials_by_state() -> None:
    counts = status(mixed()).counts
    assert dict(counts) == {"done": 3, "failed": 1, "running": 1}
    assert PROBLEM.budget.trials == 10


def test_a_run_begins_reports_and_ends() -> None:
    trial = mixed().trial(4)
    first = progress().after(started(trial), 103.0)
    assert first.runs[4].began == 103.0
    assert first.elsewhere == ()
    second = first.after(ReportReceived(Report(4, 2.0, {"accuracy": 0.5}, step=1)), 105.0)
    assert second.runs[4].report is not None
    assert second.runs[4].report.step == 1
    assert first.runs[4].report is None  # the earlier state is untouched
    third = second.after(ended(trial), 106.0)
    assert third.runs == {}
    assert [event.trial.number for event in third.ended] == [4]


def test_trials_that_run_elsewhere_are_those_the_store_says_run_and_that_are_not_ours() -> None:
    before = progress()
    assert [trial.number for trial in before.elsewhere] == [4]


def test_a_report_of_a_run_that_has_ended_changes_nothing() -> None:
    before = progress()
    assert before.after(ReportReceived(Report(4, 2.0, {"accuracy": 0.5})), 105.0) is before


def test_only_the_last_ended_runs_are_remembered() -> None:
    state, trial = progress(), mixed().trial(3)
    for second in range(ENDED_SHOWN + 3):
        state = state.after(ended(trial, seconds=second), 100.0)
    assert [event.seconds for event in state.ended] == list(range(3, ENDED_SHOWN + 3))


def test_what_is_waited_for_is_forgotten_when_something_happens() -> None:
    waiting = progress().after(Waiting("room on this machine"), 100.0)
    assert waiting.waiting == "room on this machine"
    assert waiting.after(started(mixed().trial(4)), 101.0).waiting == ""
    assert waiting.after(proposal(mixed().trial(4)), 101.0).waiting == ""
    assert waiting.after(ended(mixed().trial(3)), 101.0).waiting == ""


def test_proposals_recoveries_and_the_wish_to_stop_are_kept() -> None:
    trial = mixed().trial(4)
    state = progress().after(proposal(trial), 100.0).after(TrialRecovered(trial, "worker x vanished"), 100.0)
    state = state.after(Stopping(True, 1), 100.0)
    assert state.proposed == proposal(trial)
    assert state.recovered == 1
    assert state.stopping == Stopping(True, 1)


def test_columns_line_up() -> None:
    assert aligned([("lr", "0.1"), ("batch", "16"), ("", "x")]) == ["  lr     0.1", "  batch  16", "         x"]
    assert aligned([]) == []


def test_money_is_spent_reserved_and_left() -> None:
    def words(*money: float | None) -> str:
        return replace(status(History()), money=Money(*money)).money_words  # type: ignore[arg-type]

    assert words(5.0, 1.25, 0.25) == "spent $1.25, reserved $0.25, left $3.50"
    assert words(None, 1.25, 0.0) == "spent $1.25, reserved $0.00, no limit"
    assert words(1.0, 1.25, 0.0).endswith("left $0.00")  # a budget that was lowered


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
    assert status(mixed()).count_words == "5 of 10 (3 done, 1 failed, 1 running)"
    assert status(History()).count_words == "0 of 10"
    assert status(mixed(), PROBLEM.with_budget(Budget(usd=5))).count_words == "5 (3 done, 1 failed, 1 running)"


def test_a_long_cause_keeps_its_end_which_names_the_log() -> None:
    cause = f"exit code 1: {'x' * 1000}\n see runs/trial-0003/attempt-1.log"
    words = cause_words(cause)
    assert len(words) <= LONGEST_CAUSE + 3
    assert words.startswith("exit code 1: xx")
    assert words.endswith("see runs/trial-0003/attempt-1.log")
    assert cause_words("a\nb") == "a b"


def test_what_a_run_brought() -> None:
    history = mixed()
    assert status(history).outcome_words(history.trial(3), "") == "accuracy 0.91"
    assert status(history).outcome_words(history.trial(2), "exit code 3") == "exit code 3"


def test_the_best_says_where_it_was_measured_and_what_it_breaks() -> None:
    assert status(History()).best_words == "no result yet"
    assert status(mixed()).best_words == "accuracy 0.91, all data, all limits kept, trial 3"
    slow = done(proposed(History(), FULL)[0], 0, 0.9, 90.0)
    assert printable(status(slow).best_words) == "accuracy 0.9, all data, breaks time ≤ 60 s (90 s), trial 0"
    part = done(proposed(History(), QUARTER)[0], 0, 0.9, 1.0)
    words = status(part).best_words
    assert words == "accuracy 0.9, 1/4 of the data (no result on all data yet), trial 0"


def test_without_limits_none_are_kept() -> None:
    problem = Problem(SPACE, minimize("accuracy"), budget=Budget(usd=5))
    history = done(proposed(History(), FULL)[0], 0, 0.9, 1.0)
    assert status(history, problem).best_words == "accuracy 0.9, all data, trial 0"


def test_goal_trial_prediction_and_report() -> None:
    assert printable(goal_words(PROBLEM)) == "maximize accuracy, subject to cost ≤ $0.10 and time ≤ 60 s"
    what = printable(trial_words(mixed().trial(0), "data"))
    assert what == "lr = 0.01, batch = 16, cluster = 1 × small; 1/4 of the data"
    assert expected_clause({"accuracy": Estimate(0.9, 0.02)}) == "; expected accuracy 0.900 ± 0.020"
    assert expected_clause({}) == ""
    assert reported_words(Report(0, 1.0, {"accuracy": 0.5}, step=3), "data") == "accuracy 0.5, step 3"
    snapshot = Report(0, 1.0, {"accuracy": 0.5}, fraction=QUARTER)
    assert reported_words(snapshot, "data") == "accuracy 0.5, 1/4 of the data"
    assert trial_words(mixed().trial(0), "epochs").endswith("; 1/4 of the epochs")


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
