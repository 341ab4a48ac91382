"""How good probabilities are: accuracy, F1, Brier score, log loss, calibration, area under the precision-recall curve.

Brier = mean (p - y)^2;  log loss = -mean(y log p + (1 - y) log(1 - p)), p kept within [1e-7, 1 - 1e-7]
calibration error = sum over bins of (n_bin / n) |mean p - mean y|, ten bins of equal width
area = sum over distinct thresholds of (R_k - R_{k-1}) P_k (average precision)

The tests compare them with scikit-learn's, which is an extra here and sums in another order: the last digit differs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leantune.arrays import BoolArray, FloatArray
from leantune.errors import InvalidInput

BINS = 10
_TINY = 1e-7


@dataclass(frozen=True)
class Reliability:
    """One bin of the reliability table: what was said, what happened, how often."""

    low: float
    high: float
    count: int
    predicted: float
    happened: float


@dataclass(frozen=True)
class Scores:
    """Of n answers; f1 and area are 0 where nothing happened."""

    count: int
    base_rate: float
    accuracy: float
    f1: float
    brier: float
    log_loss: float
    calibration_error: float
    area: float


def scores(probabilities: FloatArray, labels: BoolArray) -> Scores:
    """Score probabilities (n,) against what happened (n,)."""
    if len(labels) == 0 or probabilities.shape != labels.shape:
        what = f"{len(probabilities)} probabilities for {len(labels)} labels"
        raise InvalidInput(what, where="scores", hint="Give as many of both, at least one")
    if not ((probabilities >= 0) & (probabilities <= 1)).all():
        raise InvalidInput("a probability is outside [0, 1]", where="scores", hint="Correct the predictor")
    happened = labels.astype(np.float64)
    said = probabilities >= 0.5
    hits = float((said & labels).sum())
    kept = np.clip(probabilities, _TINY, 1 - _TINY)
    table = reliability(probabilities, labels)
    return Scores(
        len(labels),
        float(happened.mean()),
        float((said == labels).mean()),
        2 * hits / max(float(said.sum() + labels.sum()), 1.0),
        float(((probabilities - happened) ** 2).mean()),
        float(-(happened * np.log(kept) + (1 - happened) * np.log1p(-kept)).mean()),
        float(sum(row.count * abs(row.predicted - row.happened) for row in table)) / len(labels),
        area_under_precision_recall(probabilities, labels),
    )


def reliability(probabilities: FloatArray, labels: BoolArray, bins: int = BINS) -> list[Reliability]:
    """The bins that hold any answer, lowest first."""
    place = np.minimum((probabilities * bins).astype(np.int64), bins - 1)
    rows = []
    for b in np.unique(place):
        mine = place == b
        predicted, happened = float(probabilities[mine].mean()), float(labels[mine].mean())
        rows.append(Reliability(float(b) / bins, float(b + 1) / bins, int(mine.sum()), predicted, happened))
    return rows


def area_under_precision_recall(probabilities: FloatArray, labels: BoolArray) -> float:
    """Average precision; 0 where nothing happened."""
    positives = float(labels.sum())
    if positives == 0:
        return 0.0
    order = np.argsort(-probabilities, kind="stable")
    hits = np.cumsum(labels[order])
    last_of_its_value = np.append(np.diff(probabilities[order]) != 0, True)
    hits, counts = hits[last_of_its_value], np.flatnonzero(last_of_its_value) + 1
    recall = np.concatenate(([0.0], hits / positives))
    return float((np.diff(recall) * hits / counts).sum())
