"""What `lean` is to reach in the arena, whether it does, and every comparison that it loses."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from statistics import fmean, geometric_mean

from benchmarks.arena.budgets import OPEN, ArenaBudget
from benchmarks.arena.contests import LEAN, RANDOM, Played
from benchmarks.arena.measures import (
    Difference,
    Ending,
    better_rule,
    difference,
    endings,
    family_calibration,
    open_dollars,
    rules_of,
)
from benchmarks.arena.problems import ArenaProblem
from benchmarks.arena.ranks import Ranks, average_ranks
from benchmarks.arena.sides import CLOSE, batches, stops
from benchmarks.papers.inventory import CHEAPEST
from benchmarks.papers.measures import arrivals, within
from benchmarks.papers.targets import Target
from benchmarks.papers.words import arrived, listed, number, percent
from leantune.lab.replay.arrivals import median
from leantune.lab.replay.calibration import Calibration

MOST_DIFFERENCE = 0.1  # of (best - median feasible): the upper end of the paired difference
LEAST_WITHIN_1, LEAST_WITHIN_2, MOST_SQUARE = 0.60, 0.92, 1.5
MOST_OFF, MOST_DECILE_OFF, DECILE_CASES = 0.06, 0.15, 100
MOST_OF_BEST, MOST_OF_BEST_WORST = 0.33, 1.2
MOST_OF_ALONE = 1.4  # dollars of batches over those of one test at a time
LEAST_SAVED, MOST_SHORT = 0.5, 0.05  # by the stop rule: of what is spent after arrival, and of the seeds
TODAY = {"trimtuner-rnn": 0.0064, "trimtuner-cnn": 0.052}  # dollars to 1 % when the issue was written
MOST_OF_TODAY = 1.25
NOTICED = 0.001  # regret by which somebody is better
TOLD_CELLS = 4  # of the worst are named
NOT_RUN = "not run"


@dataclass(frozen=True)
class Cell:
    """One problem under one budget: every method, one ending for each rule of recommending."""

    problem: ArenaProblem
    budget: ArenaBudget
    everybody: Mapping[str, Sequence[Ending]]

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.problem.name}, {self.budget.name}"

    @cached_property
    def best(self) -> dict[str, Ending]:
        """Every method by its better rule."""
        return {method: better_rule(both) for method, both in self.everybody.items()}

    @cached_property
    def difference(self) -> Difference | None:
        """`lean` against the best other."""
        return difference(self.everybody)


@dataclass(frozen=True)
class Loss:
    """Where another strategy is better than `lean`: by so much regret on average, or by fewer broken limits."""

    problem: str
    budget: str
    other: str
    lean: float
    theirs: float
    what: str

    @property
    def by(self) -> float:
        """How much."""
        return self.lean - self.theirs


def cells(played: Played) -> list[Cell]:
    """Those that have runs, problem by problem."""
    made = (
        Cell(problem, budget, endings(played, problem, budget))
        for problem in played.contest.problems
        for budget in played.contest.budgets.values()
    )
    return [cell for cell in made if cell.everybody]


def under_budgets(found: Sequence[Cell]) -> list[Cell]:
    """Those with a budget that strategies can know. Without one `lean` spends a fraction of what the others do by the
    same number of tests: there dollars are compared, not regrets.
    """
    return [cell for cell in found if cell.budget.told]


def ranks(found: Sequence[Cell]) -> Ranks | None:
    """Over all budgets, and all problems but the cheapest anywhere, which most do not play."""
    common = [cell for cell in under_budgets(found) if cell.problem.family != CHEAPEST]
    blocks = [
        [{method: ending.mean for method, ending in cell.best.items()} for cell in group]
        for _, group in groupby(common, key=lambda cell: cell.problem.name)
    ]
    return average_ranks(blocks)


def real_ranks(found: Sequence[Cell]) -> Ranks | None:
    """The same over measured tables only, on which slow methods play too."""
    return ranks([cell for cell in found if cell.problem.real])


def losses(found: Sequence[Cell]) -> list[Loss]:
    """Every cell in which somebody's mean regret is smaller, or somebody breaks fewer limits; the largest first."""
    lost: list[Loss] = []
    for cell in under_budgets(found):
        lean, others = cell.best.get(LEAN), [one for name, one in cell.best.items() if name != LEAN]
        if lean is None or not others:
            continue
        least = min(others, key=lambda other: other.mean)
        careful = min(others, key=lambda other: other.infeasible)
        place = cell.problem.name, cell.budget.name
        if least.mean < lean.mean - NOTICED:
            lost.append(Loss(*place, least.method, lean.mean, least.mean, "regret"))
        if careful.infeasible < lean.infeasible:
            lost.append(Loss(*place, careful.method, lean.infeasible, careful.infeasible, "ends that break a limit"))
    return sorted(lost, key=lambda loss: -loss.by)


