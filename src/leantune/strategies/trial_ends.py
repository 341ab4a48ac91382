"""Where trials would end: `lean` stops a run that will not pay, and learns from what it stopped.

    on all data               stopped when P(its end is better than the best measured result that keeps the limits),
                              by its learning curve, is below CHANCE
    on a part of the data     it teaches the models, so it is stopped only when it can teach no more: its
                              curve has levelled off. Not where shares are of epochs: a larger share would go on from
                              its checkpoint, which costs more than what is left of a flat run
    diverged                  always stopped

A run that verifies a recommendation, the user's own (`baseline`, enqueued ones) and the favourite's test on all data
run to their end, unless they diverge. P leaves the limits aside: they can only make it smaller.

A stopped trial keeps the results of the shares that it passed. Beyond that the models are told where it would have
ended, where a curve of many steps tells that well; that it failed, where it diverged; and its seconds as a lower bound.
On all data it is closed: never tested or recommended again. All of that is a function of stored reports and results.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist, fmean

import numpy as np

from leantune.acquisition.base import Belief
from leantune.acquisition.worth import MeasuredResults
from leantune.arrays import FloatArray
from leantune.curves.base import Curve, Outlook, Prediction
from leantune.history import Estimate, NoteKind, ObservationKind, Trial, TrialKind, TrialState, was_ended
from leantune.models.base import Points
from leantune.problem import COST, TIME, At, Direction, Problem
from leantune.space import Configurations
from leantune.strategies.candidates import Table
from leantune.strategies.evidence import Evidence
from leantune.strategies.recommending import excess
from leantune.strategies.tuner import Judgement, Verdict, View

CHANCE = 0.05  # of ending better than the best measured result, below which a run does not pay
LEAST_SHARE = 0.15  # of its steps that a run has made before it is judged: some begin to learn late
FEW_POINTS = 20  # of a curve, below which the predicted mean is off and its deviation too small (docs/lean.md)
FEW_FACTOR = 2.0  # on the deviation there
SURE = 0.25  # of the spread of all results: the deviation up to which a predicted end is told to the models
_LIVE = (TrialState.QUEUED, TrialState.RUNNING)
_TO_THE_END = (NoteKind.BASELINE, NoteKind.FAVOURITE)
_NORMAL = NormalDist()


# -- stopping


def judgements(view: View, only: Collection[int] | None = None) -> dict[int, Judgement]:
    """Trials to stop, by number; only: see `Tuner.judge`."""
    if view.problem.goal.at is At.ANYWHERE:
        return {}
    judged = {trial.number: _judgement(view, trial) for trial in _judged(view, only)}
    return {number: judgement for number, judgement in judged.items() if judgement is not None}


def _judged(view: View, only: Collection[int] | None) -> list[Trial]:
    """Live trials that have told something; when another one has ended, all of them: the best result may be new."""
    live = [trial for trial in view.history.pending if trial.state in _LIVE and trial.number in view.curves]
    if only is None or not all(view.history.trial(number).pending for number in only):
        return live
    return [trial for trial in live if trial.number in only]


def _judgement(view: View, trial: Trial) -> Judgement | None:
    prediction = forecast(view, trial)
    if prediction is None:
        return None
    if prediction.outlook is Outlook.DIVERGED:
        return Judgement(Verdict.STOP, f"diverged: {prediction.why}")
    if _runs_to_its_end(trial):
        return None
    if trial.fraction != 1:
        return _flat(view.problem, prediction)
    return _hopeless(view, trial, prediction)


def _runs_to_its_end(trial: Trial) -> bool:
    return trial.kind is not TrialKind.SEARCH or any(note.kind in _TO_THE_END for note in trial.notes)


def _flat(problem: Problem, prediction: Prediction) -> Judgement | None:
    """Of a run on a part of the data."""
    if prediction.outlook is not Outlook.PLATEAU or problem.fidelity == "epochs":
        return None
    estimate = Estimate(prediction.mean, prediction.sd)
    return Judgement(Verdict.STOP, f"has levelled off at {estimate}: the rest would teach nothing new", estimate)


def _hopeless(view: View, trial: Trial, prediction: Prediction) -> Judgement | None:
    """Of a run on all data."""
    best, end = best_result_on_all_data(view), last_step(view.problem, trial)
    reached = view.curves[trial.number].steps[-1]
    if best is None or end is None or reached < LEAST_SHARE * end or not math.isfinite(prediction.sd):
        return None
    if chance(view.problem, prediction, best) >= CHANCE:
        return None
    estimate = Estimate(prediction.mean, prediction.sd)
    return Judgement(Verdict.STOP, f"will end at about {estimate}; the best measured is {best:.4g}", estimate)


def chance(problem: Problem, prediction: Prediction, best: float) -> float:
    """P(the end is better than the best measured result)."""
    ahead = prediction.mean - best if problem.goal.direction is Direction.MAXIMIZE else best - prediction.mean
    if prediction.sd <= 0.0:
        return float(ahead > 0.0)
    return _NORMAL.cdf(ahead / prediction.sd)


def best_result_on_all_data(view: View) -> float | None:
    """The best goal of a configuration whose results on all data kept the limits, their mean; None: there is none."""
    values: dict[str, list[float]] = {}
    broke: set[str] = set()
    for trial, seen in view.history.observations:
        if seen.fraction != 1:
            continue
        identity = trial.configuration.id
        if seen.kind is ObservationKind.FAILED or excess(view.problem, seen) > 0.0:
            broke.add(identity)
        else:
            values.setdefault(identity, []).append(seen.value(view.problem.goal.metric))
    means = [fmean(goals) for identity, goals in values.items() if identity not in broke]
    if not means:
        return None
    return max(means) if view.problem.goal.direction is Direction.MAXIMIZE else min(means)


# -- where a trial ends


def last_step(problem: Problem, trial: Trial) -> float | None:
    """The end of the trial's curve; None where it is unknown: how many steps a part of the data takes."""
    if problem.curves_by_share:
        return float(trial.fraction)
    if problem.steps is None or (trial.fraction != 1 and problem.fidelity == "data"):
        return None
    return problem.steps * float(trial.fraction)


