"""The calibration of strategies: their predictions for recommendations, against the truth.

A case is a recommendation for all the data that was not tested there yet, after each test anew: what counts is what
would be used. Symbols: z = (truth - mean) / sd on the scale on which the goal is modelled (a logit, say), on its own
scale where no other is given; log density = -z^2 / 2 - log(sd sqrt(2 pi)) there. Each limit of a case is one case of
the reliability table: the probability that was said, and whether it held.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from leantune.lab.replay.arrivals import mean_of
from leantune.lab.replay.runs import Advice, Row
from leantune.problem import At, Problem

DECILES = 10
LARGEST_SQUARE = 9.0  # of a capped z^2: one bad miss shall not hide the others


@dataclass(frozen=True)
class Decile:
    """Limits that were said to hold with a probability in [low, high): how many, the mean of what was said (NaN for
    none), and the share that held.
    """

    low: float
    high: float
    count: int
    said: float
    held: float


@dataclass(frozen=True)
class Calibration:
    """One strategy over all its seeds; NaN where there are no cases.

    cases: predictions of the goal. within_1, within_2: shares with |z| <= 1 and 2. square, capped_square: means of z^2
    and of min(z^2, 9). limits_off: mean |said - held| over deciles, weighted by their counts.
    """

    strategy: str
    cases: int
    within_1: float
    within_2: float
    square: float
    capped_square: float
    log_density: float
    limits: int
    limits_off: float
    deciles: tuple[Decile, ...]


def calibrate(problem: Problem, runs: Mapping[str, Sequence[Sequence[Row]]], rule: str) -> list[Calibration]:
    """The calibration of each strategy by its label; `rule` says whose recommendations count ("paper", "common")."""
    return [_calibration(problem, label, list(_untested(problem, ran, rule))) for label, ran in runs.items()]


def _untested(problem: Problem, runs: Iterable[Sequence[Row]], rule: str) -> Iterator[Advice]:
    """Recommendations that rest on a prediction, and of which the table knows the truth."""
    if problem.goal.at is At.ANYWHERE:
        return  # what is recommended there was measured
    for row in (row for run in runs for row in run):
        advice = row.advice.get(rule)
        if advice is not None and not advice.tested and advice.fraction == "1" and advice.verdict.metrics:
            yield advice


def _calibration(problem: Problem, label: str, untested: Sequence[Advice]) -> Calibration:
    normals = [normal for advice in untested if (normal := _normal(problem, advice)) is not None]
    squares = [((truth - mean) / sd) ** 2 for truth, mean, sd in normals]
    densities = [
        -square / 2.0 - math.log(sd * math.sqrt(2.0 * math.pi))
        for square, (_, _, sd) in zip(squares, normals, strict=True)
    ]
    said = [pair for advice in untested for pair in _limits(problem, advice)]
    deciles = tuple(_decile(number, said) for number in range(DECILES))
    off = [decile.count * abs(decile.said - decile.held) for decile in deciles if decile.count]
    return Calibration(
        strategy=label,
        cases=len(normals),
        within_1=mean_of(square <= 1.0 for square in squares),
        within_2=mean_of(square <= 4.0 for square in squares),
        square=mean_of(squares),
        capped_square=mean_of(min(square, LARGEST_SQUARE) for square in squares),
        log_density=mean_of(densities),
        limits=len(said),
        limits_off=math.fsum(off) / len(said) if said else math.nan,
        deciles=deciles,
    )


def _normal(problem: Problem, advice: Advice) -> tuple[float, float, float] | None:
    """(truth, mean, sd); None where nothing was predicted with a deviation."""
    metric, modelled = problem.goal.metric, advice.modelled
    if modelled is not None:
        normal = modelled.truth, modelled.mean, modelled.sd
    elif metric in advice.predicted:
        predicted = advice.predicted[metric]
        normal = advice.verdict.metrics[metric], predicted.mean, predicted.sd
    else:
        return None
    return normal if normal[2] > 0 and all(map(math.isfinite, normal)) else None


def _limits(problem: Problem, advice: Advice) -> Iterator[tuple[float, bool]]:
    for limit in problem.constraints:
        if limit.text in advice.probabilities:
            yield advice.probabilities[limit.text], limit.holds(advice.verdict.metrics[limit.metric])


def _decile(number: int, said: Sequence[tuple[float, bool]]) -> Decile:
    inside = [(p, held) for p, held in said if min(int(p * DECILES), DECILES - 1) == number]
    probabilities, held = mean_of(p for p, _ in inside), mean_of(held for _, held in inside)
    return Decile(number / DECILES, (number + 1) / DECILES, len(inside), probabilities, held)
