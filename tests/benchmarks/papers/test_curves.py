"""Curves are medians of what was recommended last."""

import math

import numpy as np
import pytest

from benchmarks.papers.curves import accuracy_c, accuracy_or_zero, cno, cno_full, curve, dollars, hours_and_thinking
from leantune.lab.replay.runs import PAPER
from tests.benchmarks.papers.made import advice, row, run


def test_a_recommendation_stands_until_the_next() -> None:
    found = curve([run([0.5, 0.7, 0.6])], PAPER, accuracy_c)
    assert found is not None
    at = dict(zip(np.round(found.x, 3).tolist(), found.middle.tolist(), strict=True))
    assert at[0.1] == 0.5
    assert found.middle[found.x < 0.199].tolist() == [0.5] * int((found.x < 0.199).sum())
    assert set(found.middle[(found.x > 0.201) & (found.x < 0.299)]) == {0.7}
    assert found.middle[-1] == 0.6
    assert found.start == pytest.approx(0.1)


def test_the_median_begins_where_half_of_the_seeds_have_one() -> None:
    early, late = run([0.9, 0.9, 0.9]), [row(1, 0.1, None), row(2, 0.2, None), row(3, 0.3, advice(0.8))]
    found = curve([early, late, late], PAPER, accuracy_c)
    assert found is not None
    assert found.x[0] >= 0.299
    assert found.middle[-1] == 0.8
    assert found.low[-1] <= 0.8 <= found.high[-1]


def test_an_infeasible_recommendation_is_worst() -> None:
    wrong = advice(0.9, feasible=False)
    assert (accuracy_c(wrong), accuracy_or_zero(wrong), cno(wrong), cno_full(wrong)) == (0.9, 0.0, math.inf, math.inf)
    assert curve([[row(1, 0.1, wrong)]], PAPER, cno, worst=math.inf) is None
    assert curve([], PAPER, cno) is None


def test_runs_that_end_early_keep_their_last_recommendation() -> None:
    found = curve([run([0.9]), run([0.5] * 9), run([0.5] * 9)], PAPER, accuracy_c)
    assert found is not None
    assert (found.high[-1], found.middle[-1]) == (0.9, 0.5)
    assert found.x[-1] == pytest.approx(0.9)


def test_choosing_takes_time_too() -> None:
    rows = run([0.5, 0.6], asked=3600.0)
    assert (hours_and_thinking(rows) - dollars(rows) * 100 / 3600).tolist() == pytest.approx([1.0, 2.0])


def test_where_most_have_nothing_feasible_there_is_a_gap() -> None:
    rows = [row(1, 0.1, advice(0.9)), row(2, 0.2, advice(0.9, feasible=False)), row(3, 0.3, advice(0.9, ratio=1.0))]
    found = curve([rows], PAPER, cno, worst=math.inf)
    assert found is not None
    inside = (found.x > 0.201) & (found.x < 0.299)
    assert np.isnan(found.middle[inside]).all()
    assert np.isfinite(found.middle[~inside]).sum() > 100
