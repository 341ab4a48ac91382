"""The verdict in every situation that a study can be in."""

from __future__ import annotations

from dataclasses import replace

import pytest

from leantune.history import History, Note, NoteKind, Observation, ObservationKind, TrialState
from leantune.problem import COST
from leantune.report.data import StudyView
from leantune.report.verdict import AnswerState, conclusion_of, question
from leantune.store.rows import Money
from leantune.strategies.baseline import compared
from leantune.text import NBSP
from leantune.units import Seconds, Usd
from tests.report.studies import EDGES, START, anywhere, long_view, minimised, nothing, only_pending, real_view


def with_last(
    view: StudyView, seen: Observation | None, state: TrialState = TrialState.DONE, cause: str = ""
) -> StudyView:
    """The study with another end of its last trial; None: it has not ended."""
    *others, last = view.history.trials
    history = History(tuple(others))
    history, trial = history.propose(last.configuration, last.fraction, notes=last.notes, time=START)
    if seen is not None:
        history = history.record(trial.number, [seen], time=START + 60, state=state, cause=cause)
    return replace(view, history=history)


def measured(view: StudyView, accuracy: float, seconds: float, cost: float, **more: object) -> Observation:
    last = view.history.trials[-1]
    return Observation(last.fraction, ObservationKind.MEASURED, {"accuracy": accuracy}, seconds, cost, **more)  # type: ignore[arg-type]


def test_verified_and_within_the_limits() -> None:
    view = with_last(real_view(), measured(real_view(), 0.93, 300.0, 0.05))
    verdict = conclusion_of(view)
    assert verdict.state is AnswerState.VERIFIED
    assert verdict.headline.startswith("Use ")
    assert f"verification run (trial {view.verification}) and kept both limits" in verdict.sentence
    values = {tile.label: tile for tile in verdict.tiles}
    assert values["accuracy (higher is better)"].value == "0.93"
    assert values["cost of one training run"].filled == pytest.approx(0.5)
    assert "limit: at most $0.10, kept" in values["cost of one training run"].details
    assert all(tile.good for tile in verdict.tiles)


def test_a_broken_limit_is_never_recommended_quietly() -> None:
    verdict = conclusion_of(with_last(real_view(), measured(real_view(), 0.99, 660.0, 0.05)))
    assert verdict.state is AnswerState.BROKEN
    assert verdict.headline.startswith("Not within the limits:")
    assert "broke 1 of 2 limits: time was 11 min, where time ≤ 10 min was asked" in verdict.sentence.replace(NBSP, " ")
    assert [tile.good for tile in verdict.tiles] == [True, True, False, True]
    assert any("No run has kept every limit yet" in caution for caution in verdict.cautions)


def test_a_broken_recommendation_names_the_best_that_kept_the_limits() -> None:
    view = long_view(120)
    assert view.recommendation is not None
    broke = next(result.trial for result in view.results if result.outcome == "broke")
    verdict = conclusion_of(
        replace(view, recommendation=replace(view.recommendation, configuration=broke.configuration))
    )
    assert verdict.state is AnswerState.BROKEN
    assert any(caution.startswith("The best run that did keep every limit is trial") for caution in verdict.cautions)


def test_a_run_that_was_cut_short_does_not_prove_that_the_time_is_kept() -> None:
    view = real_view()
    cut = replace(measured(view, 0.93, 300.0, 0.05), kind=ObservationKind.CENSORED)
    verdict = conclusion_of(with_last(view, cut))
    assert verdict.state is AnswerState.BROKEN
    assert "at least $0.05" in verdict.sentence


def test_predicted_but_not_measured() -> None:
    verdict = conclusion_of(real_view(verified=False))
    assert verdict.state is AnswerState.PREDICTED
    assert "not yet run on all data" in verdict.sentence
    assert verdict.cautions[0].startswith("A prediction is not a measurement")
    assert any(detail.endswith("sure") for tile in verdict.tiles for detail in tile.details)
    assert all("measured" not in tile.details for tile in verdict.tiles)


