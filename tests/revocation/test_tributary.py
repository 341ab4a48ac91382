"""Tributary's predictor: everything through the LSTM."""

import numpy as np
import pytest

from leantune.lab.training.scores import scores
from leantune.revocation.features import NAMES, Scale, present_records
from leantune.revocation.networks import NetworkOptions
from leantune.revocation.tributary import Tributary, TributaryOptions, drawn_options, fit_tributary, hour_records
from tests.revocation.made import small_slices

pytest.importorskip("torch")


def test_the_present_minute_is_the_last_of_sixty() -> None:
    pasts = small_slices().test.pasts()
    records = hour_records(pasts)
    assert records.shape == (len(pasts.asked), 60, len(NAMES[Scale.RELATIVE]))
    np.testing.assert_allclose(records[:, -1], present_records(pasts), rtol=1e-6)


def test_a_quick_training_beats_the_base_rate_and_is_restored() -> None:
    slices = small_slices()
    network = NetworkOptions(hidden=6, dense=8, epochs=6, batch=64, learning_rate=2e-2, averaging=0.8)
    model = fit_tributary(slices.train, slices.validation, TributaryOptions(network, most=800), 0)
    assert [name for name in model.weights if name.startswith("present")] == []
    pasts, limits, labels = slices.test.pasts(), slices.test.max_prices, slices.test.labels
    said = model.probabilities(pasts, limits)
    assert scores(said, labels).brier < 0.9 * scores(np.full(len(labels), labels.mean()), labels).brier
    again = Tributary.restored(model.tensors(), model.settings())
    assert np.array_equal(said, again.probabilities(pasts, limits))
    assert drawn_options(np.random.default_rng(0)) == drawn_options(np.random.default_rng(0))
