"""What runs come to, beside arrivals: recommendations that break a limit, by either rule."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from benchmarks.arena.generated import Generated, unit_dollars
from benchmarks.lean.experiments import LEAN
from benchmarks.papers.experiments import Group
from benchmarks.papers.measures import Good, arrivals, ask_seconds, feasible, near_best, within
from benchmarks.papers.results import Runs
from leantune.lab.replay.arrivals import Median, median
from leantune.lab.replay.runs import PAPER, RULES

EARLY = 10  # tests, the start among them, after which no recommendation should break a limit
SHARES = (0.90, 0.95, 0.99)
CNO = 1.5  # of the cheapest anywhere


@dataclass(frozen=True)
class Figures:
    """One strategy on one table, by one rule.

    dollars: to each target, by its name, the hardest last; on generated problems over those of one median full run.
    infeasible_ends: seeds whose last recommendation breaks a limit. infeasible_late: share of the recommendations after
    test 10 that do; NaN where there are none. ask: mean seconds to choose a test after the start.
    """

    rule: str
    dollars: Mapping[str, Median]
    infeasible_ends: int
    infeasible_late: float
    ask: float
    seeds: int

    @property
    def last(self) -> Median:
        """Dollars to the hardest target."""
        return list(self.dollars.values())[-1]

    @property
    def order(self) -> tuple[float, float]:
        """By which strategies are ranked: dollars to the hardest target, then the share of seeds that arrive at all."""
        return self.last.value, -self.last.share


def goods(group: str) -> Mapping[str, Good]:
    """What to arrive at, the hardest last."""
    if group == "nephele":
        return {f"CNO {CNO:g}": near_best(CNO)}
    return {f"{share:.0%}": within(share) for share in SHARES}


def units(group: Group, table: str, method: str) -> list[float] | None:
    """Dollars of one median full run of the problem of each run; None where dollars are what they are."""
    sources = [case.source for case, _ in group.tasks() if (case.table, case.method) == (table, method)]
    return [unit_dollars(one) for one in sources if isinstance(one, Generated)] or None


def figures(runs: Runs, targets: Mapping[str, Good], rule: str = PAPER, unit: Sequence[float] | None = None) -> Figures:
    """All of it; a run without a recommendation at its end counts as one that breaks a limit.

    unit: dollars of each run are divided by it.
    """
    scale = unit or [1.0] * len(runs)
    last = [run[-1].advice.get(rule) if run else None for run in runs]
    late = [row.advice[rule] for run in runs for row in run if row.test > EARLY and rule in row.advice]
    asks = ask_seconds(runs)
    return Figures(
        rule,
        {name: median(_scaled(runs, rule, good, scale)) for name, good in targets.items()},
        sum(advice is None or not feasible(advice) for advice in last),
        fmean(not feasible(advice) for advice in late) if late else math.nan,
        fmean(asks) if asks else math.nan,
        len(runs),
    )


def compared(method: str, runs: Runs, targets: Mapping[str, Good], unit: Sequence[float] | None = None) -> Figures:
    """`lean` by its own rule; others by the rule under which they arrive for fewer dollars, their own if equal."""
    rules = (PAPER,) if method == LEAN else RULES
    return min((figures(runs, targets, rule, unit) for rule in rules), key=lambda found: found.order)


def _scaled(runs: Runs, rule: str, good: Good, scale: Sequence[float]) -> list[float]:
    return [one.dollars / unit for one, unit in zip(arrivals(runs, rule, good), scale, strict=True)]
