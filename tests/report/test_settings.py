"""One figure for each setting."""

from __future__ import annotations

from dataclasses import replace

import leantune as lt
from leantune.history import History, observe
from leantune.problem import Problem
from leantune.report import settings
from leantune.report.data import ResultOutcome, StudyView
from tests.report.studies import all_failed, long_view, minimised, nothing, view_of


def drawn(view: StudyView, outcome: ResultOutcome) -> int:
    return sum(result.outcome is outcome for result in view.results)


def test_every_result_stands_at_its_value_and_failures_on_the_edge() -> None:
    view = long_view(120)
    lr, batch, _optimizer, momentum, cluster = settings.parameters(view)
    assert lr.layout["xaxis"]["type"] == "log"
    for figure in (lr, batch, cluster):
        assert [len(trace["x"]) for trace in figure.data] == [
            drawn(view, outcome)
            for outcome in (ResultOutcome.PART, ResultOutcome.BROKE, ResultOutcome.KEPT, ResultOutcome.FAILED)
        ]
    assert lr.data[-1]["yaxis"] == "y2"
    assert sum(len(trace["x"]) for trace in momentum.data) < 120  # only where it exists


def test_options_are_named_and_their_results_stay_in_their_room() -> None:
    _lr, batch, _optimizer, _momentum, cluster = settings.parameters(long_view(120))
    assert batch.layout["xaxis"]["ticktext"] == ["16", "64", "256"]
    assert all(abs(x - round(x)) < 0.21 for trace in batch.data for x in trace["x"])
    assert "4 × t2.small" in cluster.layout["yaxis"]["ticktext"]  # long names stand at the side
    assert cluster.data[-1]["xaxis"] == "x2"


def test_the_recommended_value_is_a_line() -> None:
    view = long_view(120)
    best = view.recommendation
    assert best is not None
    figure = settings.parameters(view)[0]
    assert figure.layout["shapes"][0]["x0"] == best.configuration["lr"]
    assert settings.parameters(replace(view, recommendation=None))[0].layout["shapes"] == []


def test_without_any_value_there_is_no_axis_for_it() -> None:
    for figure in settings.parameters(all_failed()):
        assert figure.layout["yaxis"]["visible"] is False
    assert settings.parameters(nothing()) == []


def test_a_diverged_run_is_told() -> None:
    assert "1 result far from the best is beyond the axis." in settings.parameters(minimised())[0].caption


def test_many_clusters_are_placed_by_price_and_many_parameters_are_cut() -> None:
    names = {f"p{index}": lt.linear(0, 1) for index in range(settings.MOST_PARAMETERS)}
    space = lt.Space(cluster=lt.clusters("aws", types=["t2.small"], nodes=list(range(1, 40))), **names)
    problem = Problem(space, lt.maximize("accuracy"))
    history = History()
    for configuration in space.pool(5, seed=1):
        history, trial = history.propose(configuration, problem.fractions[-1])
        seen = observe(problem, trial, {"accuracy": 0.5}, seconds=1.0)
        history = history.record(trial.number, [seen], time=1.0)
    figures = settings.parameters(view_of(problem, history))
    assert len(figures) == settings.MOST_PARAMETERS
    assert figures[0].layout["xaxis"]["title"]["text"] == "cluster, by price (USD per hour)"
