"""The tuner ends every trial as the loop in `run/spottune.py` does, which had its rules before: goes with that loop."""

import pytest

from leantune.curves.predictors import curve_predictor
from leantune.run.tuning import TuningRules
from leantune.strategies.spottune import SpotTune
from tests.run.spot_worlds import feeds, run_of, tune
from tests.strategies.trainings import Training, numbers


@pytest.mark.parametrize("seed", range(12))
def test_it_ends_as_the_old_loop_ends(seed: int) -> None:
    markets = feeds(seed)
    runs = [run_of(seed + i, markets, hours=3.0) for i in range(6)]
    rules = TuningRules(theta=[0.5, 0.7][seed % 2], mcnt=1 + seed % 3)
    old = tune(markets, runs, rules).outcome
    problem = numbers(6, steps=float(runs[0].steps[-1]))
    last = {one.id: float(run.steps[-1]) for one, run in zip(problem.space.grid(), runs, strict=True)}
    tuner = SpotTune(rules.theta, rules.mcnt, predictor=curve_predictor("earlycurve"), last_steps=last)
    curves = [list(zip(run.steps.tolist(), run.values.tolist(), strict=True)) for run in runs]
    world = Training(tuner, problem, curves).begin()
    world.last_steps = [run.steps[-1] for run in runs]
    world.play(seed)
    rows = sorted(tuner.ranking(world.view), key=lambda row: row.trial.number)
    assert [str(row.ending) for row in rows] == [str(state.ending) for state in old.jobs]
    assert tuple(row.trial.number for row in tuner.ranking(world.view)) == old.ranking
    assert [row.selected for row in rows] == [state.selected for state in old.jobs]
    for row, state in zip(rows, old.jobs, strict=True):
        assert row.predicted is not None
        assert state.prediction is not None
        assert (row.predicted.mean, row.predicted.sd) == (state.prediction.mean, state.prediction.sd)
