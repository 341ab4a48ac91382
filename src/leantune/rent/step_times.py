"""Seconds per step of every job on every machine type, learned while jobs run: SpotTune's matrix M.

    log M[type, job] = a[job] + e[type] - b log(vcpus[type])

a: how heavy the job is; e: how the type differs from its size, shrunk towards 0 while few are measured. A pair that
was measured is taken as measured. The paper starts from C0 * CPU, which makes larger machines slower; C0 / CPU^b, b
about 0.6, is what 11,000 Spark runs on 18 EC2 types show (`simulate.speeds`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from leantune.arrays import FloatArray
from leantune.errors import InvalidInput

EXPONENT = 0.6
SHRINKAGE = 1.0  # a type's effect counts as if one job had said 0
_SWEEPS = 4  # of the alternating least squares; each is exact in one of a, e


class StepTimes:
    """Measured step times so far, and the estimate for every pair of type and job."""

    def __init__(
        self, vcpus: Mapping[str, float], jobs: int = 1, *, exponent: float = EXPONENT, c0: float = 1.0
    ) -> None:
        """vcpus: by type. jobs: how many to begin with; more are added when they are asked about.

        c0: seconds per step on one vCPU of a job that was not measured.
        """
        if not (c0 > 0 and math.isfinite(c0) and 0 <= exponent <= 2):
            raise InvalidInput(
                f"c0 = {c0}, exponent = {exponent}", where="step times", hint="Give c0 > 0 and an exponent of 0 to 2"
            )
        self._types = {name: index for index, name in enumerate(vcpus)}
        self._prior = -exponent * np.log(np.array(list(vcpus.values()), dtype=np.float64))
        self._seconds = np.zeros((len(vcpus), jobs))
        self._steps = np.zeros((len(vcpus), jobs))
        self._start = math.log(c0)
        self._estimate = np.exp(self._start + self._prior)[:, None].repeat(jobs, axis=1)
        self._stale = False
        self.version = 0  # of the estimates of pairs that were not measured

    @property
    def has_measurements(self) -> bool:
        """Whether anything was measured, so that estimates are in seconds and not only relative."""
        return self.version > 0

    def is_measured(self, machine_type: str, job: int) -> bool:
        """Whether the job was on a machine of the type."""
        return job < self._steps.shape[1] and bool(self._steps[self._types[machine_type], job] > 0)

    def measured(self, machine_type: str, job: int, seconds: float, steps: float) -> None:
        """A job took `seconds` for `steps` on a machine of the type."""
        if not (seconds > 0 and steps > 0):
            raise InvalidInput(
                f"{steps} steps in {seconds} s", where=f"job {job} on {machine_type}", hint="Give positive numbers"
            )
        self._grow(job)
        row = self._types[machine_type]
        first = self._steps[row, job] == 0
        self._seconds[row, job] += seconds
        self._steps[row, job] += steps
        self._estimate[row, job] = self._seconds[row, job] / self._steps[row, job]
        if first:
            self._stale = True
            self.version += 1

    def of_job(self, job: int) -> FloatArray:
        """Seconds per step of one job on every type (types,), in the order they were given."""
        self._grow(job)
        if self._stale:
            self._infer()
        return self._estimate[:, job]

    def _grow(self, job: int) -> None:
        """Room for a new job."""
        count = self._steps.shape[1]
        if job < count:
            return
        more = np.zeros((len(self._types), max(job + 1, 2 * count) - count))
        self._seconds, self._steps = np.hstack((self._seconds, more)), np.hstack((self._steps, more))
        fresh = np.exp(self._start + self._prior)[:, None].repeat(more.shape[1], axis=1)
        self._estimate = np.hstack((self._estimate, fresh))
        self._stale = self.has_measurements

    def _infer(self) -> None:
        """Estimate the other pairs from measured ones: alternating least squares with shrunk type effects."""
        tried = self._steps > 0
        logs = np.log(np.where(tried, self._seconds, 1.0) / np.where(tried, self._steps, 1.0))
        logs = np.where(tried, logs - self._prior[:, None], 0.0)
        per_type, per_job = tried.sum(axis=1), tried.sum(axis=0)
        effects = np.zeros(len(self._types))
        jobs = np.zeros(tried.shape[1])
        for _ in range(_SWEEPS):
            jobs = (logs - effects[:, None] * tried).sum(axis=0) / np.maximum(per_job, 1)
            effects = (logs - jobs[None, :] * tried).sum(axis=1) / (per_type + SHRINKAGE)
        common = float(jobs[per_job > 0].mean())
        jobs = np.where(per_job > 0, jobs, common)
        inferred = np.exp(self._prior[:, None] + effects[:, None] + jobs[None, :])
        self._estimate = np.where(tried, self._seconds / np.where(tried, self._steps, 1.0), inferred)
        self._stale = False
