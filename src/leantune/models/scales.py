"""Scales on which quantities are modelled, and the way back (ALGORITHMS.md, "Scales").

A transformed quantity is oriented: after `forward`, larger is better for a goal (sign) and larger is larger for a
limit.

| kind   | modelled y                       | back                              |
| share  | -log(max(1 - a, 1e-4))           | E[a] = 1 - exp(-mu + sd^2 / 2)    |
| share, minimised | -log(max(a, 1e-4))     | E[a] = exp(-mu + sd^2 / 2)        |
| logit  | +-log(a / (1 - a))               | E[a] by Gauss-Hermite, nine roots |
| linear | +-a                              | E[a] = +-mu                       |
| log    | +-log a                          | E[a] = exp(+-mu + sd^2 / 2)       |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import expit, logit, ndtr

from leantune.arrays import FloatArray
from leantune.models.base import Gaussian, Roots

SHARE_FLOOR = 1e-4
LARGEST_EXPONENT = 500.0
_ROOTS = Roots.of(9)

Kind = Literal["share", "logit", "linear", "log"]


@dataclass(frozen=True)
class Transform:
    """kind, and whether smaller values of the metric are better (`descending`)."""

    kind: Kind
    descending: bool = False

    def forward(self, values: FloatArray) -> FloatArray:
        """The modelled y of metric values."""
        sign = -1.0 if self.descending else 1.0
        if self.kind == "share":
            return -np.log(np.maximum(values if self.descending else 1.0 - values, SHARE_FLOOR))
        if self.kind == "logit":
            return sign * np.asarray(logit(np.clip(values, SHARE_FLOOR, 1.0 - SHARE_FLOOR)))
        return sign * (np.log(values) if self.kind == "log" else values)

    def expectation(self, belief: Gaussian) -> FloatArray:
        """E[metric] under a normal belief about y."""
        if self.kind == "linear":
            return -belief.mean if self.descending else belief.mean
        if self.kind == "logit":
            return self._moment(belief, 1)
        if self.kind == "share":
            rest = np.minimum(np.exp(np.minimum(-belief.mean + belief.sd**2 / 2, 0.0)), 1.0)
            return rest if self.descending else 1.0 - rest
        signed = -belief.mean if self.descending else belief.mean
        return np.exp(np.minimum(signed + belief.sd**2 / 2, LARGEST_EXPONENT))

    def deviation(self, belief: Gaussian) -> FloatArray:
        """Standard deviation of the metric: exact for linear and logit, first order in sd for the others."""
        if self.kind == "linear":
            return belief.sd
        if self.kind == "logit":
            return np.sqrt(np.maximum(self._moment(belief, 2) - self._moment(belief, 1) ** 2, 0.0))
        expected = self.expectation(belief)
        slope = 1.0 - expected if self.kind == "share" and not self.descending else expected
        return slope * belief.sd

    def merit(self, belief: Gaussian, centre: float, spread: float) -> FloatArray:
        """How good, in [0, 1], for use in products: E[a] of a share; else Phi((mu - m) / sd), m and sd of the
        observations.
        """
        if self.kind in ("share", "logit"):
            expected = self.expectation(belief)
            return 1.0 - expected if self.descending else expected
        return np.asarray(ndtr((belief.mean - centre) / spread))

    def _moment(self, belief: Gaussian, power: int) -> FloatArray:
        """E[a^power] of a logit."""
        sign = -1.0 if self.descending else 1.0
        values = expit(sign * (belief.mean[..., None] + belief.sd[..., None] * _ROOTS.z))
        return np.asarray(values**power @ _ROOTS.w)