def targets(played: Played, found: Sequence[Cell]) -> list[Target]:
    """All of them, in the order of the issue."""
    return [
        _regret(under_budgets(found)),
        _first(ranks(found)),
        _random(under_budgets(found)),
        *_ends(under_budgets(found)),
        *_calibrated(played),
        *_dollars(played),
        *_papers(played),
        _batches(played),
        *_stops(played),
    ]


def _regret(found: Sequence[Cell]) -> Target:
    text = "Regret at the end, every problem and budget: 95 % upper end of the paired difference to the best other"
    wanted = f"at most {MOST_DIFFERENCE:g}"
    known = [(cell.difference.upper, cell) for cell in found if cell.difference is not None]
    if not known:
        return Target(text, wanted, NOT_RUN, None)
    above = sorted(((upper, cell) for upper, cell in known if upper > MOST_DIFFERENCE), key=lambda pair: -pair[0])
    worst = listed([f"{cell.name} ({number(upper)})" for upper, cell in above[:TOLD_CELLS]])
    told = f"{len(known) - len(above)} of {len(known)} hold" + (f"; worst: {worst}" if above else "")
    return Target(text, wanted, told, not above)


def _first(ranked: Ranks | None) -> Target:
    text, wanted = "Average rank by regret", "the best, by more than the critical difference"
    if ranked is None or LEAN not in ranked.average:
        return Target(text, wanted, NOT_RUN, None)
    ours = ranked.average[LEAN]
    name, other = next((name, rank) for name, rank in ranked.average.items() if name != LEAN)
    told = f"{number(ours)}; the best other, `{name}`, {number(other)}; critical difference {number(ranked.critical)}"
    return Target(text, wanted, told, other - ours > ranked.critical)


def _random(found: Sequence[Cell]) -> Target:
    text, wanted = "Mean regret against random search", "nowhere above"
    known = [cell for cell in found if LEAN in cell.best and RANDOM in cell.best]
    if not known:
        return Target(text, wanted, NOT_RUN, None)
    gaps = sorted(((cell.best[LEAN].mean - cell.best[RANDOM].mean, cell.name) for cell in known), reverse=True)
    above = [f"{name} (by {number(gap)})" for gap, name in gaps if gap > NOTICED]
    told = f"above in {len(above)} of {len(known)}" + (f": {listed(above[:TOLD_CELLS])}" if above else "")
    return Target(text, wanted, told, not above)


def _ends(found: Sequence[Cell]) -> Iterator[Target]:
    """Under budgets that were told: else no strategy knows which test is the last. All of them allow for one test."""
    lean = [cell.best[LEAN] for cell in found if LEAN in cell.best]
    runs = sum(len(ending.regrets) for ending in lean)
    for text, wanted, share, aim in (
        ("Final recommendations that were tested on all data", "100 %", "tested", 1.0),
        ("Final recommendations that break a limit", "0", "infeasible", 0.0),
    ):
        if not lean:
            yield Target(text, wanted, NOT_RUN, None)
            continue
        count = round(math.fsum(getattr(ending, share) * len(ending.regrets) for ending in lean))
        yield Target(text, wanted, f"{count} of {runs}", count == aim * runs)


def families(played: Played) -> dict[str, list[ArenaProblem]]:
    """The problems by family."""
    found: dict[str, list[ArenaProblem]] = {}
    for problem in played.contest.problems:
        found.setdefault(problem.family, []).append(problem)
    return found


def calibrations(played: Played) -> dict[str, Calibration]:
    """Of `lean`, by family of problems."""
    return {family: family_calibration(played, problems) for family, problems in families(played).items()}