def forecast(view: View, trial: Trial) -> Prediction | None:
    """The predicted end of the trial from its reports; None where it cannot be predicted."""
    from leantune.curves.predictors import curve_predictor  # compiled code that only some studies need
    from leantune.curves.rules import verdict

    steps, values = _points(view, trial)
    if not len(steps):
        return None
    curve = Curve(steps, values, maximize=view.problem.goal.direction is Direction.MAXIMIZE)
    end = last_step(view.problem, trial)
    if end is None or trial.fraction != 1:
        return verdict(curve, math.inf if end is None else end)
    prediction = curve_predictor().predict(curve, end)
    factor = FEW_FACTOR if len(steps) < FEW_POINTS else 1.0
    return replace(prediction, sd=factor * prediction.sd)


def _points(view: View, trial: Trial) -> tuple[FloatArray, FloatArray]:
    """Its curve; where shares are of epochs, after that of the runs of the same configuration that it goes on from."""
    problem, points = view.problem, dict[float, float]()
    if problem.fidelity == "epochs":
        full = 1.0 if problem.curves_by_share else problem.steps or 1.0
        for other in view.history.trials[: trial.number]:
            if other.state is TrialState.DONE and other.configuration.id == trial.configuration.id:
                points |= _curve(view, other)
                points |= {full * float(seen.fraction): seen.value(problem.goal.metric) for seen in other.results}
    points |= _curve(view, trial)
    steps = sorted(points)
    return np.array(steps, dtype=np.float64), np.array([points[step] for step in steps], dtype=np.float64)


def _curve(view: View, trial: Trial) -> dict[float, float]:
    curve = view.curves.get(trial.number)
    return {} if curve is None else dict(zip(curve.steps, curve.values, strict=True))


# -- learning from stopped trials


@dataclass(frozen=True)
class StoppedTrial:
    """A trial that was stopped, and where it would have ended, by so many points; None where nothing can be said."""

    trial: Trial
    end: Prediction | None
    points: int

    @property
    def diverged(self) -> bool:
        """Whether it brought no result because of its configuration."""
        return self.end is not None and self.end.outlook is Outlook.DIVERGED


