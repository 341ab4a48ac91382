"""Figures over starts and families: what one policy spends over what another does, both ways of averaging.

    x[s, f]            what a policy spends at start s on family f
    ratio of means     sum_f x[s, f] / sum_f y[s, f]           of each start, then the median over starts
    mean of ratios     mean_f x[s, f] / y[s, f]                of each start, then the median over starts

The paper's averages do not multiply into its performance-cost rate (SPOT.md, 14), so both are given. Intervals are 95 %
bootstrap intervals of the median over starts. Of the rate, the ratio of means is that of cost times that of time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from benchmarks.spottune.policies import Policy, Rule
from benchmarks.spottune.tunings import Measured, Tuning
from leantune.arrays import FloatArray
from leantune.lab.replay.arrivals import Median, median

Found = Mapping[Tuning, Measured]
What = Callable[[Measured], float]


def usd(one: Measured) -> float:
    """Dollars."""
    return one.usd


def selected(one: Measured) -> float:
    """Hours until the best were selected."""
    return one.selected_seconds / 3600.0


def finished(one: Measured) -> float:
    """Hours until they were trained to the end."""
    return one.finished_seconds / 3600.0


def per_step(one: Measured) -> float:
    """Dollars per kept step."""
    return one.usd_per_step


def slowness(one: Measured) -> float:
    """Dollars times hours: the inverse of the performance-cost rate."""
    return 1.0 / one.rate


def array(found: Found, policy: Policy, what: What) -> FloatArray:
    """(starts, families) of a policy; empty where it was not run."""
    mine = {(tuning.start, tuning.family): what(one) for tuning, one in found.items() if tuning.policy == policy}
    starts = sorted({start for start, _ in mine})
    families = sorted({family for _, family in mine})
    return np.array([[mine[start, family] for family in families] for start in starts], dtype=np.float64)


def over_families(found: Found, policy: Policy, what: What) -> Median:
    """Of each start the mean over families, then the median over starts."""
    values = array(found, policy, what)
    return median(values.mean(axis=1).tolist()) if values.size else median([])


def by_family(found: Found, policy: Policy, what: What) -> dict[str, Median]:
    """The median over starts of each family."""
    families = sorted({tuning.family for tuning in found})
    values = array(found, policy, what)
    return {name: median(values[:, place].tolist()) for place, name in enumerate(families)} if values.size else {}


@dataclass(frozen=True)
class Ratio:
    """One policy over another, both ways, and by family."""

    of_means: Median
    mean_of: Median
    families: Mapping[str, float]

    @property
    def known(self) -> bool:
        """Whether both were run."""
        return self.mean_of.count > 0


def ratio(found: Found, above: Policy, below: Policy, what: What) -> Ratio:
    """What `above` spends over what `below` does."""
    x, y = array(found, above, what), array(found, below, what)
    if not x.size or x.shape != y.shape:
        return Ratio(median([]), median([]), {})
    families = sorted({tuning.family for tuning in found})
    each = np.median(x / y, axis=0)
    means = x.sum(axis=1) / y.sum(axis=1)
    if what is slowness:
        means = _of_sums(found, above, below, usd) * _of_sums(found, above, below, selected)
    return Ratio(
        median(means.tolist()), median((x / y).mean(axis=1).tolist()), dict(zip(families, each.tolist(), strict=True))
    )


def _of_sums(found: Found, above: Policy, below: Policy, what: What) -> FloatArray:
    x, y = array(found, above, what).sum(axis=1), array(found, below, what).sum(axis=1)
    return np.asarray(x / y, dtype=np.float64)


@dataclass(frozen=True)
class Gap:
    """Dollars per kept step, as shares of those on demand at the cheapest step; closed: of no skill to the oracle."""

    random: Median
    ours: Median
    oracle: Median
    closed: Median
    time: Median  # hours until finished over those on demand, mean over families
    selected: Median

    @property
    def known(self) -> bool:
        """Whether all were run."""
        return self.closed.count > 0


def gap(found: Found, theta: float = 0.7) -> Gap:
    """The three policies side by side; each start's figures are means over families."""
    demand = array(found, Policy(Rule.DEMAND_STEP, theta), per_step)
    rules = (Rule.RANDOM, Rule.OURS, Rule.ORACLE)
    spent = [array(found, Policy(rule, theta), per_step) for rule in rules]
    if not demand.size or any(one.shape != demand.shape for one in spent):
        return Gap(*(median([]) for _ in range(6)))
    shares = [(one / demand).mean(axis=1) for one in spent]
    closed = (shares[0] - shares[1]) / (shares[0] - shares[2])
    times = [ratio(found, Policy(Rule.OURS, theta), Policy(Rule.DEMAND_STEP, theta), what) for what in _TIMES]
    middle = [median(share.tolist()) for share in (*shares, closed)]
    return Gap(middle[0], middle[1], middle[2], middle[3], times[0].mean_of, times[1].mean_of)


_TIMES: tuple[What, What] = (finished, selected)


def hit_rate(found: Found, policy: Policy, count: int) -> float:
    """Share of the tunings whose best setting is among the first `count`."""
    hits = [one.hit_1 if count == 1 else one.hit_3 for tuning, one in found.items() if tuning.policy == policy]
    return float(np.mean(hits)) if hits else float("nan")
