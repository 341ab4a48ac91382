"""Calibration, and which model answers about which market."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.special import expit

from leantune.arrays import FloatArray
from leantune.errors import InvalidInput
from leantune.revocation.pasts import Pasts
from leantune.revocation.trained import ALL_MARKETS, Model, PlattLine, Trained
from tests.revocation.made import markets


@dataclass(frozen=True)
class Always(Model):
    """Says one probability."""

    probability: float

    @property
    def features(self) -> list[str]:
        return []

    def probabilities(self, pasts: Pasts, max_prices: FloatArray) -> FloatArray:
        return np.full(len(max_prices), self.probability)


def test_platts_line_is_found_again() -> None:
    random = np.random.default_rng(0)
    logits = random.normal(size=200_000)
    labels = random.random(200_000) < expit(0.6 * logits - 1.0)
    line = PlattLine.fitted(expit(logits), labels)
    assert (line.slope, line.intercept) == pytest.approx((0.6, -1.0), abs=0.03)
    assert line(expit(logits)).mean() == pytest.approx(labels.mean(), abs=1e-3)


@pytest.mark.parametrize("labels", [np.zeros(50, dtype=bool), np.ones(50, dtype=bool), np.arange(50) > 24])
def test_it_stays_finite_and_never_turns_the_order_round(labels: np.ndarray) -> None:
    line = PlattLine.fitted(np.linspace(0.0, 1.0, 50), labels)
    assert np.isfinite([line.slope, line.intercept]).all()
    assert PlattLine.fitted(np.linspace(1.0, 0.0, 50), np.arange(50) > 24).slope == 0.0


def test_a_line_within_the_drift_of_slices_changes_nothing() -> None:
    assert PlattLine(1.1, -0.15).beyond(0.2) == PlattLine()
    far = PlattLine(0.5, 1.0).beyond(0.2)
    assert (far.slope, far.intercept) == pytest.approx((0.7, 0.8))


def test_no_calibration_changes_nothing() -> None:
    said = np.array([0.0, 0.3, 1.0])
    assert PlattLine()(said) is said


def test_each_market_has_its_model_and_line() -> None:
    first, second = markets()
    models = {str(first.market): Always(0.2), str(second.market): Always(0.7)}
    predictor = Trained("made", models, {str(second.market): PlattLine(1.0, 10.0)})
    times = np.array([first.end, second.end, first.end])
    limits = np.array([9.0, 9.0, 9.0])
    said = predictor.predict([first, second, first], times, limits)
    assert said == pytest.approx([0.2, expit(10 + np.log(0.7 / 0.3)), 0.2])
    with pytest.raises(InvalidInput, match="not trained on this market"):
        Trained("made", {str(first.market): Always(0.2)}).predict([second], times[1:2], limits[:1])


def test_a_max_price_below_the_price_is_exceeded_already() -> None:
    series = markets()[0]
    predictor = Trained("made", {ALL_MARKETS: Always(0.1)})
    price = series.at(series.end)
    said = predictor.predict([series] * 3, np.full(3, series.end), np.array([price * 0.99, price, price * 1.01]))
    assert said.tolist() == [1.0, 0.1, 0.1]


@pytest.mark.parametrize("limits", [[0.0], [np.nan], [np.inf], [0.1, 0.2]])
def test_wrong_max_prices_are_refused(limits: list[float]) -> None:
    series = markets()[0]
    with pytest.raises(InvalidInput, match="max prices"):
        Trained("made", {ALL_MARKETS: Always(0.1)}).predict([series], np.array([series.end]), np.array(limits))
