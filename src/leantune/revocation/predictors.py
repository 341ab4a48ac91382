"""Which predictors there are, and which one to use.

predictor("online-hazard")  needs no training and no extra: the default of a bare install
load(path)                  one that `leantune spot train` wrote
DEFAULT_KIND                the kind that won on the real prices of 2016 (docs/spot-predictors.md)
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from leantune.arrays import FloatArray
from leantune.cloud.markets import PriceSeries
from leantune.cloud.predictor import Predictor
from leantune.errors import InvalidInput
from leantune.revocation.hazard import OnlineHazard
from leantune.revocation.trained import ALL_MARKETS, SUFFIX, Trained

DEFAULT_KIND = "boosted"
UNTRAINED = "online-hazard"


def predictor(name: str = UNTRAINED) -> Predictor:
    """A predictor that needs no training, by its name."""
    if name == UNTRAINED:
        return Trained(UNTRAINED, {ALL_MARKETS: OnlineHazard()})
    from leantune.revocation.kinds import KINDS

    if name in KINDS:
        hint = f"Train it: leantune spot train --predictors {name}; then give the file it writes"
        raise InvalidInput(f"the predictor {name} has to be trained first", where="predictor", hint=hint)
    hint = f"Without training there is {UNTRAINED}; these can be trained: {', '.join(KINDS)}"
    raise InvalidInput(f"there is no predictor {name!r}", where="predictor", hint=hint)


def load(path: Path) -> Predictor:
    """The predictor of a file, ready to ask."""
    from leantune.revocation import saved

    return saved.load(path).predictor


def named_or_saved(text: str) -> Predictor:
    """What a user typed: a name, or the path of a file."""
    return load(Path(text)) if text.endswith(SUFFIX) else predictor(text)


def over_deltas(asked: Predictor, series: PriceSeries, times: FloatArray, deltas: FloatArray) -> FloatArray:
    """P (m, k) of one market at times (m,) for max prices p(t) * (1 + deltas (k,)): what a simulation looks up."""
    prices = series.at_times(np.asarray(times, dtype=np.float64))
    limits = prices[:, None] * (1.0 + np.asarray(deltas, dtype=np.float64))
    repeated: Sequence[PriceSeries] = [series] * limits.size
    probabilities = asked.predict(
        repeated, np.repeat(np.asarray(times, dtype=np.float64), limits.shape[1]), limits.ravel()
    )
    return probabilities.reshape(limits.shape)