def _calibrated(played: Played) -> Iterator[Target]:
    for family, found in calibrations(played).items():
        if found.cases:
            told = f"{percent(found.within_2)}, {percent(found.within_1)}, {number(found.capped_square)}"
            held = (
                found.within_2 >= LEAST_WITHIN_2
                and found.within_1 >= LEAST_WITHIN_1
                and found.capped_square <= MOST_SQUARE
            )
            wanted = f"at least {percent(LEAST_WITHIN_2)} and {percent(LEAST_WITHIN_1)}, at most {MOST_SQUARE:g}"
            text = f"Calibration on {family}: within 2 sd, within 1 sd, capped z²"
            yield Target(text, wanted, f"{told} ({found.cases} cases)", held)
        if found.limits:
            counted = [abs(one.said - one.held) for one in found.deciles if one.count >= DECILE_CASES]
            worst = max(counted, default=math.nan)
            wanted = f"at most {MOST_OFF:g} on average, {MOST_DECILE_OFF:g} in every decile of {DECILE_CASES} cases"
            told = f"{number(found.limits_off)}, worst {number(worst)} ({found.limits} cases)"
            enough = found.limits >= DECILE_CASES
            held = found.limits_off <= MOST_OFF and (not counted or worst <= MOST_DECILE_OFF)
            yield Target(f"P(limit) on {family}: said against held", wanted, told, held if enough else None)


def ratios(played: Played, share: float = CLOSE) -> dict[str, tuple[float, str]]:
    """Dollars of `lean` over those of the best other, and who that is, by problem; no budget told."""
    found: dict[str, tuple[float, str]] = {}
    for problem in played.contest.problems:
        spent = {method: fmean(dollars.values()) for method, dollars in open_dollars(played, problem, share).items()}
        others = [method for method in spent if method != LEAN]
        if LEAN in spent and others:
            best = min(others, key=spent.__getitem__)
            found[problem.name] = spent[LEAN] / spent[best], best
    return found


def _dollars(played: Played) -> Iterator[Target]:
    found = ratios(played)
    text = "Dollars to 1 %, no budget told, over the best other's"
    if not found:
        yield Target(f"{text}: geometric mean", f"at most {MOST_OF_BEST:g}", NOT_RUN, None)
        return
    mean = geometric_mean([ratio for ratio, _ in found.values()])
    yield Target(f"{text}: geometric mean", f"at most {MOST_OF_BEST:g}", number(mean), mean <= MOST_OF_BEST)
    above = sorted(((ratio, name, other) for name, (ratio, other) in found.items()), reverse=True)
    told = listed([f"{name} {number(ratio)} (`{other}`)" for ratio, name, other in above[:TOLD_CELLS]])
    wanted = f"at most {MOST_OF_BEST_WORST:g}"
    yield Target(f"{text}: the worst problems", wanted, told, above[0][0] <= MOST_OF_BEST_WORST)


def _papers(played: Played) -> Iterator[Target]:
    """Median dollars to 1 %, counted as when the issue was written: never arriving is infinite."""
    for problem in played.contest.problems:
        if problem.name not in TODAY:
            continue
        runs = list(played.under(problem, LEAN, OPEN).values())
        most = MOST_OF_TODAY * TODAY[problem.name]
        dollars = median([arrival.dollars for arrival in arrivals(runs, rules_of(LEAN)[0], within(CLOSE))])
        reached = dollars.value <= most and dollars.finite == dollars.count if runs else None
        text = f"{problem.name}: median dollars to 1 %, no budget told"
        yield Target(text, f"at most ${number(most)}, every seed", arrived(dollars), reached)


def _batches(played: Played) -> Target:
    text, wanted = "Batches of four over one at a time: mean dollars to 1 %", f"at most {MOST_OF_ALONE:g} everywhere"
    found = sorted(batches(played), key=lambda one: -one.ratio)
    if not found:
        return Target(text, wanted, NOT_RUN, None)
    above = [f"{one.problem} {number(one.ratio)}" for one in found]
    held = sum(one.ratio <= MOST_OF_ALONE for one in found)
    told = f"{held} of {len(found)} problems hold; the largest: {listed(above[:TOLD_CELLS])}"
    return Target(text, wanted, told, held == len(found))


def _stops(played: Played) -> Iterator[Target]:
    found = stops(played)
    saved = [share for one in found for share in one.saved.values()]
    runs, short, anyway = (sum(getattr(one, name) for one in found) for name in ("runs", "short", "anyway"))
    text, wanted = "Stop rule: saved of what is spent after arrival", f"at least {percent(LEAST_SAVED)}"
    mean = fmean(saved) if saved else math.nan
    told = f"{percent(mean)} on average of {len(saved)} seeds that arrive" if saved else NOT_RUN
    yield Target(text, wanted, told, mean >= LEAST_SAVED if saved else None)
    text, wanted = "Stop rule: seeds that end short of 1 %", f"at most {percent(MOST_SHORT)}"
    told = f"{short} of {runs}; {anyway} of them without the rule too" if runs else NOT_RUN
    yield Target(text, wanted, told, short <= MOST_SHORT * runs if runs else None)
