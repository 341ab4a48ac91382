"""RevPred (SpotTune, section III-B), a two-part network with Algorithm 2, class weights and Eq. 3, and Tributary's.

    P^ is trained with weight phi- on revoked and phi+ on other questions (phi+: share of revoked ones). The optimum of
    that loss has odds(P^) = odds(P) * phi- / phi+, so that
        corrected:  odds(P) = odds(P^) * phi+ / phi-        printed (Eq. 3):  odds(P) = odds(P^) * phi- / phi+
    Max prices in training: p(t) * (1 + delta), delta drawn as at inference, but for a share `border` of the questions
    from Algorithm 2's fluctuation of the past hour, with a floor: step prices make most of them 0.

`PRINTED` follows the letter: absolute features, every delta from Algorithm 2 without floor, Eq. 3 as printed, and no
calibration. `NARROW` is the corrected one on the paper's features; the default's dense part reads the summary of the
past week too. `TRIBUTARY` is Tributary's as SpotTune describes it: everything through the LSTM, 60 minutes, the present
one included, each with the max price as one more channel. Its max prices are drawn as at inference, so that its base
rate is right without Eq. 3.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace

import numpy as np
from scipy.special import expit

from leantune.arrays import BoolArray, FloatArray
from leantune.revocation.dataset import Examples, fluctuation
from leantune.revocation.features import NAMES, FeatureScale, max_price_column, past_windows, present_records
from leantune.revocation.logistic import standardisation
from leantune.revocation.networks import Batch, Inputs, NetworkOptions, SingleArray, logits, train
from leantune.revocation.pasts import Pasts
from leantune.revocation.summary import SUMMARY_NAMES, summaries
from leantune.revocation.trained import Model, Settings, Tensors

_WITHIN = 8.0  # standardised features are kept within +- this, so that a freak price does no harm
_HEAD = "standards."  # of the names of tensors that are no weights


@dataclass(frozen=True)
class RevPredOptions:
    """scale: of the features; wide: the summary in the dense part; border: share of Algorithm 2's deltas; floor: the
    least of them, relative to the price; weighted: class weights; inverted: Eq. 3 as printed; most: training times;
    whole: no dense part, the max price goes through the LSTM.
    """

    network: NetworkOptions = field(default_factory=NetworkOptions)
    scale: FeatureScale = FeatureScale.RELATIVE
    wide: bool = True
    border: float = 0.0
    floor: float = 1e-3
    weighted: bool = True
    inverted: bool = False
    most: int = 15_000
    whole: bool = False

    def drawn(self, random: np.random.Generator) -> RevPredOptions:
        """Others worth trying; of what follows a paper to the letter only the network may vary."""
        network = self.network.drawn(random)
        if self.inverted or self.whole:
            return replace(self, network=network)
        border, weighted = float(random.choice([0.0, 0.1, 0.25])), bool(random.random() < 0.5)
        return replace(self, network=network, border=border, weighted=weighted)


NARROW = RevPredOptions(wide=False)
PRINTED = RevPredOptions(scale=FeatureScale.PRINTED, wide=False, border=1.0, floor=0.0, inverted=True)
TRIBUTARY = RevPredOptions(wide=False, weighted=False, whole=True)


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

    def inputs(self, minutes: SingleArray, raw: FloatArray, *, whole: bool) -> Inputs:
        """The network's input from standardised minutes and `present_features`."""
        present = np.clip((raw - self.present_mean) / self.present_deviation, -_WITHIN, _WITHIN).astype(np.float32)
        if not whole:
            return Inputs(minutes, present)
        repeated = np.broadcast_to(present[:, None], (*minutes.shape[:2], present.shape[1]))
        return Inputs(np.concatenate([minutes, repeated], axis=2), np.empty((len(minutes), 0), dtype=np.float32))


def minute_records(pasts: Pasts, options: RevPredOptions) -> SingleArray:
    """The minutes that the LSTM reads (n, 59, channels); of the whole network 60, the present one last."""
    past = past_windows(pasts, options.scale)
    if not options.whole:
        return past
    return np.concatenate([past, present_records(pasts, options.scale).astype(np.float32)[:, None]], axis=1)


def present_features(pasts: Pasts, max_prices: FloatArray, options: RevPredOptions) -> FloatArray:
    """The input of the dense part (n, k): the present record, the max price and, if wide, the summary of the past.

    Of the whole network the max price alone.
    """
    record = [] if options.whole else [present_records(pasts, options.scale)]
    summary = [summaries(pasts, max_prices)] if options.wide else []
    return np.column_stack([*record, max_price_column(pasts, max_prices, options.scale), *summary])


def present_names(options: RevPredOptions) -> list[str]:
    """The names of the columns of `present_features`."""
    record = [] if options.whole else ["|", *NAMES[options.scale]]
    delta = "log_delta" if options.scale is FeatureScale.RELATIVE else "max_price"
    return [*record, delta, *(SUMMARY_NAMES if options.wide else ())]


