"""Searches over a grid of 20 x 20 configurations at three levels, with an evaluation that keeps a record."""

from dataclasses import dataclass, field, replace

import numpy as np

from leantune.acquisition.base import Belief, Conditions, CostModel, Pairs, Quantity
from leantune.arrays import BoolArray, FloatArray
from leantune.filters.base import Search, SearchResult
from leantune.models.base import Points
from leantune.models.scales import Transform
from tests.acquisition.small_world import FormulaModel, at_most, belief_of

SIDE = 20
LEVELS = np.array([0.0, 0.4, 1.0])


def grid_belief() -> Belief:
    """Accuracy grows with x_0 and s, dollars with x_1 and s; dollars are limited."""
    ticks = np.linspace(0.0, 1.0, SIDE)
    x = np.array([(a, b) for a in ticks for b in ticks])
    accuracy = FormulaModel(lambda p: 0.4 + p.x[:, 0] + 0.5 * p.s, lambda p: 0.1 + 0.2 * p.x[:, 1])
    dollars = FormulaModel(lambda p: 2.0 * p.x[:, 1] + p.s - 2.0, lambda p: np.full(len(p), 0.3))
    quantities = (Quantity("accuracy", accuracy, Transform("share")), Quantity("cost", dollars, Transform("log")))
    return replace(belief_of(*quantities, x=x, levels=LEVELS), limits=(at_most(1, -0.5, len(x)),))


def some_untested(share: float = 0.7) -> BoolArray:
    return np.asarray(np.random.default_rng(3).random((SIDE * SIDE, len(LEVELS))) < share)


def smooth(points: Points) -> FloatArray:
    """One hill, away from the middle and from the edges."""
    return np.exp(-8.0 * ((points.x[:, 0] - 0.8) ** 2 + (points.x[:, 1] - 0.25) ** 2 + 0.3 * (points.s - 1.0) ** 2))


@dataclass
class Recorder:
    """The acquisition as filters see it; remembers which pairs were asked for."""

    belief: Belief
    asked: list[tuple[int, int]] = field(default_factory=list)

    def __call__(self, pairs: Pairs) -> FloatArray:
        self.asked.extend(zip(pairs.configuration.tolist(), pairs.level.tolist(), strict=True))
        return smooth(self.belief.candidates.points(pairs))


def searching(
    belief: Belief | None = None,
    untested: BoolArray | None = None,
    *,
    cap: int = 2000,
    seed: int = 0,
    dollars_left: float = np.inf,
) -> tuple[Search, Recorder]:
    belief = grid_belief() if belief is None else belief
    recorder = Recorder(belief)
    mask = some_untested() if untested is None else untested
    conditions = Conditions(CostModel(1, belief.quantities[1].transform), dollars_left=dollars_left)
    return Search(belief, conditions, mask, recorder, cap, np.random.default_rng(seed)), recorder


def flat_of(searched: SearchResult) -> list[int]:
    return [int(flat) for flat in searched.pairs.configuration * len(LEVELS) + searched.pairs.level]


def assert_honest(search: Search, recorder: Recorder, searched: SearchResult) -> None:
    """Every pair was untested, asked for once, and carries the value that was answered."""
    assert len(set(recorder.asked)) == len(recorder.asked)
    assert all(search.untested[pair] for pair in recorder.asked)
    assert set(flat_of(searched)) == {c * len(LEVELS) + level for c, level in recorder.asked}
    assert (searched.values == smooth(search.belief.candidates.points(searched.pairs))).all()
