"""The figures about results."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import plotly.graph_objects as go  # type: ignore[import-untyped]
import pytest

from leantune.history import Estimate, History
from leantune.problem import COST
from leantune.report import figures
from leantune.report.data import ResultOutcome, StudyView, best_so_far
from leantune.report.marks import TEMPLATE, Figure
from leantune.report.page import sections_of
from leantune.store.rows import ReportRow
from tests.report.studies import EDGES, VIEWS, anywhere, long_view, minimised, real_view, without_seconds


def in_black(value: Any) -> Any:
    """Names of colours replaced by a colour, as the page does it."""
    if isinstance(value, dict):
        return {
            name: "#000000" if name.endswith("color") and isinstance(part, str) else in_black(part)
            for name, part in value.items()
        }
    return [in_black(part) for part in value] if isinstance(value, list | tuple) else value


def all_figures(view: StudyView) -> list[Figure]:
    return [figure for section in sections_of(view) for figure in section.figures]


def named(figure: Figure, name: str) -> list[dict[str, Any]]:
    return [trace for trace in figure.data if trace.get("name") == name]


@pytest.mark.parametrize("name", VIEWS)
def test_plotly_knows_every_word_of_every_figure(name: str) -> None:
    view = VIEWS[name]()
    drawn = all_figures(view)
    assert len({figure.name for figure in drawn}) == len(drawn)
    assert drawn or not view.history.trials or not view.results
    for figure in drawn:
        spec = in_black(json.loads(json.dumps(figure.as_json(), allow_nan=False)))
        go.Figure(data=spec["data"], layout={**spec["layout"], "template": in_black(TEMPLATE)})


def test_every_axis_has_a_title_with_its_unit() -> None:
    for figure in all_figures(real_view()):
        titles = [figure.layout[axis].get("title", {}).get("text", "") for axis in ("xaxis", "yaxis")]
        assert any(titles), figure.name
        if figure.name.startswith(("progress", "limit", "prediction", "ledger")):
            assert all(titles), figure.name
        for title in titles:
            assert ("cost" in title or "dollars" in title) <= ("USD" in title), title
            assert ("time" in title) <= title.endswith(("(s)", "(min)", "(h)", "(days)")), title


def test_progress_draws_the_best_so_far_against_dollars_and_time() -> None:
    view = long_view(120)
    dollars, time = figures.progress(view)
    steps = best_so_far(view)
    for figure, place in ((dollars, "spent"), (time, "trained")):
        line = figure.data[0]
        factor = 1.0 if place == "spent" else 1.0 / 3600
        assert line["x"][:-1] == pytest.approx([getattr(r, place) * factor for r, _ in steps], rel=1e-5)
        assert line["y"][-1] == pytest.approx(steps[-1][1], rel=1e-5)
        assert line["line"]["shape"] == "hv"
        assert sum(len(trace["x"]) for trace in named(figure, "broke")) == sum(
            result.outcome is ResultOutcome.BROKE for result in view.results
        )
    assert [figure.name for figure in figures.progress(without_seconds())] == ["progress-trials"]


def test_values_beyond_the_axis_are_counted() -> None:
    (figure,) = figures.progress(minimised())
    low, high = figure.layout["yaxis"]["range"]
    assert high < 900
    assert "1 result far from the best is beyond the axis" in figure.caption
    inside = [y for trace in named(figure, "kept") for y in trace["y"] if low <= y <= high]
    assert len(inside) == len(minimised().results) - 1


def test_every_limit_has_its_measured_values_and_its_forbidden_side() -> None:
    view = long_view(120)
    cost, time = figures.limits(view)
    answers = [r for r in view.results if r.outcome in (ResultOutcome.KEPT, ResultOutcome.BROKE)]
    kept = sum(result.value(COST) <= 0.10 for result in answers)
    assert cost.caption.startswith(f"{kept} of {len(answers)} runs on all data kept this limit")
    area, edge = cost.data[:2]
    assert edge["x"] == [0.1, 0.1]
    assert min(area["x"]) == 0.1
    assert time.data[1]["x"] == [10.0, 10.0]
    least = figures.limits(anywhere())[0]
    assert max(least.data[0]["x"]) == 0.75
    assert figures.limits(replace(view, history=History())) == []


def test_the_recommendation_is_a_star_with_its_range() -> None:
    figure = figures.limits(real_view())[0]
    (star,) = named(figure, "recommended")
    predicted = real_view().predicted(COST)
    assert predicted is not None
    assert star["x"] == pytest.approx([predicted.mean], rel=1e-5)
    assert star["error_x"]["array"] == pytest.approx([1.96 * predicted.sd], rel=1e-5)


def test_predictions_are_compared_with_measurements_and_counted() -> None:
    view = long_view(120)
    accuracy, cost, time = figures.predictions(view)
    rows = [r for r in view.results if r.trial.expected and r.outcome is not ResultOutcome.FAILED]
    expected = [(r.value("accuracy"), r.trial.expected["accuracy"]) for r in rows]
    within = sum(abs(value - e.mean) <= 1.96 * e.sd for value, e in expected)
    assert accuracy.caption.startswith(f"{within} of {len(rows)} measurements")
    assert accuracy.data[0]["x"] == accuracy.data[0]["y"]  # the diagonal
    drawn = sum(len(trace["x"]) for trace in cost.data[1:])
    assert drawn == len(rows)
    assert time.layout["xaxis"]["title"]["text"].startswith("measured time of one run (")


def test_error_bars_stay_on_a_log_axis_and_unknown_deviations_are_left_out() -> None:
    view = long_view(120)
    unknown = Estimate(0.9, math.nan)
    trials = [
        replace(trial, expected={"accuracy": unknown, COST: Estimate(10.0 ** (-trial.number % 4 - 4), 5.0)})
        for trial in view.history.trials
    ]
    cost, _time = figures.predictions(replace(view, history=History(tuple(trials))))
    assert cost.layout["yaxis"]["type"] == "log"
    for trace in cost.data[1:]:
        assert all(0 < minus < y for minus, y in zip(trace["error_y"]["arrayminus"], trace["y"], strict=True))


def test_lower_bounds_are_not_compared_with_predictions() -> None:
    view = anywhere()
    expected = {"accuracy": Estimate(0.9, 0.1), COST: Estimate(0.01, 0.01)}
    history = History(tuple(replace(trial, expected=expected) for trial in view.history.trials))
    drawn = {figure.title: figure for figure in figures.predictions(replace(view, history=history))}
    cut = sum(result.is_bound for result in view.results)
    assert cut
    assert f"of {len(view.results)} measurements" in drawn["Predicted accuracy"].caption
    assert f"of {len(view.results) - cut} measurements" in drawn["Predicted cost"].caption


def test_shares_show_every_trial_and_what_waits() -> None:
    view = EDGES["only pending"]()
    (figure,) = figures.shares(view)
    assert named(figure, "pending")[0]["x"] == [0]
    (figure,) = figures.shares(long_view(120))
    assert sum(len(trace["x"]) for trace in figure.data) == 120
    assert figure.layout["yaxis"]["ticktext"] == ["1/60", "1/10", "1/4", "1/2", "all"]
    assert figures.shares(minimised()) == []


def curve(number: int, values: Sequence[float], metric: str = "accuracy") -> list[ReportRow]:
    return [ReportRow(number, 1, float(i), {metric: value}, float(i), None) for i, value in enumerate(values)]


def test_learning_curves_of_steps_only() -> None:
    view = real_view()
    (figure,) = figures.curves(view)
    best = [trace for trace in figure.data if trace["line"]["color"] == "@best"]
    assert len(best) == 1
    assert len(figure.data) == len(view.history)
    without = tuple(replace(report, step=None) for report in view.reports)
    assert figures.curves(replace(view, reports=without)) == []
    long = replace(view, reports=tuple(curve(0, [0.1, math.nan, *[0.5] * 5000]) + curve(1, [3.0], "other")))
    (figure,) = figures.curves(long)
    assert 200 <= len(figure.data[0]["x"]) <= 420
    assert figure.data[0]["x"][-1] == 5001


def test_too_many_curves_are_cut_and_said() -> None:
    view = long_view(120)
    rows = [row for trial in view.history.trials for row in curve(trial.number, [0.1, 0.2])]
    (figure,) = figures.curves(replace(view, reports=tuple(rows)))
    assert len(figure.data) == figures.MOST_CURVES
    assert "60 runs that reported steps, of 120: those on the most data" in figure.caption
