"""The ensemble as a surrogate; what any surrogate promises is in test_surrogates, the kernels have their own oracle."""

from __future__ import annotations

import csv
import hashlib
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from scipy.stats import norm, spearmanr
from sklearn.ensemble import BaggingRegressor
from sklearn.tree import ExtraTreeRegressor

from leantune.arrays import FloatArray
from leantune.errors import StrategyError
from leantune.models.base import Data, Gaussian, Points, Roots
from leantune.models.threads import THREADS_VARIABLE
from leantune.models.trees import POISSON_1, Gain, Trees, TreesFitter
from tests.data import needs

REPOSITORY = Path(__file__).resolve().parents[2]
RNN = Path(os.environ.get("LEANTUNE_DATA", REPOSITORY.parent / "shared" / "data")) / "trimtuner" / "rnn.csv"
ROOTS = Roots.of(3)


def rows(points: Points) -> FloatArray:
    return np.column_stack([points.x, points.s])


def fit(data: Data, seed: int = 0, trees: int = 10, trend: bool = True) -> Trees:
    return TreesFitter(trees, trend=trend).fit(data, grows_with_data=False, seed=seed)


def smooth(seed: int, count: int) -> Points:
    rng = np.random.default_rng(seed)
    return Points(rng.random((count, 3)), rng.choice([0.0, 0.5, 1.0], count))


def height(points: Points) -> FloatArray:
    return np.asarray(np.sin(3.0 * points.x[:, 0]) + points.x[:, 1] * points.s)


def hill(count: int = 40) -> Data:
    return Data.measured(smooth(1, count), height(smooth(1, count)))


# -------------------- the model


def test_many_trees_predict_as_sklearn_s_ensemble_does() -> None:
    data, at = hill(60), smooth(2, 200)
    ours = fit(data, trees=300).predict(at)
    bag = BaggingRegressor(ExtraTreeRegressor(), n_estimators=300, random_state=0).fit(rows(data.points), data.y)
    theirs = np.stack([tree.predict(rows(at)) for tree in bag.estimators_])
    assert np.abs(ours.mean - theirs.mean(axis=0)).max() < 0.12
    assert np.sqrt(np.mean((ours.mean - theirs.mean(axis=0)) ** 2)) < 0.03
    assert np.median(ours.sd / theirs.std(axis=0, ddof=1)) == pytest.approx(1.0, abs=0.05)


