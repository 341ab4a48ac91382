"""What runs come to: regrets at the end of a budget and along the dollars, dollars to a target, paired differences.

Symbols: regret r = |best - value| / |best - median feasible|, 1.5 for what breaks a limit (`Truth.regret`); all by run
number, so that strategies are paired: the same problem, the same seed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from benchmarks.arena.budgets import OPEN, ArenaBudget
from benchmarks.arena.contests import LEAN, Place, Played
from benchmarks.arena.problems import ArenaProblem, facts
from benchmarks.papers.results import Run
from leantune.lab.replay.arrivals import LEVEL, RESAMPLES, arrival
from leantune.lab.replay.calibration import Calibration, Decile, calibrate
from leantune.lab.replay.runs import COMMON, PAPER, Advice
from leantune.lab.replay.truth import ROUNDING

NEVER = 2.0  # a run that never arrives counts so many times what it spent
BY_NUMBER = Mapping[int, float]


def rules_of(method: str) -> tuple[str, ...]:
    """Rules of recommending under which a method is judged: `lean` by its own alone, the others by the better one."""
    return (PAPER,) if method == LEAN else (PAPER, COMMON)


def last_advice(run: Run, rule: str) -> Advice | None:
    """What is recommended at the end."""
    return run[-1].advice.get(rule) if run else None


@dataclass(frozen=True)
class Ending:
    """A method under a budget, by one rule of recommending.

    regrets: by run number. infeasible: share of runs whose recommendation breaks a limit, or that have none. tested:
    share whose recommendation was tested on all data. ask: mean seconds to choose a test.
    """

    method: str
    rule: str
    regrets: BY_NUMBER
    infeasible: float
    tested: float
    ask: float

    @property
    def mean(self) -> float:
        """Mean regret; NaN without runs."""
        return fmean(self.regrets.values()) if self.regrets else math.nan

    def over(self, numbers: Iterable[int]) -> float:
        """Mean regret of these runs."""
        return fmean(self.regrets[number] for number in numbers)


def ending(problem: ArenaProblem, method: str, rule: str, runs: Mapping[int, Run]) -> Ending:
    """Of the runs of a method under a budget."""
    advices = {number: last_advice(run, rule) for number, run in runs.items()}
    regrets = {
        number: facts(problem.source(number)).truth.regret(None if advice is None else advice.verdict)
        for number, advice in advices.items()
    }
    known = list(advices.values())
    asks = [row.ask_seconds for run in runs.values() for row in run if not row.start]
    return Ending(
        method,
        rule,
        regrets,
        _share(advice is None or not advice.verdict.feasible for advice in known),
        _share(advice is not None and advice.tested for advice in known),
        fmean(asks) if asks else math.nan,
    )


def endings(played: Played, problem: ArenaProblem, budget: ArenaBudget) -> dict[str, tuple[Ending, ...]]:
    """Of every method that has runs, one for each rule."""
    entrants = (entrant.name for entrant in played.contest.entrants if entrant.plays(problem))
    runs = {method: played.under(problem, method, budget) for method in entrants}
    return {
        method: tuple(ending(problem, method, rule, made) for rule in rules_of(method))
        for method, made in runs.items()
        if made
    }


def better_rule(found: Sequence[Ending]) -> Ending:
    """The rule with the smaller mean regret, its own where both are equal."""
    return min(found, key=lambda ending: ending.mean)


@dataclass(frozen=True)
class Difference:
    """Regret of `lean` minus that of the best other, paired. The other one, and its rule, were chosen on the even runs;
    mean and upper, the 95 % end of the bootstrapped mean, are of the odd ones.
    """

    other: str
    rule: str
    mean: float
    upper: float
    runs: int


def difference(everybody: Mapping[str, Sequence[Ending]]) -> Difference | None:
    """None where `lean`, or everybody else, has fewer than two runs in common."""
    ours = everybody.get(LEAN)
    if ours is None:
        return None
    others = [found for method, both in everybody.items() if method != LEAN for found in both]
    common = {id(other): sorted(ours[0].regrets.keys() & other.regrets.keys()) for other in others}
    others = [other for other in others if len(common[id(other)]) > 1]
    if not others:
        return None
    best = min(others, key=lambda other: other.over(common[id(other)][::2]))
    rest = common[id(best)][1::2]
    paired = np.array([ours[0].regrets[number] - best.regrets[number] for number in rest])
    return Difference(best.method, best.rule, float(paired.mean()), upper_end(paired), len(rest))


def upper_end(values: np.ndarray, *, seed: int = 0) -> float:
    """95 % upper end of the mean, by the percentile bootstrap."""
    drawn = np.random.default_rng(seed).integers(len(values), size=(RESAMPLES, len(values)))
    return float(np.quantile(values[drawn].mean(axis=1), LEVEL))


def dollars_to(problem: ArenaProblem, runs: Mapping[int, Run], rule: str, share: float) -> dict[int, float]:
    """Dollars, in full runs, until the recommendation is within `share` of the best for good, by run number; a run that
    never arrives counts twice what it spent.
    """
    spent = {}
    for number, run in runs.items():
        if run:
            arrived = arrival(run, rule, lambda advice: advice.verdict.within(share)).dollars
            dollars = arrived if math.isfinite(arrived) else NEVER * run[-1].dollars
            spent[number] = dollars / facts(problem.source(number)).unit
    return spent


def open_dollars(played: Played, problem: ArenaProblem, share: float) -> dict[str, dict[int, float]]:
    """Of every method where no budget is told, by the rule under which it arrives for fewer dollars on average."""
    found: dict[str, dict[int, float]] = {}
    for entrant in (entrant for entrant in played.contest.entrants if entrant.plays(problem)):
        runs = played.under(problem, entrant.name, OPEN)
        both = [dollars_to(problem, runs, rule, share) for rule in rules_of(entrant.name)]
        if any(both):
            found[entrant.name] = min(both, key=lambda spent: fmean(spent.values()))
    return found


def regret_after(problem: ArenaProblem, runs: Mapping[int, Run], rule: str, full_runs: float) -> float:
    """Mean regret of what was recommended when the dollars of so many full runs were spent."""
    budget = ArenaBudget("", runs=full_runs * (1.0 + ROUNDING))
    units = {number: facts(problem.source(number)).unit for number in runs}
    parts = {number: budget.part(run, units[number]) for number, run in runs.items()}
    return ending(problem, "", rule, parts).mean


def family_calibration(played: Played, problems: Sequence[ArenaProblem], rule: str = PAPER) -> Calibration:
    """Of `lean` over its runs on these problems without a budget: where one is told, it recommends at the end only."""
    made = []
    for problem in problems:
        for number, run in played.runs.get(Place(problem.name, LEAN, OPEN.name), {}).items():
            made += calibrate(facts(problem.source(number)).truth.problem, {LEAN: [run]}, rule)
    return pooled(made)


def pooled(made: Sequence[Calibration]) -> Calibration:
    """Calibrations taken together, weighted by their cases."""

    def mean(name: str) -> float:
        weighed = [(getattr(found, name), found.cases) for found in made if found.cases]
        return math.fsum(value * cases for value, cases in weighed) / sum(cases for _, cases in weighed)

    cases = sum(found.cases for found in made)
    means = {
        name: mean(name) if cases else math.nan
        for name in ("within_1", "within_2", "square", "capped_square", "log_density")
    }
    deciles = tuple(_pooled_decile(same) for same in zip(*(found.deciles for found in made), strict=True))
    limits = sum(decile.count for decile in deciles)
    off = math.fsum(decile.count * abs(decile.said - decile.held) for decile in deciles if decile.count)
    return Calibration(
        LEAN, cases=cases, **means, limits=limits, limits_off=off / limits if limits else math.nan, deciles=deciles
    )


def _pooled_decile(same: Sequence[Decile]) -> Decile:
    counted = [decile for decile in same if decile.count]
    count = sum(decile.count for decile in counted)
    if not count:
        return Decile(same[0].low, same[0].high, 0, math.nan, math.nan)
    said = math.fsum(decile.count * decile.said for decile in counted) / count
    held = math.fsum(decile.count * decile.held for decile in counted) / count
    return Decile(same[0].low, same[0].high, count, said, held)


def _share(truths: Iterable[bool]) -> float:
    known = list(truths)
    return sum(known) / len(known) if known else math.nan
