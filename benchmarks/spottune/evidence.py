"""What is measured without a simulation: recorded step times, curve predictions, sizes that fit into a notice."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.spottune.recorded import step_variation
from benchmarks.spottune.tunings import FAST_BYTES_PER_SECOND, MCNT, POLL, SLOW_BYTES_PER_SECOND
from leantune.cloud.billing import AWS
from leantune.curves.base import Curve, Outlook, Prediction
from leantune.curves.predictors import PREDICTORS
from leantune.curves.predictors import curve_predictor as predictor_named
from leantune.curves.selection import choose
from leantune.lab.simulate.workloads import RecordedJob

THETA = 0.7
GB = 1e9


@dataclass(frozen=True)
class CurveErrors:
    """|predicted - true| / |true| of each setting of a family at theta; NaN where nothing could be predicted."""

    family: str
    predictor: str
    errors: tuple[float, ...]
    later: int  # settings with a drop after theta, which go on instead

    @property
    def median(self) -> float:
        """Over the settings that were predicted; NaN when none was."""
        known = [error for error in self.errors if not math.isnan(error)]
        return float(np.median(known)) if known else math.nan


def curve(job: RecordedJob) -> Curve:
    """The recorded curve with its declared schedule."""
    return Curve(job.steps, job.values, job.drops, job.maximize)


def known_part(job: RecordedJob, theta: float) -> Curve:
    """The curve until the first report from theta on, when the loop predicts."""
    place = int(np.searchsorted(job.steps, theta * job.total_steps))
    return curve(job).until(float(job.steps[min(place, len(job.steps) - 1)]))


def told(jobs: Sequence[RecordedJob], name: str, theta: float) -> list[Prediction]:
    """What a predictor says of each job at theta."""
    predictor = predictor_named(name)
    return [predictor.predict(known_part(job, theta), job.total_steps) for job in jobs]


def curve_errors(jobs: Sequence[RecordedJob], theta: float = THETA) -> list[CurveErrors]:
    """Of every predictor of curves."""
    found = []
    for name in PREDICTORS:
        said = told(jobs, name, theta)
        errors = [_error(one, job) for one, job in zip(said, jobs, strict=True)]
        later = sum(one.outlook is Outlook.NOT_PREDICTABLE for one in said)
        found.append(CurveErrors(jobs[0].family, name, tuple(errors), later))
    return found


def _error(one: Prediction, job: RecordedJob) -> float:
    if one.outlook in (Outlook.NOT_PREDICTABLE, Outlook.DIVERGED) or not math.isfinite(job.final_value):
        return math.nan
    return abs(one.mean - job.final_value) / abs(job.final_value)


@dataclass(frozen=True)
class Chosen:
    """Who goes on, by a predictor at theta. regret: how much worse the best of the first three ends, as a share."""

    family: str
    predictor: str
    top_1: bool
    top_3: bool
    regret: float
    reports: int = 1  # whose median says how a setting ends


def chosen(jobs: Sequence[RecordedJob], name: str, theta: float = THETA, reports: int = 1) -> Chosen:
    """Whether the best setting (or its twin) is the first, or among the first three.

    reports: how a setting ends is the median of so many last ones; 1 takes the last alone, with its noise.
    """
    said = [
        Prediction(job.final_value, 0.0) if one.outlook is Outlook.NOT_PREDICTABLE else one
        for one, job in zip(told(jobs, name, theta), jobs, strict=True)
    ]  # those go on to their end before anything is chosen
    ranking = [one.index for one in choose(said, MCNT, maximize=jobs[0].maximize).ranking]
    ends = np.array([float(np.median(job.values[-reports:])) for job in jobs])
    losses = -ends if jobs[0].maximize else ends
    losses = np.where(np.isfinite(losses), losses, np.inf)
    best = set(np.flatnonzero(losses <= losses.min()).tolist())
    regret = float((losses[ranking[:MCNT]].min() - losses.min()) / abs(losses.min()))
    first, among = bool(best & set(ranking[:1])), bool(best & set(ranking[:MCNT]))
    return Chosen(jobs[0].family, name, first, among, regret, reports)


def variations(jobs: Mapping[str, Sequence[RecordedJob]]) -> dict[str, float]:
    """Median over settings of the variation of the recorded seconds per step, by family."""
    return {name: float(np.median([step_variation(job) for job in of])) for name, of in jobs.items()}


@dataclass(frozen=True)
class Largest:
    """The largest checkpoint in GB that a notice can save at a rate."""

    rate: float
    seconds: float

    @property
    def gigabytes(self) -> float:
        """Rate times seconds."""
        return self.rate * self.seconds / GB


def largest_models() -> list[Largest]:
    """At the paper's two rates, with the whole notice and with what is left of it after the polling delay."""
    rates = (SLOW_BYTES_PER_SECOND, FAST_BYTES_PER_SECOND)
    return [Largest(rate, seconds) for rate in rates for seconds in (AWS.notice_seconds, AWS.notice_seconds - POLL)]
