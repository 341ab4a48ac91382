"""docs/arena.md: losses first, then what was to be reached, then the tables. All numbers come from the results."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from statistics import fmean

from benchmarks.arena.budgets import OPEN
from benchmarks.arena.contests import BATCHES, LEAN, STOP_AT, Contest, Played
from benchmarks.arena.measures import open_dollars, regret_after, rules_of
from benchmarks.arena.peers.description import described
from benchmarks.arena.problems import CHEAPEST_TESTS
from benchmarks.arena.ranks import Ranks
from benchmarks.arena.sides import batches, stops
from benchmarks.arena.targets import (
    Cell,
    Loss,
    calibrations,
    cells,
    losses,
    ranks,
    ratios,
    real_ranks,
    targets,
    under_budgets,
)
from benchmarks.papers.inventory import CHEAPEST
from benchmarks.papers.targets import Target
from benchmarks.papers.words import markdown, number, percent
from leantune.files import write_whole
from leantune.lab.replay.runs import COMMON, PAPER

PAGE = "arena.md"
SHARES = (0.90, 0.95, 0.99)
ALONG = (1, 2, 3, 5, 10, 20, 30)  # full runs' dollars
SHORT = "–"
NONE_RUN = "Not run."
FAMILIES_TOLD = {  # those that their names do not explain
    "two limits": "the papers' tables with a limit on seconds beside the one on dollars, which a quarter of what keeps "
    "the first one breaks.",
    "noisy": "every test scatters by the table's standard deviations, as runs did; regrets are on the means.",
    CHEAPEST: "the cheapest pair of configuration and share of the data that is accurate enough, at most "
    f"{CHEAPEST_TESTS} tests after the start.",
}
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
    yield from _lost(under_budgets(found), lost)
    yield "## To reach, and reached"
    yield markdown(["", "to reach", "reached", ""], [[one.text, one.wanted, one.ours, one.verdict] for one in aims])
    yield "## Average ranks"
    yield from _ranks(ranks(found), "problems, all but the cheapest anywhere")
    yield "### On measured tables only"
    yield from _ranks(real_ranks(found), "measured problems, on which slow strategies play too")
    yield "## Regret at the end of the budget"
    yield from _regrets(played, found)
    yield "## Regret along the dollars"
    yield from _along(played)
    yield "## Dollars to 10, 5 and 1 % of the best"
    yield from _dollars(played)
    yield "## Four tests at once"
    yield from _batches(played)
    yield "## The stop rule"
    yield from _stops(played)
    yield "## Ends that break a limit, and ends that were tested on all data"
    yield from _ends(found)
    yield "## Calibration"
    yield from _calibration(played)
    yield "## Contenders"
    yield from _players(played, absent)


def _lost(found: Sequence[Cell], lost: Sequence[Loss]) -> Iterator[str]:
    if not lost:
        yield "In no comparison that was run."
        return
    regrets = sum(loss.what == "regret" for loss in lost)
    yield (
        f"Another tuner's mean regret is smaller in {regrets} of {len(found)} pairs of problem and budget. "
        "That tuner is the best there, chosen after the fact; the largest losses first."
    )
    rows = [
        [loss.problem, loss.budget, loss.what, number(loss.lean), f"`{loss.other}` {number(loss.theirs)}"]
        for loss in lost
    ]
    yield markdown(["problem", "budget", "what", f"`{LEAN}`", "the best other"], rows)


def _ranks(ranked: Ranks | None, which: str) -> Iterator[str]:
    if ranked is None:
        yield "Not enough runs."
        return
    yield (
        f"By mean regret, averaged over budgets and then over {ranked.problems} {which}; methods that did not play "
        f"on all of them are left out. Critical difference (Nemenyi, 95 %): {number(ranked.critical)}; Friedman's p: "
        f"{ranked.p:.2g}. 1 is best."
    )
    yield markdown(["", "average rank"], [[name, number(rank)] for name, rank in ranked.average.items()])


def _methods(played: Played) -> list[str]:
    return [entrant.name for entrant in played.contest.entrants]


def _regrets(played: Played, found: Sequence[Cell]) -> Iterator[str]:
    yield (
        f"Means over {played.contest.lean_seeds} runs of `{LEAN}` and {played.contest.seeds} of each other one; in "
        "brackets how many there are where there are fewer. Last columns: the best other by the even runs, and the "
        f"mean of the paired difference `{LEAN}` minus other on the odd runs, with its bootstrapped 95 % upper end."
    )
    for family, about in FAMILIES_TOLD.items():
        if any(cell.problem.family == family for cell in found):
            yield f"{family[0].upper()}{family[1:]}: {about}"
    methods = _methods(played)
    for budget in played.contest.budgets.values():
        for family, cells_of in groupby(
            (cell for cell in found if cell.budget == budget), key=lambda cell: cell.problem.family
        ):
            yield f"### {budget.name}: {family}"
            yield _regret_table(played.contest, methods, list(cells_of))


def _regret_table(contest: Contest, methods: Sequence[str], found: Sequence[Cell]) -> str:
    present = [name for name in methods if any(name in cell.best for cell in found)]
    rows = []
    for cell in found:
        known = {
            name: f"{number(one.mean)}{_fewer(len(one.regrets), contest.asked(name))}"
            for name, one in cell.best.items()
        }
        paired = cell.difference
        told = SHORT if paired is None else f"{number(paired.mean)}, at most {number(paired.upper)}"
        other = SHORT if paired is None else f"{paired.other} ({RULE_NAMES[paired.rule]} rule)"
        rows.append([cell.problem.name, *(known.get(name, SHORT) for name in present), other, told])
    return markdown(["", *present, "best other", "difference"], rows)


def _fewer(count: int, asked: int) -> str:
    """How many runs there are, where they are fewer than were asked for."""
    return f" ({count} of {asked})" if count < asked else ""


def _along(played: Played) -> Iterator[str]:
    problems = [problem for problem in played.contest.problems if problem.family != CHEAPEST]
    yield (
        f"No budget told, at most {OPEN.trials} tests; means over {len(problems)} problems, all but the cheapest "
        "anywhere, of a method's mean regret when the dollars of so many full runs were spent, by the better rule. "
        "Methods that did not play on all of them are left out."
    )
    rows = []
    for name in _methods(played):
        known = [(problem, played.under(problem, name, OPEN)) for problem in problems]
        if known and all(runs for _, runs in known):
            means = [
                fmean(
                    min(regret_after(problem, runs, rule, dollars) for rule in rules_of(name))
                    for problem, runs in known
                )
                for dollars in ALONG
            ]
            rows.append([name, *map(number, means)])
    yield markdown(["", *(f"${dollars} runs" for dollars in ALONG)], rows)


def _dollars(played: Played) -> Iterator[str]:
    yield (
        "No budget told. In full runs' dollars, means over runs; a run that never arrives counts twice what it spent. "
        "Each cell: to 10 %, 5 %, 1 %; in brackets how many runs there are where there are fewer than asked for."
    )
    methods, worst = _methods(played), ratios(played)
    rows = []
    for problem in played.contest.problems:
        spent = [open_dollars(played, problem, share) for share in SHARES]
        cell = {
            name: ", ".join(number(fmean(by_share[name].values())) for by_share in spent)
            + _fewer(len(spent[0][name]), played.contest.asked(name))
            for name in methods
            if all(name in by_share for by_share in spent)
        }
        if cell:
            ratio = worst.get(problem.name, (math.nan, ""))[0]
            rows.append([problem.name, *(cell.get(name, SHORT) for name in methods), number(ratio)])
    yield markdown(["", *methods, f"`{LEAN}` over the best other, 1 %"], rows)


def _batches(played: Played) -> Iterator[str]:
    found = batches(played)
    if not found:
        yield NONE_RUN
        return
    yield (
        f"`{LEAN}` with {BATCHES.parallel} tests at once, no budget told: dollars to 1 % of the best as above, means "
        "over the seeds that were run both ways."
    )
    rows = [
        [
            f"{one.problem}{_fewer(one.runs, played.contest.seeds)}",
            number(one.alone),
            number(one.batched),
            number(one.ratio),
        ]
        for one in found
    ]
    yield markdown(["", "one at a time", "four at once", "ratio"], rows)


def _stops(played: Played) -> Iterator[str]:
    found = stops(played)
    if not found:
        yield NONE_RUN
        return
    yield (
        f"`{LEAN}` without a budget under `stop: {{regret: {STOP_AT:g}}}`, "
        "against the same seeds that go on. Saved: of the dollars spent after arrival within 1 % of the best, in the "
        "seeds that arrive. Short: the last recommendation is not within 1 %."
    )
    rows = [
        [
            f"{one.problem}{_fewer(one.runs, played.contest.seeds)}",
            percent(one.mean),
            str(len(one.saved)),
            f"{one.short} of {one.runs}",
            str(one.anyway),
        ]
        for one in found
    ]
    yield markdown(["", "saved, mean", "of seeds", "short", "of these without the rule too"], rows)


def _ends(found: Sequence[Cell]) -> Iterator[str]:
    yield "Under budgets that were told."
    told = [cell for cell in found if cell.budget.told]
    rows = []
    for method in dict.fromkeys(name for cell in told for name in cell.best):
        ends = [cell.best[method] for cell in told if method in cell.best]
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
    rows += [
        [side.name, "compared with itself", f"{counts[side.name]} replays"]
        for side in played.contest.sides
        if side.name in counts
    ]
    rows += [[name, "", f"not run: {why}"] for name, why in absent.methods.items()]
    rows += [[name, problem, f"left out: {why}"] for (name, problem), why in played.contest.refusals().items()]
    yield markdown(["strategy", "", ""], rows)
    yield from described(counts)
    if absent.problems:
        yield markdown(["problem", ""], [[name, f"not run: {why}"] for name, why in absent.problems.items()])
