"""Exported trees answer as scikit-learn's do, and fall as the max price grows."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from leantune.lab.training.scores import scores
from leantune.revocation.boosted import BoostedOptions, BoostedTrees, exported, fit_boosted
from leantune.revocation.predictors import over_deltas
from leantune.revocation.summary import MONOTONE, summaries
from leantune.revocation.trained import ALL_MARKETS, Trained
from tests.revocation.made import markets, small_slices

ensemble = pytest.importorskip("sklearn.ensemble")
FEW = BoostedOptions(most_trees=30, least_in_leaf=20)


@pytest.mark.parametrize("leaves", [3, 31])
def test_exported_trees_answer_as_scikit_learn(leaves: int) -> None:
    slices = small_slices()
    rows = summaries(slices.train.pasts(), slices.train.max_prices)
    classifier = ensemble.HistGradientBoostingClassifier(
        max_iter=20, max_leaf_nodes=leaves, monotonic_cst=list(MONOTONE), early_stopping=False, random_state=0
    ).fit(rows, slices.train.labels)
    later = summaries(slices.test.pasts(), slices.test.max_prices)
    trees = exported(classifier)
    assert len(trees.roots) == 20
    np.testing.assert_allclose(expit(trees.logits(later)), classifier.predict_proba(later)[:, 1], rtol=1e-12)


def test_it_beats_the_base_rate_and_falls_with_the_max_price() -> None:
    slices = small_slices()
    model = fit_boosted(slices.train, slices.validation, FEW, 0)
    labels = slices.test.labels
    found = scores(model.probabilities(slices.test.pasts(), slices.test.max_prices), labels)
    assert found.brier < 0.8 * scores(np.full(len(labels), labels.mean()), labels).brier
    series = markets()[0]
    times = np.linspace(series.end - 86400.0, series.end, 50)
    grid = over_deltas(Trained("boosted", {ALL_MARKETS: model}), series, times, np.geomspace(1e-3, 10, 20))
    assert (np.diff(grid, axis=1) <= 1e-12).all()
    assert grid[:, 0].mean() > grid[:, -1].mean() + 0.2


def test_validation_chooses_how_many_trees_stay() -> None:
    slices = small_slices()
    quick = BoostedOptions(learning_rate=1.0, most_trees=8)
    model = fit_boosted(slices.train, slices.validation, quick, 0)
    losses = []
    for count in range(1, 9):
        fewer = fit_boosted(slices.train, slices.validation, replace(quick, most_trees=count), 0)
        if len(fewer.roots) == count:  # else the same trees as before
            said = fewer.probabilities(slices.validation.pasts(), slices.validation.max_prices)
            losses.append((float(((said - slices.validation.labels) ** 2).mean()), count))
    assert min(losses)[1] == len(model.roots) < 8


def test_labels_that_are_all_alike_give_their_frequency() -> None:
    slices = small_slices()
    quiet = slices.train.asking(slices.train.max_prices * 1e6)
    model = fit_boosted(quiet, quiet, FEW, 0)
    said = model.probabilities(slices.test.pasts(), slices.test.max_prices)
    assert said == pytest.approx(np.full(len(said), 0.5 / (len(quiet) + 1)))


def test_it_is_restored_as_it_was() -> None:
    slices = small_slices()
    model = fit_boosted(slices.train, slices.validation, BoostedOptions().drawn(np.random.default_rng(1)), 0)
    again = BoostedTrees.restored(model.tensors(), model.settings())
    pasts, limits = slices.test.pasts(), slices.test.max_prices
    assert np.array_equal(model.probabilities(pasts, limits), again.probabilities(pasts, limits))
