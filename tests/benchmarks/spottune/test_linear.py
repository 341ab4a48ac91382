"""Linear models against scikit-learn, finite differences and the closed form."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.metrics import hinge_loss, log_loss, mean_squared_error

from benchmarks.spottune import linear
from benchmarks.spottune.linear import CROSS_ENTROPY, HINGE, SQUARED_ERROR, FloatArray, LinearTrainer, Loss, Rows

RNG = np.random.default_rng(0)
SCORES = RNG.standard_normal((40, 3)).astype(np.float32)
CLASSES = RNG.integers(3, size=40)
ONE_HOT = np.eye(3, dtype=np.float32)[CLASSES]
SIGNS = np.where(CLASSES > 0, 1, -1).astype(np.float32)[:, None]


def test_losses_are_scikit_learns() -> None:
    chances = np.exp(SCORES) / np.exp(SCORES).sum(axis=1, keepdims=True)
    assert CROSS_ENTROPY.value(SCORES, ONE_HOT) == pytest.approx(log_loss(CLASSES, chances), rel=1e-5)
    assert HINGE.value(SCORES[:, :1], SIGNS) == pytest.approx(hinge_loss(SIGNS[:, 0], SCORES[:, 0]), rel=1e-5)
    assert SQUARED_ERROR.value(SCORES, ONE_HOT) == pytest.approx(mean_squared_error(SCORES, ONE_HOT), rel=1e-5)


@pytest.mark.parametrize(
    ("loss", "scores", "targets", "columns"),
    [(CROSS_ENTROPY, SCORES, ONE_HOT, 1), (HINGE, SCORES[:, :1], SIGNS, 1), (SQUARED_ERROR, SCORES, ONE_HOT, 3)],
    ids=["cross entropy", "hinge", "squared error"],
)
def test_slopes_are_finite_differences(loss: Loss, scores: FloatArray, targets: FloatArray, columns: int) -> None:
    """columns: the squared error is reported per column and descended over their sum."""
    wide, step = scores.astype(np.float64), 1e-5
    for at in np.ndindex(5, wide.shape[1]):
        up, down = wide.copy(), wide.copy()
        up[at] += step
        down[at] -= step
        # the value may be computed in float32: only the changed row is asked about, where it is exact enough
        row = slice(at[0], at[0] + 1)
        change = _exact(loss, up[row], targets[row]) - _exact(loss, down[row], targets[row])
        slope = columns * change / (2 * step) / len(wide)
        assert loss.slope(scores, targets)[at] == pytest.approx(slope, rel=1e-3, abs=1e-6)


def _exact(loss: Loss, scores: np.ndarray, targets: np.ndarray) -> float:
    """The same losses in float64."""
    if loss is CROSS_ENTROPY:
        return float(np.log(np.exp(scores).sum()) - (scores * targets).sum())
    if loss is HINGE:
        return float(np.maximum(0, 1 - scores * targets).mean())
    return float(np.square(scores - targets).mean())


def test_descent_reaches_the_least_squares() -> None:
    inputs = RNG.standard_normal((256, 4)).astype(np.float32)
    targets = (inputs @ np.array([[1.0], [-2.0], [0.5], [3.0]]) + 0.1 * RNG.standard_normal((256, 1))).astype(
        np.float32
    )
    trainer = LinearTrainer(
        Rows("made", inputs, targets, inputs, targets), SQUARED_ERROR, {"bs": 64, "lr": 0.05, "dr": 0.9, "ds": 50}, 40
    )
    trainer.advance()
    exact = np.linalg.lstsq(inputs, targets, rcond=None)[0]
    assert trainer.steps == 40 * 4
    assert trainer.state()["weights"] == pytest.approx(exact, abs=5e-3)
    assert trainer.validate() == pytest.approx(float(np.square(inputs @ exact - targets).mean()), rel=1e-2)


def test_the_rate_decays_with_the_steps() -> None:
    """One row, target 1, weight w: each step w += 2 lr dr^(k / ds) (1 - w)."""
    row = np.ones((1, 1), dtype=np.float32)
    trainer = LinearTrainer(
        Rows("made", row, row, row, row), SQUARED_ERROR, {"bs": 1, "lr": 0.1, "dr": 0.5, "ds": 2}, 3
    )
    trainer.advance()
    weight = 0.0
    for step in range(3):
        weight += 2 * 0.1 * 0.5 ** (step / 2) * (1 - weight)
    assert trainer.state()["weights"][0, 0] == pytest.approx(weight)


def test_fourier_features_have_the_kernel_as_product() -> None:
    plain, features = linear.svm_rows("linear"), linear.svm_rows("rbf")
    x, z = plain.inputs[:200, :-1], features.inputs[:200, :-1]
    kernel = np.exp(-np.square(cdist(x, x)) / (2 * linear.SVM_COLUMNS))
    errors = z @ z.T / linear.SVM_COLUMNS - kernel
    assert np.sqrt(np.square(errors).mean()) < 1.5 / np.sqrt(linear.KERNEL_FEATURES)
    assert np.array_equal(plain.targets, features.targets)
    assert np.square(z).sum(axis=1).mean() == pytest.approx(np.square(x).sum(axis=1).mean(), rel=0.1)


def test_the_real_rows_have_the_shapes_said() -> None:
    pixels, halves = linear.image_rows(), linear.completion_rows()
    assert pixels.inputs.shape[1] == 785 and pixels.targets.shape[1] == 10
    assert halves.inputs.shape[1] == 99 and halves.targets.shape[1] == 98
    assert np.abs(pixels.inputs[:, :-1].mean(axis=0)).max() < 1e-4
    assert len(pixels.judged_inputs) == len(halves.judged_inputs) == len(pixels.inputs) // 4
