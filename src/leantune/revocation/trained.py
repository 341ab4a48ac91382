"""A trained predictor: models that answer from pasts, one for all markets or one for each, and their calibration.

P = sigmoid(slope * logit(P_model) + intercept), fitted on the validation slice (Platt); slope 1, intercept 0 as printed
P = 1 where the price is above the max price already
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from leantune.arrays import BoolArray, FloatArray
from leantune.cloud.markets import PriceSeries
from leantune.errors import InvalidInput
from leantune.revocation.pasts import Pasts, gather

ALL_MARKETS = ""
SUFFIX = ".safetensors"  # of the files that hold one
Tensors = dict[str, NDArray[Any]]
Settings = dict[str, Any]  # numbers, texts and lists that JSON can hold
DRIFT = 0.2  # lines fitted on neighbouring weeks of pool6_2016's train slice differ by up to this
_TINY = 1e-7
_STEPS = 50  # of Newton's method; it needs about ten


class Model(ABC):
    """A frozen dataclass, fitted, that answers from the past. It is written down field by field."""

    @abstractmethod
    def probabilities(self, pasts: Pasts, max_prices: FloatArray) -> FloatArray:
        """P (n,) of each query."""

    @property
    @abstractmethod
    def features(self) -> list[str]:
        """The names of its features."""

    def tensors(self) -> Tensors:
        """The fields that are arrays."""
        return {name: value for name, value in vars(self).items() if isinstance(value, np.ndarray)}

    def settings(self) -> Settings:
        """Its features' names, and the other fields."""
        others = {name: value for name, value in vars(self).items() if not isinstance(value, np.ndarray)}
        return {"features": self.features, **others}

    @classmethod
    def restored(cls, tensors: Tensors, settings: Settings) -> Self:
        """Restored from `tensors` and `settings`."""
        values = {**settings, **tensors}
        return cls(**{part.name: values[part.name] for part in fields(cls)})  # type: ignore[arg-type] # a dataclass


@dataclass(frozen=True)
class PlattLine:
    """Platt's line on the logit."""

    slope: float = 1.0
    intercept: float = 0.0

    def __call__(self, probabilities: FloatArray) -> FloatArray:
        """Calibrated probabilities (n,)."""
        if (self.slope, self.intercept) == (1.0, 0.0):
            return probabilities
        kept = np.clip(probabilities, _TINY, 1 - _TINY)
        return np.asarray(expit(self.slope * logit(kept) + self.intercept), dtype=np.float64)

    @classmethod
    def fitted(cls, probabilities: FloatArray, labels: BoolArray) -> PlattLine:
        """Most likely slope (not below 0) and intercept; targets as Platt's, so that they stay finite.

        Newton's method, not scikit-learn: CalibratedClassifierCV calibrates classifiers of its own, not probabilities,
        and its line alone is private. LogisticRegression on each question twice, weighted by its target, gives the same
        line to eight digits in 21 to 32 ms instead of 4 to 12 (18,000 questions); where all answers are alike its
        penalty pulls the slope towards 0, ours towards 1.
        """
        positives, negatives = int(labels.sum()), int((~labels).sum())
        target = np.where(labels, (positives + 1) / (positives + 2), 1 / (negatives + 2))
        x = logit(np.clip(probabilities, _TINY, 1 - _TINY))
        design = np.stack([x, np.ones_like(x)], axis=1)
        line = np.array([1.0, 0.0])
        for _ in range(_STEPS):
            p = expit(design @ line)
            gradient = design.T @ (p - target) + 1e-6 * (line - [1.0, 0.0])
            curvature = (design * (p * (1 - p))[:, None]).T @ design + 1e-6 * np.eye(2)
            step = np.linalg.solve(curvature, gradient)
            line = line - step / max(1.0, float(np.abs(step).max()))
            if np.abs(step).max() < 1e-9:
                break
        return cls(max(float(line[0]), 0.0), float(line[1]))

    def beyond(self, drift: float = DRIFT) -> PlattLine:
        """Only what slices of time do not differ by anyway: slope and intercept move towards 1 and 0 by the drift."""
        return PlattLine(1.0 + _beyond(self.slope - 1.0, drift), _beyond(self.intercept, drift))


def _beyond(value: float, drift: float) -> float:
    return float(np.sign(value) * max(abs(value) - drift, 0.0))


@dataclass(frozen=True)
class Trained:
    """A predictor: the name of its kind, and its models by market (`str(market)`, or one under ALL_MARKETS).

    provenance: where it comes from (training period, markets, options, scores), as plain JSON values.
    """

    name: str
    models: Mapping[str, Model]
    calibrations: Mapping[str, PlattLine] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def predict(self, series: Sequence[PriceSeries], times: FloatArray, max_prices: FloatArray) -> FloatArray:
        """P (n,), from the past of each time."""
        pasts, limits = gather(series, times), np.ascontiguousarray(max_prices, dtype=np.float64)
        if limits.shape != pasts.asked.shape or not ((limits > 0) & np.isfinite(limits)).all():
            what = f"max prices of shape {limits.shape} for {len(pasts.asked)} times, or one that is not above 0"
            raise InvalidInput(what, where="predict", hint="Give one finite max price above 0 for each time")
        if ALL_MARKETS in self.models:
            p = self._probabilities(ALL_MARKETS, pasts, limits)
        else:
            p = np.empty(len(limits))
            keys = np.array([str(market) for market in pasts.markets], dtype=np.str_)[pasts.group]
            for key in np.unique(keys):
                mine = np.flatnonzero(keys == key)
                p[mine] = self._probabilities(str(key), pasts.where(mine), limits[mine])
        return np.where(pasts.present > limits, 1.0, p)

    def _probabilities(self, key: str, pasts: Pasts, limits: FloatArray) -> FloatArray:
        if key not in self.models:
            hint = "Train it with --pooled, which serves every market, or on prices of this market"
            raise InvalidInput(f"the {self.name} predictor was not trained on this market", where=key, hint=hint)
        p = self.models[key].probabilities(pasts, limits)
        return self.calibrations[key](p) if key in self.calibrations else p
