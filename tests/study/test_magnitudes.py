"""Values of any magnitude up to 1e100: every recipe goes on, recommends and is reported on."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leantune.errors import ObservationError, StudyOver
from leantune.history import History, Observation, ObservationKind, TrialState
from leantune.problem import Problem, maximize, minimize
from leantune.space import Space, ordinal
from leantune.strategies.proposals import Proposal
from leantune.strategies.registry import RECIPES, named_tuner
from leantune.strategies.tuner import LearningCurve, View
from leantune.study import Study
from leantune.units import LARGEST, Seconds, Usd, is_value
from tests.toy import FRACTIONS, NoStart, quick, toy_space

EXTREMES = (0.0, 5e-324, 1e-300, 1e-100, 1.0, 300.0, 1e10, 1e20, 1e60, LARGEST)
AMOUNTS = st.sampled_from(EXTREMES) | st.floats(0.0, LARGEST)
VALUES = st.one_of(st.floats(-1.0, 1.0), AMOUNTS, AMOUNTS.map(lambda value: -value))
RUNS = st.lists(
    st.tuples(st.integers(0, 23), st.sampled_from(FRACTIONS), VALUES, VALUES, AMOUNTS), min_size=1, max_size=9
)
LIMITS = st.sampled_from(((), ("cost <= 0.05 USD",), ("latency <= 5", "time <= 300 s")))


def study_of(name: str, maximise: bool, limits: tuple[str, ...]) -> Study:
    """A study without a start, so that models decide from the first result on."""
    anywhere = name in ("nephele", "lynceus")
    goal = minimize("cost", at="anywhere") if anywhere else (maximize if maximise else minimize)("loss")
    limits = (*limits, "loss <= 0.75") if anywhere else limits
    recipe = replace(quick(name), start=NoStart())
    return Study(toy_space(), goal, subject_to=limits, fractions=FRACTIONS, strategy=recipe, stop="never")


@pytest.mark.parametrize("name", RECIPES)
@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(runs=RUNS, maximise=st.booleans(), limits=LIMITS)
def test_any_mix_of_values_gives_a_proposal_a_recommendation_and_a_report(
    name: str,
    runs: list[tuple[int, Fraction, float, float, float]],
    maximise: bool,
    limits: tuple[str, ...],
    tmp_path: Path,
) -> None:
    with study_of(name, maximise, limits) as study:
        grid = study.problem.space.grid()
        for row, fraction, loss, latency, seconds in runs:
            trial = study.enqueue(grid[row], fraction)
            study.tell(trial, {"loss": loss, "latency": latency}, seconds=seconds)
        proposal = study.strategy.ask(View(study.problem, study.history, 0))
        assert isinstance(proposal, Proposal)
        assert proposal.configuration in grid
        with suppress(StudyOver):  # nothing feasible, nothing on all data
            assert study.recommendation().configuration in grid
        assert study.report(tmp_path / "report.html").stat().st_size > 1000


@settings(max_examples=60)
@given(st.lists(st.lists(VALUES | st.just(float("nan")), min_size=1, max_size=12), min_size=1, max_size=5))
def test_any_curves_are_judged(curves: list[list[float]]) -> None:
    problem = Problem(Space(lr=ordinal(*range(6))), minimize("loss"), steps=20)
    history = History()
    for row in range(len(curves)):
        history, trial = history.propose(problem.space.grid()[row], Fraction(1))
        for state in (TrialState.QUEUED, TrialState.RUNNING):
            history = history.move(trial.number, state, time=0.0)
    told = {number: LearningCurve([float(k + 1) for k in range(len(ys))], ys) for number, ys in enumerate(curves)}
    view, tuner = View(problem, history, 3, told), named_tuner("spottune")
    assert set(tuner.judge(view)) <= set(range(len(curves)))
    advice = tuner.recommend(view)
    assert advice is None or advice.configuration in problem.space.grid()


def test_a_value_beyond_is_refused_where_it_is_told() -> None:
    with study_of("lean", True, ()) as study:
        trial = study.ask()
        for value in (1e101, -1.7e308, 10**400):
            with pytest.raises(ObservationError, match="'loss' is"):
                study.tell(trial, {"loss": value}, seconds=1.0)
        study.tell(trial, {"loss": LARGEST}, seconds=1.0)


def test_a_function_that_reports_beyond_fails() -> None:
    with study_of("lean", True, ()) as study:
        with pytest.raises(StudyOver, match="nothing to recommend"):
            study.optimize(lambda trial: {"loss": -1e160}, trials=1)
        (seen,) = study.history.trial(0).observations
        assert (seen.kind, seen.cause) == (ObservationKind.FAILED, "loss is -1e+160, beyond 1e+100")


@pytest.mark.parametrize("name", RECIPES)
def test_what_an_older_leantune_stored_counts_as_nan(name: str) -> None:
    with study_of(name, True, ()) as study:
        history = History()
        for row, value in enumerate((0.5, 1e160, -1.7e308, 0.7)):
            history, trial = history.propose(study.problem.space.grid()[row], Fraction(1))
            old = Observation(Fraction(1), ObservationKind.MEASURED, {"loss": value}, Seconds(9.0), Usd(0.01))
            assert is_value(value) or math.isnan(old.value("loss"))
            history = history.record(trial.number, [old], time=0.0)
        view = View(study.problem, history, 0)
        assert isinstance(study.strategy.ask(view), Proposal)
        advice = study.strategy.recommend(view)
        assert advice is not None
        assert advice.configuration in study.problem.space.grid()
