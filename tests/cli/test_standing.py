"""What is known of a study at one moment."""

import pytest

from leantune.history import History
from leantune.problem import Budget, Problem, minimize
from leantune.space import Space, choice
from tests.cli.samples import CHARGED, FULL, PROBLEM, QUARTER, SPACE, done, failed, mixed, proposed, standing


def test_the_best_keeps_all_limits_on_all_data() -> None:
    best = standing(mixed()).best
    assert best is not None
    assert (best.trial.number, best.answers, best.kept, best.broken) == (3, True, True, ())


def test_a_result_on_all_data_that_breaks_a_limit_comes_before_any_on_a_part() -> None:
    history, _ = proposed(History(), QUARTER)
    history, _ = proposed(history, FULL)
    history = done(done(history, 0, 0.99, 1.0), 1, 0.5, 90.0)
    best = standing(history).best
    assert best is not None
    assert (best.trial.number, best.answers, best.kept) == (1, True, False)
    assert [limit.metric for limit in best.broken] == ["time"]


def test_a_result_on_a_part_is_better_than_nothing_and_says_so() -> None:
    history, _ = proposed(History(), QUARTER)
    best = standing(done(history, 0, 0.7, 1.0)).best
    assert best is not None
    assert (best.trial.number, best.answers) == (0, False)


@pytest.mark.parametrize("history", [History(), failed(proposed(History(), FULL)[0], 0, "boom")], ids=["new", "failed"])
def test_without_a_result_there_is_no_best(history: History) -> None:
    assert standing(history).best is None


def test_where_answers_lie_anywhere_a_part_is_an_answer() -> None:
    problem = Problem(SPACE, minimize("cost", at="anywhere"), ["accuracy >= 0.6"], ["1/4", 1], Budget(usd=5))
    history, _ = proposed(History(), QUARTER)
    best = standing(done(history, 0, 0.7, 1.0), problem).best
    assert best is not None
    assert best.answers
    assert best.kept


def test_notes_are_counted_once_a_trial_whatever_their_numbers() -> None:
    notes = {str(note): count for note, count in standing(mixed()).notes.items()}
    assert notes == {
        "fallback: none of 8 pairs promises anything; the largest expected accuracy": 2,
        str(CHARGED): 1,
        "cap: the optimum is sought among 10 of 80 configurations": 1,
    }


def test_dollars_matter_where_there_are_prices_a_budget_or_a_bill() -> None:
    free = Problem(Space(a=choice(1, 2)), minimize("loss"), budget=Budget(trials=3))
    assert standing(History()).has_dollars
    assert not standing(History(), free).has_dollars
    assert standing(History(), free.with_budget(Budget(usd=3))).has_dollars


def test_trials_by_state() -> None:
    counts = standing(mixed()).counts
    assert dict(counts) == {"done": 3, "failed": 1, "running": 1}
    assert PROBLEM.budget.trials == 10