def test_not_sure_enough() -> None:
    view = real_view(verified=False)
    assert view.recommendation is not None
    unsure = replace(view.recommendation, feasible=False, notes=(Note(NoteKind.FALLBACK, "nothing qualifies"),))
    verdict = conclusion_of(replace(view, recommendation=unsure))
    assert verdict.state is AnswerState.UNSURE
    assert verdict.headline.startswith("Best compromise:")
    assert "Recommendation: fallback: nothing qualifies." in verdict.cautions
    kept = with_last(replace(real_view(), recommendation=unsure), measured(real_view(), 0.93, 300.0, 0.05))
    assert conclusion_of(kept).state is AnswerState.VERIFIED
    assert any("less sure of them than asked" in caution for caution in conclusion_of(kept).cautions)


def test_verifications_that_did_not_come_to_an_end() -> None:
    view = real_view()
    failure = Observation(
        view.history.trials[-1].fraction, ObservationKind.FAILED, {}, Seconds(5.0), Usd(0.01), "exit code 3"
    )
    failed = conclusion_of(with_last(view, failure, TrialState.FAILED, "exit code 3"))
    assert failed.state is AnswerState.PREDICTED
    assert any("failed: exit code 3" in caution for caution in failed.cautions)
    running = conclusion_of(with_last(view, None))
    assert any("is not finished" in caution for caution in running.cautions)
    assert view.recommendation is not None
    other = replace(view.recommendation, configuration=view.history.trials[0].configuration)
    changed = conclusion_of(replace(view, recommendation=other))
    assert any("the recommendation has changed since" in caution for caution in changed.cautions)


def test_predictions_that_were_wrong_are_said() -> None:
    view = real_view()
    assert view.recommendation is not None
    mean = {name: estimate.mean for name, estimate in view.recommendation.metrics.items()}
    rate = view.recommendation.configuration.usd_per_hour or 0.0
    right = measured(view, mean["accuracy"], mean[COST] / rate * 3600, mean[COST])
    assert not any("outside of the predicted" in caution for caution in conclusion_of(with_last(view, right)).cautions)
    wrong = replace(right, metrics={"accuracy": -9.0})
    cautions = conclusion_of(with_last(view, wrong)).cautions
    assert "Measured accuracy lay outside of the predicted 95 % range: trust other predictions less." in cautions


def test_nothing_to_recommend() -> None:
    verdict = conclusion_of(nothing())
    assert (verdict.state, verdict.headline) == (AnswerState.NONE, "No recommendation yet")
    assert verdict.sentence == "Nothing was run yet: there is nothing to recommend."
    assert [tile.value for tile in verdict.tiles] == ["0"]
    assert verdict.cautions == ()
    assert "1 trial is not finished: this is the study so far." in conclusion_of(only_pending()).cautions


def test_money_is_told_with_its_budget_and_books_that_disagree_are_said() -> None:
    view = real_view()
    tile = conclusion_of(view).tiles[-1]
    assert (tile.label, tile.of) == ("spent on this study", "of $4.00")
    wrong = replace(view, money=Money(4.0, view.money.spent + 1.0, 0.0))
    assert any("they should agree" in caution for caution in conclusion_of(wrong).cautions)
    assert not any("they should agree" in caution for caution in conclusion_of(view).cautions)


def test_the_question() -> None:
    asked = question(real_view()).replace(NBSP, " ")
    assert asked == "Wanted: the largest accuracy on all data, while one run keeps cost ≤ $0.10 and time ≤ 10 min."
    assert question(minimised()) == "Wanted: the smallest loss on all data."
    assert question(anywhere()).startswith(f"Wanted: the smallest {COST} at any share of the data")


def test_the_share_is_part_of_the_answer_where_it_is_not_all() -> None:
    assert conclusion_of(anywhere()).headline.endswith("trained on 1/60 of the data")


def test_many_settings_are_left_to_the_table() -> None:
    view = real_view()
    assert view.recommendation is not None
    space = view.problem.space
    long = {**view.recommendation.configuration, "optimizer": "sgd", "momentum": 0.123456789}
    named = replace(view.recommendation, configuration=space.configuration(long))
    assert conclusion_of(replace(view, recommendation=named)).headline.startswith("Use ")
    assert len(conclusion_of(EDGES["hostile"]()).headline) < 120


def test_the_present_setting_is_compared_with() -> None:
    view = real_view()
    best = view.recommendation
    assert best is not None
    problem = view.problem.with_baseline(view.history.trials[0].configuration)
    comparison = compared(problem, view.history, best.configuration, best.fraction, best.metrics)
    assert comparison is not None
    plain, told = conclusion_of(view), conclusion_of(replace(view, problem=problem, comparison=comparison))
    assert told.sentence == f"{plain.sentence} {comparison.words}"