def stopped_trials(view: View) -> tuple[StoppedTrial, ...]:
    """Those that were stopped midway by their curves, by number."""
    stopped = (
        trial
        for trial in view.history.trials
        if trial.state is TrialState.STOPPED and not any(was_ended(trial, seen) for seen in trial.observations)
    )
    return tuple(StoppedTrial(trial, forecast(view, trial), len(_points(view, trial)[0])) for trial in stopped)


def informed(evidence: Evidence, stopped: Sequence[StoppedTrial], *, natural: bool) -> Evidence:
    """With a row for each stopped trial at its share: its end where it is well known, its seconds as a lower bound, a
    failure where it diverged. natural: as of `Evidence.transform`.
    """
    problem = evidence.problem
    added = Configurations.of(problem.space, [ended.trial.configuration for ended in stopped])
    level = np.array([problem.level_of(ended.trial.fraction) for ended in stopped], dtype=np.int64)
    columns = {name: np.full(len(stopped), np.nan) for name in evidence.metrics}
    columns[problem.goal.metric] = np.array([_sure_end(evidence, ended, natural) for ended in stopped])
    columns[TIME] = np.array([_spent(ended.trial, TIME) for ended in stopped])
    if evidence.rates is None:  # else dollars follow seconds, and those of lost runs do not
        columns[COST] = np.array([_spent(ended.trial, COST) for ended in stopped])
    points = evidence.points
    return replace(
        evidence,
        points=Points(np.vstack([points.x, added.features]), np.append(points.s, problem.levels[level])),
        level=np.append(evidence.level, level),
        metrics={name: np.append(column, columns[name]) for name, column in evidence.metrics.items()},
        failed=np.append(evidence.failed, [ended.diverged for ended in stopped]),
        ended=np.append(evidence.ended, np.zeros(len(stopped), dtype=np.bool_)),
        cut=np.append(evidence.cut, np.ones(len(stopped), dtype=np.bool_)),
        rates=None if evidence.rates is None or added.rates is None else np.append(evidence.rates, added.rates),
    )


def _spent(trial: Trial, metric: str) -> float:
    return trial.observations[-1].value(metric) if trial.observations else math.nan


def _sure_end(evidence: Evidence, stopped: StoppedTrial, natural: bool) -> float:
    """The predicted end, within the range of values seen in all trials; NaN with few points, or its deviation is large
    beside the spread of the results.
    """
    if stopped.points < FEW_POINTS:
        return math.nan
    goal = evidence.problem.goal.metric
    seen = evidence.metrics[goal][evidence.informative(goal)]
    if stopped.end is None or not math.isfinite(stopped.end.mean) or not math.isfinite(stopped.end.sd) or not len(seen):
        return math.nan
    transform = evidence.transform(goal, natural=natural)
    around = np.array([stopped.end.mean, stopped.end.mean - stopped.end.sd, stopped.end.mean + stopped.end.sd])
    around = np.clip(around, seen.min(), seen.max())
    _, low, high = transform.forward(around)
    spread = float(transform.forward(seen).std())
    return float(around[0]) if abs(float(high - low)) / 2.0 <= SURE * spread else math.nan


def closed(measured: MeasuredResults, stopped: Sequence[StoppedTrial], table: Table, belief: Belief) -> MeasuredResults:
    """With those stopped on all data as measured and broken: what is not to be tested again is not recommended."""
    rows = [table.row_of(trial_end.trial) for trial_end in stopped if trial_end.trial.fraction == 1]
    measured_rows = set(measured.rows.tolist())
    more = np.array([row for row in dict.fromkeys(rows) if row >= 0 and row not in measured_rows], dtype=np.int64)
    if not len(more):
        return measured
    return MeasuredResults(
        np.append(measured.rows, more),
        np.append(measured.y, belief.full_beliefs[0].mean[more]),
        np.append(measured.kept, np.zeros(len(more), dtype=np.bool_)),
    )
