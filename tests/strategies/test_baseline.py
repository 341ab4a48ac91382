"""The user's present setting: tested once, before anything else, and compared with honestly."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leantune.history import Estimate, History, NoteKind, ObservationKind, TrialState, observe
from leantune.problem import Budget, Problem
from leantune.space import Configuration
from leantune.strategies.baseline import Basis, Comparison, baseline_test, compared, next_test
from leantune.strategies.proposals import Proposal
from leantune.strategies.registry import STRATEGIES, named_tuner
from leantune.strategies.strategy import Strategy
from leantune.strategies.tuner import Over, View
from tests.toy import FRACTIONS, LIMIT, measure, modelled, quick, told, toy_problem

TENTH, HALF, FULL = FRACTIONS


def with_baseline(row: int = 5, *, budget: Budget | None = None, snapshots: bool = False) -> Problem:
    """The toy problem, with a row of its grid as the present setting."""
    problem = toy_problem(budget=budget, snapshots=snapshots)
    return problem.with_baseline(problem.space.grid()[row])


def test_it_is_tested_first_on_all_data_and_once() -> None:
    problem, tuner = with_baseline(), Strategy(quick("eic"))
    first = next_test(tuner, View(problem, History(), 1))
    assert isinstance(first, Proposal)
    assert (first.configuration, first.fraction, first.snapshots) == (problem.baseline, FULL, (FULL,))
    assert [note.kind for note in first.notes] == [NoteKind.BASELINE]
    history, _ = History().propose(first.configuration, first.fraction)
    assert baseline_test(problem, history) is None  # pending is enough: another worker does not repeat it
    assert next_test(tuner, View(problem, history, 1)) == tuner.ask(View(problem, history, 1))


def test_without_one_the_tuner_is_asked() -> None:
    problem, tuner = toy_problem(), Strategy(quick("eic"))
    assert next_test(tuner, View(problem, History(), 1)) == tuner.ask(View(problem, History(), 1))


@pytest.mark.parametrize("name", [name for name in STRATEGIES if name != "spottune"])
def test_every_strategy_goes_on_after_it(name: str) -> None:
    """With the result as evidence, and without testing the pair again."""
    problem = with_baseline(budget=Budget(usd=5.0))
    tuner = named_tuner(name) if name == "lean" else Strategy(quick(name))
    first = next_test(tuner, View(problem, History(), 1))
    assert isinstance(first, Proposal) and first.configuration == problem.baseline
    history, trial = History().propose(first.configuration, first.fraction)
    history = history.record(trial.number, measure(problem, trial), time=0.0)
    second = next_test(tuner, View(problem, history, 1))
    assert isinstance(second, Proposal)
    assert (second.configuration, second.fraction) != (first.configuration, first.fraction)


def test_a_program_with_snapshots_reports_on_the_way() -> None:
    test = baseline_test(with_baseline(snapshots=True), History())
    assert test is not None and test.snapshots == FRACTIONS


def test_it_waits_for_nobody_but_keeps_the_budget() -> None:
    problem = with_baseline(row=0, budget=Budget(trials=1))
    spent = told(problem, [(7, 2)])
    assert isinstance(next_test(Strategy(quick("random")), View(problem, spent, 1)), Over)
    own = next_test(Strategy(quick("random")), View(problem, History(), 1), lambda _test: False)
    assert isinstance(own, Proposal) and own.configuration != problem.baseline  # it cannot be paid: others may


@pytest.mark.parametrize(
    ("usd", "share"), [(2 * LIMIT, FULL), (LIMIT, FULL), (0.9 * LIMIT, HALF), (0.4 * LIMIT, TENTH), (1e-9, TENTH)]
)
def test_the_largest_share_that_the_limits_allow_in_the_budget(usd: float, share: Fraction) -> None:
    test = baseline_test(with_baseline(budget=Budget(usd=usd)), History())
    assert test is not None and test.fraction == share
    assert ("does not fit into the budget" in str(test.notes[0])) is (share != FULL)


def test_hours_count_as_well() -> None:
    problem = with_baseline(budget=Budget(hours=1))
    rate = problem.space.grid()[5].usd_per_hour
    assert rate is not None
    longest = LIMIT / rate  # hours of a full run that just keeps the dollars
    shares = [baseline_test(with_baseline(budget=Budget(hours=hours * longest)), History()) for hours in (1, 0.99)]
    assert [test.fraction for test in shares if test] == [FULL, HALF]


def test_an_extended_study_tests_it_on_more() -> None:
    small = with_baseline(budget=Budget(usd=0.6 * LIMIT))
    history = told(small, [(5, 1)])
    assert baseline_test(small, history) is None
    more = baseline_test(small.with_budget(Budget(usd=2.0)), history)
    assert more is not None and more.fraction == FULL


@given(st.lists(st.tuples(st.integers(0, 23), st.integers(0, 2)), max_size=8), st.floats(0.001, 1.0))
def test_it_is_asked_for_until_it_has_its_run(pairs: list[tuple[int, int]], usd: float) -> None:
    problem = with_baseline(budget=Budget(usd=usd))
    history = told(problem, pairs)
    test = baseline_test(problem, history)
    if test is None:
        assert any(row == 5 for row, _ in pairs)
        return
    after, trial = history.propose(test.configuration, test.fraction, test.snapshots)
    assert baseline_test(problem, after) is None
    ended = after.record(trial.number, measure(problem, trial), time=0.0)  # and its dollars are spent
    assert baseline_test(problem, ended) is None


# -- compared


def beside(
    problem: Problem, history: History, configuration: Configuration, told_of: dict[str, Estimate] | None = None
) -> Comparison:
    made = compared(problem, history, configuration, FULL, told_of or {})
    assert made is not None
    return made


def test_without_a_present_setting_there_is_nothing_to_compare() -> None:
    problem = toy_problem()
    assert compared(problem, told(problem, [(5, 2)]), problem.space.grid()[1], FULL, {}) is None


def test_measured_beside_measured() -> None:
    problem = with_baseline(row=0)
    history = told(problem, [(0, 2), (8, 2)])
    made = beside(problem, history, problem.space.grid()[8], {"accuracy": Estimate(0.1, 0.3)})
    yours, other = (history.trial(number).observations[-1] for number in (0, 1))
    assert yours.cost is not None and other.cost is not None
    assert made.basis is Basis.MEASURED and not made.predicted
    assert made.gain == pytest.approx(0.15)
    assert made.saved_usd == pytest.approx(yours.cost - other.cost)
    assert made.words == "Better than your setting by 0.15, for $0.00 less a run (yours: accuracy 0.8, against 0.95)."


def test_a_prediction_is_called_one_and_has_dollars_from_its_seconds() -> None:
    problem = with_baseline(row=0)
    history = told(problem, [(0, 2)])
    other = problem.space.grid()[9]
    assert other.usd_per_hour is not None
    made = beside(problem, history, other, {"accuracy": Estimate(0.75, 0.01), "time": Estimate(360.0, 5.0)})
    cost = history.trial(0).observations[-1].cost
    assert cost is not None and made.predicted
    assert made.saved_usd == pytest.approx(cost - other.usd_per_hour / 10)
    assert made.words.startswith("Predicted to be worse than your setting by 0.05, for $")
    assert "more a run" in made.words


def test_a_part_of_the_data_is_compared_with_the_same_part_or_not_at_all() -> None:
    problem = with_baseline(row=0)
    history = told(problem, [(0, 0), (8, 0), (8, 2)])
    made = beside(problem, history, problem.space.grid()[8])
    assert (made.basis, made.fraction, made.broken) == (Basis.PART, TENTH, ())
    assert made.words.endswith(", on 1/10 of the data; yours was not tested on more.")
    alone = beside(problem, history, problem.space.grid()[3], {"accuracy": Estimate(0.99, 0.0)})
    assert (alone.gain, alone.saved_usd) == (None, None)
    assert "tested on 1/10 of the data only" in alone.words and "no comparison is possible" in alone.words


def test_a_broken_limit_is_said() -> None:
    problem = with_baseline(row=11)  # two large machines
    history = told(problem, [(11, 2), (8, 2)])
    made = beside(problem, history, problem.space.grid()[8])
    assert made.broken == (f"cost <= {LIMIT} USD",)
    assert "As good as your setting, for $" in made.words and "; yours broke cost ≤" in made.words


def test_itself() -> None:
    problem = with_baseline(row=8)
    made = beside(problem, told(problem, [(8, 2)]), problem.space.grid()[8])
    assert (made.basis, made.trial, made.gain) == (Basis.SAME, 0, None)
    assert made.words == "Your present setting is the best that was found."
    dear = with_baseline(row=11)
    made = beside(dear, told(dear, [(11, 2)]), dear.space.grid()[11])
    assert made.broken and "is the best that was found; yours broke cost ≤" in made.words
    made = beside(problem, told(problem, [(8, 0)]), problem.space.grid()[8])
    assert made.words.endswith("was found, on 1/10 of the data; yours was not tested on more.")


def test_without_a_result() -> None:
    problem = with_baseline(row=0)
    other = problem.space.grid()[8]
    assert "was not tested" in beside(problem, History(), other).words
    waiting, trial = History().propose(problem.space.grid()[0], FULL)
    assert (made := beside(problem, waiting, other)).trial == 0 and "no result yet" in made.words
    seen = observe(problem, trial, {}, seconds=3.0, kind=ObservationKind.FAILED, cause="exit code 1")
    ended = waiting.record(0, [seen], time=1.0, state=TrialState.FAILED, cause="exit code 1")
    made = beside(problem, ended, other)
    assert made.basis is Basis.FAILED
    assert made.words == "Your present setting failed when it was tested (trial 0): exit code 1"


def test_repeated_runs_count_by_their_mean() -> None:
    problem = with_baseline(row=0)
    history = told(problem, [(0, 2), (8, 2)])
    history, trial = history.propose(problem.space.grid()[0], FULL)
    history = history.record(trial.number, [observe(problem, trial, {"accuracy": 0.9}, seconds=9.0)], time=0.0)
    assert beside(problem, history, problem.space.grid()[8]).gain == pytest.approx(0.95 - 0.85)


def test_modelled_recipes_take_it_as_evidence() -> None:
    problem = with_baseline(row=0)
    answer = next_test(Strategy(modelled("trimtuner-gp")), View(problem, told(problem, [(0, 2)]), 1))
    assert isinstance(answer, Proposal) and answer.expected