def test_mean_and_deviation_are_those_over_the_trees() -> None:
    model, at = fit(hill(), trees=7), smooth(3, 50)
    values = model.centre + model.spread * model.values(rows(at))
    belief = model.predict(at)
    np.testing.assert_allclose(belief.mean, values.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(belief.sd, np.maximum(values.std(axis=0, ddof=1), 0.05 * model.spread), rtol=1e-9)


def test_the_deviation_has_a_floor_of_the_targets_scale() -> None:
    data = hill()
    for scale in (1e-6, 1.0, 1e6):
        model = fit(Data.measured(data.points, scale * data.y))
        smallest = model.predict(smooth(4, 500)).sd.min()
        assert smallest >= 0.05 * scale * data.y.std() * (1.0 - 1e-12)
    one = TreesFitter(trees=1, floor=0.2).fit(data, grows_with_data=False, seed=0)
    np.testing.assert_allclose(one.predict(smooth(4, 5)).sd, 0.2 * data.y.std())


@pytest.mark.parametrize("y", [np.array([3.0]), np.full(5, 1e-7), np.full(5, 0.1), np.array([2.0, 2.0, 2.0, 2.0])])
def test_a_constant_is_predicted_with_a_deviation(y: FloatArray) -> None:
    belief = fit(Data.measured(smooth(5, len(y)), y)).predict(smooth(6, 20))
    np.testing.assert_allclose(belief.mean, y[0], rtol=1e-9)
    assert (belief.sd == 0.05).all()


def test_equal_points_are_averaged() -> None:
    points = Points(np.full((4, 2), 0.5), np.ones(4))
    model = fit(Data.measured(points, np.array([0.0, 1.0, 2.0, 3.0])), trees=400)
    assert model.predict(points.take(np.array([0]))).mean[0] == pytest.approx(1.5, abs=0.1)


@pytest.mark.parametrize("name", ["trees", "min_leaf", "floor", "imputation_rounds", "gain_trees", "gain"])
def test_impossible_settings_are_refused(name: str) -> None:
    with pytest.raises(StrategyError, match=name):
        TreesFitter(**cast(Any, {name: 0}))


def test_nothing_observed_is_refused() -> None:
    with pytest.raises(StrategyError, match="no observation"):
        fit(Data.measured(Points(np.empty((0, 2)), np.empty(0)), np.empty(0)))


def test_the_grid_of_a_large_space_is_predicted_in_blocks() -> None:
    model, x, levels = fit(hill()), smooth(7, 3000).x, np.array([0.0, 0.5, 1.0])
    grid = model.predict_grid(x, levels)
    assert (grid.mean[:, 1] == model.predict(Points(x, np.full(3000, 0.5))).mean).all()


# -------------------- more measurements


def test_added_points_enter_with_weights_drawn_beforehand() -> None:
    """So extending at once, extending in turn, and any other outcome share their bootstraps."""
    model, more = fit(hill(), trees=50), smooth(8, 2)
    longer = model.extend(more, np.array([0.3, 5.0]))
    assert (longer.table.weight[:, :40] == model.table.weight).all()
    in_turn = model.extend(more.take(np.array([0])), np.array([0.3])).extend(more.take(np.array([1])), np.array([5.0]))
    assert (longer.table.weight == in_turn.table.weight).all()
    assert (longer.predict(more).mean == in_turn.predict(more).mean).all()


def test_weights_of_added_points_are_poisson_and_reach_most_trees() -> None:
    model = fit(hill(), trees=10)
    later = model.extend(smooth(9, 60), np.zeros(60)).table.weight[:, 40:]
    assert (model.extend(smooth(10, 1), np.ones(1)).table.weight[:, 40] == later[:, 0]).all()
    assert ((later > 0.0).sum(axis=0) >= 6).all()
    shares = np.bincount(later.astype(int).ravel(), minlength=5)[:4] / later.size
    np.testing.assert_allclose(shares, np.diff(POISSON_1[:4], prepend=0.0), atol=0.05)


def test_simulating_is_extending_bit_for_bit_but_for_the_scale() -> None:
    model, tested, at = fit(hill(), trees=12), smooth(10, 25), smooth(11, 30)
    simulated, now = model.simulate(tested, ROOTS, at), model.predict(tested)
    deviation = np.hypot(now.sd, 0.05 * model.spread)
    for b in range(25):
        for k, z in enumerate(ROOTS.z):
            outcome = now.mean[b : b + 1] + z * deviation[b : b + 1]
            after = model.extend(tested.take(np.array([b])), outcome).predict(at)
            np.testing.assert_allclose(simulated.mean[b, k], after.mean, rtol=0, atol=1e-9)
            np.testing.assert_allclose(simulated.sd[b, k], after.sd, rtol=0, atol=1e-9)


# -------------------- censored targets


def censored_hill(bounds_above: bool) -> tuple[Data, FloatArray]:
    """The upper (lower) third is cut at the same bound."""
    side = -1.0 if bounds_above else 1.0
    points = smooth(12, 60)
    y = side * height(points)
    bound = float(np.quantile(side * y, 2 / 3)) * side
    cut = side * y > side * bound
    return Data(points, np.where(cut, bound, y), cut, bounds_above), y


@pytest.mark.parametrize("bounds_above", [False, True])
def test_censored_targets_are_imputed_beyond_their_bound(bounds_above: bool) -> None:
    data, truth = censored_hill(bounds_above)
    model = fit(data, trees=100)
    used = model.centre + model.spread * model.table.y
    side = -1.0 if bounds_above else 1.0
    np.testing.assert_allclose(used[~data.censored], data.y[~data.censored], atol=1e-8)
    assert (side * (used - data.y)[data.censored] > 0.0).all()
    taken_as_measured = np.abs(fit(Data.measured(data.points, data.y), trees=100).predict(data.points).mean - truth)
    imputed = np.abs(model.predict(data.points).mean - truth)
    assert imputed[data.censored].mean() < 0.8 * taken_as_measured[data.censored].mean()


def test_imputed_targets_are_truncated_normal_means_of_the_trees_that_did_not_see_them() -> None:
    data, _ = censored_hill(bounds_above=False)
    once = TreesFitter(trees=30, imputation_rounds=1).fit(data, grows_with_data=False, seed=3)
    before = fit(Data.measured(data.points, data.y), seed=3, trees=30)
    used = once.centre + once.spread * once.table.y
    for i in np.flatnonzero(data.censored)[:5]:
        unseen = before.table.weight[:, i] == 0.0
        values = before.centre + before.spread * before.values(before.table.x[i : i + 1])[unseen, 0]
        sd = max(float(values.std(ddof=1)), 0.05 * before.spread)
        beyond = norm(values.mean(), sd)
        expected = beyond.expect(lb=data.y[i], conditional=True)
        assert used[i] == pytest.approx(expected, rel=1e-5)


def test_everything_may_be_censored() -> None:
    data = hill(10)
    model = fit(Data(data.points, data.y, np.ones(10, dtype=np.bool_)))
    assert np.isfinite(model.predict(data.points).mean).all()


# -------------------- determinism

PROGRAM = """
from tests.models.test_trees import digest
print(digest())
"""


def digest() -> str:
    """Everything a model says of a hill, as a hash."""
    answers = hashlib.sha256()
    gains: tuple[Gain, ...] = ("regrown", "conditioned")
    for gain in gains:
        model = TreesFitter(trees=9, gain=gain, gain_trees=40).fit(hill(), grows_with_data=False, seed=2**70 + 1)
        at, tested = smooth(13, 30), smooth(14, 100)
        optimum = model.optimum(at, 100, 5)
        after = model.simulate(tested, ROOTS, at)
        for array in (after.mean, after.sd, optimum.probability, optimum.expected_divergence(tested, ROOTS)):
            answers.update(np.ascontiguousarray(array).tobytes())
    return answers.hexdigest()


def test_another_process_with_another_number_of_threads_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(THREADS_VARIABLE, "1")
    here = digest()
    monkeypatch.setenv(THREADS_VARIABLE, "2")
    assert digest() == here
    there = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, cwd=REPOSITORY, timeout=120
    )
    assert there.stdout.strip() == here


