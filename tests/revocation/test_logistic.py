"""Logistic regression against scikit-learn's."""

import numpy as np
import pytest

from leantune.lab.training.scores import scores
from leantune.revocation.logistic import Logistic, LogisticOptions, design, fit_logistic, newton
from tests.revocation.made import small_slices


@pytest.mark.parametrize("l2", [0.01, 1.0, 100.0])
def test_newton_finds_scikit_learns_weights(l2: float) -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    random = np.random.default_rng(0)
    rows = random.normal(size=(500, 4))
    labels = random.random(500) < 1 / (1 + np.exp(-(rows @ [1.0, -2.0, 0.0, 0.5] - 0.7)))
    reference = linear.LogisticRegression(C=1 / l2, tol=1e-10, max_iter=1000).fit(rows, labels)
    found = newton(rows, labels, l2)
    assert found == pytest.approx([*reference.coef_[0], reference.intercept_[0]], abs=1e-4)


def test_separable_labels_keep_the_weights_finite() -> None:
    rows = np.array([[-1.0], [-0.5], [0.5], [1.0]])
    assert np.isfinite(newton(rows, rows[:, 0] > 0, 1e-2)).all()
    assert np.isfinite(newton(rows, np.zeros(4, dtype=bool), 1.0)).all()


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
