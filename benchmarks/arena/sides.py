"""`lean` against itself where no budget is told: four tests at once, and what its stop rule saves."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

from benchmarks.arena.budgets import OPEN
from benchmarks.arena.contests import BATCHES, LEAN, STOPPED, Played, Side
from benchmarks.arena.measures import dollars_to, last_advice, rules_of
from benchmarks.arena.problems import ArenaProblem
from benchmarks.papers.results import Run
from leantune.lab.replay.arrivals import arrival

CLOSE = 0.99  # of the best
_RULE = rules_of(LEAN)[0]


@dataclass(frozen=True)
class Batched:
    """alone, batched: mean dollars to 1 %, in full runs, over the runs that were made both ways."""

    problem: str
    alone: float
    batched: float
    runs: int

    @property
    def ratio(self) -> float:
        """How many times as much batches spend."""
        return self.batched / self.alone


@dataclass(frozen=True)
class Stopped:
    """saved: shares of the dollars spent after arrival, by number of the runs that arrive without the rule and go on.

    short: runs whose last recommendation is not within 1 % of the best. anyway: those of them that do not arrive
    without the rule either.
    """

    problem: str
    saved: Mapping[int, float]
    short: int
    anyway: int
    runs: int

    @property
    def mean(self) -> float:
        """Saved on average; NaN where nothing could be."""
        return fmean(self.saved.values()) if self.saved else math.nan


def batches(played: Played) -> list[Batched]:
    """Problem by problem."""
    found = []
    for problem in played.contest.problems:
        one, four = _pairs(played, problem, BATCHES)
        if one:
            alone, batched = (fmean(dollars_to(problem, runs, _RULE, CLOSE).values()) for runs in (one, four))
            found.append(Batched(problem.name, alone, batched, len(one)))
    return found


def stops(played: Played) -> list[Stopped]:
    """Problem by problem."""
    found = []
    for problem in played.contest.problems:
        whole, stopped = _pairs(played, problem, STOPPED)
        if whole:
            shares = {number: saved_share(run, stopped[number]) for number, run in whole.items()}
            saved = {number: share for number, share in shares.items() if share is not None}
            short = [number for number, run in stopped.items() if not _ends_close(run)]
            anyway = sum(not _ends_close(whole[number]) for number in short)
            found.append(Stopped(problem.name, saved, len(short), anyway, len(whole)))
    return found


def saved_share(whole: Run, stopped: Run) -> float | None:
    """Of the dollars that the whole run spends after its arrival, the share that the stopped one does not spend; None
    where it never arrives, or with its last test.
    """
    arrived, end = arrival(whole, _RULE, lambda advice: advice.verdict.within(CLOSE)).dollars, whole[-1].dollars
    if not arrived < end:
        return None
    return max(0.0, end - max(arrived, stopped[-1].dollars)) / (end - arrived)


def _ends_close(run: Run) -> bool:
    advice = last_advice(run, _RULE)
    return advice is not None and advice.verdict.within(CLOSE)


def _pairs(played: Played, problem: ArenaProblem, side: Side) -> tuple[dict[int, Run], dict[int, Run]]:
    """The runs of `lean` and of its side that have the same number, and at least one test each."""
    if LEAN not in {entrant.name for entrant in played.contest.entrants}:
        return {}, {}
    ours, theirs = played.under(problem, LEAN, OPEN), played.beside(problem, side)
    both = sorted(number for number in ours.keys() & theirs.keys() if ours[number] and theirs[number])
    return {number: ours[number] for number in both}, {number: theirs[number] for number in both}