def test_another_seed_is_another_forest() -> None:
    at = smooth(15, 20)
    assert (fit(hill(), seed=1).predict(at).mean != fit(hill(), seed=2).predict(at).mean).any()


# -------------------- the common slope over fractions


def rising(slope: float, levels: FloatArray) -> Data:
    """Eight configurations, each measured at every level; they differ by more than the slope."""
    x = np.linspace(0.0, 1.0, 8)
    points = Points(np.repeat(x, len(levels))[:, None], np.tile(levels, 8))
    return Data.measured(points, np.sin(6.0 * points.x[:, 0]) + slope * points.s)


def test_a_slope_over_fractions_is_extrapolated() -> None:
    data = rising(4.0, np.array([0.0, 0.3, 0.6]))
    at_full = Points(np.linspace(0.0, 1.0, 8)[:, None], np.ones(8))
    truth = np.sin(6.0 * at_full.x[:, 0]) + 4.0
    missed = {trend: np.abs(fit(data, trees=50, trend=trend).predict(at_full).mean - truth) for trend in (True, False)}
    assert missed[True].mean() < 0.3
    assert missed[False].mean() > 1.5, "trees alone repeat what they saw at 0.6"


def test_the_slope_is_that_of_least_squares_with_a_level_for_each_configuration() -> None:
    rng = np.random.default_rng(3)
    x, s = rng.integers(0, 5, 40), rng.choice([0.0, 0.25, 0.5, 1.0], 40)
    y = rng.standard_normal(5)[x] + 2.0 * s + 0.3 * rng.standard_normal(40)
    censored = rng.random(40) < 0.2
    y_seen = np.where(censored, -50.0, y)  # a bound that would drag the slope away
    data = Data(Points(x[:, None] / 4.0, s), y_seen, censored)
    levels = (x[:, None] == np.arange(5)).astype(np.float64)
    design = np.column_stack([s, levels])[~censored]
    expected = np.linalg.lstsq(design, y[~censored], rcond=None)[0][0]
    model = TreesFitter(imputation_rounds=1).fit(data, grows_with_data=True, seed=0)
    assert model.slope == pytest.approx(expected, rel=1e-9)


def test_without_two_fractions_of_one_configuration_there_is_no_slope() -> None:
    points = Points(np.linspace(0.0, 1.0, 6)[:, None], np.linspace(0.0, 1.0, 6))
    assert fit(Data.measured(points, np.arange(6.0))).slope == 0.0


@pytest.mark.parametrize("s", [0.1, 0.35, 1.0])
def test_repeats_at_one_fraction_make_no_slope(s: float) -> None:
    points = Points(np.repeat([[0.0], [1.0]], [3, 7], axis=0), np.full(10, s))
    assert fit(Data.measured(points, np.arange(10.0) ** 2)).slope == 0.0


