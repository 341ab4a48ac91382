"""Generated problems have the properties that their families promise, and are the same everywhere."""

from functools import cache
from itertools import product

import numpy as np
import pytest
from scipy.stats import spearmanr

from benchmarks.arena.generated import FAMILIES, FRACTIONS, Generated, space_of
from benchmarks.arena.problems import facts
from leantune.errors import InvalidInput
from leantune.lab.replay.noise import has_deviations
from leantune.lab.replay.tables import MeasuredTable
from leantune.lab.replay.truth import Truth
from leantune.problem import COST, TIME, Scale
from leantune.space import Cluster

NUMBERS = (0, 1, 2)
FULL = FRACTIONS[-1]


@cache
def table(family: str, number: int = 0) -> MeasuredTable:
    return Generated(family, number).load()


def values(family: str, number: int, share: int) -> np.ndarray:
    found = table(family, number)
    metric = found.problem.goal.metric
    ids = [one.id for one in found.problem.space.grid()]
    return np.array([found.measurements[one, FRACTIONS[share]].metrics[metric] for one in ids])


def feasible(family: str, number: int) -> float:
    truth = Truth.of(table(family, number))
    return float(np.mean([truth.judge(pair).feasible for pair in truth.answers()]))


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_a_problem_is_whole(family: str) -> None:
    found = table(family)
    count = len(found.problem.space.grid())
    assert count == (3000 if family == "large" else 360)
    assert len(found.measurements) == count * len(FRACTIONS)
    assert has_deviations(found)
    truth = Truth.of(found)
    assert np.isfinite(truth.best)
    near = sum(truth.judge(pair).within(0.99) for pair in truth.answers())
    assert 1 <= near < 0.15 * count, "the best is neither unknown nor everywhere"
    for one in found.measurements.values():
        assert one.seconds > 0
        assert one.cost is not None
        assert one.cost > 0
        assert all(np.isfinite(value) for value in one.metrics.values())
    assert found.problem.snapshots == (family != "no-snapshots")


@pytest.mark.parametrize(("family", "low", "high"), [("ranks-well", 0.85, 1.0), ("ranks-badly", 0.1, 0.45)])
def test_small_fractions_rank_well_or_badly(family: str, low: float, high: float) -> None:
    found = [spearmanr(values(family, number, 0), values(family, number, -1))[0] for number in NUMBERS]
    assert all(low < one < high for one in found)


def _by_nodes(family: str, number: int) -> tuple[float, float]:
    """Median ratios of seconds and of dollars, most over fewest nodes, everything else the same."""
    found = table(family, number)
    by: dict[tuple[object, ...], dict[int, str]] = {}
    for one in found.problem.space.grid():
        cluster = one["cluster"]
        assert isinstance(cluster, Cluster)
        rest = (one["learning_rate"], one["batch_size"], one["synchronism"], cluster.type)
        by.setdefault(rest, {})[cluster.nodes] = one.id
    ends = [(found.measurements[ids[max(ids)], FULL], found.measurements[ids[min(ids)], FULL]) for ids in by.values()]
    seconds = np.median([most.seconds / fewest.seconds for most, fewest in ends])
    return float(seconds), float(np.median([(most.cost or 0) / (fewest.cost or 1) for most, fewest in ends]))


@pytest.mark.parametrize("number", NUMBERS)
def test_nodes_help_or_do_not(number: int) -> None:
    seconds, dollars = _by_nodes("scales-well", number)
    assert seconds < 0.25, "eight nodes are at least four times faster"
    assert dollars < 2.0
    seconds, dollars = _by_nodes("scales-badly", number)
    assert seconds > 1.5
    assert dollars > 10.0


@pytest.mark.parametrize(
    ("family", "share"), [("tight", 0.1), ("loose", 0.7), ("two-limits", 0.25), ("uncapped", 0.5), ("capped", 0.5)]
)
def test_limits_leave_what_they_promise(family: str, share: float) -> None:
    for number in NUMBERS:
        assert feasible(family, number) == pytest.approx(share, abs=0.03)


def test_two_limits_both_bite() -> None:
    found = table("two-limits")
    assert {one.metric for one in found.problem.constraints} == {COST, TIME}
    truth = Truth.of(found)
    known = [truth.values(pair) for pair in truth.answers()]
    for limit in found.problem.constraints:
        kept = np.mean([one is not None and limit.holds(one[limit.metric]) for one in known])
        assert 0.3 < kept < 0.8


@pytest.mark.parametrize("number", NUMBERS)
def test_a_cap_cuts_a_third_and_what_it_cuts_ends_there(number: int) -> None:
    full = [one for (_, share), one in table("capped", number).measurements.items() if share == 1]
    assert np.mean([one.cut for one in full]) == pytest.approx(1 / 3, abs=0.03)
    (cap,) = {one.seconds for one in full if one.cut}
    assert max(one.seconds for one in full) == cap
    assert not any(one.cut for one in table("uncapped", number).measurements.values())


def test_losses_lie_beyond_one_and_are_minimised() -> None:
    for family, scale in (("loss", Scale.AUTO), ("perplexity", Scale.LOG)):
        assert values(family, 0, -1).min() > 1.0
        assert table(family).problem.goal.scale is scale
    accuracies = values("tight", 0, -1)
    assert 0 <= accuracies.min() < accuracies.max() <= 1


def test_more_data_is_better_and_dearer_in_the_middle() -> None:
    medians = [np.median(values("uncapped", 0, share)) for share in range(len(FRACTIONS))]
    assert medians == sorted(medians)
    costs = [
        np.median([one.cost for (_, share), one in table("uncapped").measurements.items() if share == fraction])
        for fraction in FRACTIONS
    ]
    assert costs == sorted(costs)
    assert costs[-1] == facts(Generated("uncapped", 0)).unit


def test_a_problem_is_a_function_of_family_and_number() -> None:
    again = Generated("tight", 1).load()
    assert again.digest == table("tight", 1).digest
    assert dict(again.measurements) == dict(table("tight", 1).measurements)
    digests = {table(family, number).digest for family, number in product(("tight", "loose"), NUMBERS)}
    assert len(digests) == 6


def test_the_space_of_a_family_and_unknown_ones() -> None:
    assert len(space_of(FAMILIES["tight"]).grid()) == 360
    with pytest.raises(InvalidInput, match="no family 'easy'"):
        Generated("easy", 0)
