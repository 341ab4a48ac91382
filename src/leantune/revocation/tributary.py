"""Tributary's predictor, as SpotTune describes it: everything through the LSTM, random max prices in training.

    60 minutes, the present one included, each record with the max price as one more channel -> LSTM of 3 layers -> P

Max prices are drawn as at inference, so its base rate is right without Eq. 3.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

import numpy as np
from scipy.special import expit

from leantune.arrays import FloatArray
from leantune.revocation.dataset import Examples
from leantune.revocation.features import NAMES, Scale, max_price_column, past_windows, present_records
from leantune.revocation.networks import Batch, Inputs, NetworkOptions, SingleArray, Validation, logits, train
from leantune.revocation.pasts import Pasts
from leantune.revocation.revpred import Standards, drawn_network, split_standards
from leantune.revocation.trained import Settings, Tensors


@dataclass(frozen=True)
class TributaryOptions:
    """most: training times."""

    network: NetworkOptions = field(default_factory=NetworkOptions)
    most: int = 15_000


def drawn_options(random: np.random.Generator) -> TributaryOptions:
    """One of the options worth trying."""
    return TributaryOptions(drawn_network(random))


def hour_records(pasts: Pasts) -> SingleArray:
    """60 minutes (n, 60, channels), the present one last."""
    return np.concatenate([past_windows(pasts), present_records(pasts).astype(np.float32)[:, None]], axis=1)


@dataclass(frozen=True)
class Tributary:
    """Weights and standards."""

    weights: Tensors
    standards: Standards
    options: TributaryOptions

    def probabilities(self, pasts: Pasts, max_prices: FloatArray) -> FloatArray:
        """P (n,) of each query."""
        inputs = _with_max_price(self.standards.minutes(hour_records(pasts)), self.standards, pasts, max_prices)
        return np.asarray(expit(logits(self.weights, self.options.network, inputs)), dtype=np.float64)

    def tensors(self) -> Tensors:
        """Weights and standards."""
        return {**self.weights, **{f"standards.{name}": value for name, value in vars(self.standards).items()}}

    def settings(self) -> Settings:
        """Its features' names and options."""
        return {"features": [*NAMES[Scale.RELATIVE], "log_delta"], "options": asdict(self.options)}

    @classmethod
    def restored(cls, tensors: Tensors, settings: Settings) -> Tributary:
        """What `tensors` and `settings` wrote down."""
        given = dict(settings["options"])
        weights, standards = split_standards(tensors)
        options = TributaryOptions(**{**given, "network": NetworkOptions(**given["network"])})
        return cls(weights, Standards(**standards), options)


def fit_tributary(train_on: Examples, validation: Examples, options: TributaryOptions, seed: int) -> Tributary:
    """Train on at most `options.most` times of the train slice; stop early by the validation slice."""
    random = np.random.default_rng(seed)
    times = train_on.where(np.sort(random.permutation(len(train_on))[: options.most]))
    pasts = times.pasts()
    raw = hour_records(pasts)
    standards = Standards.of(raw, max_price_column(pasts, times.max_prices)[:, None])
    minutes = standards.minutes(raw)

    def epoch(number: int) -> Batch:
        asked = times.asking(times.rule.draw(pasts.present, np.random.default_rng([seed, number])))
        inputs = _with_max_price(minutes, standards, pasts, asked.max_prices)
        return Batch(inputs, asked.labels, np.ones(len(asked)))

    later = validation.pasts()
    seen = _with_max_price(standards.minutes(hour_records(later)), standards, later, validation.max_prices)
    judged_by = Validation(Batch(seen, validation.labels, np.ones(len(validation))))
    weights, _ = train(epoch, judged_by, options.network, seed)
    return Tributary(weights, standards, options)


def _with_max_price(minutes: SingleArray, standards: Standards, pasts: Pasts, max_prices: FloatArray) -> Inputs:
    column = standards.present(max_price_column(pasts, max_prices)[:, None])
    repeated = np.broadcast_to(column[:, None], (*minutes.shape[:2], 1))
    return Inputs(np.concatenate([minutes, repeated], axis=2), np.empty((len(minutes), 0), dtype=np.float32))