def test_added_and_simulated_points_follow_the_slope() -> None:
    data = rising(4.0, np.array([0.0, 0.5]))
    model, new = fit(data, trees=200), Points(np.array([[0.5]]), np.array([1.0]))
    grown = model.extend(new, np.array([9.0]))
    assert grown.slope == model.slope
    told = model.predict(new).mean[0]
    assert told < grown.predict(new).mean[0] < 9.0
    simulated = model.simulate(new, Roots.of(1), new)
    assert simulated.mean[0, 0, 0] == pytest.approx(told, abs=0.15)


# -------------------- where the optimum lies


def two_floors() -> tuple[Data, Points, Points]:
    """At s~ = 0 all is far lower than at 1, so every tree parts the two first (unless the slope between them is taken
    out, hence trend=False): tests at 0 say nothing of R at 1.

    11 x; all of them seen at 0, five at 1 (twice, so that no bootstrap goes without). Tested: the eleven at 0, then the
    six at 1 that were not seen.
    """
    x, seen = np.linspace(0.0, 1.0, 11), np.array([0, 2, 5, 7, 10])
    points = Points(np.concatenate([x, x[seen], x[seen]])[:, None], np.repeat([0.0, 1.0], [11, 10]))
    y = np.concatenate([-10.0 + 0.1 * x, np.tile([0.0, 0.4, 1.0, 0.7, -0.2], 2)])
    tested = Points(np.concatenate([x, np.delete(x, seen)])[:, None], np.repeat([0.0, 1.0], [11, 6]))
    return Data.measured(points, y), tested, Points(x[:, None], np.ones(11))


def shared_divergence(samples: FloatArray) -> float:
    """KL to uniform of where samples [S, R] are largest, ties shared."""
    largest = samples == samples.max(axis=1, keepdims=True)
    shares = (largest / largest.sum(axis=1, keepdims=True)).mean(axis=0)
    shares = shares[shares > 0.0]
    return float((shares * np.log(shares * samples.shape[1])).sum())


def brute_force_gain(data: Data, tested: Points, at: Points, trees: int, samples: int) -> FloatArray:
    """Every tree grown from nothing for every test and outcome; argmax by numpy."""
    model = fit(data, seed=1000, trees=trees, trend=False)
    w = np.random.default_rng(0).standard_normal((samples, trees))

    def divergence(grown: Trees) -> float:
        values = grown.values(rows(at))
        deviations = (values - values.mean(axis=0)) / np.sqrt(trees - 1)
        return shared_divergence((values.mean(axis=0) + w @ deviations).astype(np.float32))

    now = model.predict(tested)
    deviation, gain = np.hypot(now.sd, 0.05 * model.spread), np.full(len(tested), -divergence(model))
    for b in range(len(tested)):
        for z, chance in zip(ROOTS.z, ROOTS.w, strict=True):
            outcome = now.mean[b : b + 1] + z * deviation[b : b + 1]
            gain[b] += chance * divergence(model.extend(tested.take(np.array([b])), outcome))
    return gain


def gain_of(model: Trees, tested: Points, at: Points, samples: int, seed: int = 0) -> FloatArray:
    optimum = model.optimum(at, samples, seed)
    return optimum.expected_divergence(tested, ROOTS) - optimum.divergence


def test_a_test_that_says_nothing_of_the_optimum_gains_nothing_and_others_do() -> None:
    data, tested, at = two_floors()
    gains = np.stack([gain_of(fit(data, seed=seed, trees=30, trend=False), tested, at, 500) for seed in range(6)])
    assert np.abs(gains[:, :11]).max() < 1e-12
    assert gains[:, 11:].mean() > 0.05


def test_the_gain_ranks_tests_as_brute_force_with_many_trees_does() -> None:
    data, tested, at = two_floors()
    reference = brute_force_gain(data, tested, at, trees=300, samples=1000)
    gains = [gain_of(fit(data, seed=seed, trees=100, trend=False), tested, at, 1000, seed) for seed in range(4)]
    assert np.mean([spearmanr(reference, gain).statistic for gain in gains]) >= 0.8


def test_points_that_no_tree_tells_apart_share_the_probability() -> None:
    data, _, _ = two_floors()
    at = Points(np.array([[0.5], [0.5], [0.0], [0.5]]), np.ones(4))
    probability = fit(data, trees=30, trend=False).optimum(at, 400, 0).probability
    assert probability[0] == probability[1] == probability[3] > 0.25
    assert probability.sum() == pytest.approx(1.0)


def test_probability_is_that_of_the_sampled_gaussian() -> None:
    model, at = fit(hill(), trees=25), smooth(16, 15)
    values = model.values(rows(at))
    rng = np.random.default_rng(0)
    samples = rng.multivariate_normal(values.mean(axis=0), np.cov(values.T), 40000, method="svd")
    expected = np.bincount(samples.argmax(axis=1), minlength=15) / 40000
    np.testing.assert_allclose(model.optimum(at, 20000, 1).probability, expected, atol=0.015)


