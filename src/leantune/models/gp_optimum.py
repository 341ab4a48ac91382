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

from leantune.arrays import FloatArray
from leantune.models.base import Points, Roots, SingleArray
from leantune.models.gp_posterior import LARGEST_BLOCK, Member, inverse_of_factor, stable_cholesky
from leantune.models.paths import SamplePaths
from leantune.models.threads import parallel_blocks

SMALLEST_BLOCK = 24


def step_block(tests: int) -> int:
    """Tests in a block. Depends on their number alone, so that any number of threads computes the same products."""
    return min(LARGEST_BLOCK, max(SMALLEST_BLOCK, -(-tests // 2)))


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
class MemberPaths:
    """Sample paths of one member at R, with its whitened cross-covariance V [n, R] and L^-1 [R, R] there."""

    member: Member
    whitened: FloatArray
    inverse_factor: FloatArray
    paths: SamplePaths

    @classmethod
    def of(cls, member: Member, at: Points, draws: Draws, orientation: float) -> MemberPaths:
        there = member.condition(at)
        factor = stable_cholesky(member.joint_covariance(at, at, there.whitened, there.whitened))
        values = there.mean[:, None].astype(np.float32) + factor.astype(np.float32) @ draws.path
        paths = SamplePaths.of(np.float32(orientation) * values)
        return cls(member, there.whitened, inverse_of_factor(factor), paths)

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
        self._members = [MemberPaths.of(member, at, self._draws, orientation) for member in members]

    @cached_property
    def probability(self) -> FloatArray:
        return np.asarray(np.mean([member.paths.probability for member in self._members], axis=0))

    @cached_property
    def divergence(self) -> float:
        return float(np.mean([member.paths.divergence for member in self._members]))

    def expected_divergence(self, points: Points, roots: Roots) -> FloatArray:
        result = np.zeros(len(points))
        tested = [member.member.condition(points) for member in self._members]

        def block(start: int, stop: int) -> None:
            rows = np.arange(start, stop)
            some = points.take(rows)
            for member, test in zip(self._members, tested, strict=True):
                cross = member.member.joint_covariance(self._at, some, member.whitened, test.whitened[:, rows])
                result[rows] += self._after(member, cross, test.variance[rows], roots)

        parallel_blocks(block, len(points), step_block(len(points)))
        return result / len(self._members)

    def _after(self, member: MemberPaths, cross: FloatArray, variance: FloatArray, roots: Roots) -> FloatArray:
        """Expected divergence under one member for a block of tests; cross = c(R, p) [R, B], variance v_p [B]."""
        sampled = member.sampled_outcomes(cross, variance, self._draws)
        spread = np.sqrt(variance + member.member.noise)[:, None]
        directions = np.ascontiguousarray((self._orientation * cross.T / spread**2).astype(np.float32))
        total = np.zeros(len(variance))
        for z, weight in zip(roots.z, roots.w, strict=True):
            total += weight * member.paths.after(directions, (spread * z).astype(np.float32) - sampled)
        return total
