"""By which rule a claim of a paper holds: stated here and on the page, applied to numbers, never by eye."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from statistics import geometric_mean

from benchmarks.papers.measures import arrivals, ratio, within
from benchmarks.papers.results import Results, Run, Runs
from benchmarks.papers.words import number, times
from leantune.lab.replay.arrivals import Arrival, Median, median
from leantune.lab.replay.runs import PAPER

ARRIVED = 0.90  # of the best feasible accuracy, as in TrimTuner's Fig. 2
RULE = (
    "By which rule: an advantage of a factor p *holds* when we measure at least half of it, (r - 1) >= (p - 1) / 2, "
    "*in part* when r > 1, and otherwise *does not hold*. Of several tables the geometric mean counts, or the largest "
    'factor where the paper says "up to". That one of several is best *holds* when its median is, and *in part* when '
    "the interval of its ratio to the best includes 1. Factors are ratios of medians over seeds with 95 % bootstrap "
    "intervals, resampled by paired seeds; a seed that never arrives counts as infinite."
)

Spent = Callable[[Runs], Sequence[float]]


class Verdict(StrEnum):
    """Whether a claim holds here."""

    HOLDS = "holds"
    IN_PART = "in part"
    NOT = "does not hold"
    NO_DATA = "no data"


@dataclass(frozen=True)
class Measure:
    """A number as it was measured, with its 95 % interval where there is one."""

    value: float
    low: float | None = None
    high: float | None = None

    @classmethod
    def of(cls, found: Median) -> Measure:
        """A median with its interval."""
        return cls(found.value, found.low, found.high)


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper, with its place, its number, ours, and a sentence on the difference where there is one.

    judged_by: the number behind the verdict, where it is kept (a ratio of what is spent, a share, a score).
    """

    text: str
    where: str
    paper: str
    ours: str
    verdict: Verdict
    why: str = ""
    judged_by: Measure | None = None

    def as_json(self) -> dict[str, object]:
        """Plain JSON; without judged_by where that is not kept."""
        return {name: value for name, value in asdict(self).items() if name != "judged_by" or value is not None}


def advantage(paper: float, ours: float) -> Verdict:
    """The rule for factors."""
    if math.isnan(ours) or ours <= 1.0:
        return Verdict.NOT
    return Verdict.HOLDS if ours - 1.0 >= (paper - 1.0) / 2.0 else Verdict.IN_PART


def settled(claim: Claim) -> Claim:
    """The claim, without a sentence on a difference where there is none."""
    if claim.verdict in (Verdict.HOLDS, Verdict.NO_DATA):
        return replace(claim, why="")
    return claim


def not_run(text: str, where: str, paper: str) -> Claim:
    """A claim that there are no runs for."""
    return Claim(text, where, paper, "not run", Verdict.NO_DATA)


def factor_claim(
    text: str,
    where: str,
    paper: float,
    found: Mapping[str, Median],
    *,
    up_to: bool = False,
    more: Mapping[str, Mapping[str, Median]] | None = None,
    why: str = "",
) -> Claim:
    """A claim of a factor; found: by table. more: the same in other circumstances, told but not judged."""
    known = {table: one for table, one in found.items() if one.count}
    printed = f"{'up to ' if up_to else ''}{paper:g}x"
    if not known:
        return not_run(text, where, printed)
    values = [one.value for one in known.values()]
    verdict = advantage(paper, _largest(values) if up_to else _mean_factor(values))
    others = [f"{name}: {told(one)}" for name, one in (more or {}).items() if any(m.count for m in one.values())]
    return settled(Claim(text, where, printed, "; ".join([told(known), *others]), verdict, why))


def _largest(values: Sequence[float]) -> float:
    return max((value for value in values if not math.isnan(value)), default=math.nan)


def _mean_factor(values: Sequence[float]) -> float:
    if any(math.isnan(value) or value <= 0 for value in values):
        return 0.0
    return geometric_mean(values) if all(map(math.isfinite, values)) else math.inf


def told(found: Mapping[str, Median]) -> str:
    """Factors by table."""
    return ", ".join(f"{table} {times(one)}".strip() for table, one in found.items() if one.count)


def each(measure: Callable[[Run], float]) -> Spent:
    """What every run spends."""
    return lambda runs: [measure(run) for run in runs]


def arriving(what: Callable[[Arrival], float], share: float = ARRIVED) -> Spent:
    """What every run spends until it arrives."""
    return lambda runs: [what(one) for one in arrivals(runs, PAPER, within(share))]


def compare(results: Results, group: str, above: str, below: str, spent: Spent, setup: str = "") -> dict[str, Median]:
    """Table -> what `above` spends over what `below` does."""
    found = {}
    for table in results.tables(group, setup):
        methods = results.of(group, table, setup)
        if above in methods and below in methods:
            found[table] = ratio(spent(methods[above]), spent(methods[below]))
    return found


def best_of(text: str, where: str, situations: Mapping[str, Mapping[str, Runs]], best: str, *, why: str) -> Claim:
    """Whether `best` arrives for the fewest dollars, in each situation; the worst verdict counts."""
    dollars = arriving(lambda one: one.dollars)
    verdicts: list[Verdict] = []
    ours: list[str] = []
    for situation, methods in situations.items():
        if best not in methods or len(methods) < 2:
            continue
        spent = {name: dollars(runs) for name, runs in methods.items()}
        medians = {name: median(values).value for name, values in spent.items()}
        winner = min(medians, key=lambda name: (medians[name], name != best))
        if winner == best:
            verdicts.append(Verdict.HOLDS)
            ours.append(f"{situation}: {best} is best, ${number(medians[best])}")
            continue
        against = ratio(spent[best], spent[winner])
        verdicts.append(Verdict.IN_PART if against.low <= 1.0 <= against.high else Verdict.NOT)
        dearer = f"{best} ${number(medians[best])}, {times(against)}"
        ours.append(f"{situation}: {winner} is best, ${number(medians[winner])}, {dearer}")
    if not verdicts:
        return not_run(text, where, "best")
    verdict = next(one for one in (Verdict.NOT, Verdict.IN_PART, Verdict.HOLDS) if one in verdicts)
    return settled(Claim(text, where, "best", "; ".join(ours), verdict, why))
