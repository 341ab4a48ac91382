"""Selects the runs to continue: those most likely to end best, by predictions and their uncertainty.

    P(i is best) = E_x [ prod_(j != i) P(X_j worse than x) ];  x ~ N(mean_i, sd_i^2), X_j ~ N(mean_j, sd_j^2)

The expectation is a mean over equally likely quantiles of x: no random numbers, equal bits on equal input. The `mcnt`
runs with the highest probability are those most likely to hold the best one among them; of two runs alike in mean the
one that may still surprise comes first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from leantune.arrays import FloatArray
from leantune.curves.base import Outlook, Prediction
from leantune.errors import InvalidInput

_QUANTILES = 64
_BLOCK = 32  # runs at a time: 16 MB where there are 1,000


@dataclass(frozen=True)
class RankedRun:
    """A run by its place in the list given; probability of ending best: NaN when not predictable, 0 when diverged."""

    index: int
    probability: float
    outlook: Outlook


@dataclass(frozen=True)
class Selection:
    """ranking: every run, most promising first, then those not predictable, then those diverged.

    chosen: indices of those that continue, in that order: the first mcnt, and all that are not predictable.
    """

    ranking: tuple[RankedRun, ...]
    chosen: tuple[int, ...]


def choose(predictions: Sequence[Prediction], mcnt: int, *, maximize: bool = False) -> Selection:
    """Rank runs by the probability of ending best and choose who continues.

    Runs that are not predictable go on in addition to the mcnt. Diverged ones never do, unless nothing else is left.
    """
    if mcnt < 1 or not predictions:
        raise InvalidInput(
            f"cannot choose {mcnt} of {len(predictions)} runs", where="selection", hint="Give at least one of each"
        )
    sign = -1.0 if maximize else 1.0
    by_kind: dict[bool | None, list[int]] = {True: [], None: [], False: []}
    for index, prediction in enumerate(predictions):
        by_kind[_predictable(prediction)].append(index)
    means = np.array([sign * predictions[i].mean for i in by_kind[True]])
    chances = best_probabilities(means, np.array([predictions[i].sd for i in by_kind[True]]))
    order = np.lexsort((means, -chances))  # ties: the better mean, then the first
    promising = [RankedRun(by_kind[True][i], float(chances[i]), predictions[by_kind[True][i]].outlook) for i in order]
    open_ended = [RankedRun(i, math.nan, predictions[i].outlook) for i in by_kind[None]]
    lost = [RankedRun(i, 0.0, predictions[i].outlook) for i in by_kind[False]]
    going_on = promising[:mcnt] + open_ended or lost[:mcnt]
    return Selection(tuple(promising + open_ended + lost), tuple(ranked.index for ranked in going_on))


def best_probabilities(means: FloatArray, sds: FloatArray) -> FloatArray:
    """P(i is the smallest) for independent normal values (n,); they sum to 1. A tie of certain values is shared."""
    if not len(means):
        return np.empty(0)
    levels = ndtri((np.arange(_QUANTILES) + 0.5) / _QUANTILES)
    chances = np.empty(len(means))
    for begin in range(0, len(means), _BLOCK):
        block = np.arange(begin, min(begin + _BLOCK, len(means)))
        x = means[block, None] + sds[block, None] * levels
        worse = _survival(x.ravel(), means, sds).reshape(len(block), _QUANTILES, len(means))
        worse[np.arange(len(block)), :, block] = 1.0  # no run competes with itself
        chances[block] = worse.prod(axis=2).mean(axis=1)
    return np.asarray(chances / chances.sum())


def _survival(x: FloatArray, means: FloatArray, sds: FloatArray) -> FloatArray:
    """P(X_j >= x_q), (q, n)."""
    distance = means[None, :] - x[:, None]
    certain = (distance >= 0).astype(np.float64)
    uncertain = sds > 0.0
    scaled = np.divide(distance, sds[None, :], out=np.zeros_like(distance), where=uncertain[None, :])
    return np.asarray(np.where(uncertain[None, :], ndtr(scaled), certain))


def _predictable(prediction: Prediction) -> bool | None:
    """True; None: not predictable; False: diverged."""
    if prediction.outlook is Outlook.DIVERGED or math.isnan(prediction.mean):
        return False
    return True if math.isfinite(prediction.sd) and prediction.outlook is not Outlook.NOT_PREDICTABLE else None
