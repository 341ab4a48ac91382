"""Every score against its formula."""

import numpy as np
import pytest

from leantune.errors import InvalidInput
from leantune.lab.training.scores import reliability, scores

calibration = pytest.importorskip("sklearn.calibration")


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("digits", [1, 9])
def test_scores_are_those_of_their_formulas(seed: int, digits: int) -> None:
    random = np.random.default_rng(seed)
    said = np.round(random.beta(0.5, 1.5, 400), digits)  # one digit: many ties
    labels = random.random(400) < said**1.5
    result = scores(said, labels)
    revoked, kept = said >= 0.5, np.clip(said, 1e-7, 1 - 1e-7)
    assert result.accuracy == pytest.approx((revoked == labels).mean())
    assert result.f1 == pytest.approx(2 * (revoked & labels).sum() / (revoked.sum() + labels.sum()))
    assert result.brier == pytest.approx(((said - labels) ** 2).mean())
    assert result.log_loss == pytest.approx(-np.where(labels, np.log(kept), np.log1p(-kept)).mean())
    assert result.area == pytest.approx(average_precision(said, labels))
    assert result.base_rate == labels.mean()


def average_precision(said: np.ndarray, labels: np.ndarray) -> float:
    """Sum over distinct thresholds of (R_k - R_{k-1}) P_k."""
    area, recall = 0.0, 0.0
    for threshold in np.unique(said)[::-1]:
        above = said >= threshold
        before, recall = recall, labels[above].sum() / labels.sum()
        area += (recall - before) * labels[above].mean()
    return area


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
