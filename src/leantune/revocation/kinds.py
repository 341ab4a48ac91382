"""The kinds of predictors that can be trained, as one table: how each is fitted, tuned and restored.

Every kind is tuned with the same number of tries: its default options first, then drawn ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from leantune.errors import InvalidInput
from leantune.revocation import boosted, hazard, logistic, revpred, tributary
from leantune.revocation.dataset import Examples
from leantune.revocation.trained import Model, Settings, Tensors


@dataclass(frozen=True)
class Kind:
    """A row of the table. Options are one of the kinds' frozen dataclasses: `Any`, because each kind has its own."""

    name: str
    words: str
    default: Any
    drawn: Callable[[np.random.Generator], Any]
    fit: Callable[[Examples, Examples, Any, int], Model]
    restored: Callable[[Tensors, Settings], Model]
    calibrated: bool = True  # on the validation slice; not where a paper is followed to the letter

    def options(self, tries: int, seed: int) -> list[Any]:
        """What to try: the default, then drawn ones, always the same ones for a seed."""
        random = np.random.default_rng([seed, *self.name.encode()])
        return [self.default, *(self.drawn(random) for _ in range(tries - 1))]


def _wide(random: np.random.Generator) -> logistic.LogisticOptions:
    return replace(logistic.drawn_options(random), wide=True)


_ROWS = (
    Kind(
        "hazard",
        "how often it happened, by market, hour of the day and relative delta",
        hazard.HazardOptions(),
        hazard.drawn_options,
        hazard.fit_hazard,
        hazard.EmpiricalHazard.restored,
    ),
    Kind(
        "logistic",
        "logistic regression on the present minute and the max price",
        logistic.LogisticOptions(),
        logistic.drawn_options,
        logistic.fit_logistic,
        logistic.Logistic.restored,
    ),
    Kind(
        "logistic-wide",
        "logistic regression on the summary of the past week",
        logistic.LogisticOptions(wide=True),
        _wide,
        logistic.fit_logistic,
        logistic.Logistic.restored,
    ),
    Kind(
        "tributary",
        "Tributary's: 60 minutes with the max price through a 3-layer LSTM",
        tributary.TributaryOptions(),
        tributary.drawn_options,
        tributary.fit_tributary,
        tributary.Tributary.restored,
    ),
    Kind(
        "revpred",
        "RevPred, corrected, its dense part reading the summary of the past week too",
        revpred.RevPredOptions(),
        revpred.drawn_options,
        revpred.fit_revpred,
        revpred.RevPred.restored,
    ),
    Kind(
        "revpred-narrow",
        "RevPred, corrected, on the paper's features alone",
        revpred.NARROW,
        revpred.drawn_narrow,
        revpred.fit_revpred,
        revpred.RevPred.restored,
    ),
    Kind(
        "revpred-printed",
        "RevPred exactly as printed: absolute features, Algorithm 2 without a floor, Eq. 3 inverted",
        revpred.PRINTED,
        revpred.drawn_printed,
        revpred.fit_revpred,
        revpred.RevPred.restored,
        calibrated=False,
    ),
    Kind(
        "boosted",
        "gradient-boosted trees on the summary of the past week",
        boosted.BoostedOptions(),
        boosted.drawn_options,
        boosted.fit_boosted,
        boosted.BoostedTrees.restored,
    ),
)
KINDS: dict[str, Kind] = {kind.name: kind for kind in _ROWS}


def kind_of(name: str) -> Kind:
    """The row of a name."""
    if name not in KINDS:
        hint = f"These can be trained: {', '.join(KINDS)}"
        raise InvalidInput(f"there is no predictor {name!r}", where="predictors", hint=hint)
    return KINDS[name]
