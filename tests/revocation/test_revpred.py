"""RevPred: Eq. 3 as it must be, max prices of training, and the options that follow the letter."""

from dataclasses import asdict, replace

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit

from leantune.lab.training.scores import scores
from leantune.revocation.features import NAMES, FeatureScale, present_records
from leantune.revocation.networks import NetworkOptions
from leantune.revocation.revpred import (
    NARROW,
    PRINTED,
    TRIBUTARY,
    RevPred,
    RevPredOptions,
    class_shift,
    class_weights,
    fit_revpred,
    minute_records,
    present_features,
    present_names,
)
from tests.revocation.made import small_slices

pytest.importorskip("torch")
QUICK = NetworkOptions(hidden=4, dense=8, epochs=2, batch=64, learning_rate=1e-2, averaging=0.8)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.8])
@pytest.mark.parametrize("truth", [0.05, 0.3, 0.7])
def test_corrected_eq_3_undoes_the_class_weights(share: float, truth: float) -> None:
    """Minimise the weighted loss of one probability numerically, then apply Eq. 3."""
    revoked, other = class_weights(np.array([True, False]), share, weighted=True)

    def loss(z: float) -> float:
        return float(-truth * revoked * np.log(expit(z)) - (1 - truth) * other * np.log(expit(-z)))

    weighted = minimize_scalar(loss, bounds=(-12, 12), method="bounded").x
    assert expit(weighted + class_shift(share)) == pytest.approx(truth, abs=1e-3)


def test_the_papers_example() -> None:
    """SPOT.md: at phi+ = 0.1 and P^ = 0.5 the printed form gives 0.9; 0.1 is right."""
    assert expit(0.0 + class_shift(0.1)) == pytest.approx(0.1)
    assert expit(0.0 - class_shift(0.1)) == pytest.approx(0.9)


def test_a_quick_training_beats_the_base_rate_and_is_restored() -> None:
    slices = small_slices()
    options = RevPredOptions(replace(QUICK, epochs=4), border=0.25, most=800)
    model = fit_revpred(slices.train, slices.validation, options, 0)
    pasts, limits, labels = slices.test.pasts(), slices.test.max_prices, slices.test.labels
    said = model.probabilities(pasts, limits)
    assert scores(said, labels).brier < 0.9 * scores(np.full(len(labels), labels.mean()), labels).brier
    again = RevPred.restored(model.tensors(), model.settings())
    assert again.options == model.options
    assert np.array_equal(said, again.probabilities(pasts, limits))


def test_as_printed_uses_absolute_features_and_the_inverted_equation() -> None:
    slices = small_slices()
    printed = fit_revpred(slices.train, slices.validation, replace(PRINTED, network=QUICK, most=300), 0)
    corrected = replace(printed, shift=-printed.shift, options=replace(printed.options, inverted=False))
    pasts, limits = slices.test.pasts(), slices.test.max_prices
    one, other = printed.probabilities(pasts, limits), corrected.probabilities(pasts, limits)
    np.testing.assert_allclose(
        np.log(one / (1 - one)) - np.log(other / (1 - other)), np.full(len(one), 2 * printed.shift), atol=1e-5
    )
    assert printed.settings()["features"][:2] == ["price", "hour_average"]
    assert PRINTED.drawn(np.random.default_rng(0)).inverted


def test_the_dense_part_reads_what_its_names_say() -> None:
    slices = small_slices()
    pasts, limits = slices.test.pasts(), slices.test.max_prices
    for options in (RevPredOptions(), NARROW, PRINTED):
        assert present_features(pasts, limits, options).shape[1] == len(present_names(options)) - 1  # without the bar
    assert present_features(pasts, limits, TRIBUTARY).shape[1] == len(present_names(TRIBUTARY)) == 1
    assert not NARROW.wide
    assert RevPredOptions().drawn(np.random.default_rng(0)).scale is FeatureScale.RELATIVE


def test_tributary_reads_sixty_minutes_the_present_one_last() -> None:
    pasts = small_slices().test.pasts()
    records = minute_records(pasts, TRIBUTARY)
    assert records.shape == (len(pasts.asked), 60, len(NAMES[FeatureScale.RELATIVE]))
    np.testing.assert_allclose(records[:, -1], present_records(pasts), rtol=1e-6)


def test_tributary_trains_through_the_lstm_alone_and_files_of_before_are_restored() -> None:
    slices = small_slices()
    network = NetworkOptions(hidden=6, dense=8, epochs=6, batch=64, learning_rate=2e-2, averaging=0.8)
    options = replace(TRIBUTARY, network=network, most=800)
    model = fit_revpred(slices.train, slices.validation, options, 0)
    assert [name for name in model.weights if name.startswith("present")] == []
    pasts, limits, labels = slices.test.pasts(), slices.test.max_prices, slices.test.labels
    said = model.probabilities(pasts, limits)
    assert scores(said, labels).brier < 0.9 * scores(np.full(len(labels), labels.mean()), labels).brier
    again = RevPred.restored(model.tensors(), model.settings())
    assert np.array_equal(said, again.probabilities(pasts, limits))
    tensors = {name: value for name, value in model.tensors().items() if name != "shift"}
    before = RevPred.restored(tensors, {"options": {"network": asdict(network), "most": 800}})
    assert before.options == options
    assert before.features == [*NAMES[FeatureScale.RELATIVE], "log_delta"]
    assert np.array_equal(said, before.probabilities(pasts, limits))
