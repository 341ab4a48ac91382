"""Bagged extremely randomised trees: fast, and good with steps and plateaus.

Each of T trees is grown on its own bootstrap of the observations, on the features [x, s~]; mean and deviation over
trees give a Gaussian. The bootstrap is kept as whole weights: multinomial for the fitted observations, Poisson(1) for
a point that is added later, drawn beforehand per (tree, index of the added point). So the present model and every
simulated one share bootstrap and cuts, and differ by the new point and not by luck.

Trees cannot extrapolate: at a fraction that was hardly tested they repeat what smaller ones showed. So they are grown
on what is left of the targets once a common slope in s~ is taken out (`trend`), the trees' form of what Fabolas' kernel
knows: log dollars, log seconds and the log of the error change with log s much alike for all configurations. How much
that helps on the papers' tables is what `python -m benchmarks.model_error` measures.

Symbols: T trees, n observations, f = d + 1 features, B simulated tests, K roots, R points, S samples. Targets are
standardised by the mean and deviation of the *fitted* observations; what is added later is measured on the same
scale.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from scipy.special import erfcx

from leantune.arrays import FloatArray, IntArray
from leantune.errors import StrategyError
from leantune.models import tree_kernels as kernels
from leantune.models.base import UNKNOWN_SCALING, Data, Gaussian, Points, Roots, Scaling
from leantune.models.paths import SamplePaths
from leantune.models.threads import parallel_blocks

ROW_BLOCK = 2048  # places predicted at once
TEST_BLOCK = 16  # simulated tests handed to a thread at once
CONDITION_BLOCK = 72
ROUNDING = 1e-12  # of squared differences of s~: repeats at one fraction do not make a slope
BOOTSTRAP, ADDED, CUTS = range(3)  # streams of random numbers of one seed
POISSON_1 = np.cumsum(np.exp(-1.0) / np.cumprod([1.0, *range(1, 18)]))  # distribution function at 0, 1, ... 17

Gain = Literal["regrown", "conditioned"]


@dataclass(frozen=True)
class TreesFitter:
    """How trees are grown; equal data and seed give equal trees.

    min_leaf: a node with at most so many observations is a leaf. floor: the smallest deviation, as a share of the
    targets' own, which is also the noise of a simulated measurement: a leaf of one observation must not claim
    certainty. imputation_rounds: a censored target is replaced by E[y | y beyond the bound] under the prediction of
    the trees that did not see it (of all trees where fewer than two did not), so many times; the first round starts
    from the bound. trend: take the slope in s~ out first. gain: how `OptimumBelief.expected_divergence` learns from a
    simulated test, see `RegrownOptimum` and `ConditionedOptimum`.
    """

    trees: int = 10
    min_leaf: int = 1
    floor: float = 0.05
    imputation_rounds: int = 2
    trend: bool = True
    gain: Gain = "regrown"
    gain_trees: int = 300

    def __post_init__(self) -> None:
        counts = (self.trees, self.min_leaf, self.imputation_rounds, self.gain_trees)
        if min(counts) < 1 or not self.floor > 0.0:
            raise StrategyError(f"{self}", hint="The counts are 1 or more and the floor is above 0")
        if self.gain not in get_args(Gain):
            raise StrategyError(f"gain is {self.gain!r}", where="TreesFitter", hint=f"Give one of {get_args(Gain)}")

    def caps_at(self, observations: int, pairs: int = 0) -> tuple[str, ...]:
        """See Fitter: trees use every observation."""
        return ()

    def fit(
        self, data: Data, *, grows_with_data: bool, seed: int, pairs: int = 0, scaling: Scaling = UNKNOWN_SCALING
    ) -> Trees:
        """See Fitter. Trees need not be told how quantities change with the data."""
        if not len(data):
            raise StrategyError("there is no observation", where="TreesFitter.fit", hint="Test something first")
        rows = _features(data.points)
        slope = _slope(data) if self.trend else 0.0
        rise = slope * data.points.s
        model = _grow(self, rows, data.y - rise, slope, seed)
        if data.censored.any():
            for _ in range(self.imputation_rounds):
                mean, sd = model.out_of_bag()
                y = np.where(data.censored, _beyond(data, mean + rise, sd), data.y)
                model = _grow(self, rows, y - rise, slope, seed)
        return model


@dataclass(frozen=True, eq=False)
class Trees:
    """A grown ensemble; see Surrogate. The table holds standardised targets, fitted observations first."""

    settings: TreesFitter
    table: kernels.TrainingTable
    forest: kernels.Forest
    slope: float
    centre: float
    spread: float
    observed: int
    seed: int

    def predict(self, points: Points) -> Gaussian:
        return self._answer(*self._predict_rows(_features(points)), points.s)

    def predict_grid(self, x: FloatArray, levels: FloatArray) -> Gaussian:
        mean, sd = np.empty((2, len(x), len(levels)))

        def block(start: int, stop: int) -> None:
            part = x[start:stop]
            points = Points(np.repeat(part, len(levels), axis=0), np.tile(levels, len(part)))
            moments = self._moments(_features(points))
            mean[start:stop], sd[start:stop] = (array.reshape(len(part), -1) for array in moments)

        parallel_blocks(block, len(x), max(1, ROW_BLOCK // max(1, len(levels))))
        return self._answer(mean, sd, levels)

    def extend(self, points: Points, y: FloatArray) -> Trees:
        """See Surrogate: regrown, on the scale of the fitted observations."""
        rows = np.concatenate([self.table.x, _features(points)])
        flat = kernels.on_grid((y - self.slope * points.s - self.centre) / self.spread)
        return self._regrown(rows, np.concatenate([self.table.y, flat]))

    def with_trees(self, count: int) -> Trees:
        """The same data with another number of trees."""
        return replace(self, settings=replace(self.settings, trees=count))._regrown(self.table.x, self.table.y)

    def simulate(self, points: Points, roots: Roots, at: Points) -> Gaussian:
        tests, places = _features(points), self.place(at)
        outcomes = self.outcomes(tests, roots)
        mean, sd = np.empty((2, *outcomes.shape, len(at)))

        def block(start: int, stop: int) -> None:
            part = slice(start, stop)
            bench, floor = self.bench(places), self.settings.floor
            kernels.simulate(self.forest, bench, places, tests[part], outcomes[part], floor, mean[part], sd[part])

        parallel_blocks(block, len(points), TEST_BLOCK)
        return self._answer(mean, sd, at.s)

    def optimum(self, at: Points, samples: int, seed: int) -> RegrownOptimum | ConditionedOptimum:
        return OPTIMA[self.settings.gain](self, at, samples, seed)

    def values(self, rows: FloatArray) -> FloatArray:
        """Each tree's value at rows [N, f], standardised; [T, N]."""
        values = np.empty((self.settings.trees, len(rows)))
        kernels.evaluate(self.forest, rows, values)
        return values

    def outcomes(self, tests: FloatArray, roots: Roots) -> FloatArray:
        """Simulated measurements of tests [B, f]: mean + z_k sqrt(sd^2 + floor^2), standardised; [B, K]."""
        mean, sd = self._predict_rows(tests)
        return kernels.on_grid(mean[:, None] + np.hypot(sd, self.settings.floor)[:, None] * roots.z)

    def place(self, at: Points) -> kernels.Places:
        """Sort points into the trees."""
        places = kernels.empty_places(self.forest, _features(at))
        kernels.sort_places(self.forest, places)
        return places

    def bench(self, places: kernels.Places) -> kernels.Bench:
        """Room to simulate one more measurement, in one thread."""
        added = self._added_weight(len(self.table.y) - self.observed)
        return kernels.make_bench(self.table, added, self.settings.min_leaf, places.x)

    def out_of_bag(self) -> tuple[FloatArray, FloatArray]:
        """Mean and deviation of each observation by the trees that did not see it (all, if less than two did not);
        [n].
        """
        values, unseen = self.values(self.table.x), self.table.weight == 0.0
        unseen[:, unseen.sum(axis=0) < 2] = True
        count = unseen.sum(axis=0)
        mean = np.where(unseen, values, 0.0).sum(axis=0) / count
        variance = np.where(unseen, (values - mean) ** 2, 0.0).sum(axis=0) / np.maximum(count - 1, 1)
        sd = np.maximum(np.sqrt(variance), self.settings.floor)
        return self.centre + self.spread * mean, self.spread * sd

    def _regrown(self, rows: FloatArray, y: FloatArray) -> Trees:
        """Grown anew on rows [n, f] and standardised y [n], of which the first are the fitted observations."""
        fitted = _bootstrap(self.observed, self.settings.trees, self.seed)
        added = [self._added_weight(index) for index in range(len(y) - self.observed)]
        table = kernels.TrainingTable(rows, y, np.column_stack([fitted, *added]))
        return replace(self, table=table, forest=_grown(table, self.seed, self.settings.min_leaf))

    def _added_weight(self, index: int) -> FloatArray:
        """Poisson(1) weight of the index-th added point in each tree, [T].

        Stratified over trees: each weight by itself is Poisson(1), and about 63 % of the trees learn of every point.
        """
        rng = np.random.default_rng([self.seed, ADDED, index])
        strata = rng.permutation(self.settings.trees) + rng.random(self.settings.trees)
        return np.searchsorted(POISSON_1, strata / self.settings.trees, side="right").astype(np.float64)

    def _predict_rows(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        mean, sd = np.empty((2, len(rows)))

        def block(start: int, stop: int) -> None:
            mean[start:stop], sd[start:stop] = self._moments(rows[start:stop])

        parallel_blocks(block, len(rows), ROW_BLOCK)
        return mean, sd

    def _moments(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        mean, sd = np.empty((2, len(rows)))
        kernels.moments(self.values(rows), self.settings.floor, mean, sd)
        return mean, sd

    def _answer(self, mean: FloatArray, sd: FloatArray, s: FloatArray) -> Gaussian:
        """Back on the modelled scale; s belongs to the last axis."""
        return Gaussian(self.slope * s + self.centre + self.spread * mean, self.spread * sd)


def _mixture(trees: int, samples: int, rng: np.random.Generator) -> FloatArray:
    """f_s = mean + sum_t w_st (f_t - mean) / sqrt(T - 1), w standard normal, as weights of the trees; [T, S]."""
    w = rng.standard_normal((trees, samples))
    return np.asarray(1.0 / trees + (w - w.mean(axis=0)) / np.sqrt(max(trees - 1, 1)))


class RegrownOptimum:
    """p_opt by samples of the Gaussian with the trees' covariance; see OptimumBelief.

    For every simulated test and root the trees are regrown, and the same mixture of them is taken. Points that no tree
    tells apart tie in every sample and share the probability.
    """

    def __init__(self, model: Trees, at: Points, samples: int, seed: int) -> None:
        mix = _mixture(model.settings.trees, samples, np.random.default_rng(seed))
        self._model, self._places = model, model.place(at)
        self._tournament = kernels.make_tournament(mix.astype(np.float32), len(at))
        self._divergence = float(kernels.start_tournament(self._tournament, self._places.values))

    @property
    def probability(self) -> FloatArray:
        first = self._tournament.twin
        return np.asarray(self._tournament.wins[first] / (self._tournament.twins[first] * len(self._tournament.winner)))

    @property
    def divergence(self) -> float:
        return self._divergence

    def expected_divergence(self, points: Points, roots: Roots) -> FloatArray:
        tests, model, places = _features(points), self._model, self._places
        outcomes, result = model.outcomes(tests, roots), np.empty(len(tests))

        def block(start: int, stop: int) -> None:
            part, tournament = slice(start, stop), kernels.fork_tournament(self._tournament)
            bench, x, y = model.bench(places), tests[part], outcomes[part]
            kernels.expected_divergences(model.forest, bench, places, tournament, x, y, roots.w, result[part])

        parallel_blocks(block, len(tests), TEST_BLOCK)
        return result


class ConditionedOptimum:
    """p_opt by the same samples, of more trees, conditioned on the outcome as a Gaussian is; see OptimumBelief.

        f_s + c(., p) (y - f_s(p) - e_s) / (v_p + floor^2),   c and v the trees' covariance and variance

    Not a refit, but much less a matter of luck (benchmarks/tree_gain.py): on 48 observations 300 trees rank tests as
    2,000 do, to a rank correlation above 0.8; 300 regrown trees do not come near that.
    """

    def __init__(self, model: Trees, at: Points, samples: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self._model = model.with_trees(max(model.settings.trees, model.settings.gain_trees))
        self._mix = _mixture(self._model.settings.trees, samples, rng).astype(np.float32)
        self._noise = model.settings.floor * rng.standard_normal(samples)
        values = self._model.values(_features(at))
        self._first, copies = _twins(values)
        self._deviations = values - values.mean(axis=0)
        self._paths = SamplePaths.of(np.ascontiguousarray(values.T.astype(np.float32) @ self._mix), copies)

    @property
    def probability(self) -> FloatArray:
        return np.asarray((self._paths.probability / np.maximum(self._paths.copies, 1))[self._first])

    @property
    def divergence(self) -> float:
        return self._paths.divergence

    def expected_divergence(self, points: Points, roots: Roots) -> FloatArray:
        tests = _features(points)
        freedom, noise, result = max(len(self._mix) - 1, 1), self._model.settings.floor**2, np.zeros(len(tests))

        def block(start: int, stop: int) -> None:
            here = self._model.values(tests[start:stop])
            mean = here.mean(axis=0)
            variance = np.square(here - mean).sum(axis=0) / freedom + noise
            sampled = (here - mean).T.astype(np.float32) @ self._mix + self._noise.astype(np.float32)
            directions = ((here - mean).T @ self._deviations / freedom / variance[:, None]).astype(np.float32)
            for z, chance in zip(roots.z, roots.w, strict=True):
                surprise = (z * np.sqrt(variance)[:, None]).astype(np.float32) - sampled
                result[start:stop] += chance * self._paths.after(directions, surprise)

        parallel_blocks(block, len(tests), CONDITION_BLOCK)
        return result


OPTIMA: dict[Gain, type[RegrownOptimum] | type[ConditionedOptimum]] = {
    "regrown": RegrownOptimum,
    "conditioned": ConditionedOptimum,
}


def _twins(values: FloatArray) -> tuple[IntArray, IntArray]:
    """Places that no tree tells apart, from values [T, R]: the first of each group, and at that one their number."""
    seen: dict[bytes, int] = {}
    first = np.array([seen.setdefault(row.tobytes(), r) for r, row in enumerate(np.ascontiguousarray(values.T))])
    return first, np.bincount(first, minlength=len(first))


def _features(points: Points) -> FloatArray:
    """[x, s~] as rows; [n, d + 1]."""
    return np.column_stack([points.x, points.s])


def _bootstrap(observations: int, trees: int, seed: int) -> FloatArray:
    """How often each tree's bootstrap draws each observation; [T, n]."""
    rng = np.random.default_rng([seed, BOOTSTRAP])
    shares = np.full(observations, 1.0 / observations)
    return rng.multinomial(observations, shares, size=trees).astype(np.float64)


def _slope(data: Data) -> float:
    """How y rises with s~, from measurements of the same configuration at several fractions:

        sum (s - mean_x s) (y - mean_x y) / sum (s - mean_x s)^2,   mean_x over the measurements of one configuration

    0 where no configuration was measured at two. Bounds say nothing about it.
    """
    measured = ~data.censored
    _, group = np.unique(data.points.x[measured], axis=0, return_inverse=True)
    s, y = data.points.s[measured], data.y[measured]
    group = group.ravel()  # numpy 2.0.0 gives a column
    size = np.bincount(group)
    s, y = (values - (np.bincount(group, values) / size)[group] for values in (s, y))
    spread = float(s @ s)
    return float(s @ y) / spread if spread > ROUNDING else 0.0


def _grow(settings: TreesFitter, rows: FloatArray, y: FloatArray, slope: float, seed: int) -> Trees:
    centre, spread = float(y.mean()), float(y.std())
    if spread <= 1e-12 * max(1.0, abs(centre)):  # constant: there is no scale to measure a deviation by
        spread = 1.0
    table = kernels.TrainingTable(
        rows, kernels.on_grid((y - centre) / spread), _bootstrap(len(y), settings.trees, seed)
    )
    return Trees(settings, table, _grown(table, seed, settings.min_leaf), slope, centre, spread, len(y), seed)


def _grown(table: kernels.TrainingTable, seed: int, min_leaf: int) -> kernels.Forest:
    forest = kernels.empty_forest(len(table.weight), *table.x.shape)
    node_seed = np.random.SeedSequence([seed, CUTS]).generate_state(1, np.uint64)[0]
    kernels.grow_forest(forest, table, node_seed, min_leaf)
    return forest


def _beyond(data: Data, mean: FloatArray, sd: FloatArray) -> FloatArray:
    """E[y | y beyond its bound] of normal beliefs: m + sd h((b - m) / sd), h the normal hazard; [n]."""
    side = -1.0 if data.bounds_above else 1.0
    excess = side * (data.y - mean) / sd
    hazard = np.sqrt(2.0 / np.pi) / erfcx(excess / np.sqrt(2.0))
    return np.asarray(data.y + side * sd * np.maximum(hazard - excess, 0.0))
