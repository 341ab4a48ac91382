"""RevPred (SpotTune, section III-B): a two-part network, Algorithm 2, class weights and Eq. 3, corrected.

    P^ is trained with weight phi- on revoked and phi+ on other questions (phi+: share of revoked ones). The optimum of
    that loss has odds(P^) = odds(P) * phi- / phi+, so that
        corrected:  odds(P) = odds(P^) * phi+ / phi-        printed (Eq. 3):  odds(P) = odds(P^) * phi- / phi+
    Max prices in training: p(t) * (1 + delta), delta drawn as at inference, but for a share `border` of the questions
    from Algorithm 2's fluctuation of the past hour, with a floor: step prices make most of them 0.

`PRINTED` follows the letter: absolute features, every delta from Algorithm 2 without floor, Eq. 3 as printed, and no
calibration. `NARROW` is the corrected one on the paper's features; the default's dense part reads the summary of the
past week too.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from scipy.special import expit

from leantune.arrays import BoolArray, FloatArray
from leantune.revocation.dataset import Examples, fluctuation
from leantune.revocation.features import NAMES, Scale, max_price_column, past_windows, present_records
from leantune.revocation.logistic import standardisation
from leantune.revocation.networks import Batch, Inputs, NetworkOptions, SingleArray, Validation, logits, train
from leantune.revocation.pasts import Pasts
from leantune.revocation.summary import SUMMARY_NAMES, summaries
from leantune.revocation.trained import Settings, Tensors

_WITHIN = 8.0  # standardised features are kept within +- this, so that a freak price does no harm


@dataclass(frozen=True)
class RevPredOptions:
    """scale: of the features; wide: the summary in the dense part; border: share of Algorithm 2's deltas; floor: the
    least of them, relative to the price; weighted: class weights; inverted: Eq. 3 as printed; most: training times.
    """

    network: NetworkOptions = field(default_factory=NetworkOptions)
    scale: Scale = Scale.RELATIVE
    wide: bool = True
    border: float = 0.0
    floor: float = 1e-3
    weighted: bool = True
    inverted: bool = False
    most: int = 15_000


NARROW = RevPredOptions(wide=False)
PRINTED = RevPredOptions(scale=Scale.PRINTED, wide=False, border=1.0, floor=0.0, inverted=True)


def drawn_network(random: np.random.Generator) -> NetworkOptions:
    """One of the networks worth trying."""
    return NetworkOptions(
        hidden=int(random.choice([8, 12, 16])),  # 24 takes over 100 ms for 1,000 markets
        dense=int(random.choice([32, 48, 64])),
        learning_rate=float(np.exp(random.uniform(np.log(2e-3), np.log(8e-3)))),
        weight_decay=float(np.exp(random.uniform(np.log(1e-3), np.log(3e-1)))),
        dropout=float(random.choice([0.1, 0.2, 0.4])),
    )


def drawn_options(random: np.random.Generator) -> RevPredOptions:
    """One of the options worth trying."""
    network = drawn_network(random)
    return RevPredOptions(network, border=float(random.choice([0.0, 0.1, 0.25])), weighted=bool(random.random() < 0.5))


def drawn_narrow(random: np.random.Generator) -> RevPredOptions:
    """The same on the paper's features."""
    return replace(drawn_options(random), wide=False)


def drawn_printed(random: np.random.Generator) -> RevPredOptions:
    """Only the network may vary."""
    return replace(PRINTED, network=drawn_network(random))


@dataclass(frozen=True)
class Standards:
    """Means and deviations of the minutes' channels and of the present's features, over the training questions."""

    minutes_mean: FloatArray
    minutes_deviation: FloatArray
    present_mean: FloatArray
    present_deviation: FloatArray

    @classmethod
    def of(cls, minutes: SingleArray, present: FloatArray) -> Standards:
        """Measured."""
        return cls(
            *standardisation(minutes.reshape(-1, minutes.shape[2]).astype(np.float64)), *standardisation(present)
        )

    def minutes(self, raw: SingleArray) -> SingleArray:
        """Standardised minutes (n, steps, channels)."""
        return np.clip((raw - self.minutes_mean) / self.minutes_deviation, -_WITHIN, _WITHIN).astype(np.float32)

    def present(self, raw: FloatArray) -> SingleArray:
        """Standardised features of the present (n, k)."""
        return np.clip((raw - self.present_mean) / self.present_deviation, -_WITHIN, _WITHIN).astype(np.float32)


def present_features(pasts: Pasts, max_prices: FloatArray, scale: Scale, wide: bool) -> FloatArray:
    """What the dense part reads (n, k): the present record, the max price and, if wide, the summary of the past."""
    columns = [present_records(pasts, scale), max_price_column(pasts, max_prices, scale)[:, None]]
    return np.column_stack([*columns, summaries(pasts, max_prices)] if wide else columns)


