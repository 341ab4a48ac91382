"""Training runs that were recorded for real: the jobs of the simulation (docs/spot-workloads.md).

    steps (n,)    optimizer steps done at each report, increasing
    values (n,)   the metric at each report; NaN where training had diverged
    seconds (n,)  CPU seconds of each interval between reports on the recording machine

One file for each family lies in `simulate/recorded`; `python -m benchmarks.spottune.recording` makes them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

import numpy as np

from leantune.arrays import FloatArray
from leantune.errors import InvalidInput
from leantune.units import SECONDS_PER_HOUR

FORMAT = 1


@dataclass(frozen=True, eq=False)
class RecordedJob:
    """One setting of a family, trained to its end.

    drops: steps at which its declared schedule cuts the learning rate. model_bytes: of a checkpoint with the
    optimizer's state; save_seconds and restore_seconds: of that checkpoint, measured on a local disk.
    """

    name: str
    family: str
    setting: Mapping[str, float | str]
    metric: str
    maximize: bool
    steps: FloatArray
    values: FloatArray
    seconds: FloatArray
    drops: tuple[float, ...]
    model_bytes: int
    save_seconds: float
    restore_seconds: float

    def __post_init__(self) -> None:
        if not (len(self.steps) and self.steps.shape == self.values.shape == self.seconds.shape == (len(self.steps),)):
            raise InvalidInput(
                "steps, values and seconds differ in length", where=self.name, hint="Give one per report"
            )
        if not (np.diff(self.steps, prepend=0.0) > 0).all():
            raise InvalidInput("steps do not increase from above 0", where=self.name, hint="Sort the reports by step")
        if not ((self.seconds > 0) & np.isfinite(self.seconds)).all():
            raise InvalidInput("an interval has no seconds", where=self.name, hint="Give positive seconds")

    @property
    def total_steps(self) -> float:
        """Steps of the whole run."""
        return float(self.steps[-1])

    @property
    def total_seconds(self) -> float:
        """Seconds of the whole run, without checkpoints."""
        return float(self.seconds.sum())

    @property
    def final_value(self) -> float:
        """The metric at the end; NaN where training had diverged."""
        return float(self.values[-1])


def families() -> tuple[str, ...]:
    """Names of the families that were recorded, sorted."""
    return tuple(sorted(_by_family()))


def recorded_jobs(family: str | None = None) -> tuple[RecordedJob, ...]:
    """The settings of one family in the order of its grid, or those of all families."""
    stored = _by_family()
    if family is None:
        return tuple(job for name in families() for job in stored[name])
    if family not in stored:
        hint = f"Recorded are {', '.join(families())}" if stored else "Run python -m benchmarks.spottune.recording"
        raise InvalidInput(f"there is no recording of {family!r}", where="recorded workloads", hint=hint)
    return stored[family]


def stretched(jobs: Sequence[RecordedJob], hours: float) -> tuple[RecordedJob, ...]:
    """The jobs with all seconds of a family times one factor, such that its median job takes `hours`.

    Recorded jobs take seconds where SpotTune's take hours: curves, steps and the relative speeds of settings stay
    real, the scale is chosen. Give whole families: the median is over the jobs given. Checkpoints are not stretched.
    """
    if not (math.isfinite(hours) and hours > 0):
        raise InvalidInput(f"a median job of {hours} hours", where="stretched", hint="Give a positive number of hours")
    totals: dict[str, list[float]] = {}
    for job in jobs:
        totals.setdefault(job.family, []).append(job.total_seconds)
    factors = {name: hours * SECONDS_PER_HOUR / float(np.median(total)) for name, total in totals.items()}
    return tuple(replace(job, seconds=_fixed(job.seconds * factors[job.family])) for job in jobs)


@cache
def _by_family() -> Mapping[str, tuple[RecordedJob, ...]]:
    folder = files("leantune.lab.simulate") / "recorded"
    stored = {}
    for file in folder.iterdir() if folder.is_dir() else ():
        if file.name.endswith(".json"):
            jobs = parsed(file.read_text(encoding="utf-8"), file.name)
            stored[jobs[0].family] = jobs
    return MappingProxyType(stored)


def parsed(text: str, where: str) -> tuple[RecordedJob, ...]:
    """The jobs of one file as the recorder writes it."""
    try:
        content = json.loads(text)
        if content["format"] != FORMAT:
            hint = f"This LeanTune reads format {FORMAT}"
            raise InvalidInput(f"format {content['format']} is unknown", where=where, hint=hint)
        jobs = tuple(_job(content, job) for job in content["jobs"])
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        hint = "Write it with python -m benchmarks.spottune.recording"
        raise InvalidInput(f"this is no recording of jobs: {error!r}", where=where, hint=hint) from None
    if not jobs:
        raise InvalidInput("a family without jobs", where=where, hint="Record at least one setting")
    return jobs


def _job(family: Mapping[str, Any], job: Mapping[str, Any]) -> RecordedJob:
    shared = {key: family[key] for key in ("family", "metric", "maximize")}
    plain = {key: job[key] for key in ("name", "model_bytes", "save_seconds", "restore_seconds")}
    return RecordedJob(
        **shared,
        **plain,
        setting=MappingProxyType(job["setting"]),
        steps=_fixed(job["steps"]),
        values=_fixed([math.nan if value is None else value for value in job["values"]]),
        seconds=_fixed(job["seconds"]),
        drops=tuple(map(float, job["drops"])),
    )


def _fixed(values: Sequence[float] | FloatArray) -> FloatArray:
    """A read-only array: jobs are shared between simulations."""
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array
