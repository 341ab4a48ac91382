"""What follows from a study by arithmetic."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest

from leantune.history import (
    Estimate,
    Move,
    NoteKind,
    Observation,
    ObservationKind,
    TrialState,
    counted_notes,
    recorded,
)
from leantune.problem import COST, TIME
from leantune.report.data import ResultOutcome, StudyView, best_so_far, lost_dollars, origins, spending
from leantune.units import Seconds, Usd
from tests.report.studies import START, all_failed, anywhere, long_view, minimised, real_view, without_prices


def test_results_come_in_the_order_of_their_ends_and_add_up() -> None:
    view = real_view()
    assert [result.index for result in view.results] == list(range(len(view.results)))
    assert view.results[-1].spent == pytest.approx(view.history.cost)
    assert view.results[-1].trained == pytest.approx(view.history.seconds)
    spent = [result.spent for result in view.results]
    assert spent == sorted(spent)


def test_only_answers_keep_or_break_limits() -> None:
    view = long_view(120)
    for result in view.results:
        part = math.isfinite(result.value("accuracy")) and result.seen.fraction < 1
        assert (result.outcome is ResultOutcome.PART) == part
        if result.outcome is ResultOutcome.KEPT:
            assert result.value(COST) <= 0.10
            assert result.value(TIME) <= 600
    assert {result.outcome for result in view.results} == set(ResultOutcome)
    assert {result.outcome for result in anywhere().results} == {ResultOutcome.KEPT, ResultOutcome.BROKE}
    assert {result.outcome for result in all_failed().results} == {ResultOutcome.FAILED}


def test_a_run_that_was_cut_short_proves_no_limit_on_time() -> None:
    view = anywhere()
    cut = [result for result in view.results if result.is_bound]
    assert cut
    assert all(result.outcome is ResultOutcome.BROKE for result in cut)


@pytest.mark.parametrize("view", [long_view(120), minimised(), anywhere()], ids=["largest", "smallest", "cheapest"])
def test_the_best_so_far_only_gets_better_and_keeps_the_limits(view: StudyView) -> None:
    steps = best_so_far(view)
    values = [value for _, value in steps]
    assert len(values) == len(set(values)) > 1
    assert values == sorted(values, reverse=view.problem.goal.direction == "minimize")
    assert all(result.outcome is ResultOutcome.KEPT for result, _ in steps)


def test_every_dollar_went_somewhere() -> None:
    view = real_view()
    parts = spending(view)
    assert sum(parts.values()) == pytest.approx(view.history.cost)
    assert parts["lost"] == pytest.approx(sum(map(lost_dollars, view.history.trials)))
    assert parts["lost"] > 0
    assert view.verification is not None
    assert parts["verification"] == pytest.approx(view.history.trial(view.verification).cost)


def test_dollars_of_paused_and_stopped_runs_are_not_lost() -> None:
    """What was shown midway is no result; a run that waits, or that was stopped, was paid for all the same."""
    view = real_view()
    history, trials = view.history, []
    configuration = history.trials[0].configuration
    for dollars in (1.0, 2.0, 4.0):
        history, trial = history.propose(configuration, Fraction(1))
        trials.append(trial.number)
        for state in (TrialState.QUEUED, TrialState.RUNNING):
            history = history.move(trial.number, state, time=START)
        history = history.move(trial.number, TrialState.PAUSED, time=START, dollars=Usd(dollars))
    midway = Observation(Fraction(1), ObservationKind.PARTIAL, {"accuracy": 1.0}, Seconds(5.0), Usd(2.0))
    stopped = recorded(history.trial(trials[1]), [midway], Move(TrialState.STOPPED, START), Usd(2.0), ran=False)
    history = history.with_trial(stopped).move(trials[2], TrialState.STOPPED, time=START)
    changed = replace(view, history=history)
    before, after = spending(view), spending(changed)
    assert {name: after[name] - before[name] for name in after} == pytest.approx(
        {**dict.fromkeys(after, 0.0), "full": 1.0, "stopped": 6.0}
    )
    assert [result.trial.number for result in changed.results] == [result.trial.number for result in view.results]


def test_seconds_and_dollars_are_predicted_from_each_other_where_prices_are_known() -> None:
    view = real_view()
    best = view.recommendation
    assert best is not None
    cost, time = view.predicted(COST), view.predicted(TIME)
    assert cost is not None and time is not None
    assert cost.mean == pytest.approx(time.mean * (best.configuration.usd_per_hour or 0.0) / 3600)
    hour = view.estimate({TIME: Estimate(3600.0, 360.0)}, COST, best.configuration)
    assert hour is not None
    assert (hour.mean, hour.sd / hour.mean) == pytest.approx((best.configuration.usd_per_hour, 0.1))
    free = without_prices()
    trial = free.history.trials[0]
    assert free.estimate({TIME: Estimate(60.0, 1.0)}, COST, trial.configuration) is None


def test_the_verification_is_the_proof_only_of_what_it_ran() -> None:
    view = real_view()
    assert view.verified is not None
    assert view.proof is not None
    assert view.proof[0].number == view.verification
    assert view.recommendation is not None
    other = replace(view.recommendation, configuration=view.history.trials[0].configuration)
    changed = replace(view, recommendation=other)
    assert changed.verified is None
    assert changed.proof is None
    assert replace(view, recommendation=None).proof is None


def test_notes_are_counted_and_differ_only_by_their_words() -> None:
    view = long_view(120)
    assert list(counted_notes(view.history, (NoteKind.CAP,)).values()) == [120 - 9 - 3]
    (note, count), *rest = counted_notes(view.history, (NoteKind.FALLBACK,)).items()
    assert (count, rest) == (3, [])
    assert str(note) == "fallback: none of 1881 pairs promises anything; the largest expected accuracy"
    assert origins(view) == {"the models": 120 - 9 - 3, "the strategy's start": 9, "a fallback": 3}
    assert origins(real_view())["the verification"] == 1
