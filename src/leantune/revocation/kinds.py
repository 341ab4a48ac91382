"""The kinds of predictors that can be trained, as one table: how each is fitted, tuned and restored.

    hazard           frequency in the past, by market, hour of the day and relative delta
    logistic         logistic regression on the present minute and the max price
    logistic-wide    logistic regression on the summary of the past week
    tributary        Tributary's: 60 minutes with the max price through a 3-layer LSTM
    revpred          RevPred, corrected, its dense part reading the summary of the past week too
    revpred-narrow   RevPred, corrected, on the paper's features alone
    revpred-printed  RevPred exactly as printed: absolute features, Algorithm 2 without a floor, Eq. 3 inverted
    boosted          gradient-boosted trees on the summary of the past week

Every kind is tuned with the same number of tries: its default options first, then drawn ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from leantune.errors import InvalidInput
from leantune.revocation.boosted import BoostedOptions, BoostedTrees, fit_boosted
from leantune.revocation.dataset import Examples
from leantune.revocation.hazard import EmpiricalHazard, HazardOptions, fit_hazard
from leantune.revocation.logistic import Logistic, LogisticOptions, fit_logistic
from leantune.revocation.revpred import NARROW, PRINTED, TRIBUTARY, RevPred, RevPredOptions, fit_revpred
from leantune.revocation.trained import Model


@dataclass(frozen=True)
class Kind:
    """A row of the table. Options are one of the kinds' frozen dataclasses: `Any`, because each kind has its own."""

    name: str
    default: Any
    fit: Callable[[Examples, Examples, Any, int], Model]
    model: type[Model]
    calibrated: bool = True  # on the validation slice; not where a paper is followed to the letter

    def options(self, tries: int, seed: int) -> list[Any]:
        """Options to try: the default, then drawn options, equal for equal seeds."""
        random = np.random.default_rng([seed, *self.name.encode()])
        return [self.default, *(self.default.drawn(random) for _ in range(tries - 1))]


_ROWS = (
    Kind("hazard", HazardOptions(), fit_hazard, EmpiricalHazard),
    Kind("logistic", LogisticOptions(), fit_logistic, Logistic),
    Kind("logistic-wide", LogisticOptions(wide=True), fit_logistic, Logistic),
    Kind("tributary", TRIBUTARY, fit_revpred, RevPred),
    Kind("revpred", RevPredOptions(), fit_revpred, RevPred),
    Kind("revpred-narrow", NARROW, fit_revpred, RevPred),
    Kind("revpred-printed", PRINTED, fit_revpred, RevPred, calibrated=False),
    Kind("boosted", BoostedOptions(), fit_boosted, BoostedTrees),
)
KINDS: dict[str, Kind] = {kind.name: kind for kind in _ROWS}


def kind_of(name: str) -> Kind:
    """The row of a name."""
    if name not in KINDS:
        hint = f"These can be trained: {', '.join(KINDS)}"
        raise InvalidInput(f"there is no predictor {name!r}", where="predictors", hint=hint)
    return KINDS[name]
