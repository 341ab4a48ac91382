"""Logistic regression on the present record and the max price: trained by scikit-learn, asked without it.

    logit P = w . standardised(x) + c;  minimises log loss + l2 / (2 n) |w|^2

x is the present minute's record with log(b / p(t) - 1); `wide` takes the summary of the past instead of the record.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, logit

from leantune.arrays import FloatArray
from leantune.errors import needed
from leantune.revocation.dataset import Examples
from leantune.revocation.features import NAMES, FeatureScale, max_price_column, present_records
from leantune.revocation.pasts import Pasts
from leantune.revocation.summary import SUMMARY_NAMES, summaries
from leantune.revocation.trained import Model


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
        """The names of the columns of `design`."""
        return [*(SUMMARY_NAMES if self.wide else NAMES[FeatureScale.RELATIVE]), "log_delta"]


def fit_logistic(train: Examples, validation: Examples, options: LogisticOptions, seed: int) -> Logistic:
    """The weights of the train slice; labels that are all alike give their frequency."""
    what = "training a logistic regression needs the library scikit-learn"
    linear_model = needed("sklearn.linear_model", what, where="spot train", extra="revpred")
    rows = design(train.pasts(), train.max_prices, options.wide)
    mean, deviation = standardisation(rows)
    if train.all_alike:
        weights = np.append(np.zeros(rows.shape[1]), logit(train.frequency))
    else:
        regression = linear_model.LogisticRegression(C=1.0 / options.l2, solver="newton-cholesky", tol=1e-8)
        regression.fit((rows - mean) / deviation, train.labels)
        weights = np.append(regression.coef_[0], regression.intercept_)
    return Logistic(mean, deviation, weights, options.wide)


def standardisation(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and deviation of each column; a constant column keeps deviation 1."""
    deviation = rows.std(axis=0)
    return rows.mean(axis=0), np.where(deviation > 1e-9, deviation, 1.0)
