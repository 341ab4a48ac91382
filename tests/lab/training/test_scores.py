"""Every score against scikit-learn's."""

import numpy as np
import pytest

from leantune.errors import InvalidInput
from leantune.lab.training.scores import reliability, scores

metrics = pytest.importorskip("sklearn.metrics")
calibration = pytest.importorskip("sklearn.calibration")


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("digits", [1, 9])
def test_scores_are_those_of_scikit_learn(seed: int, digits: int) -> None:
    random = np.random.default_rng(seed)
    said = np.round(random.beta(0.5, 1.5, 400), digits)  # one digit: many ties
    labels = random.random(400) < said**1.5
    found = scores(said, labels)
    assert found.accuracy == pytest.approx(metrics.accuracy_score(labels, said >= 0.5))
    assert found.f1 == pytest.approx(metrics.f1_score(labels, said >= 0.5))
    assert found.brier == pytest.approx(metrics.brier_score_loss(labels, said))
    assert found.log_loss == pytest.approx(metrics.log_loss(labels, np.clip(said, 1e-7, 1 - 1e-7)))
    assert found.area == pytest.approx(metrics.average_precision_score(labels, said))
    assert found.base_rate == labels.mean()


def test_the_reliability_table_is_scikit_learns() -> None:
    random = np.random.default_rng(0)
    said = random.random(1000)
    labels = random.random(1000) < said**2
    rows = reliability(said, labels)
    happened, predicted = calibration.calibration_curve(labels, said, n_bins=10)
    assert [row.happened for row in rows] == pytest.approx(happened.tolist())
    assert [row.predicted for row in rows] == pytest.approx(predicted.tolist())
    error = sum(row.count * abs(row.predicted - row.happened) for row in rows) / 1000
    assert scores(said, labels).calibration_error == pytest.approx(error)
    assert sum(row.count for row in rows) == 1000


def test_perfect_and_empty_handed_predictions() -> None:
    labels = np.array([True, False, True])
    perfect = scores(labels.astype(float), labels)
    assert (perfect.accuracy, perfect.f1, perfect.brier, perfect.area) == (1.0, 1.0, 0.0, 1.0)
    nothing = scores(np.zeros(3), np.zeros(3, dtype=bool))
    assert (nothing.f1, nothing.area, nothing.brier) == (0.0, 0.0, 0.0)


def test_what_is_no_probability_is_refused() -> None:
    with pytest.raises(InvalidInput, match="outside"):
        scores(np.array([1.1]), np.array([True]))
    with pytest.raises(InvalidInput, match="outside"):
        scores(np.array([np.nan]), np.array([True]))
    with pytest.raises(InvalidInput, match="0 probabilities"):
        scores(np.empty(0), np.empty(0, dtype=bool))
