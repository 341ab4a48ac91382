"""Logistic regression, support vector machine and linear regression by mini-batch gradient descent, in numpy.

scores = X W, with X [b, d] of a batch (one column of ones), W [d, k]
W <- W - lr * dr^(step / ds) * X^T (d loss / d scores)          plain gradient descent, as in SpotTune's Table II
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from benchmarks.spottune import images

FloatArray = NDArray[np.float32]
SEED = 5  # of the generated data and of the order of batches: the same for every setting of a family
KERNEL_FEATURES = 256  # random Fourier features of the RBF kernel
SVM_ROWS, SVM_COLUMNS = 10_000, 8
DECAY_STEPS = 1000  # of the support vector machine, whose grid has no ds


@dataclass(frozen=True)
class Rows:
    """Inputs [n, d] and targets [n, k] to learn from, the same to judge by, and where they come from."""

    source: str
    inputs: FloatArray
    targets: FloatArray
    judged_inputs: FloatArray
    judged_targets: FloatArray


@dataclass(frozen=True)
class Loss:
    """Mean loss of scores [n, k] against targets [n, k], and its slope in the scores [n, k]."""

    value: Callable[[FloatArray, FloatArray], float]
    slope: Callable[[FloatArray, FloatArray], FloatArray]


class LinearTrainer:
    """One run of gradient descent; `advance` goes on to the next report."""

    def __init__(self, rows: Rows, loss: Loss, setting: Mapping[str, float | str], epochs_per_report: int) -> None:
        self._rows, self._loss, self._epochs_per_report = rows, loss, epochs_per_report
        self._batch, self._rate = int(setting["bs"]), float(setting["lr"])
        self._decay, self._decay_steps = float(setting["dr"]), float(setting.get("ds", DECAY_STEPS))
        self._weights = np.zeros((rows.inputs.shape[1], rows.targets.shape[1]), dtype=np.float32)
        self._epoch = 0

    @property
    def steps(self) -> int:
        """Steps taken so far: whole batches of the epochs so far."""
        return self._epoch * (len(self._rows.inputs) // self._batch)

    def advance(self) -> None:
        """Train the epochs up to the next report; an epoch's order depends on its number alone: a run can resume."""
        for _ in range(self._epochs_per_report):
            order = np.random.default_rng([SEED, self._epoch]).permutation(len(self._rows.inputs))
            for step in range(len(order) // self._batch):
                chosen = order[step * self._batch : (step + 1) * self._batch]
                self._descend(self._rows.inputs[chosen], self._rows.targets[chosen], self.steps + step)
            self._epoch += 1

    def _descend(self, inputs: FloatArray, targets: FloatArray, step: int) -> None:
        rate = np.float32(self._rate * self._decay ** (step / self._decay_steps))
        self._weights -= rate * (inputs.T @ self._loss.slope(inputs @ self._weights, targets))

    def validate(self) -> float:
        """Mean loss of the rows held back."""
        return self._loss.value(self._rows.judged_inputs @ self._weights, self._rows.judged_targets)

    def state(self) -> dict[str, NDArray[np.generic]]:
        """What a checkpoint holds; plain gradient descent has no other state."""
        return {"weights": self._weights.copy(), "epoch": np.array(self._epoch)}

    def load(self, state: Mapping[str, NDArray[np.generic]]) -> None:
        """Go on from a checkpoint."""
        self._weights = np.array(state["weights"], dtype=np.float32)
        self._epoch = int(state["epoch"])


def _log_softmax(scores: FloatArray) -> FloatArray:
    shifted = scores - scores.max(axis=1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)), dtype=np.float32)


CROSS_ENTROPY = Loss(  # targets are one-hot
    value=lambda scores, targets: float(-(targets * _log_softmax(scores)).sum(axis=1).mean()),
    slope=lambda scores, targets: (np.exp(_log_softmax(scores)) - targets) / np.float32(len(scores)),
)
HINGE = Loss(  # targets are -1 or 1
    value=lambda scores, targets: float(np.maximum(0, 1 - targets * scores).mean()),
    slope=lambda scores, targets: (
        np.where(targets * scores < 1, -targets, 0).astype(np.float32) / np.float32(len(scores))
    ),
)
SQUARED_ERROR = Loss(  # the metric is the mean over columns, descent goes down their sum: k times the slope
    value=lambda scores, targets: float(np.square(scores - targets).mean()),
    slope=lambda scores, targets: 2 * (scores - targets) / np.float32(len(scores)),
)


@cache
def image_rows() -> Rows:
    """Images as rows of 784 pixels and a one, centred, with one-hot labels."""
    learned, judged = images.load().split()
    mean = learned.images.mean(axis=0)

    def prepared(part: images.Images) -> tuple[FloatArray, FloatArray]:
        pixels = (part.images - mean).reshape(len(part.images), -1)
        return _with_ones(pixels), np.eye(10, dtype=np.float32)[part.labels]

    return Rows(learned.source, *prepared(learned), *prepared(judged))


@cache
def completion_rows() -> Rows:
    """Images (14 x 14) to complete: 98 pixels of the upper half and a one, and the 98 of the lower half, centred."""
    learned, judged = (part.halved().reshape(-1, 196) for part in images.load().split())
    mean = learned.mean(axis=0)

    def prepared(pixels: FloatArray) -> tuple[FloatArray, FloatArray]:
        return _with_ones((pixels - mean)[:, :98]), (pixels - mean)[:, 98:]

    return Rows(images.load().source, *prepared(learned), *prepared(judged))


@cache
def svm_rows(kernel: str) -> Rows:
    """Generated: normal columns, the class is the side of a curved surface, one label in twenty is wrong.

    The RBF kernel exp(-|x - y|^2 / (2 s^2)) with s^2 = d is approximated by random Fourier features
    (Rahimi & Recht 2007), z(x) = sqrt(2 d / D) cos(x W + b), W ~ N(0, 1 / s^2), b ~ U(0, 2 pi), D features; the d
    gives rows of either kernel the same mean square length, so that the grid's learning rates fit both.
    """
    rng = np.random.default_rng(SEED)
    columns = rng.standard_normal((SVM_ROWS, SVM_COLUMNS))
    surface = columns[:, 0] + columns[:, 1] + 1.5 * columns[:, 2] * columns[:, 3] + np.square(columns[:, 4]) - 1
    flipped = rng.random(SVM_ROWS) < 0.05
    targets = np.where((surface > 0) ^ flipped, 1, -1).astype(np.float32)[:, None]
    if kernel == "rbf":
        frequencies = rng.standard_normal((SVM_COLUMNS, KERNEL_FEATURES)) / np.sqrt(SVM_COLUMNS)
        scale = np.sqrt(2 * SVM_COLUMNS / KERNEL_FEATURES)
        columns = scale * np.cos(columns @ frequencies + rng.uniform(0, 2 * np.pi, KERNEL_FEATURES))
    inputs = _with_ones(columns)
    cut = round((1 - images.HELD_BACK) * SVM_ROWS)
    return Rows("generated, 10,000 rows", inputs[:cut], targets[:cut], inputs[cut:], targets[cut:])


def _with_ones(columns: NDArray[np.floating]) -> FloatArray:
    return np.hstack([columns, np.ones((len(columns), 1))]).astype(np.float32)
