"""Small problems for acquisitions: a few configurations and levels, models that are fitted or known by formula."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from leantune.acquisition.base import (
    Belief,
    Candidates,
    Conditions,
    CostModel,
    Limit,
    Pairs,
    Quantity,
    RecommendationRule,
    Requirement,
)
from leantune.arrays import FloatArray
from leantune.models.base import Data, Fitter, Gaussian, OptimumBelief, Points, Roots, Surrogate
from leantune.models.gp import GaussianProcess, GpFitter
from leantune.models.scales import Transform
from leantune.models.trees import Trees, TreesFitter

FITTERS: dict[str, Fitter] = {"gp": GpFitter(samples=1), "trees": TreesFitter(trees=10)}
LEVELS = np.array([0.0, 1.0])


@dataclass(frozen=True)
class FormulaModel:
    """A surrogate whose belief is given by a formula; it learns nothing and cannot be simulated."""

    mean: Callable[[Points], FloatArray]
    sd: Callable[[Points], FloatArray] = lambda points: np.full(len(points), 0.5)

    def predict(self, points: Points) -> Gaussian:
        return Gaussian(self.mean(points), self.sd(points))

    def predict_grid(self, x: FloatArray, levels: FloatArray) -> Gaussian:
        shape = (len(x), len(levels))
        there = self.predict(Points(np.repeat(x, shape[1], axis=0), np.tile(levels, shape[0])))
        return Gaussian(there.mean.reshape(shape), there.sd.reshape(shape))

    def extend(self, points: Points, y: FloatArray) -> "FormulaModel":
        return self

    def simulate(self, points: Points, roots: Roots, at: Points) -> Gaussian:
        raise NotImplementedError

    def optimum(self, at: Points, samples: int, seed: int) -> OptimumBelief:
        raise NotImplementedError


def at_least(quantity: int, low: float, count: int) -> Limit:
    return Limit(quantity, np.full(count, low), np.full(count, np.inf))


def at_most(quantity: int, high: float, count: int) -> Limit:
    return Limit(quantity, np.full(count, -np.inf), np.full(count, high))


def all_pairs(belief: Belief) -> Pairs:
    """Every configuration at every level, configuration by configuration."""
    configurations, levels = len(belief.candidates.x), len(belief.candidates.levels)
    return Pairs(np.repeat(np.arange(configurations), levels), np.tile(np.arange(levels), configurations))


def belief_of(*quantities: Quantity, x: FloatArray, levels: FloatArray = LEVELS) -> Belief:
    """A belief without limits; tests add what they are about by `replace`."""
    return Belief(
        candidates=Candidates(x, levels),
        quantities=quantities,
        limits=(),
        best=1.0,
        worst=0.0,
        centre=0.5,
        spread=0.25,
    )


def fitted_world(fitter: Fitter, *, configurations: int = 6, seed: int = 0) -> Belief:
    """Accuracy (a share), dollars (log) and latency (linear) of `configurations` at two levels, each learned from six
    tests; accuracy costs dollars and milliseconds. Limits on dollars and latency.
    """
    rng = np.random.default_rng(seed)
    x = rng.random((configurations, 2))
    tested = Points(x[rng.integers(configurations, size=6)], rng.choice(LEVELS, 6))
    accuracy = 0.35 + 0.4 * tested.x[:, 0] + 0.15 * tested.s + 0.02 * rng.standard_normal(6)
    dollars = np.exp(-2.0 + 1.5 * tested.x[:, 0] + tested.s + 0.1 * rng.standard_normal(6))
    latency = 10.0 + 15.0 * tested.x[:, 1] + 0.5 * rng.standard_normal(6)
    told = [
        ("accuracy", Transform("share"), accuracy, False),
        ("cost", Transform("log"), dollars, True),
        ("latency", Transform("linear"), latency, False),
    ]
    quantities = tuple(
        Quantity(name, fitter.fit(_data(tested, transform, values), grows_with_data=grows, seed=seed), transform)
        for name, transform, values, grows in told
    )
    limits = (at_most(1, np.log(0.8), configurations), at_most(2, 21.0, configurations))
    return replace(belief_of(*quantities, x=x), limits=limits)


def conditions_of(belief: Belief, *, spend: int = 1, probability: float = 0.9) -> Conditions:
    """Quantity `spend` is the cost of a test; all limits together must hold with a probability."""
    rule = RecommendationRule((Requirement(belief.limits, probability),))
    return Conditions(CostModel(spend, belief.quantities[spend].transform), rule)


def _data(tested: Points, transform: Transform, values: FloatArray) -> Data:
    return Data.measured(tested, transform.forward(values))


def simulated_outcome(model: Surrogate, point: Points, z: float) -> FloatArray:
    """What `simulate` tells a model at root z: the mean plus z deviations, noise included.

    A Gaussian process (of one member) has learned its noise; trees take their floor for it.
    """
    now = model.predict(point)
    if isinstance(model, GaussianProcess):
        noise = abs(model.spread) * np.sqrt(model.members[0].noise)
    else:
        assert isinstance(model, Trees)
        noise = model.spread * model.settings.floor
    return np.asarray(now.mean + z * np.hypot(now.sd, noise))
