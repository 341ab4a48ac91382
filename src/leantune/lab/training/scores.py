"""How good probabilities are: accuracy, F1, Brier score, log loss, calibration, area under the precision-recall curve.

scikit-learn computes them; p is kept within [1e-7, 1 - 1e-7] for the log loss, and the area is average precision.

calibration error = sum over bins of (n_bin / n) |mean p - mean y|, ten bins of equal width: scikit-learn's
calibration_curve does not tell how many answers each bin holds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leantune.arrays import BoolArray, FloatArray
from leantune.errors import InvalidInput, needed

BINS = 10
_TINY = 1e-7


@dataclass(frozen=True)
class Reliability:
    """One bin of the reliability table: mean prediction, frequency of the event, number of answers."""

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
    """Score probabilities (n,) against events (n,)."""
    if len(labels) == 0 or probabilities.shape != labels.shape:
        what = f"{len(probabilities)} probabilities for {len(labels)} labels"
        raise InvalidInput(what, where="scores", hint="Give as many of both, at least one")
    if not ((probabilities >= 0) & (probabilities <= 1)).all():
        raise InvalidInput("a probability is outside [0, 1]", where="scores", hint="Correct the predictor")
    metrics = needed("sklearn.metrics", "scores need the library scikit-learn", where="spot train", extra="revpred")
    revoked = probabilities >= 0.5
    kept = np.clip(probabilities, _TINY, 1 - _TINY)
    table = reliability(probabilities, labels)
    return Scores(
        count=len(labels),
        base_rate=float(labels.mean()),
        accuracy=float(metrics.accuracy_score(labels, revoked)),
        f1=float(metrics.f1_score(labels, revoked, zero_division=0.0)),
        brier=float(metrics.brier_score_loss(labels, probabilities)),
        log_loss=float(metrics.log_loss(labels, kept, labels=[False, True])),
        calibration_error=sum(row.count * abs(row.predicted - row.happened) for row in table) / len(labels),
        area=float(metrics.average_precision_score(labels, probabilities)) if labels.any() else 0.0,
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
