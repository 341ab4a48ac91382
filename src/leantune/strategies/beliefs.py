"""From a problem and its history to the belief that acquisitions use.

Limits on the same modelled quantity are merged first: with known prices dollars and seconds are one quantity, so that
cost <= C_max and time <= T_max become one bound per configuration, min(C_max, T_max x rate) dollars (ALGORITHMS.md,
"Two problems"). Success is one more quantity, +1 or -1, limited to be positive; it exists only once something has
failed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

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
from leantune.arrays import BoolArray, FloatArray
from leantune.history import Estimate
from leantune.models.base import Data, Fitter, Gaussian, Scaling, Surrogate
from leantune.models.scales import Transform
from leantune.models.threads import parallel_map
from leantune.problem import COST, TIME, At, Constraint, Problem
from leantune.strategies.candidates import Table
from leantune.strategies.evidence import SMALLEST_SPEND, Evidence
from leantune.strategies.proposals import derived_seed
from leantune.strategies.recipe import Recipe
from leantune.units import SECONDS_PER_HOUR

SUCCESS = "success"
KEPT_FITS = 8  # models of the last history or two


@dataclass(frozen=True)
class _Spend:
    """The cost of a test: the metric that is modelled for it, and whether dollars are its seconds times the rate."""

    metric: str | None
    in_seconds: bool

    @classmethod
    def of(cls, recipe: Recipe, evidence: Evidence) -> _Spend:
        goal, follows = evidence.problem.goal.metric, evidence.dollars_follow_seconds
        if evidence.informative(COST).any() and not (follows and (recipe.spend == "seconds" or goal == TIME)):
            return cls(COST, False)
        return cls(TIME, follows) if evidence.informative(TIME).any() else cls(None, False)

    def cost(self, quantities: Sequence[Quantity], candidates: Candidates) -> CostModel:
        """What a test costs by the fitted quantities."""
        if self.metric is None:
            return CostModel()
        index = [quantity.name for quantity in quantities].index(self.metric)
        return CostModel(index, quantities[index].transform, candidates.rates if self.in_seconds else None)

    def modelled(self, metric: str, evidence: Evidence) -> str:
        """The metric on which a limit on `metric` is put: with known prices dollars and seconds are one quantity."""
        same = {metric, self.metric} == {COST, TIME} and evidence.dollars_follow_seconds
        return self.metric if same and self.metric is not None else metric


def _quantities(recipe: Recipe, evidence: Evidence, spend: _Spend, seed: int, pairs: int) -> tuple[Quantity, ...]:
    """Every quantity that goal, spending, limits and failures need, fitted at the same time."""
    models = recipe.models
    assert models is not None
    problem = evidence.problem
    wanted = [problem.goal.metric, spend.metric, *(spend.modelled(c.metric, evidence) for c in problem.constraints)]
    names = [name for name in dict.fromkeys(wanted) if name is not None]
    if (evidence.failed & ~evidence.ended).any():
        names.append(SUCCESS)

    def fitted(name: str) -> Quantity:
        transform = Transform("linear")
        if name != SUCCESS:
            transform = evidence.transform(name, natural=recipe.natural_scales)
        data = evidence.successes() if name == SUCCESS else evidence.data(name, transform)
        grows, scaling = name in (COST, TIME), _scaling(problem, name, transform)
        return Quantity(name, _fitted(models, data, grows, derived_seed(seed, name), pairs, scaling), transform)

    return tuple(parallel_map(fitted, names))


@lru_cache(maxsize=KEPT_FITS)
def _fitted(models: Fitter, data: Data, grows_with_data: bool, seed: int, pairs: int, scaling: Scaling) -> Surrogate:
    """Fitted once for one history, whether a test, the stop reason or a recommendation is asked for."""
    return models.fit(data, grows_with_data=grows_with_data, seed=seed, pairs=pairs, scaling=scaling)


def _scaling(problem: Problem, name: str, transform: Transform) -> Scaling:
    """There are laws for dollars, seconds and a goal that is a share, by its error, or a loss, by its logarithm; any
    other metric may change with the data in any way.
    """
    has_law = transform.kind in ("share", "logit") or (transform.kind == "log" and transform.descending)
    lawful = name in (COST, TIME) or (name == problem.goal.metric and has_law)
    return Scaling(-float(np.log(float(problem.fractions[0]))), lawful)


@dataclass(frozen=True)
class _Limits:
    """Puts constraints on the quantities they limit."""

    evidence: Evidence
    candidates: Candidates
    quantities: tuple[Quantity, ...]
    spend: _Spend

    def merged(self, constraints: Iterable[Constraint]) -> tuple[Limit, ...]:
        """One interval per quantity, that of success included."""
        limits: dict[int, Limit] = {}
        for limit in map(self.of, constraints):
            old = limits.get(limit.quantity, limit)
            low, high = np.maximum(old.low, limit.low), np.minimum(old.high, limit.high)
            limits[limit.quantity] = Limit(limit.quantity, low, high)
        return (*limits.values(), *self.success())

    def success(self) -> tuple[Limit, ...]:
        """Success must be positive, where it is modelled."""
        last = len(self.quantities) - 1
        if self.quantities[last].name != SUCCESS:
            return ()
        size = len(self.candidates.x)
        return (Limit(last, np.zeros(size), np.full(size, np.inf)),)

    def of(self, constraint: Constraint) -> Limit:
        """One constraint; a limit in dollars may become one in seconds and the other way round."""
        metric = self.spend.modelled(constraint.metric, self.evidence)
        bound = np.full(len(self.candidates.x), constraint.limit)
        if metric != constraint.metric:
            assert self.candidates.rates is not None
            rates = self.candidates.rates / SECONDS_PER_HOUR
            bound = bound * rates if metric == COST else bound / rates
        if metric in (COST, TIME):
            bound = np.maximum(bound, SMALLEST_SPEND)
        index = [quantity.name for quantity in self.quantities].index(metric)
        transform, unbounded = self.quantities[index].transform, np.full(len(bound), np.inf)
        if constraint.upper != transform.descending:
            return Limit(index, -unbounded, transform.forward(bound))
        return Limit(index, transform.forward(bound), unbounded)


def build_belief(
    recipe: Recipe,
    evidence: Evidence,
    candidates: Candidates,
    seed: int,
    *,
    dollars_left: float = np.inf,
    open_pairs: Pairs | None = None,
) -> tuple[Belief, Conditions]:
    """Fit every quantity that the problem and the recipe need; at least one run must have succeeded.

    dollars_left, open_pairs: see Conditions.
    """
    problem = evidence.problem
    if recipe.natural_scales:
        columns = problem.space.telling_features
        evidence = evidence.seen_by(columns)
        candidates = replace(candidates, x=np.ascontiguousarray(candidates.x[:, columns]))
    spend = _Spend.of(recipe, evidence)
    pairs = len(candidates.x) * len(problem.fractions)
    quantities = _quantities(recipe, evidence, spend, seed, pairs)
    limits = _Limits(evidence, candidates, quantities, spend)
    reported = evidence.informative(problem.goal.metric)
    objective = evidence.data(problem.goal.metric, quantities[0].transform).y
    answers = ~evidence.failed[reported]
    if problem.goal.at is At.FULL:
        answers &= evidence.level[reported] == len(problem.fractions) - 1
    belief = Belief(
        candidates=candidates,
        quantities=quantities,
        limits=limits.merged(problem.constraints),
        best=_best(objective, answers & evidence.kept_limits()[reported]),
        best_of_all=_best(objective, answers),
        answers_at=problem.goal.at,
        worst=float(objective.min()),
        centre=float(objective.mean()),
        spread=float(objective.std()) or 1.0,
    )
    conditions = Conditions(
        cost=spend.cost(quantities, candidates),
        rule=RecommendationRule(_requirements(recipe, problem, limits)),
        user_limits=tuple(map(limits.of, problem.constraints)),
        dollars_left=dollars_left,
        open_pairs=open_pairs,
        representers=recipe.caps.representers,
        incumbents=recipe.caps.incumbents,
        seed=derived_seed(seed, "optimum"),
    )
    return belief, conditions


def with_pending(belief: Belief, table: Table, predict: Callable[[Pairs], tuple[Gaussian, ...]]) -> Belief:
    """The belief if pending trials turn out as predicted."""
    pending = [(table.row_of(trial), trial) for trial in table.history.trials if trial.pending]
    pairs = [(row, table.problem.level_of(share)) for row, trial in pending if row >= 0 for share in trial.snapshots]
    if not pairs:
        return belief
    rows, levels = np.array(pairs, dtype=np.int64).T
    believed = Pairs(rows, levels)
    return belief.extended(believed, [gaussian.mean for gaussian in predict(believed)])


def _requirements(recipe: Recipe, problem: Problem, limits: _Limits) -> tuple[Requirement, ...]:
    """Limits that carry a probability stand alone; all others together must reach the recipe's."""
    if not recipe.incumbent.constrained:
        return ()
    own = [c for c in problem.constraints if c.probability is not None]
    shared = limits.merged(c for c in problem.constraints if c.probability is None)
    alone = [Requirement(limits.merged([c]), c.probability) for c in own if c.probability is not None]
    return (*alone, *([Requirement(shared, recipe.incumbent.probability)] if shared else []))


def _best(objective: FloatArray, counts: BoolArray) -> float | None:
    return float(objective[counts].max()) if counts.any() else None


def expectations(belief: Belief, cost: CostModel, beliefs: Sequence[Gaussian], row: int) -> dict[str, Estimate]:
    """Every modelled metric but success at one pair of the configuration in `row`, on its own scale; beliefs: per
    quantity, each [1]. Where seconds are modelled for dollars, both are told.
    """
    estimates = {
        quantity.name: Estimate(
            float(quantity.transform.expectation(gaussian)[0]), float(quantity.transform.deviation(gaussian)[0])
        )
        for quantity, gaussian in zip(belief.quantities, beliefs, strict=True)
        if quantity.name != SUCCESS
    }
    if cost.rates is not None and COST not in estimates:
        rate = float(cost.rates[row]) / SECONDS_PER_HOUR
        estimates[COST] = Estimate(estimates[TIME].mean * rate, estimates[TIME].sd * rate)
    return estimates
