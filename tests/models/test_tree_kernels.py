"""The kernels against the same algorithm in plain Python, which grows every tree from nothing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from leantune.arrays import FloatArray
from leantune.models import tree_kernels as kernels
from leantune.models.base import SingleArray

MASK = 2**64 - 1
SEED = 12345


def splitmix(state: int, number: int) -> int:
    z = (state + 0x9E3779B97F4A7C15 * (number + 1)) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


class Branch(NamedTuple):
    feature: int
    cut: float
    left: Branch | float
    right: Branch | float


def cut_of(path: int, feature: int, column: list[float]) -> float:
    low, high = min(column), max(column)
    cut = low + (splitmix(path, 2 + feature) >> 11) * 2.0**-53 * (high - low)
    return cut if cut < high else low


def grow(rows: list[int], table: kernels.TrainingTable, t: int, path: int, min_leaf: int = 1) -> Branch | float:
    """The tree of the rows: the definition, without any care for speed."""
    weight, y, x = table.weight[t].tolist(), table.y.tolist(), table.x.tolist()
    features, all_weight, all_total = len(x[0]), sum(weight[i] for i in rows), 0.0
    for i in rows:
        all_total += weight[i] * y[i]
    best, best_score, best_cut = -1, -1.0, 0.0
    if len(rows) > min_leaf and any(y[i] != y[rows[0]] for i in rows):
        for j in range(features):
            cut = cut_of(path, j, [x[i][j] for i in rows])
            left_weight, left_total = 0.0, 0.0
            for i in rows:
                left_weight += weight[i] if x[i][j] <= cut else 0.0
                left_total += weight[i] * y[i] if x[i][j] <= cut else 0.0
            if not 0.0 < left_weight < all_weight:
                continue
            score = (left_total * all_weight - all_total * left_weight) ** 2
            score /= left_weight * (all_weight - left_weight)
            draws = [splitmix(path, 2 + features + k) for k in (j, best)] if best >= 0 else [1, 0]
            tied = abs(score - best_score) <= kernels.NEAR_TIE * best_score
            if best < 0 or (draws[0] > draws[1] if tied else score > best_score):
                best, best_score, best_cut = j, score, cut
    if best < 0:
        return float(all_total / all_weight)
    sides = [[i for i in rows if x[i][best] <= best_cut], [i for i in rows if x[i][best] > best_cut]]
    children = [grow(side, table, t, splitmix(path, turn), min_leaf) for turn, side in enumerate(sides)]
    return Branch(best, best_cut, children[0], children[1])


def look_up(tree: Branch | float, x: FloatArray) -> float:
    while isinstance(tree, Branch):
        tree = tree.left if x[tree.feature] <= tree.cut else tree.right
    return tree


def oracle_values(table: kernels.TrainingTable, at: FloatArray, min_leaf: int = 1) -> FloatArray:
    values = np.empty((len(table.weight), len(at)))
    for t, weight in enumerate(table.weight):
        tree = grow(np.flatnonzero(weight).tolist(), table, t, splitmix(splitmix(SEED, 0), t), min_leaf)
        values[t] = [look_up(tree, row) for row in at]
    return values


def random_table(seed: int, rows: int = 14, trees: int = 5) -> kernels.TrainingTable:
    """Features of all kinds: continuous, coarse, constant; duplicated rows and equal targets."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.random(rows), rng.integers(0, 3, rows) / 2, np.full(rows, 0.3), rng.random(rows)])
    x[rows // 2] = x[0]
    y = kernels.on_grid(np.round(rng.standard_normal(rows), 1))
    weight = rng.poisson(1.0, (trees, rows)).astype(np.float64)
    weight[:, 0] += 1.0
    return kernels.TrainingTable(x, y, weight)


def random_rows(seed: int, count: int) -> FloatArray:
    """Partly outside the range of `random_table`, in its constant feature as well."""
    rng = np.random.default_rng([seed, 1])
    coarse = rng.integers(0, 3, count) / 2
    return np.column_stack([rng.random(count) * 1.2, coarse, rng.choice([0.3, 0.8], count), rng.random(count)])


def grown(table: kernels.TrainingTable, min_leaf: int = 1) -> kernels.Forest:
    forest = kernels.empty_forest(len(table.weight), *table.x.shape)
    kernels.grow_forest(forest, table, np.uint64(SEED), min_leaf)
    return forest


def values_of(table: kernels.TrainingTable, at: FloatArray, min_leaf: int = 1) -> FloatArray:
    values = np.empty((len(table.weight), len(at)))
    kernels.evaluate(grown(table, min_leaf), at, values)
    return values


def sorted_places(forest: kernels.Forest, at: FloatArray) -> kernels.Places:
    places = kernels.empty_places(forest, at)
    kernels.sort_places(forest, places)
    return places


def test_draws_are_splitmix64() -> None:
    assert int(kernels.draw(np.uint64(0), 0)) == 0xE220A8397B1DCDAF  # the generator's published first output
    assert [int(kernels.draw(np.uint64(SEED), k)) for k in range(4)] == [splitmix(SEED, k) for k in range(4)]


@pytest.mark.parametrize("min_leaf", [1, 3])
@pytest.mark.parametrize("seed", range(8))
def test_trees_are_those_of_the_oracle_bit_for_bit(seed: int, min_leaf: int) -> None:
    table, at = random_table(seed), random_rows(seed, 30)
    assert (values_of(table, at, min_leaf) == oracle_values(table, at, min_leaf)).all()


@pytest.mark.parametrize("min_leaf", [1, 3])
@pytest.mark.parametrize("seed", range(8))
def test_regrowing_along_the_path_is_growing_from_nothing_bit_for_bit(seed: int, min_leaf: int) -> None:
    table, at = random_table(seed, rows=25), random_rows(seed, 40)
    forest, added = grown(table, min_leaf), np.array([0.0, 1.0, 2.0, 1.0, 3.0])
    places, bench = sorted_places(forest, at), kernels.make_bench(table, added, min_leaf, at)
    tests = np.concatenate([random_rows(seed + 100, 12), table.x[:3]])
    for x, y in zip(tests, kernels.on_grid(np.linspace(-2.0, 2.0, len(tests))), strict=True):
        kernels.regrow(forest, bench, places, x, y)
        weight = np.column_stack([table.weight, added])
        longer = kernels.TrainingTable(np.vstack([table.x, x]), np.append(table.y, y), weight)
        assert (bench.places.values == values_of(longer, at, min_leaf)).all()
        assert (bench.places.values == oracle_values(longer, at, min_leaf)).all()
        assert (bench.places.values[0] == places.values[0]).all()


def test_places_get_the_values_of_their_leaves() -> None:
    table, at = random_table(3), random_rows(3, 50)
    forest = grown(table)
    assert (sorted_places(forest, at).values == values_of(table, at)).all()
    kernels.sort_places(forest, kernels.empty_places(forest, np.empty((0, 4))))


def test_tied_features_are_drawn() -> None:
    """Two rows that differ in every feature: each feature is as good as any other."""
    counts = np.zeros(4)
    table = kernels.TrainingTable(np.array([[0.0] * 4, [1.0] * 4]), np.array([0.0, 1.0]), np.ones((400, 2)))
    for node in grown(table).nodes[:, 0]:
        counts[node["feature"]] += 1
    assert counts.min() > 70


def test_moments_are_those_of_numpy_with_a_floor() -> None:
    values = np.random.default_rng(0).standard_normal((6, 9))
    values[:, 4] = 1.5
    mean, sd = np.empty((2, 9))
    kernels.moments(values, 0.2, mean, sd)
    np.testing.assert_allclose(mean, values.mean(axis=0), rtol=1e-13)
    np.testing.assert_allclose(sd, np.maximum(values.std(axis=0, ddof=1), 0.2), rtol=1e-13)
    assert sd[4] == 0.2


def test_simulate_gives_the_moments_after_every_outcome() -> None:
    table, at, tests = random_table(1), random_rows(1, 7), random_rows(2, 3)
    forest, outcomes = grown(table), np.array([[0.0, 1.0], [-1.0, 0.3], [2.0, 2.5]])
    places, bench = sorted_places(forest, at), kernels.make_bench(table, np.ones(5), 1, at)
    mean, sd = np.empty((2, 3, 2, 7))
    kernels.simulate(forest, bench, places, tests, outcomes, 0.01, mean, sd)
    for b, k in np.ndindex(outcomes.shape):
        weight = np.column_stack([table.weight, np.ones(5)])
        longer = kernels.TrainingTable(np.vstack([table.x, tests[b]]), np.append(table.y, outcomes[b, k]), weight)
        values = oracle_values(longer, at)
        np.testing.assert_allclose(mean[b, k], values.mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(sd[b, k], np.maximum(values.std(axis=0, ddof=1), 0.01), rtol=1e-9)


def shared_divergence(samples: SingleArray) -> float:
    """KL to uniform of the place of the largest value, ties shared; samples [S, R]."""
    largest = samples == samples.max(axis=1, keepdims=True)
    shares = (largest / largest.sum(axis=1, keepdims=True)).mean(axis=0)
    shares = shares[shares > 0.0]
    return float((shares * np.log(shares * samples.shape[1])).sum())


def started(values: FloatArray, mix: SingleArray) -> tuple[kernels.Tournament, float]:
    tournament = kernels.make_tournament(mix, values.shape[1])
    return tournament, float(kernels.start_tournament(tournament, values))


@pytest.mark.parametrize("seed", range(4))
def test_divergence_is_that_of_the_counted_argmax_with_ties_shared(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((5, 12))
    values[:, 7], values[:, 9] = values[:, 2], values[:, 2]
    mix = rng.standard_normal((5, 300)).astype(np.float32)
    tournament, divergence = started(values, mix)
    samples = (values.T.astype(np.float32) @ mix).T
    assert divergence == pytest.approx(shared_divergence(samples[:, :]), abs=0.02)
    assert int(tournament.wins.sum()) == 300
    assert tournament.twin.tolist() == [0, 1, 2, 3, 4, 5, 6, 2, 8, 2, 10, 11]
    assert int(tournament.twins[2]) == 3


def test_when_nothing_can_be_told_apart_there_is_no_divergence() -> None:
    _, divergence = started(np.full((4, 20), 0.7), np.ones((4, 50), np.float32))
    assert divergence == 0.0


def test_expected_divergence_is_that_of_the_regrown_values() -> None:
    table, at, tests = random_table(5), random_rows(5, 20), random_rows(6, 6)
    forest, outcomes, chance = grown(table), np.array([[-1.0, 0.0, 1.5]] * 6), np.array([0.2, 0.5, 0.3])
    places, bench = sorted_places(forest, at), kernels.make_bench(table, np.ones(5), 1, at)
    mix = np.random.default_rng(0).standard_normal((5, 400)).astype(np.float32)
    tournament, _ = started(places.values, mix)
    result = np.empty(6)
    kernels.expected_divergences(forest, bench, places, tournament, tests, outcomes, chance, result)
    for b in range(6):
        expected = 0.0
        for k in range(3):
            kernels.regrow(forest, bench, places, tests[b], outcomes[b, k])
            expected += chance[k] * started(bench.places.values, mix)[1]
        assert result[b] == pytest.approx(
            expected, abs=0.02
        )  # samples are updated, not summed anew: near-ties may turn
