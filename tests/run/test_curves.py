"""Learning curves from stored reports."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from leantune.problem import Budget, Problem, minimize
from leantune.run.curves import Curves, learning_curves
from leantune.space import Space, choice
from leantune.store.memory import MemoryStudyStore
from leantune.store.rows import ReportRow
from leantune.strategies.tuner import LearningCurve

SPACE = Space(n=choice(0, 1, 2))
PROBLEM = Problem(SPACE, minimize("loss"), steps=10)


def row(number: int, step: float | None, attempt: int = 1, **metrics: float) -> ReportRow:
    return ReportRow(number, attempt, 1.0, metrics, step)


def passing(share: str, **metrics: float) -> ReportRow:
    return ReportRow(0, 1, 1.0, metrics, fraction=Fraction(share))


@pytest.fixture
def store() -> MemoryStudyStore:
    """With three trials."""
    made = MemoryStudyStore(SPACE, Budget())
    for configuration in SPACE.grid():
        made.propose(configuration, Fraction(1), time=0.0)
    return made


@pytest.fixture
def curves(store: MemoryStudyStore) -> Curves:
    return Curves(store, PROBLEM)


def test_one_curve_for_each_trial_that_reports_steps(store: MemoryStudyStore, curves: Curves) -> None:
    rows = [row(0, 1, loss=0.9), row(2, 1, loss=0.8), row(0, 2, loss=0.7), row(1, None, loss=0.5), row(2, 2, other=1.0)]
    store.add_reports(rows)
    assert curves.read() == {0, 2}
    assert curves.by_trial == {0: LearningCurve([1, 2], [0.9, 0.7]), 2: LearningCurve([1], [0.8])}
    assert [curves.step(number) for number in range(3)] == [2, 0.0, 1]
    assert [curves.latest(number) for number in range(3)] == [{"loss": 0.7}, {}, {"loss": 0.8}]


def test_only_what_is_new_is_read_and_told(store: MemoryStudyStore, curves: Curves) -> None:
    store.add_reports([row(0, 1, loss=0.9), row(1, 1, loss=0.9)])
    assert curves.read() == {0, 1}
    curve = curves.by_trial[0]
    assert curves.read() == set()
    store.add_reports([row(0, 2, loss=0.8)])
    assert curves.read() == {0}
    assert curves.by_trial[0] is curve, "it has grown"
    assert (curve.steps, curve.values) == ([1, 2], [0.9, 0.8])
    late = Curves(store, PROBLEM)
    late.read()
    assert late.by_trial == curves.by_trial, "whoever comes later sees the same"


def test_steps_done_again_after_a_revocation_are_left_out(store: MemoryStudyStore, curves: Curves) -> None:
    store.add_reports([row(0, 1, loss=0.9), row(0, 2, loss=0.8)])
    curves.read()
    store.add_reports([row(0, 1, 2, loss=0.91), row(0, 2, 2, loss=0.81)])
    assert curves.read() == set()
    store.add_reports([row(0, 3, 2, loss=0.7)])
    assert curves.read() == {0}
    assert curves.by_trial[0] == LearningCurve([1, 2, 3], [0.9, 0.8, 0.7])


def test_what_was_no_number_stays_none(store: MemoryStudyStore, curves: Curves) -> None:
    store.add_reports([row(0, 1, loss=0.9), row(0, 2, loss=math.nan), row(1, 1)])
    curves.read()
    assert math.isnan(curves.by_trial[0].values[1])
    assert math.isnan(curves.by_trial[1].values[0]), "a report of nothing but NaN comes without any"


def test_without_a_last_step_nobody_follows_curves(store: MemoryStudyStore) -> None:
    store.add_reports([row(0, 1, loss=0.9)])
    assert learning_curves(store, Problem(SPACE, minimize("loss"))) == {}
    assert learning_curves(store, PROBLEM) == {0: LearningCurve([1], [0.9])}


def test_curves_go_by_shares_where_nobody_said_how_many_steps_there_are(store: MemoryStudyStore) -> None:
    problem = Problem(SPACE, minimize("loss"), fractions=["1/4", "1/2", 1], snapshots=True)
    store.add_reports([passing("1/4", loss=0.9), row(0, 7, loss=0.8), passing("1/2", loss=0.7)])
    assert learning_curves(store, problem) == {0: LearningCurve([0.25, 0.5], [0.9, 0.7])}


def test_what_was_told_at_smaller_shares_is_a_result_there() -> None:
    problem = Problem(SPACE, minimize("loss"), ["size <= 2"], fractions=["1/4", "1/2", "3/4", 1], snapshots=True)
    store = MemoryStudyStore(SPACE, Budget())
    trial = store.propose(SPACE.grid()[0], Fraction(1), problem.fractions, time=0.0)
    told = [passing("1/4", loss=0.9, size=1.0), passing("1/2", loss=0.8), passing("2/3", loss=0.7, size=1.0)]
    store.add_reports([*told, passing("1/4", loss=0.5, size=1.0), passing("1", loss=0.6, size=1.0)])
    curves = Curves(store, problem)
    curves.read()
    assert curves.passed(trial) == told[:1], "without a size it is none, 2/3 is no share of the trial"
