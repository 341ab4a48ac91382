"""Joint samples of a function, and where their maximum lies: p_opt is counted from them, in every model.

Single precision: twice as fast, exact enough to rank.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numba import njit

from leantune.arrays import FloatArray, IntArray
from leantune.models.base import SingleArray

GAP_MARGIN = np.float32(1.001)  # for rounding in single precision


@njit(cache=True, nogil=True)
def smallest_gaps(paths: SingleArray) -> SingleArray:
    """How far each place stays behind the best of its sample, at its best sample; 0 for places that win one; [R]."""
    places, samples = paths.shape
    best = paths[0].copy()
    for r in range(1, places):
        for s in range(samples):
            best[s] = max(best[s], paths[r, s])
    gaps = np.empty(places, dtype=np.float32)
    for r in range(places):
        gap = best[0] - paths[r, 0]
        for s in range(1, samples):
            gap = min(gap, best[s] - paths[r, s])
        gaps[r] = gap
    return gaps


@njit(cache=True, nogil=True)
def divergence_after(
    paths: SingleArray, gaps: SingleArray, copies: IntArray, directions: SingleArray, amplitudes: SingleArray
) -> FloatArray:
    """KL(p_opt || uniform) of the paths f_s + g_b a_bs, for each of B steps.

    paths [R, S], gaps [R] (smallest_gaps of the paths), directions [B, R], amplitudes [B, S]. copies [R]: how many
    places are the same as this one, itself included, and share what it wins; 0 for those that an earlier one stands
    for.

    A place catches up with a leader w of a sample by at most (|g_r| + |g_w|) max|a|: places whose gap is larger are
    passed over. The loop over samples is innermost, without branches, so that it is vectorised.
    """
    places, samples = paths.shape
    result = np.empty(directions.shape[0])
    best = np.empty(samples, dtype=np.float32)
    winner = np.empty(samples, dtype=np.int32)
    wins = np.empty(places, dtype=np.int32)
    for b in range(directions.shape[0]):
        amplitude = amplitudes[b]
        largest = np.float32(0.0)
        for s in range(samples):
            largest = max(largest, abs(amplitude[s]))
            best[s] = -np.inf
            winner[s] = 0
        leaders = np.float32(0.0)
        for r in range(places):
            if gaps[r] == 0.0:
                leaders = max(leaders, abs(directions[b, r]))
        for r in range(places):
            slope = directions[b, r]
            if copies[r] == 0 or gaps[r] > GAP_MARGIN * (abs(slope) + leaders) * largest:
                continue
            path = paths[r]
            for s in range(samples):
                value = path[s] + slope * amplitude[s]
                better = value > best[s]
                best[s] = value if better else best[s]
                winner[s] = r if better else winner[s]
        wins[:] = 0
        for s in range(samples):
            wins[winner[s]] += 1
        total = 0.0
        for r in range(places):
            if wins[r] > 0:
                share = wins[r] / samples
                total += share * math.log(share * places / copies[r])
        result[b] = total
    return result


@dataclass(frozen=True)
class SamplePaths:
    """S samples at R places: values [R, S]. copies [R]: see `divergence_after`."""

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
