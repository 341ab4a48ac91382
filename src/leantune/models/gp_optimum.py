"""Where the optimum of a Gaussian process lies, now and after a simulated test.

Sample paths at R points are conditioned path-wise (Matheron; ALGORITHMS.md, "Acquisition"):

    f|y = f + c(., p) (y - f_p - e) / (v_p + n),     e ~ N(0, n)

c, v the posterior covariance and variance, n the noise, p the tested pair. The sampled value f_p is drawn given the
path at R,

    f_p = m_p + W^T z + sqrt(v_p - |W|^2) epsilon,   f = m + L z,   C = L L^T,   W = L^-1 c(R, p),

exact for each test by itself, which is all that is asked, and needs no joint sample over thousands of candidates.
z [R, S], epsilon [S] and e [S] are drawn once: all tests, members and roots share them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import solve_triangular

from leantune.models.base import FloatArray, Points, Roots, SingleArray
from leantune.models.gp_kernels import divergence_after, smallest_gaps
from leantune.models.gp_posterior import Member, stable_cholesky
from leantune.models.threads import parallel_blocks

STEP_BLOCK = 128  # simulated tests handed to a thread at once


def divergence_terms(samples: int, points: int) -> FloatArray:
    """What a point that is best in c of S samples adds to KL(p_opt || uniform): (c/S) log(R c/S), c = 0..S."""
    shares = np.arange(samples + 1) / samples
    return np.asarray(shares * np.log(np.maximum(shares, 1.0 / samples) * points))


@dataclass(frozen=True)
class Draws:
    """Standard normal numbers, single precision: z [R, S], epsilon [S], e [S]."""

    path: SingleArray
    residual: SingleArray
    noise: SingleArray

    @classmethod
    def of(cls, points: int, samples: int, seed: int) -> Draws:
        rng = np.random.default_rng(seed)
        path = rng.standard_normal((points, samples), dtype=np.float32)
        residual, noise = rng.standard_normal((2, samples), dtype=np.float32)
        return cls(path, residual, noise)


@dataclass(frozen=True)
class Paths:
    """Sample paths of one member at R: whitened cross-covariance V [n, R], L^-1 [R, R], values [R, S], gaps [R]."""

    member: Member
    whitened: FloatArray
    inverse_factor: FloatArray
    values: SingleArray
    gaps: SingleArray

    @classmethod
    def of(cls, member: Member, at: Points, draws: Draws, orientation: float) -> Paths:
        there = member.condition(at)
        factor = stable_cholesky(member.joint_covariance(at, at, there.whitened, there.whitened))
        inverse = solve_triangular(factor, np.eye(len(factor)), lower=True, check_finite=False)
        values = (orientation * (there.mean[:, None] + factor @ draws.path.astype(np.float64))).astype(np.float32)
        return cls(member, there.whitened, np.asarray(inverse), values, smallest_gaps(values))

    def divergences(self, directions: SingleArray, amplitudes: SingleArray, terms: FloatArray) -> FloatArray:
        """KL(p_opt || uniform) after each of B steps; directions [B, R], amplitudes [B, S]."""
        return np.asarray(divergence_after(self.values, self.gaps, directions, amplitudes, terms))

    def sampled_outcomes(self, cross: FloatArray, variance: FloatArray, draws: Draws) -> SingleArray:
        """f_p - m_p + e of every test and sample; cross = c(R, p) [R, B], variance v_p [B] -> [B, S]."""
        loading = self.inverse_factor @ cross
        unexplained = np.sqrt(np.maximum(variance - np.square(loading).sum(axis=0), 0.0))
        result: SingleArray = loading.astype(np.float32).T @ draws.path
        result += unexplained[:, None].astype(np.float32) * draws.residual
        result += np.float32(np.sqrt(self.member.noise)) * draws.noise
        return result


class GpOptimum:
    """An OptimumBelief (models.base). orientation -1: the members model the quantity upside down."""

    def __init__(self, members: Sequence[Member], at: Points, *, samples: int, seed: int, orientation: float) -> None:
        self._at, self._orientation = at, orientation
        self._draws = Draws.of(len(at), samples, seed)
        self._terms = divergence_terms(samples, len(at))
        self._paths = [Paths.of(member, at, self._draws, orientation) for member in members]

    @cached_property
    def probability(self) -> FloatArray:
        """See OptimumBelief."""
        counts = [np.bincount(paths.values.argmax(axis=0), minlength=len(self._at)) for paths in self._paths]
        return np.asarray(np.mean(counts, axis=0) / len(self._draws.noise))

    @cached_property
    def divergence(self) -> float:
        """See OptimumBelief."""
        nowhere = np.zeros((1, len(self._at)), dtype=np.float32)
        still = np.zeros((1, len(self._draws.noise)), dtype=np.float32)
        return float(np.mean([paths.divergences(nowhere, still, self._terms)[0] for paths in self._paths]))

    def expected_divergence(self, points: Points, roots: Roots) -> FloatArray:
        """See OptimumBelief."""
        result = np.zeros(len(points))
        tested = [paths.member.condition(points) for paths in self._paths]

        def block(start: int, stop: int) -> None:
            rows = np.arange(start, stop)
            some = points.take(rows)
            for paths, test in zip(self._paths, tested, strict=True):
                cross = paths.member.joint_covariance(self._at, some, paths.whitened, test.whitened[:, rows])
                result[rows] += self._after(paths, cross, test.variance[rows], roots)

        parallel_blocks(block, len(points), STEP_BLOCK)
        return result / len(self._paths)

    def _after(self, paths: Paths, cross: FloatArray, variance: FloatArray, roots: Roots) -> FloatArray:
        """Expected divergence under one member for a block of tests; cross = c(R, p) [R, B], variance v_p [B]."""
        sampled = paths.sampled_outcomes(cross, variance, self._draws)
        spread = np.sqrt(variance + paths.member.noise)[:, None]
        directions = np.ascontiguousarray((self._orientation * cross.T / spread**2).astype(np.float32))
        total = np.zeros(len(variance))
        for z, weight in zip(roots.z, roots.w, strict=True):
            amplitudes = (spread * z).astype(np.float32) - sampled
            total += weight * paths.divergences(directions, amplitudes, self._terms)
        return total
