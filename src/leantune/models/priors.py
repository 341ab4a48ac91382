"""What Gaussian processes believe before anything is measured."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from leantune.arrays import FloatArray
from leantune.models.base import Scaling


@dataclass(frozen=True)
class Priors:
    """Independent normal priors on theta (see gp_kernels); features and s~ lie in [0, 1], targets are standardised.
    log_shared: of the slope that all configurations share; None: there is none.
    """

    log_scale: tuple[float, float] = (0.5, 1.0)
    log_amplitude: tuple[float, float] = (0.0, 0.7)
    mixing: tuple[float, float] = (0.0, 1.0)
    log_slope: tuple[float, float] = (-0.5, 1.0)
    log_noise: tuple[float, float] = (-5.0, 1.5)
    log_shared: tuple[float, float] | None = None

    def arrays(self, dimensions: int) -> tuple[FloatArray, FloatArray]:
        """Means and standard deviations, each [d + 4 or 5]."""
        rows = [self.log_scale] * dimensions + [self.log_amplitude, self.mixing, self.log_slope, self.log_noise]
        rows += [] if self.log_shared is None else [self.log_shared]
        means, deviations = np.array(rows, dtype=np.float64).T
        return np.ascontiguousarray(means), np.ascontiguousarray(deviations)


FABOLAS_PRIORS = Priors()


@dataclass(frozen=True)
class Law:
    """A power law in the share of the data, log y(x, s) = f(x) + (slope + b + b(x)) log s + irregularity.

    slope: expected of log y (of -log error, for a quality). unit: a difference on the modelled scale that may be
    expected between configurations: targets are divided by their spread, but at least by this, since the first few
    results may happen to be alike. priors: of b (log_shared), b(x) (log_slope, mixing) and the rest, in units of log s.
    """

    slope: float
    unit: float
    priors: Priors

    def fitting(self, scaling: Scaling) -> Law:
        """The law as far as it says something of a quantity: slope and unit mean nothing where no logarithm is
        modelled.
        """
        return self if scaling.logarithmic else replace(self, slope=0.0, unit=0.0)


@dataclass(frozen=True)
class ScalingLaws:
    """Costs grow nearly with the data; errors fall with a power of it, which differs much from task to task.

    roughness: share of the noise that is a configuration's own and not chance (see gp_posterior).
    """

    cost: Law = Law(0.9, 0.5, Priors(mixing=(0.0, 0.15), log_slope=(-2.3, 0.7), log_shared=(-1.2, 0.7)))
    quality: Law = Law(0.4, 1.0, Priors(mixing=(0.0, 0.25), log_slope=(-1.9, 1.0), log_shared=(-1.4, 0.7)))
    roughness: float = 0.5
