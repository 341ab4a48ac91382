"""Average ranks over problems, with the critical difference of Nemenyi's test (Demšar 2006, section 3.2.2).

    CD = q sqrt(k (k + 1) / (6 N)),   q = studentised range at 95 %, k methods, infinite degrees, over sqrt 2

Two methods whose average ranks over N problems differ by more than CD are told apart. A problem is one block: budgets
of the same problem are not independent, so their ranks are averaged first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import friedmanchisquare, rankdata, studentized_range

LEVEL = 0.95


@dataclass(frozen=True)
class Ranks:
    """average: by method, best first; 1 is best. critical: Nemenyi's difference. p: of Friedman's test, NaN for fewer
    than three methods.
    """

    average: Mapping[str, float]
    critical: float
    p: float
    problems: int


def average_ranks(blocks: Sequence[Sequence[Mapping[str, float]]]) -> Ranks | None:
    """blocks: of each problem its budgets, of each budget the regret of every method. Methods that are missing anywhere
    are left out; None where fewer than two are left.
    """
    cells = [cell for block in blocks for cell in block]
    methods = [name for name in (cells[0] if cells else ()) if all(name in cell for cell in cells)]
    if len(methods) < 2:
        return None
    means = np.array(
        [
            np.mean([rankdata([round(cell[name], 12) for name in methods]) for cell in block], axis=0)
            for block in blocks
            if block
        ]
    )
    average = dict(zip(methods, map(float, means.mean(axis=0)), strict=True))
    several = len(methods) > 2 and len(means) > 1
    p = float(friedmanchisquare(*means.T).pvalue) if several else math.nan
    ordered = dict(sorted(average.items(), key=lambda item: item[1]))
    return Ranks(ordered, critical_difference(len(methods), len(means)), p, len(means))


def critical_difference(methods: int, problems: int) -> float:
    """Nemenyi's."""
    quantile = float(studentized_range.ppf(LEVEL, methods, np.inf)) / math.sqrt(2.0)
    return quantile * math.sqrt(methods * (methods + 1) / (6.0 * problems))