def class_shift(share: float) -> float:
    """Shift of logit P^ by Eq. 3, corrected, if a share phi+ is revoked: log(phi+ / phi-). Printed: its negative."""
    return float(np.log(share / (1.0 - share)))


@dataclass(frozen=True)
class RevPred(Model):
    """Weights, standards, and the shift of Eq. 3."""

    weights: Tensors
    standards: Standards
    shift: float
    options: RevPredOptions

    def probabilities(self, pasts: Pasts, max_prices: FloatArray) -> FloatArray:
        """P (n,) of each query."""
        inputs = _inputs(pasts, max_prices, self.standards, self.options)
        return np.asarray(expit(logits(self.weights, self.options.network, inputs) + self.shift), dtype=np.float64)

    @property
    def features(self) -> list[str]:
        """Those of a minute, then those of the present."""
        return [*NAMES[self.options.scale], *present_names(self.options)]

    def tensors(self) -> Tensors:
        """Weights and standards."""
        standards: Tensors = {f"{_HEAD}{name}": value for name, value in vars(self.standards).items()}
        return {**self.weights, **standards, "shift": np.array([self.shift])}

    def settings(self) -> Settings:
        """Its features' names and options."""
        return {"features": self.features, "options": asdict(self.options)}

    @classmethod
    def restored(cls, tensors: Tensors, settings: Settings) -> RevPred:
        """Restored from `tensors` and `settings`; Tributary's has no shift, and once had options of its own."""
        given = settings["options"]
        given_or_default = asdict(RevPredOptions() if "shift" in tensors else TRIBUTARY) | given
        network, scale = NetworkOptions(**given_or_default["network"]), FeatureScale(given_or_default["scale"])
        options = RevPredOptions(**{**given_or_default, "network": network, "scale": scale})
        weights = {name: value for name, value in tensors.items() if not name.startswith(_HEAD) and name != "shift"}
        standards = {name.removeprefix(_HEAD): tensors[name] for name in tensors if name.startswith(_HEAD)}
        return cls(weights, Standards(**standards), float(tensors.get("shift", [0.0])[0]), options)


def fit_revpred(train_on: Examples, validation: Examples, options: RevPredOptions, seed: int) -> RevPred:
    """Train on at most `options.most` times of the train slice; stop early by the validation slice."""
    random = np.random.default_rng(seed)
    times = train_on.where(np.sort(random.permutation(len(train_on))[: options.most]))
    pasts = times.pasts()
    raw_minutes = minute_records(pasts, options)
    first = times if options.whole else _with_max_prices(times, pasts, options, np.random.default_rng([seed, 0]))
    standards = Standards.of(raw_minutes, present_features(pasts, first.max_prices, options))
    minutes = standards.minutes(raw_minutes)
    share = first.frequency

    def epoch(number: int) -> Batch:
        asked = _with_max_prices(times, pasts, options, np.random.default_rng([seed, number]))
        inputs = standards.inputs(minutes, present_features(pasts, asked.max_prices, options), whole=options.whole)
        return Batch(inputs, asked.labels, class_weights(asked.labels, share, weighted=options.weighted))

    right = class_shift(share) if options.weighted else 0.0
    weights, _ = train(epoch, _validated(validation, standards, options), options.network, seed, shift=right)
    shift = -right if options.inverted else right
    return RevPred(weights, standards, shift, options)


def class_weights(labels: BoolArray, share: float, *, weighted: bool) -> FloatArray:
    """phi- for revoked, phi+ for others, times 2 so that a balanced set weighs 1 each; all 1 without weights."""
    return 2.0 * np.where(labels, 1.0 - share, share) if weighted else np.ones(len(labels))


def _with_max_prices(times: Examples, pasts: Pasts, options: RevPredOptions, random: np.random.Generator) -> Examples:
    """The training times with max prices of an epoch."""
    prices = pasts.present
    drawn = times.rule.draw(prices, random)
    near = prices + np.maximum(fluctuation(pasts), options.floor * prices)
    return times.asking(np.where(random.random(len(prices)) < options.border, near, drawn))


def _validated(validation: Examples, standards: Standards, options: RevPredOptions) -> Batch:
    """The validation slice as the network sees it; as printed it is asked about Algorithm 2's max prices too."""
    pasts = validation.pasts()
    asked = (
        _with_max_prices(validation, pasts, options, np.random.default_rng(0)) if options.border == 1.0 else validation
    )
    return Batch(_inputs(pasts, asked.max_prices, standards, options), asked.labels, np.ones(len(asked)))


def _inputs(pasts: Pasts, max_prices: FloatArray, standards: Standards, options: RevPredOptions) -> Inputs:
    """The network's input for questions."""
    minutes = standards.minutes(minute_records(pasts, options))
    return standards.inputs(minutes, present_features(pasts, max_prices, options), whole=options.whole)
