"""docs/arena.md: losses first, then what was to be reached, then the tables. All numbers come from the results."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from benchmarks.arena.budgets import OPEN
from benchmarks.arena.contests import LEAN, Played
from benchmarks.arena.measures import open_dollars, regret_after, rules_of
from benchmarks.arena.peers.description import described
from benchmarks.arena.targets import Cell, Loss, calibrations, cells, losses, ranks, ratios, targets
from benchmarks.papers.targets import Target
from benchmarks.papers.words import markdown, number, percent
from leantune.files import write_whole
from leantune.lab.replay.runs import COMMON, PAPER

PAGE = "arena.md"
SHARES = (0.90, 0.95, 0.99)
ALONG = (1, 2, 3, 5, 10, 20, 30)  # full runs' dollars
SHORT = "–"
RULE_NAMES = {PAPER: "own", COMMON: "common"}


@dataclass(frozen=True)
class Absent:
    """What was not played, and why: methods and problems by name."""

    methods: Mapping[str, str]
    problems: Mapping[str, str]


@dataclass(frozen=True)
class Written:
    """The page, and what it says first."""

    page: Path
    targets: tuple[Target, ...]
    losses: tuple[Loss, ...]


def write_page(played: Played, absent: Absent, folder: Path, *, remark: str = "") -> Written:
    """Write it, whole or not at all. remark: a sentence about this run, at the top."""
    found = cells(played)
    lost, aims = tuple(losses(found)), tuple(targets(played, found))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / PAGE
    write_whole(path, "\n\n".join(_blocks(played, found, lost, aims, absent, remark)) + "\n")
    return Written(path, aims, lost)


def _blocks(
    played: Played,
    found: Sequence[Cell],
    lost: Sequence[Loss],
    aims: Sequence[Target],
    absent: Absent,
    remark: str,
) -> Iterator[str]:
    yield "# The arena"
    yield (
        "Made by `make arena` (`python -m benchmarks.arena`); every number on this page is computed by it. Strategies "
        "play on the same tables, under the same seeds, and pay the same dollars. Regret: how far the recommendation "
        "is from the best, over the distance of the median feasible configuration from the best; one that breaks a "
        f"limit counts 1.5. `{LEAN}` is judged by its own recommendations, every other by its own or by the common "
        "rule (the best expected value among configurations that keep the limits with 90 %, by Gaussian processes), "
        'whichever is better. "$10 runs": the dollars of ten median runs on all data.'
    )
    if remark:
        yield remark
    yield f"## Where `{LEAN}` loses"
    yield from _lost(found, lost)
    yield "## To reach, and reached"
    yield markdown(["", "to reach", "reached", ""], [[one.text, one.wanted, one.ours, one.verdict] for one in aims])
    yield "## Average ranks"
    yield from _ranks(found)
    yield "## Regret at the end of the budget"
    yield from _regrets(played, found)
    yield "## Regret along the dollars"
    yield from _along(played)
    yield "## Dollars to 10, 5 and 1 % of the best"
    yield from _dollars(played)
    yield "## Ends that break a limit, and ends that were tested on all data"
    yield from _ends(found)
    yield "## Whether it knows what it does not know"
    yield from _calibration(played)
    yield "## Who played, and who did not"
    yield from _players(played, absent)


def _lost(found: Sequence[Cell], lost: Sequence[Loss]) -> Iterator[str]:
    if not lost:
        yield "In no comparison that was run."
        return
    regrets = sum(loss.what == "regret" for loss in lost)
    yield (
        f"Somebody's mean regret is smaller in {regrets} of {len(found)} pairs of problem and budget. The other is the "
        "best of all there, chosen after the fact; the largest losses first."
    )
    rows = [
        [loss.problem, loss.budget, loss.what, number(loss.lean), f"`{loss.other}` {number(loss.theirs)}"]
        for loss in lost
    ]
    yield markdown(["problem", "budget", "what", f"`{LEAN}`", "the best other"], rows)


def _ranks(found: Sequence[Cell]) -> Iterator[str]:
    ranked = ranks(found)
    if ranked is None:
        yield "Not enough runs."
        return
    yield (
        f"By mean regret, averaged over budgets and then over {ranked.problems} problems; methods that did not play "
        f"everywhere are left out. Critical difference (Nemenyi, 95 %): {number(ranked.critical)}; Friedman's p: "
        f"{ranked.p:.2g}. 1 is best."
    )
    yield markdown(["", "average rank"], [[name, number(rank)] for name, rank in ranked.average.items()])


def _methods(played: Played) -> list[str]:
    return [entrant.name for entrant in played.contest.entrants]


def _regrets(played: Played, found: Sequence[Cell]) -> Iterator[str]:
    yield (
        "Means over runs, in brackets how many. Last columns: the best other by the even runs, and the mean of the "
        f"paired difference `{LEAN}` minus other on the odd runs, with its bootstrapped 95 % upper end."
    )
    methods = _methods(played)
    for budget in played.contest.budgets.values():
        rows = []
        for cell in (cell for cell in found if cell.budget == budget):
            known = {name: f"{number(one.mean)} ({len(one.regrets)})" for name, one in cell.best.items()}
            paired = cell.difference
            told = SHORT if paired is None else f"{number(paired.mean)}, at most {number(paired.upper)}"
            other = SHORT if paired is None else f"{paired.other} ({RULE_NAMES[paired.rule]} rule)"
            rows.append([cell.problem.name, *(known.get(name, SHORT) for name in methods), other, told])
        if rows:
            yield f"### {budget.name}"
            yield markdown(["", *methods, "best other", "difference"], rows)


def _along(played: Played) -> Iterator[str]:
    yield (
        f"No budget told, at most {OPEN.trials} tests; means over all problems of a method's mean regret when the "
        "dollars of so many full runs were spent, by the better rule."
    )
    rows = []
    for entrant in played.contest.entrants:
        known = {
            problem: runs
            for problem in played.contest.problems
            if entrant.plays(problem) and (runs := played.under(problem, entrant.name, OPEN))
        }
        if known and not entrant.families:
            means = [
                fmean(
                    min(regret_after(problem, runs, rule, dollars) for rule in rules_of(entrant.name))
                    for problem, runs in known.items()
                )
                for dollars in ALONG
            ]
            rows.append([entrant.name, *map(number, means)])
    yield markdown(["", *(f"${dollars} runs" for dollars in ALONG)], rows)


def _dollars(played: Played) -> Iterator[str]:
    yield (
        "No budget told. In full runs' dollars, means over runs; a run that never arrives counts twice what it spent. "
        "Each cell: to 10 %, 5 %, 1 %."
    )
    methods, worst = _methods(played), ratios(played)
    rows = []
    for problem in played.contest.problems:
        spent = [open_dollars(played, problem, share) for share in SHARES]
        cell = {
            name: ", ".join(number(fmean(by_share[name].values())) for by_share in spent)
            for name in methods
            if all(name in by_share for by_share in spent)
        }
        if cell:
            ratio = worst.get(problem.name, (math.nan, ""))[0]
            rows.append([problem.name, *(cell.get(name, SHORT) for name in methods), number(ratio)])
    yield markdown(["", *methods, f"`{LEAN}` over the best other, 1 %"], rows)


def _ends(found: Sequence[Cell]) -> Iterator[str]:
    rows = []
    for method in dict.fromkeys(name for cell in found for name in cell.best):
        ends = [cell.best[method] for cell in found if method in cell.best]
        runs = sum(len(one.regrets) for one in ends)
        infeasible = math.fsum(one.infeasible * len(one.regrets) for one in ends) / runs
        tested = math.fsum(one.tested * len(one.regrets) for one in ends) / runs
        asks = [one.ask for one in ends if math.isfinite(one.ask)]
        rows.append([method, percent(infeasible), percent(tested), f"{number(fmean(asks) if asks else math.nan)} s"])
    yield markdown(["", "break a limit", "tested on all data", "to choose a test"], rows)


def _calibration(played: Played) -> Iterator[str]:
    yield (
        f"What `{LEAN}` would recommend after each test while that is untested on all data, against the truth; z on "
        "the scale on which the goal is modelled."
    )
    made = calibrations(played)
    rows = [
        [
            family,
            str(one.cases),
            percent(one.within_1),
            percent(one.within_2),
            number(one.square),
            number(one.capped_square),
            number(one.log_density),
            str(one.limits),
            number(one.limits_off),
        ]
        for family, one in made.items()
    ]
    head = [
        "family",
        "cases",
        "within 1 sd",
        "within 2 sd",
        "z²",
        "z², capped at 9",
        "log density",
        "limits",
        "P off by",
    ]
    yield markdown(head, rows)


def _players(played: Played, absent: Absent) -> Iterator[str]:
    counts: dict[str, int] = {}
    for place, runs in played.runs.items():
        counts[place.method] = counts.get(place.method, 0) + len(runs)
    rows = [
        [entrant.name, f"`{entrant.spec}`", f"{counts.get(entrant.name, 0)} replays"]
        for entrant in played.contest.entrants
    ]
    rows += [[name, "", f"not run: {why}"] for name, why in absent.methods.items()]
    yield markdown(["strategy", "", ""], rows)
    yield from described(counts)
    if absent.problems:
        yield markdown(["problem", ""], [[name, f"not run: {why}"] for name, why in absent.problems.items()])
