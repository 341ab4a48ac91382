"""What the caps for large spaces cost: capped proposals against uncapped ones, at a size where both can be had.

p_opt is sampled, so that other random numbers alone change some proposals. That share is measured as well: a cap that
agrees as often as chance does costs nothing that can be seen.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from statistics import mean, median

import numpy as np

from benchmarks.datasets import Dataset
from benchmarks.histories import history_of, proposed
from leantune.acquisition.base import Acquisition, Belief, Conditions, Pairs, PerDollar, Times
from leantune.acquisition.entropy import InformationGain
from leantune.acquisition.incumbents import alpha_t
from leantune.arrays import FloatArray
from leantune.history import History
from leantune.models.gp import GpFitter
from leantune.problem import Problem
from leantune.strategies.proposals import Proposal
from leantune.strategies.recipe import Caps, Recipe
from leantune.strategies.registry import recipe
from leantune.strategies.strategy import Strategy

UNLIMITED = 10**9
UNCAPPED = Caps(candidates=UNLIMITED, representers=UNLIMITED, incumbents=UNLIMITED)
# Of the table's 288 configurations about a third, and about half of the pairs that CEA 10 % would take.
CANDIDATES, REPRESENTERS, INCUMBENTS = 70, 100, 100


@dataclass(frozen=True)
class Agreement:
    """How a changed recipe compares with the uncapped one over some seeds.

    equal: share of equal proposals. median_rank, worst_rank: of the proposal in the uncapped acquisition (1 is its
    best). value: mean of the uncapped acquisition at the proposal over its largest value.
    """

    recipe: str
    changed: str
    observations: int
    seeds: int
    equal: float
    median_rank: float
    worst_rank: int
    value: float


@dataclass
class _Recorded:
    """An acquisition that remembers what it was asked and what it answered."""

    inner: Acquisition
    answers: list[tuple[Pairs, FloatArray]] = field(default_factory=list)

    def values(self, belief: Belief, pairs: Pairs, conditions: Conditions) -> FloatArray:
        values = self.inner.values(belief, pairs, conditions)
        self.answers.append((pairs, values))
        return values


def uncapped(plain: Recipe) -> Recipe:
    """The recipe without caps on configurations and pairs."""
    return replace(plain, caps=UNCAPPED)


def configuration_caps(plain: Recipe) -> dict[str, Recipe]:
    """A recipe of the TrimTuner family with smaller caps, one at a time and together; and other random numbers."""
    free = uncapped(plain)
    other_draws = alpha_t(InformationGain(samples=_samples(plain) + 1))
    caps = {
        "the recipe's own caps": plain.caps,
        f"{CANDIDATES} candidates": replace(UNCAPPED, candidates=CANDIDATES),
        f"{REPRESENTERS} representers": replace(UNCAPPED, representers=REPRESENTERS),
        f"{INCUMBENTS} incumbents": replace(UNCAPPED, incumbents=INCUMBENTS),
        "all three": Caps(candidates=CANDIDATES, representers=REPRESENTERS, incumbents=INCUMBENTS),
    }
    capped = {name: replace(plain, caps=cap) for name, cap in caps.items()}
    return {"no cap, other random numbers": replace(free, acquisition=other_draws), **capped}


def _samples(plain: Recipe) -> int:
    """Sample paths of a recipe whose acquisition is alpha_T."""
    assert isinstance(plain.acquisition, PerDollar)
    assert isinstance(plain.acquisition.worth, Times)
    gain = plain.acquisition.worth.factors[0]
    assert isinstance(gain, InformationGain)
    return gain.samples


def density_cap() -> tuple[Recipe, dict[str, Recipe]]:
    """A recipe without the cap on the observations that hyper-parameters are sampled on, and with it."""
    plain = recipe("trimtuner-gp")
    models = plain.models
    assert isinstance(models, GpFitter)
    free = replace(plain, models=replace(models, density_observations=UNLIMITED))
    return free, {f"hyper-parameters on {models.density_observations} observations": plain}


def compare(
    free: Recipe, changed: dict[str, Recipe], dataset: Dataset, *, observations: int, seeds: int
) -> list[Agreement]:
    """Each changed recipe against the free one, on one history a seed."""
    problem = dataset.problem()
    rows: dict[str, list[tuple[int, float]]] = {name: [] for name in changed}
    for seed in range(seeds):
        history = history_of(dataset, problem, free.start, observations=observations, seed=seed)
        best, pairs, values = _asked(free, problem, history, seed)
        for name, other in changed.items():
            proposal = proposed(Strategy(other), problem, history, seed)
            same = (best.configuration, best.fraction) == (proposal.configuration, proposal.fraction)
            rows[name].append((1, 1.0) if same else _rank(problem, proposal, pairs, values))
    return [_summary(free.name, name, observations, found) for name, found in rows.items()]


def _asked(free: Recipe, problem: Problem, history: History, seed: int) -> tuple[Proposal, Pairs, FloatArray]:
    """The free recipe's proposal, and its acquisition at the pairs it looked at."""
    assert free.acquisition is not None
    recorded = _Recorded(free.acquisition)
    proposal = proposed(Strategy(replace(free, acquisition=recorded)), problem, history, seed)
    return proposal, *recorded.answers[-1]


def _rank(problem: Problem, proposal: Proposal, pairs: Pairs, values: FloatArray) -> tuple[int, float]:
    """Rank (from 2: it is not the best) and relative value of a proposal; last and 0 where it was not looked at."""
    row = problem.space.grid().index_of(proposal.configuration)
    level = problem.level_of(proposal.fraction)
    found = np.flatnonzero((pairs.configuration == row) & (pairs.level == level))
    if len(found) == 0:
        return len(pairs) + 1, 0.0
    value = float(values[found[0]])
    return 1 + max(1, int((values > value).sum())), value / max(float(values.max()), 1e-300)


def _summary(name: str, changed: str, observations: int, found: list[tuple[int, float]]) -> Agreement:
    ranks = [rank for rank, _ in found]
    return Agreement(
        recipe=name,
        changed=changed,
        observations=observations,
        seeds=len(found),
        equal=float(mean(rank == 1 for rank in ranks)),
        median_rank=float(median(ranks)),
        worst_rank=max(ranks),
        value=mean(value for _, value in found),
    )
