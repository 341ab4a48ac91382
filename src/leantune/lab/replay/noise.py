"""Noise of a test: a drawn measurement, given the mean and the standard deviation of runs.

Symbols: m mean, d deviation times a factor, z standard normal. Metrics in [0, 1] in the whole table are drawn as
m + d z, cut to [0, 1]; other metrics above 0 in the whole table, and seconds, as m exp(r z - r^2 / 2), r^2 = log(1 +
(d / m)^2), which keeps mean and deviation; the rest as m + d z. Dollars follow the seconds. A run that a time limit cut
ends there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from leantune.executors.replay import Measurement
from leantune.lab.replay.tables import MeasuredTable
from leantune.problem import TIME
from leantune.strategies.proposals import derived_seed


class Range(StrEnum):
    """Where the values of a metric lie in the whole table, and so where those that are drawn shall lie."""

    SHARE = "share"
    POSITIVE = "positive"
    ANY = "any"


@dataclass(frozen=True)
class Noise:
    """Draws anew for every trial, the same whenever it is asked again; one z of a metric for all fractions of a run,
    which is fast or slow, lucky or not, as a whole.

    factor: on the table's deviations. seed: of the replay. ranges: of the metrics, by name.
    """

    factor: float
    seed: int
    ranges: Mapping[str, Range]

    @classmethod
    def of(cls, table: MeasuredTable, factor: float, seed: int) -> Noise:
        """The noise of a table's tests."""
        rows = [row.metrics for row in table.measurements.values()]
        names = {name for row in rows for name in row}
        return cls(factor, seed, {name: _range([row[name] for row in rows if name in row]) for name in names})

    def drawn(self, measurement: Measurement, trial: int) -> Measurement:
        """The drawn measurement of this trial in place of the table's; failed runs stay failed."""
        if not measurement.deviations or measurement.failure:
            return measurement
        rng = np.random.default_rng(derived_seed("noise", self.seed, trial))
        normal = {name: float(rng.standard_normal()) for name in sorted({TIME, *measurement.metrics})}
        deviation = {name: self.factor * measurement.deviations.get(name, 0.0) for name in normal}
        metrics = {
            name: _value(mean, deviation[name], normal[name], self.ranges[name])
            for name, mean in measurement.metrics.items()
        }
        if measurement.cut:
            return replace(measurement, metrics=metrics)
        seconds = _value(measurement.seconds, deviation[TIME], normal[TIME], Range.POSITIVE)
        cost = None if measurement.cost is None else measurement.cost * seconds / measurement.seconds
        return replace(measurement, metrics=metrics, seconds=seconds, cost=cost)


def has_deviations(table: MeasuredTable) -> bool:
    """Whether the table says how its runs scatter."""
    return any(row.deviations for row in table.measurements.values())


def _range(values: list[float]) -> Range:
    if min(values) >= 0.0 and max(values) <= 1.0:
        return Range.SHARE
    return Range.POSITIVE if min(values) > 0.0 else Range.ANY


def _value(mean: float, deviation: float, normal: float, kind: Range) -> float:
    if deviation == 0.0:
        return mean
    if kind is Range.POSITIVE:
        variance = math.log1p((deviation / mean) ** 2)
        return mean * math.exp(math.sqrt(variance) * normal - variance / 2.0)
    value = mean + deviation * normal
    return min(1.0, max(0.0, value)) if kind is Range.SHARE else value
