"""Every figure is there, or left out where there are no runs."""

import numpy as np

from benchmarks.papers.curves import Curve
from benchmarks.papers.drawings import DotPanel, Line, Panel, drawings
from benchmarks.papers.experiments import FABULINUS, NEPHELE, TRIMTUNER, optuna_missing
from benchmarks.papers.results import Results
from tests.benchmarks.papers.made import results


def test_every_figure_of_the_page() -> None:
    found = {drawing.name: drawing for drawing in drawings(results())}
    assert list(found) == [
        "trimtuner-fig1",
        "trimtuner-fig2",
        "trimtuner-fig3",
        "trimtuner-fig4",
        "thesis-fig1-2",
        "thesis-fig1-2-common",
        "thesis-fig4-5",
        *([] if optuna_missing() else ["optuna"]),
    ]
    first = found["trimtuner-fig1"].panels
    assert len(first) == 2
    panel = first[0][0]
    assert isinstance(panel, Panel)
    assert [line.method for line in panel.lines] == list(TRIMTUNER)
    fabulinus = found["thesis-fig4-5"].panels[0]
    assert [panel.x for panel in fabulinus] == [
        "dollars spent (USD)",
        "hours of training",
        "hours of training and recommending",
    ]
    assert isinstance(fabulinus[0], Panel)
    assert {line.method for line in fabulinus[0].lines} <= FABULINUS.keys()
    budgets = found["thesis-fig1-2"].panels
    assert len(budgets) == 2
    assert isinstance(budgets[0][0], Panel)
    assert {line.method for line in budgets[0][0].lines} <= NEPHELE.keys()


def test_arrivals_are_dots() -> None:
    (figure,) = (drawing for drawing in drawings(results()) if drawing.name == "trimtuner-fig2")
    panel = figure.panels[0][0]
    assert isinstance(panel, DotPanel)
    assert {dot.series for dot in panel.dots} == {"90%", "95%", "99%"}


def test_nothing_is_drawn_of_nothing() -> None:
    assert drawings(Results()) == []


def test_the_start_and_the_rest_share_a_place() -> None:
    x = np.array([1.0, 2.0, 3.0])
    start, after = Line("eic", Curve(x, x, x, x, start=2.0)).parts()
    assert start.tolist() == [True, True, False]
    assert after.tolist() == [False, True, True]
    start, after = Line("eic", Curve(x, x, x, x, start=0.0)).parts()
    assert not start.any()
    assert after.all()
