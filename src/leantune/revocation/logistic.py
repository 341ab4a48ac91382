"""Logistic regression on the present record and the max price, fitted by Newton's method.

    logit P = w . standardised(x) + c;  minimises log loss + l2 / (2 n) |w|^2

x is the present minute's record with log(b / p(t) - 1); `wide` takes the summary of the past instead of the record.
Newton's method is twenty lines here and needs no scikit-learn, which only the extra `revpred` brings.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from leantune.arrays import BoolArray, FloatArray
from leantune.revocation.dataset import Examples
from leantune.revocation.features import NAMES, FeatureScale, max_price_column, present_records
from leantune.revocation.pasts import Pasts
from leantune.revocation.summary import SUMMARY_NAMES, summaries
from leantune.revocation.trained import Model

_STEPS = 100


@dataclass(frozen=True)
class LogisticOptions:
    """l2: the weight of the penalty; wide: on the summary of the past."""

    l2: float = 1.0
    wide: bool = False

    def drawn(self, random: np.random.Generator) -> LogisticOptions:
        """Others worth trying, on the same features."""
        return replace(self, l2=float(np.exp(random.uniform(np.log(1e-2), np.log(1e4)))))


def design(pasts: Pasts, max_prices: FloatArray, wide: bool) -> FloatArray:
    """Features (n, k): the record or the summary, and the max price last."""
    past = summaries(pasts, max_prices) if wide else present_records(pasts)
    return np.column_stack([past, max_price_column(pasts, max_prices)])


@dataclass(frozen=True)
class Logistic(Model):
    """weights (k,) on standardised features, then the intercept."""

    mean: FloatArray
    deviation: FloatArray
    weights: FloatArray
    wide: bool

    def probabilities(self, pasts: Pasts, max_prices: FloatArray) -> FloatArray:
        """P (n,) of each query."""
        rows = (design(pasts, max_prices, self.wide) - self.mean) / self.deviation
        return np.asarray(expit(rows @ self.weights[:-1] + self.weights[-1]), dtype=np.float64)

    @property
    def features(self) -> list[str]:
        """What the columns of `design` are."""
        return [*(SUMMARY_NAMES if self.wide else NAMES[FeatureScale.RELATIVE]), "log_delta"]


def fit_logistic(train: Examples, validation: Examples, options: LogisticOptions, seed: int) -> Logistic:
    """The weights of the train slice."""
    rows = design(train.pasts(), train.max_prices, options.wide)
    mean, deviation = standardisation(rows)
    weights = newton((rows - mean) / deviation, train.labels, options.l2)
    return Logistic(mean, deviation, weights, options.wide)


def standardisation(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and deviation of each column; a constant column keeps deviation 1."""
    deviation = rows.std(axis=0)
    return rows.mean(axis=0), np.where(deviation > 1e-9, deviation, 1.0)


def newton(rows: FloatArray, labels: BoolArray, l2: float) -> FloatArray:
    """Weights (k + 1,), intercept last and not penalised, by Newton steps that are halved until the loss falls."""
    x = np.column_stack([rows, np.ones(len(rows))])
    penalty = np.append(np.full(rows.shape[1], l2), 1e-6)
    y = labels.astype(np.float64)

    def loss(w: FloatArray) -> float:
        z = x @ w
        return float(np.logaddexp(0.0, z).sum() - y @ z + 0.5 * (penalty * w * w).sum())

    weights = np.zeros(x.shape[1])
    now = loss(weights)
    for _ in range(_STEPS):
        p = expit(x @ weights)
        gradient = x.T @ (p - y) + penalty * weights
        curvature = (x * (p * (1 - p))[:, None]).T @ x + np.diag(penalty + 1e-9)
        step = np.linalg.solve(curvature, gradient)
        share = 1.0
        while loss(weights - share * step) > now and share > 1e-6:
            share /= 2
        weights = weights - share * step
        before, now = now, loss(weights)
        if before - now < 1e-9 * len(y):
            break
    return weights
