"""Summary of many replays of a strategy: arrivals, last recommendations, costs (ALGORITHMS.md, "Metrics").

A target defines an arrival. Goals to maximise: feasible, a >= level x best. Goals to minimise: feasible, objective <=
level x best (CNO, thesis Eq. 11), the best of all fractions and, where there are several, the best at full data.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from leantune.lab.replay.arrivals import Median, arrival, mean_of, median
from leantune.lab.replay.runs import Advice, Row
from leantune.lab.replay.truth import ROUNDING, Truth
from leantune.problem import At, Direction

SHARES = (0.90, 0.95, 0.99)  # of the best value, for goals to maximise
RATIOS = (1.1, 1.5, 2.0)  # to the best value, for goals to minimise
CLOSE, CLOSER = 0.95, 0.99  # shares of the best that a final recommendation may reach
Run = Sequence[Row]


@dataclass(frozen=True)
class QualityLevel:
    """A target. most: the largest ratio to the best that reaches it.

    full: compared with the best at full data, where smaller fractions are answers too.
    """

    level: float
    most: float
    full: bool = False

    def good(self, advice: Advice) -> bool:
        """Whether a recommendation reaches it."""
        return advice.verdict.at_most(self.most, full=self.full)


@dataclass(frozen=True)
class Arrivals:
    """The cost until the seeds arrived at a target; `tests` and the others include the start."""

    level: float
    full: bool
    dollars: Median
    seconds: Median
    tests: Median
    thinking: Median


@dataclass(frozen=True)
class Regret:
    """Regrets (`Truth.regret`) of the seeds' recommendations after that many dollars; None: at their end."""

    dollars: float | None
    mean: float
    median: float
    worst: float


@dataclass(frozen=True)
class Summary:
    """One strategy over all its seeds.

    tests, dollars: means of whole runs, the start included. feasible, within_5, within_1: shares of the seeds whose
    last recommendation is feasible, and within 5 % or 1 % of the best. tested: share of those whose last
    recommendation was tested on all the data. regrets: at the end, then at the dollars that were asked for.
    share_of_data, ask_seconds: means over tests after the start, NaN where there are none; dollars_per_test: over all.
    """

    strategy: str
    seeds: int
    tests: float
    dollars: float
    arrivals: tuple[Arrivals, ...]
    feasible: float
    within_5: float
    within_1: float
    tested: float
    regrets: tuple[Regret, ...]
    dollars_per_test: float
    share_of_data: float
    ask_seconds: float


def summarise(
    truth: Truth, runs: Mapping[str, Sequence[Run]], rule: str, at_usd: Sequence[float] = ()
) -> list[Summary]:
    """A summary of each strategy by its label; `rule` says whose recommendations count ("paper", "common"). at_usd:
    dollars at which regrets are told beside those at the end.
    """
    return [_summary(truth, label, ran, rule, at_usd) for label, ran in runs.items()]


def targets(truth: Truth) -> tuple[QualityLevel, ...]:
    """The targets of this problem."""
    problem = truth.problem
    if problem.goal.direction is Direction.MAXIMIZE:
        return tuple(QualityLevel(share, 1.0 / share) for share in SHARES)
    wheres = (False, True) if problem.goal.at is At.ANYWHERE and len(problem.fractions) > 1 else (False,)
    return tuple(QualityLevel(ratio, ratio, full) for full in wheres for ratio in RATIOS)


def _summary(truth: Truth, label: str, runs: Sequence[Run], rule: str, at_usd: Sequence[float]) -> Summary:
    last = [run[-1].advice.get(rule) for run in runs if run]
    rows = [row for run in runs for row in run]
    later = [row for row in rows if not row.start]
    spent = [run[-1].dollars for run in runs if run]
    return Summary(
        strategy=label,
        seeds=len(runs),
        tests=mean_of(float(len(run)) for run in runs),
        dollars=mean_of(spent),
        arrivals=tuple(_arrivals(target, runs, rule) for target in targets(truth)),
        feasible=_share(last, lambda advice: advice.verdict.feasible, len(runs)),
        within_5=_share(last, lambda advice: advice.verdict.within(CLOSE), len(runs)),
        within_1=_share(last, lambda advice: advice.verdict.within(CLOSER), len(runs)),
        tested=_share(last, lambda advice: advice.tested, len(runs)),
        regrets=tuple(_regret(truth, runs, rule, dollars) for dollars in (None, *at_usd)),
        dollars_per_test=mean_of(row.test_dollars for row in rows),
        share_of_data=mean_of(float(Fraction(row.fraction)) for row in later),
        ask_seconds=mean_of(row.ask_seconds for row in later),
    )


def _arrivals(target: QualityLevel, runs: Sequence[Run], rule: str) -> Arrivals:
    arrivals = [arrival(run, rule, target.good) for run in runs]
    spent = ([getattr(reached, name) for reached in arrivals] for name in ("dollars", "seconds", "tests", "thinking"))
    return Arrivals(target.level, target.full, *map(median, spent))


def _regret(truth: Truth, runs: Sequence[Run], rule: str, dollars: float | None) -> Regret:
    affordable = math.inf if dollars is None else dollars * (1.0 + ROUNDING)
    regrets = []
    for run in runs:
        last = next((row for row in reversed(run) if row.dollars <= affordable), None)
        advice = None if last is None else last.advice.get(rule)
        regrets.append(truth.regret(None if advice is None else advice.verdict))
    if not regrets:
        return Regret(dollars, math.nan, math.nan, math.nan)
    return Regret(dollars, mean_of(regrets), statistics.median(regrets), max(regrets))


def _share(last: Iterable[Advice | None], good: Callable[[Advice], bool], count: int) -> float:
    return sum(advice is not None and good(advice) for advice in last) / count if count else math.nan