def present_names(scale: Scale, wide: bool) -> list[str]:
    """What the columns of `present_features` are."""
    delta = "log_delta" if scale is Scale.RELATIVE else "max_price"
    return [*NAMES[scale], delta, *(SUMMARY_NAMES if wide else ())]


def class_shift(share: float) -> float:
    """What Eq. 3, corrected, adds to logit P^ when a share phi+ is revoked: log(phi+ / phi-). Printed: its negative."""
    return float(np.log(share / (1.0 - share)))


@dataclass(frozen=True)
class RevPred:
    """Weights, standards, and the shift of Eq. 3."""

    weights: Tensors
    standards: Standards
    shift: float
    options: RevPredOptions

    def probabilities(self, pasts: Pasts, max_prices: FloatArray) -> FloatArray:
        """P (n,) of each query."""
        o = self.options
        raw = present_features(pasts, max_prices, o.scale, o.wide)
        inputs = Inputs(self.standards.minutes(past_windows(pasts, o.scale)), self.standards.present(raw))
        return np.asarray(expit(logits(self.weights, o.network, inputs) + self.shift), dtype=np.float64)

    def tensors(self) -> Tensors:
        """Weights and standards."""
        standards: dict[str, Any] = {f"standards.{name}": value for name, value in vars(self.standards).items()}
        return {**self.weights, **standards, "shift": np.array([self.shift])}

    def settings(self) -> Settings:
        """Its features' names and options."""
        o = self.options
        return {
            "features": [*NAMES[o.scale], "|", *present_names(o.scale, o.wide)],
            "options": asdict(o),
        }

    @classmethod
    def restored(cls, tensors: Tensors, settings: Settings) -> RevPred:
        """What `tensors` and `settings` wrote down."""
        given = dict(settings["options"])
        options = RevPredOptions(
            **{**given, "network": NetworkOptions(**given["network"]), "scale": Scale(given["scale"])}
        )
        weights, standards = split_standards(tensors)
        return cls(weights, Standards(**standards), float(tensors["shift"][0]), options)


def split_standards(tensors: Tensors) -> tuple[Tensors, Tensors]:
    """(the network's weights, the standards) of what was saved."""
    head = "standards."
    standards = {name.removeprefix(head): value for name, value in tensors.items() if name.startswith(head)}
    return {n: v for n, v in tensors.items() if not n.startswith(head) and n != "shift"}, standards


def fit_revpred(train_on: Examples, validation: Examples, options: RevPredOptions, seed: int) -> RevPred:
    """Train on at most `options.most` times of the train slice; stop early by the validation slice."""
    random = np.random.default_rng(seed)
    times = train_on.where(np.sort(random.permutation(len(train_on))[: options.most]))
    pasts = times.pasts()
    raw_minutes = past_windows(pasts, options.scale)
    first = _asked(times, pasts, options, np.random.default_rng([seed, 0]))
    standards = Standards.of(raw_minutes, present_features(pasts, first.max_prices, options.scale, options.wide))
    minutes = standards.minutes(raw_minutes)
    share = (float(first.labels.sum()) + 0.5) / (len(first) + 1.0)

    def epoch(number: int) -> Batch:
        asked = _asked(times, pasts, options, np.random.default_rng([seed, number]))
        raw = present_features(pasts, asked.max_prices, options.scale, options.wide)
        inputs = Inputs(minutes, standards.present(raw))
        return Batch(inputs, asked.labels, class_weights(asked.labels, share, weighted=options.weighted))

    right = class_shift(share) if options.weighted else 0.0
    judged_by = Validation(_validated(validation, standards, options), right)
    weights, _ = train(epoch, judged_by, options.network, seed)
    shift = -right if options.inverted else right
    return RevPred(weights, standards, shift, options)


def class_weights(labels: BoolArray, share: float, *, weighted: bool) -> FloatArray:
    """phi- for revoked, phi+ for others, times 2 so that a balanced set weighs 1 each; all 1 without weights."""
    return 2.0 * np.where(labels, 1.0 - share, share) if weighted else np.ones(len(labels))


def _asked(times: Examples, pasts: Pasts, options: RevPredOptions, random: np.random.Generator) -> Examples:
    """The training times with max prices of an epoch."""
    prices = pasts.present
    drawn = times.rule.draw(prices, random)
    near = prices + np.maximum(fluctuation(pasts), options.floor * prices)
    return times.asking(np.where(random.random(len(prices)) < options.border, near, drawn))


def _validated(validation: Examples, standards: Standards, options: RevPredOptions) -> Batch:
    """The validation slice as the network sees it; as printed it is asked about Algorithm 2's max prices too."""
    pasts = validation.pasts()
    asked = _asked(validation, pasts, options, np.random.default_rng(0)) if options.border == 1.0 else validation
    raw = present_features(pasts, asked.max_prices, options.scale, options.wide)
    inputs = Inputs(standards.minutes(past_windows(pasts, options.scale)), standards.present(raw))
    return Batch(inputs, asked.labels, np.ones(len(asked)))
