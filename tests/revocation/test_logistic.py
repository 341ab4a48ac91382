"""Logistic regression on the record or the summary of the past."""

import numpy as np
import pytest
from scipy.special import expit

from leantune.lab.training.scores import scores
from leantune.revocation.logistic import Logistic, LogisticOptions, design, fit_logistic
from tests.revocation.made import small_slices

pytest.importorskip("sklearn.linear_model")


def test_labels_that_are_all_alike_give_their_frequency() -> None:
    slices = small_slices()
    quiet = slices.train.asking(slices.train.max_prices * 1e6)
    model = fit_logistic(quiet, quiet, LogisticOptions(), 0)
    said = model.probabilities(slices.test.pasts(), slices.test.max_prices)
    assert said == pytest.approx(np.full(len(said), 0.5 / (len(quiet) + 1)))


def test_the_weights_are_where_loss_and_penalty_are_least() -> None:
    slices = small_slices()
    train, options = slices.train, LogisticOptions(l2=100.0)
    model = fit_logistic(train, train, options, 0)
    rows = (design(train.pasts(), train.max_prices, wide=False) - model.mean) / model.deviation
    off = expit(rows @ model.weights[:-1] + model.weights[-1]) - train.labels
    assert rows.T @ off + options.l2 * model.weights[:-1] == pytest.approx(0.0, abs=1e-4)
    assert off.sum() == pytest.approx(0.0, abs=1e-4)


@pytest.mark.parametrize("wide", [False, True])
def test_it_beats_the_base_rate_on_a_later_slice_and_is_restored(wide: bool) -> None:
    slices = small_slices()
    model = fit_logistic(slices.train, slices.validation, LogisticOptions(wide=wide), 0)
    pasts, limits = slices.test.pasts(), slices.test.max_prices
    said = model.probabilities(pasts, limits)
    labels = slices.test.labels
    assert scores(said, labels).brier < 0.8 * scores(np.full(len(labels), labels.mean()), labels).brier
    assert np.array_equal(said, Logistic.restored(model.tensors(), model.settings()).probabilities(pasts, limits))
    assert design(pasts, limits, wide).shape[1] == len(model.features) == len(model.weights) - 1
