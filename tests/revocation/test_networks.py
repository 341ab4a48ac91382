"""The training loop learns, stops early, and gives back what it scored."""

import numpy as np
import pytest
from scipy.special import expit

from leantune.revocation.networks import Batch, Inputs, NetworkOptions, logits, train

pytest.importorskip("torch")
TINY = NetworkOptions(hidden=4, dense=8, epochs=5, batch=32, learning_rate=2e-2, dropout=0.0, averaging=0.5)


def batch(seed: int, present: int) -> Batch:
    """What is asked is the sign of the last minute's first channel, or of the present's first feature."""
    random = np.random.default_rng(seed)
    minutes = random.normal(size=(400, 3, 2)).astype(np.float32)
    now = random.normal(size=(400, present)).astype(np.float32)
    labels = (now[:, 0] if present else minutes[:, -1, 0]) > 0
    return Batch(Inputs(minutes, now), labels, np.ones(400))


@pytest.mark.parametrize("present", [0, 3])
def test_both_networks_learn_and_are_rebuilt_from_their_weights(present: int) -> None:
    later = batch(99, present)
    weights, scores = train(lambda number: batch(number, present), later, TINY, 0)
    said = expit(logits(weights, TINY, later.inputs))
    brier = float(((said - later.labels) ** 2).mean())
    assert brier == pytest.approx(min(scores))
    assert brier < 0.2  # 0.25 knows nothing
    again, _ = train(lambda number: batch(number, present), later, TINY, 0)
    assert all(np.array_equal(weights[name], again[name]) for name in weights)


def test_training_stops_when_validation_no_longer_improves() -> None:
    later = batch(99, 3)
    wrong = Batch(later.inputs, ~later.labels, later.weights)  # the better it learns, the worse it is judged
    options = NetworkOptions(**{**vars(TINY), "epochs": 30, "patience": 2})
    _, scores = train(lambda number: batch(number, 3), wrong, options, 0)
    assert len(scores) == int(np.argmin(scores)) + 3 < 30


def test_the_shift_is_added_before_scoring() -> None:
    later = batch(99, 3)
    _, scores = train(lambda number: batch(number, 3), later, TINY, 0, shift=50.0)
    assert min(scores) == pytest.approx(1 - later.labels.mean(), abs=0.01)  # P is 1 everywhere
