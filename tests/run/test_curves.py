"""Learning curves from stored reports."""

import math

from leantune.run.curves import curves_from
from leantune.store.rows import ReportRow
from leantune.strategies.tuner import LearningCurve


def row(number: int, step: float | None, attempt: int = 1, **metrics: float) -> ReportRow:
    return ReportRow(number, attempt, 1.0, metrics, step)


def test_one_curve_for_each_trial_that_reports_steps() -> None:
    rows = [row(0, 1, loss=0.9), row(2, 1, loss=0.8), row(0, 2, loss=0.7), row(1, None, loss=0.5), row(2, 2, other=1.0)]
    assert curves_from(rows, "loss") == {0: LearningCurve([1, 2], [0.9, 0.7]), 2: LearningCurve([1], [0.8])}


def test_steps_done_again_after_a_revocation_are_left_out() -> None:
    rows = [row(0, 1, loss=0.9), row(0, 2, loss=0.8), row(0, 1, 2, loss=0.91), row(0, 2, 2, loss=0.81)]
    (curve,) = curves_from([*rows, row(0, 3, 2, loss=0.7)], "loss").values()
    assert (curve.steps, curve.values) == ([1, 2, 3], [0.9, 0.8, 0.7])


def test_what_was_no_number_stays_none() -> None:
    (curve,) = curves_from([row(0, 1, loss=0.9), row(0, 2, loss=math.nan)], "loss").values()
    assert math.isnan(curve.values[1])
