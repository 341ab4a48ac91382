"""Joint samples of a function, and where their maximum lies: what p_opt is counted from, whatever the model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from leantune.arrays import FloatArray, IntArray
from leantune.models.base import SingleArray
from leantune.models.path_kernels import divergence_after, smallest_gaps


@dataclass(frozen=True)
class SamplePaths:
    """S samples at R places: values [R, S]. copies [R]: see path_kernels.divergence_after."""

    values: SingleArray
    copies: IntArray
    gaps: SingleArray

    @classmethod
    def of(cls, values: SingleArray, copies: IntArray | None = None) -> SamplePaths:
        """copies: all places differ unless it says otherwise."""
        counts = np.ones(len(values), dtype=np.int64) if copies is None else copies
        return cls(values, counts, smallest_gaps(values))

    @cached_property
    def probability(self) -> FloatArray:
        """Share of the samples that each place wins, [R]; copies other than the first have none."""
        winners = np.where((self.copies > 0)[:, None], self.values, -np.inf).argmax(axis=0)
        return np.asarray(np.bincount(winners, minlength=len(self.values)) / self.values.shape[1])

    @cached_property
    def divergence(self) -> float:
        """KL(p_opt || uniform)."""
        places, samples = self.values.shape
        return float(self.after(np.zeros((1, places), np.float32), np.zeros((1, samples), np.float32))[0])

    def after(self, directions: SingleArray, amplitudes: SingleArray) -> FloatArray:
        """KL(p_opt || uniform) when path s moves by directions[b] amplitudes[b, s], for each of B steps; [B]."""
        return np.asarray(divergence_after(self.values, self.gaps, self.copies, directions, amplitudes))