# -------------------- conditioned instead of regrown


def conditioned(trees: int) -> TreesFitter:
    return TreesFitter(gain="conditioned", gain_trees=trees)


def dense_conditional_gain(values: FloatArray, tested: FloatArray, noise: float, samples: int) -> FloatArray:
    """Gain when N(mean, covariance) of the trees, values [T, R] and tested [T, B], is conditioned on each test."""
    draws = np.random.default_rng(5).standard_normal((samples, values.shape[1]))
    covariance, mean = np.cov(values.T), values.mean(axis=0)

    def sampled(cov: FloatArray) -> FloatArray:
        sizes, directions = np.linalg.eigh(cov)
        return np.asarray(draws @ (directions * np.sqrt(np.maximum(sizes, 0.0)) @ directions.T))

    gain = np.full(tested.shape[1], -shared_divergence(mean + sampled(covariance)))
    for b, there in enumerate(tested.T):
        cross = (there - there.mean()) @ (values - mean) / (len(values) - 1)
        variance = there.var(ddof=1) + noise
        paths = mean + sampled(covariance - np.outer(cross, cross) / variance)
        for z, chance in zip(ROOTS.z, ROOTS.w, strict=True):
            gain[b] += chance * shared_divergence(paths + z * cross / np.sqrt(variance))
    return gain


def test_conditioning_is_that_of_a_gaussian() -> None:
    data, tested, at = hill(), smooth(17, 25), Points(smooth(18, 12).x, np.ones(12))
    model = conditioned(40).fit(data, grows_with_data=False, seed=0)
    same_trees = model.with_trees(40)
    reference = dense_conditional_gain(same_trees.values(rows(at)), same_trees.values(rows(tested)), 0.05**2, 20000)
    np.testing.assert_allclose(gain_of(model, tested, at, 20000), reference, atol=0.03)


def test_conditioning_on_what_says_little_gains_little() -> None:
    data, tested, at = two_floors()
    apart = replace(conditioned(1000), trend=False)
    gain = gain_of(apart.fit(data, grows_with_data=False, seed=0), tested, at, 2000)
    assert np.abs(gain[:11]).max() < 0.05 * gain[11:].mean()
    assert (gain[11:] > 0.0).all()


def rnn_problem() -> tuple[Data, Points, Points]:
    """48 observations of the published table, 30 untested pairs, and all of R; four features are enough here."""
    needs(RNN)
    with RNN.open(encoding="utf-8-sig", newline="") as file:
        table = list(csv.DictReader(file))
    flavours = {"t2.small": 0.0, "t2.medium": 1.0, "t2.xlarge": 2.0, "t2.2xlarge": 3.0}
    x = np.array(
        [
            (np.log(float(r["learning_rate"])), float(r["batch_size"]), flavours[r["vm_flavor"]], float(r["n_workers"]))
            for r in table
        ]
    )
    s = np.log([float(r["training_set_size"]) / 1000.0 for r in table]) / np.log(60.0)
    y = -np.log(np.maximum(1.0 - np.array([float(r["acc"]) for r in table]), 1e-4))
    points = Points((x - x.min(axis=0)) / np.ptp(x, axis=0), s)
    order = np.random.default_rng(0).permutation(len(y))
    full = points.take(np.flatnonzero(s == s.max()))
    return Data.measured(points.take(order[:48]), y[order[:48]]), points.take(order[48:78]), full


@pytest.mark.slow
def test_conditioned_gain_ranks_tests_of_a_real_table_as_many_trees_do() -> None:
    data, tested, at = rnn_problem()
    many = fit(data, seed=77, trees=2000)
    reference = dense_conditional_gain(many.values(rows(at)), many.values(rows(tested)), 0.05**2, 3000)
    gains = [gain_of(conditioned(600).fit(data, grows_with_data=False, seed=k), tested, at, 2000, k) for k in range(3)]
    assert np.mean([spearmanr(reference, gain).statistic for gain in gains]) >= 0.8


def test_a_belief_is_about_the_largest_value() -> None:
    belief: Gaussian = fit(hill(), trees=50).predict(smooth(19, 8))
    probability = fit(hill(), trees=50).optimum(smooth(19, 8), 500, 0).probability
    assert probability[belief.mean.argmax()] > 0.25 > probability[belief.mean.argmin()]
